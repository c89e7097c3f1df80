"""The classes of tool calls ("network", "destructive" …), which group calls in approvals, events and the trace.

Invariant: a class depends only on effects, doubts and facts about the workspace.
"""

from collections.abc import Iterable, Sequence

from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.escalations import is_workspace_program, runs_configured_programs
from tui_agent.policy.decision.line_uses import Lines
from tui_agent.policy.interpreter.command_report import CommandReport
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect as CallEffect
from tui_agent.protocol.effects import RunEffect

READ_ONLY = "read-only"
WORKSPACE = "workspace"
NETWORK = "network"
ARBITRARY = "arbitrary"
ENDS_PROCESSES = "ends-processes"
DESTRUCTIVE = "destructive"
PRIVILEGE = "privilege"
CLASSES = (READ_ONLY, WORKSPACE, NETWORK, ARBITRARY, ENDS_PROCESSES, DESTRUCTIVE, PRIVILEGE)
"""All classes of commands, from the least to the most serious."""
CLASS_DESCRIPTIONS = {
    READ_ONLY: "only reads",
    WORKSPACE: "changes files or runs code",
    NETWORK: "uses the network",
    ARBITRARY: "may do anything",
    ENDS_PROCESSES: "ends processes",
    DESTRUCTIVE: "deletes files",
    PRIVILEGE: "acts as another user",
}
"""The effects of the commands of each class, for the user."""

_OF_KIND = {"writes": WORKSPACE, "connects": NETWORK, "calls": ARBITRARY}
_OF_EFFECT = {
    Effect.WRITES: WORKSPACE,
    Effect.RUNS: WORKSPACE,
    Effect.CONNECTS: NETWORK,
    Effect.ENDS_PROCESSES: ENDS_PROCESSES,
    Effect.DELETES: DESTRUCTIVE,
    Effect.MOVES_WORK_AWAY: DESTRUCTIVE,
    Effect.ACTS_AS_OTHER: PRIVILEGE,
}


def command_classes(command: CommandReport, facts: PolicyFacts) -> frozenset[str]:
    """Return the classes of one command."""
    classes = {_OF_EFFECT[effect] for effect in command.effects if effect in _OF_EFFECT}
    if command.doubts or runs_anything(command):
        classes = (classes - {WORKSPACE}) | {ARBITRARY}
    if is_workspace_program(command, (), facts) or runs_configured_programs(command, (), facts):
        classes.add(ARBITRARY)
    return frozenset(classes or {READ_ONLY})


def runs_anything(command: CommandReport) -> bool:
    """Return True if a command runs unknown code.

    The result is False for launchers such as `uv run`, and for programs that a rule can be offered for.
    """
    return Effect.RUNS in command.effects and not command.program.remember and not command.runs_next


def call_classes(effects: Sequence[CallEffect], lines: Lines, facts: PolicyFacts) -> tuple[str, ...]:
    """Return the classes of a tool call and all its commands, least serious first."""
    classes = {
        _OF_KIND.get(effect.kind, READ_ONLY) for effect in effects if not isinstance(effect, RunEffect)
    }
    for line in lines.values():
        classes |= {name for command in line.commands for name in command_classes(command, facts)} or {
            ARBITRARY
        }
    return sort_classes(classes)


def sort_classes(classes: Iterable[str]) -> tuple[str, ...]:
    """Return the classes, least serious first. Leave out `read-only` if there is any other class."""
    present = frozenset(classes)
    return tuple(name for name in CLASSES if name in present and (name != READ_ONLY or len(present) == 1))
