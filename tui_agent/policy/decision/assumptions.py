"""L3: doubts about names of files that the workspace itself can settle: none of its names looks like an option, or falls into
pieces.

Invariant: a doubt is only taken away where every name that its pattern can stand for was looked at.
"""

from dataclasses import replace

from tui_agent.policy.decision.command_judge import from_workspace
from tui_agent.policy.decision.file_judge import matches_path
from tui_agent.policy.interpreter.report import Doubt, LineReport
from tui_agent.policy.places.paths import place
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

_OPTION_STARTS = frozenset("-+@|=")


def settle_doubts(effect: Runs, line: LineReport, facts: PolicyFacts) -> LineReport:
    """Return the report without the doubts that the names in the workspace settle."""
    if not any(doubt.value for command in line.commands for doubt in command.doubts):
        return line
    commands = tuple(
        replace(
            command,
            doubts=tuple(doubt for doubt in command.doubts if not _is_settled(doubt, effect, facts)),
        )
        for command in line.commands
    )
    return replace(line, commands=commands)


def _is_settled(doubt: Doubt, effect: Runs, facts: PolicyFacts) -> bool:
    value = doubt.value
    if value is None or not value.names_files:
        return False
    at = place(from_workspace(effect, value.text), facts)
    if at.relative is None:
        return False
    if doubt.name == "option-like" and any(
        _is_option(name, at.relative, effect.cwd) for name in facts.option_names
    ):
        return False
    if not value.splits:
        return True
    odd = (*facts.split_names, *facts.unscanned)
    return not any(_stands_for(at.relative, name) for name in odd)


def _is_option(name: str, pattern: str, folder: str) -> bool:
    """True if the pattern stands for the name, and the word that the command is given begins like an option."""
    front = f"{folder.strip('/')}/" if folder.strip("./") else ""
    begins = name.removeprefix(front)[:1] in _OPTION_STARTS
    return begins and matches_path(pattern, name)


def _stands_for(pattern: str, name: str) -> bool:
    """True if the pattern matches the name, or what lies below it."""
    return matches_path(pattern, name) or matches_path(pattern, f"{name}/any", below=True)
