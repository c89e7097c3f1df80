"""Built-in slash commands that answer with a text about the session.

The full-screen app does not use them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from tui_agent.engine.recorder import Recorder
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.text.session_figures import (
    describe_context,
    describe_cost,
    describe_instructions,
    describe_limits,
    describe_model,
    describe_sandbox,
    describe_tokens,
)
from tui_agent.ports.command import CommandAnswer, SlashCommand
from tui_agent.protocol.app_commands import NO_OWN_COMMANDS, SHARED_COMMANDS
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.events.command import OfferedCommand
from tui_agent.units import format_cost, format_tokens

Describe: TypeAlias = Callable[[Recorder], str]
"""Function that takes a session's recorder and returns a text about the session."""


@dataclass(frozen=True, slots=True)
class BuiltInCommand:
    """A slash command without arguments. Its answer is a text."""

    offer: OfferedCommand
    recorder: Recorder
    describe: Describe

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the text."""
        return CommandAnswer(display=(TextBlock(text=self.describe(self.recorder)),))


def built_in_commands(recorder: Recorder) -> Mapping[str, SlashCommand]:
    """Return the built-in commands of a session by name."""
    return {
        offer.name: BuiltInCommand(offer, recorder, _TEXTS[offer.name])
        for offer in SHARED_COMMANDS
        if offer.name in _TEXTS
    }


def _list_commands(recorder: Recorder) -> str:
    """List the slash commands of plugins, files and servers, each with its origin."""
    hidden = {command.name for command in SHARED_COMMANDS}
    lines = [
        f"- {f'/{item.name} {item.arguments}'.rstrip()}{f': {item.help}' if item.help else ''} "
        f"({item.source or owner})"
        for owner, items in sorted(recorder.state.commands.items())
        for item in items
        if item.name not in hidden
    ]
    return "\n".join(lines) or NO_OWN_COMMANDS


def _describe_status(recorder: Recorder) -> str:
    state, settings = recorder.state, recorder.state.settings
    rows = [
        ("session", state.title or "new"),
        ("folder", state.workspace),
        ("context", describe_context(recorder.meter)),
        ("cost", describe_cost(state)),
        ("instructions", describe_instructions(state)),
        *(("left out", note) for note in state.instruction_notes),
    ]
    if settings is None:
        return _as_list(rows)
    return _as_list(
        [
            ("model", describe_model(settings.model)),
            ("policy", settings.policy),
            ("agent", settings.agent),
            ("commands", state.environment_details),
            ("sandbox", describe_sandbox(state)),
            ("commands see", ", ".join(f"${name}" for name in state.exposed_variables)),
            *rows,
        ]
    )


def _describe_sections(recorder: Recorder) -> str:
    meter = recorder.meter
    sections = [
        (
            section.name,
            f"{format_tokens(section.tokens)} tokens{'' if section.state == 'whole' else f', {section.state}'}",
        )
        for section in meter.sections
    ]
    return _as_list([("context", describe_context(meter)), *sections])


def _describe_spending(recorder: Recorder) -> str:
    state = recorder.state
    turn, name = state.turn_totals, "this turn" if state.turn_running else "last turn"
    rows = [
        ("session", describe_cost(state)),
        (name, format_cost(turn.cost_usd, turn.cost_precision)),
        ("tokens", describe_tokens(state)),
        ("limits", describe_limits(state)),
    ]
    return _as_list(rows)


def _as_list(rows: Iterable[tuple[str, str]]) -> str:
    """Format (name, value) pairs as a Markdown list. Pairs with an empty value are left out."""
    return "\n".join(f"- {name}: {value}" for name, value in rows if value)


_TEXTS: Final[Mapping[str, Describe]] = {
    "commands": _list_commands,
    "context": _describe_sections,
    "cost": _describe_spending,
    "status": _describe_status,
}
