"""L3: what an approval offers for the session and for always, as rules that can be read.

Invariant: an offered rule, granted, allows the very call it was offered for; what is not offered says why.
"""

import posixpath
import shlex
from collections.abc import Sequence
from typing import Final

from tui_agent.policy.part import Part
from tui_agent.policy.paths import Place, place
from tui_agent.policy.runs import command_line, read_runs
from tui_agent.policy.script import ARBITRARY, DESTRUCTIVE, NETWORK, PRIVILEGE, READ_ONLY
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Choice

_SPECIAL = frozenset("*?[]")
_AS_TEXT: Final = frozenset({"-c", "-e", "-p", "--eval", "--print", "-"})
_NEVER = (
    (PRIVILEGE, "not offered for commands that act with other rights"),
    (DESTRUCTIVE, "not offered for commands that destroy"),
    (NETWORK, "not offered for commands that use the network"),
)


def choices(asked: Sequence[Effect], facts: PolicyFacts) -> tuple[Choice, ...]:
    """Once, this session, always. For an offered choice `why` says its reach in words."""
    once = Choice(reach="once", rule="")
    kinds = {effect.kind for effect in asked}
    if not asked:
        return (once, *_refused("not offered where nothing is known of what it does"))
    if len(kinds) > 1 or (len(asked) > 1 and kinds != {"writes"}):
        return (once, *_refused("not offered for several effects at once"))
    match asked[0]:
        case Writes():
            return (once, *_writes([effect for effect in asked if isinstance(effect, Writes)], facts))
        case Reads() as effect:
            return (once, *_reads(effect, facts))
        case Connects(host=host):
            return (once, *_both(f"allow connect {host}", f"connections to {host}"))
        case Runs() as effect:
            return (once, *_runs(effect))
        case _:
            return (once, *_refused("not offered for this"))


def _both(rule: str, words: str) -> tuple[Choice, Choice]:
    return (
        Choice(reach="session", rule=rule, why=words),
        Choice(reach="always", rule=rule, why=words),
    )


def _refused(why: str) -> tuple[Choice, Choice]:
    return (
        Choice(reach="session", rule="", offered=False, why=why),
        Choice(reach="always", rule="", offered=False, why=why),
    )


def _writes(effects: Sequence[Writes], facts: PolicyFacts) -> tuple[Choice, Choice]:
    places = [place(effect.path, facts) for effect in effects]
    if any(char in at.absolute for at in places for char in _SPECIAL):
        return _refused("not offered for names that look like a pattern")
    if any(effect.removes for effect in effects):
        if len(effects) > 1:
            return _refused("not offered for several files at once")
        rule = f"allow remove {_name(places[0])}"
        return (
            Choice(reach="session", rule=rule, why=f"removing {_name(places[0])}"),
            Choice(reach="always", rule="", offered=False, why="not offered for removing files"),
        )
    if not all(at.inside for at in places):
        if len(places) > 1:
            return _refused("not offered for several files outside the workspace")
        rule = f"allow edit {places[0].absolute}"
        return (
            Choice(reach="session", rule=rule, why="edits of this file only"),
            Choice(reach="always", rule="", offered=False, why="not offered outside the workspace"),
        )
    folder = posixpath.commonpath([posixpath.dirname(at.relative or "") for at in places])
    if folder:
        return _both(f"allow edit {folder}/**", f"edits in {folder}/")
    if len(places) == 1:
        return _both(f"allow edit {places[0].relative}", f"edits of {places[0].relative}")
    return _both("allow edit **", "edits in this workspace")


def _reads(effect: Reads, facts: PolicyFacts) -> tuple[Choice, Choice]:
    at = place(effect.path, facts)
    if any(char in at.absolute for char in _SPECIAL):
        return _refused("not offered for names that look like a pattern")
    if at.absolute.startswith("~"):
        return _refused("not offered for a home folder")
    rule = f"allow read {at.absolute}"
    return (
        _both(f"{rule}/**", f"reading below {at.absolute}")
        if effect.deep
        else _both(rule, "reading this file")
    )


def _name(at: Place) -> str:
    return at.relative if at.relative else at.absolute


def _unnameable(part: Part) -> str:
    """Why no rule could name what a program does."""
    words = part.words[1:]
    if _AS_TEXT.intersection(words):
        return "not offered for code that is given as text"
    if ARBITRARY in part.classes and any(word is not None and not word.startswith("-") for word in words):
        return "not offered for a script: what is in it can change"
    return f"not offered for {part.name or part.program}"


def _runs(effect: Runs) -> tuple[Choice, Choice]:
    report = read_runs(effect)
    line = command_line(effect)
    exact = Choice(reach="session", rule=f"allow exact {line}", why="this exact command only")
    why = ""
    if report.downloads:
        why = "not offered for commands that download"
    elif report.problems or any(part.unsure for part in report.parts):
        why = "not offered for commands that are not fully understood"
    else:
        why = next((words for name, words in _NEVER if name in report.classes), "")
    parts = [part for part in report.parts if part.classes - {READ_ONLY}]
    if not why and len(report.parts) != 1:
        why = "not offered for several commands at once"
    if not why and (not parts or parts[0].writes or effect.cwd):
        why = "not offered where files outside a rule's reach are touched"
    if not why and not parts[0].keeps:
        why = _unnameable(parts[0])
    if why:
        return exact, Choice(reach="always", rule="", offered=False, why=why)
    words = [word or "" for word in parts[0].words]
    if ARBITRARY in parts[0].classes:
        rule = f"allow run {shlex.join(words)}"
        if any(char in word for word in words for char in _SPECIAL):
            return exact, Choice(reach="always", rule="", offered=False, why="not offered for patterns")
        return exact, Choice(reach="always", rule=rule, why="this exact command only")
    head = shlex.join(words[: parts[0].keeps])
    return _both(f"allow run {head} *", f"any {head}")
