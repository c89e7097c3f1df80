"""Slash commands that run in the engine: built-in ones, and those of plugins, Markdown files and MCP servers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from tui_agent.context.mentions.mentions import find_refused_paths
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.plugins.error_guard import guard_plugin
from tui_agent.engine.plugins.forced_stop import stop_in_time, stop_though_shielded
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.tool_access import denial_reason
from tui_agent.engine.turns.turns import Turns
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import (
    describe_context,
    describe_cost,
    describe_instructions,
    describe_limits,
    describe_model,
    describe_sandbox,
    describe_tokens,
)
from tui_agent.models.tool_call_repair import similar_names
from tui_agent.plugin_host.registered_objects import OfferedSlashCommand
from tui_agent.ports.slash_command import ArgumentCompleter, CommandAnswer, SlashCommand
from tui_agent.protocol.app_commands import APP_COMMANDS, NO_OWN_COMMANDS, SHARED_COMMANDS
from tui_agent.protocol.commands import Command, Compact, Redo, ReloadPlugins, RunCommand, SubmitPrompt, Undo
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised
from tui_agent.protocol.events.slash_command import CommandRan, OfferedCommand
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued
from tui_agent.protocol.mentions import MENTION, REFUSED_MENTIONS
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_cost, format_number, format_time_limit, format_tokens

COMMAND_LIMIT_S = 60.0
MAX_MESSAGE_CHARS = 200_000
MAX_TYPED_CHARS = 40
"""Maximum length of the user's command when a refusal quotes it, in characters."""
_TURN = re.compile(r"(?:turn )?([0-9]{1,9})")
"""Matches the argument of `/undo`: the number of a turn."""
COMPLETION_LIMIT_S = 1.0
MAX_COMPLETIONS = 100
Describe: TypeAlias = Callable[[Recorder], str]
"""Function that takes a session's recorder and returns a text about the session."""


class SlashCommands:
    """Runs the slash commands of one engine.

    - `begin_turn`: function that starts a turn with a message.
    - `guard_store`: function that runs its argument and reports a storage error to the user.
    """

    def __init__(
        self,
        parts: EngineParts,
        turns: Turns,
        states: StateKeeper,
        begin_turn: Callable[[UserMessageReceived, TaskGroup, Command], None],
        guard_store: Callable[[Callable[[], object]], None],
    ) -> None:
        self._parts = parts
        self._built_in = built_in_commands(parts.recorder)
        self._turns = turns
        self._states = states
        self._begin_turn = begin_turn
        self._guard_store = guard_store
        self._told_faults: set[str] = set()

    def as_run_command(self, command: Command) -> Command:
        """Convert a message with a slash command, such as `/undo`, to the command. Return other commands unchanged."""
        if not isinstance(command, SubmitPrompt):
            return command
        word, *arguments = command.text.split(maxsplit=1) or [""]
        if not word.startswith("/") or "/" in word[1:]:  # an ordinary message, or one that begins with a path
            return command
        if command.text.strip() == "/reload":
            return ReloadPlugins(id=command.id)
        return session_command(command) or RunCommand(
            id=command.id, name=word[1:], arguments="".join(arguments).strip()
        )

    async def run(self, command: RunCommand, group: TaskGroup) -> None:
        """Run a slash command, and show its answer or send it to the agent."""
        recorder, typed = self._parts.recorder, f"/{command.name} {command.arguments}".rstrip()
        built_in = None if command.arguments else self._built_in.get(command.name)
        slash_command = built_in or self._parts.extensions.value.commands.get(command.name)
        if slash_command is None:
            self._refuse(command, *self._explain_absence(command.name, typed))
            return
        try:
            with (
                self._stoppable(command.name) as scope,
                guard_plugin(f"The command {_describe(slash_command)}", PluginError),
            ):
                await recorder.let_clients_read()
                with anyio.move_on_after(COMMAND_LIMIT_S) as limit:
                    answer = await stop_though_shielded(
                        slash_command.answer(command.arguments, recorder.state)
                    )
                if limit.cancelled_caught:
                    raise PluginError(f"it took longer than {format_time_limit(COMMAND_LIMIT_S)}")
                if not isinstance(answer, CommandAnswer):
                    raise PluginError(f"it returned {type(answer).__name__} instead of a CommandAnswer")
                if len(answer.prompt) > MAX_MESSAGE_CHARS:
                    raise PluginError(
                        f"its message has more than {format_number(MAX_MESSAGE_CHARS)} characters"
                    )
                ran = CommandRan(
                    name=command.name,
                    arguments=command.arguments,
                    display=tuple(answer.display),
                    sends=bool(answer.prompt),
                )
        except TuiAgentError as error:
            self._refuse(command, error.message, error.hint)
            return
        if scope.cancelled_caught:
            self._refuse(command, f"You stopped {typed}.")
            return
        if answer.display or not answer.prompt:
            recorder.append(ran, cause=command.id)
        if answer.prompt:
            self._send(
                UserMessageReceived(text=answer.prompt, command=typed, shell=tuple(answer.shell)),
                command,
                group,
            )

    @contextmanager
    def _stoppable(self, name: str) -> Iterator[anyio.CancelScope]:
        """Let Esc cancel the `with` block, and show the command's name as running."""
        scope = anyio.CancelScope()
        self._turns.command_scopes[scope] = f"/{name}"
        if not self._turns.is_running:
            self._states.set(AgentState.RUNNING, f"/{name}")
        try:
            with scope:
                yield scope
        finally:
            del self._turns.command_scopes[scope]
            # Another command may run at the same time. The state then shows the newest one that still runs.
            if self._parts.recorder.state.running_command == f"/{name}":
                others = list(self._turns.command_scopes.values())
                now = (AgentState.RUNNING, others[-1]) if others else (AgentState.IDLE,)
                self._guard_store(partial(self._states.set, *now))

    async def complete(self, name: str, arguments: str) -> Sequence[str]:
        """Return completions of the arguments of the slash command `name`.

        If `name` is `MENTION`, return completions for the text after `@` in a prompt.

        If `name` is `REFUSED_MENTIONS`, `arguments` has one path per line. Return the paths that a message cannot
        mention.
        """
        servers = self._parts.tool_servers
        if name == REFUSED_MENTIONS:
            policy, state, env = self._parts.policy, self._parts.recorder.state, self._parts.env
            may_read = partial(denial_reason, policy, state, env.root)
            return await find_refused_paths(arguments.split("\n"), env, may_read)
        if name == MENTION:
            return () if servers is None else await servers.complete_mention(arguments)
        slash_command = self._parts.extensions.value.commands.get(name)
        if (
            slash_command is None
            or not slash_command.offer.completes
            or not isinstance(slash_command, ArgumentCompleter)
        ):
            return ()
        try:
            with guard_plugin(f"The completion of {_describe(slash_command)}", PluginError):
                with anyio.move_on_after(COMPLETION_LIMIT_S):
                    return (
                        await stop_in_time(slash_command.complete(arguments, self._parts.recorder.state))
                    )[:MAX_COMPLETIONS]
                raise PluginError(f"it took longer than {format_time_limit(COMPLETION_LIMIT_S)}")
        except TuiAgentError as error:
            # Each typed letter asks for completions, but the user needs to read an error only once.
            if error.message not in self._told_faults:
                self._told_faults.add(error.message)
                fault = ErrorRaised(where=f"command /{name}", message=error.message, hint=error.hint)
                self._guard_store(partial(self._parts.recorder.append, fault))
            return ()

    def _explain_absence(self, name: str, typed: str) -> tuple[str, str]:
        """Return the reason why the engine does not run the command, and a hint (can be empty)."""
        if name == "undo":
            return (
                f"{clip_line(typed, MAX_TYPED_CHARS)} does not name a turn.",
                "Type the number of a turn, for example /undo 2.",
            )
        if name in APP_COMMANDS:
            return (
                f"{clip_line(typed, MAX_TYPED_CHARS)} works only in the full-screen app.",
                "Open the session there, and type the command.",
            )
        return f"There is no command /{name}.", self._explain_unknown(name)

    def _explain_unknown(self, name: str) -> str:
        extensions, servers = self._parts.extensions.value, self._parts.tool_servers
        if fault := extensions.unusable_commands.get(name):
            return fault
        server = name.partition(":")[0]
        if (
            servers is not None
            and server in servers.names
            and (reason := servers.explain_absence(servers.resource_tool(server)))
        ):
            return reason
        near = similar_names(name, extensions.commands)
        return f"Did you mean /{' or /'.join(near)}?" if near else ""

    def _send(self, message: UserMessageReceived, command: RunCommand, group: TaskGroup) -> None:
        """Start a turn with the message, or queue it while a turn runs."""
        if not self._turns.is_running:
            self._begin_turn(message, group, command)
        elif message.shell:  # a queued message cannot carry shell commands
            self._refuse(command, "A turn is running.", f"Run {message.command} after the turn.")
        else:
            queue_id = self._parts.ids.request()
            queued = UserQueued(queue_id=queue_id, text=message.text, command=message.command)
            self._parts.recorder.append(queued, cause=command.id)

    def _refuse(self, command: RunCommand, reason: str, hint: str = "") -> None:
        rejected = CommandRejected(command=command.kind, reason=reason, hint=hint)
        self._parts.recorder.append(rejected, cause=command.id)


def session_command(message: SubmitPrompt) -> Command | None:
    """Convert a message with `/compact`, `/undo` or `/redo` to that command. Return None for any other message."""
    name, _, argument = message.text.strip().partition(" ")
    turn = _TURN.fullmatch(argument.strip())
    match name:
        case "/compact":
            return Compact(id=message.id, focus=argument.strip())
        case "/undo" if not argument:
            return Undo(id=message.id)
        case "/undo" if turn is not None:
            return Undo(id=message.id, turn=int(turn[1]))
        case "/redo" if not argument:
            return Redo(id=message.id)
        case _:
            return None


def _describe(command: SlashCommand) -> str:
    """Return a command's name, and the plugin that registered it."""
    owner = f" (plugin {command.owner})" if isinstance(command, OfferedSlashCommand) else ""
    return f"/{command.offer.name}{owner}"


@dataclass(frozen=True, slots=True)
class BuiltInCommand:
    """A slash command without arguments that shows a text to the user, such as a list."""

    offer: OfferedCommand
    recorder: Recorder
    describe: Describe

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the text as a block for the user. `arguments` and `state` are ignored."""
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
