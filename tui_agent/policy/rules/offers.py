"""L3: what an approval offers for the session and for always, as rules that can be read.

Invariant: an offered rule, granted, allows the very call it was offered for; what is not offered says why.
"""

import posixpath
import shlex
from collections.abc import Sequence
from typing import Final

from tui_agent.policy.places.paths import Place, place
from tui_agent.policy.programs.part import GIT, Part, started
from tui_agent.policy.programs.runs import RunReport, command_line, literal, read_runs
from tui_agent.policy.programs.table import Table
from tui_agent.policy.shell.script import ARBITRARY, DESTRUCTIVE, NETWORK, PRIVILEGE, READ_ONLY, WORKSPACE
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Choice

UNSEEN = "not offered where not everything can be seen"
SECRET = "not offered where files with secrets would be read"
RULED = "not offered: a rule asks about this each time"
_ONCE = Choice(reach="once", rule="")
_SPECIAL = frozenset("*?[]")
_AS_TEXT: Final = frozenset({"-c", "-e", "-p", "--eval", "--print", "-"})
_NEVER = (
    (PRIVILEGE, "not offered for commands that act with other rights"),
    (DESTRUCTIVE, "not offered for commands that destroy"),
    (NETWORK, "not offered for commands that use the network"),
)


def only_once(why: str) -> tuple[Choice, ...]:
    """Nothing but this one time."""
    return (_ONCE, *_refused(why))


def always_fit(part: Part) -> bool:
    """Whether a command is of the kinds that a rule may stand for without anyone looking: it is certain, and does no
    more than read, or change or run this workspace."""
    return not part.unsure and not part.downloads and part.classes <= {READ_ONLY, WORKSPACE}


def choices(asked: Sequence[Effect], facts: PolicyFacts, programs: Table | None = None) -> tuple[Choice, ...]:
    """Once, this session, always. For an offered choice `why` says its reach in words."""
    once = _ONCE
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
            return (once, *_runs(effect, facts, programs))
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


def _runs(effect: Runs, facts: PolicyFacts, programs: Table | None) -> tuple[Choice, Choice]:
    if bool(effect.argv) == bool(effect.script.strip()):
        return _refused("not offered where there is no one command")
    report = read_runs(effect, programs)
    exact = Choice(reach="session", rule=f"allow exact {command_line(effect)}", why="this exact command only")
    parts = _meant(report)
    why = _no_rule(effect, report, parts, facts)
    shapes = {} if why else dict.fromkeys(_shape(part) for part in parts)
    if len(shapes) > 1:
        why = "not offered for several commands at once"
    if "" in shapes:
        why = "not offered for patterns"
    if why:
        return exact, Choice(reach="always", rule="", offered=False, why=why)
    [shape] = shapes
    rule = f"allow run {shape}"
    if not shape.endswith(" *"):
        return exact, Choice(reach="always", rule=rule, why="this exact command only")
    return _both(rule, f"any {shape.removesuffix(' *')}")


def _meant(report: RunReport) -> list[Part]:
    """What a rule has to allow. A tool that only starts what a rule may stand for is allowed with it."""
    started_by = {part.whole: part for part in report.parts if part.whole and part.keeps and always_fit(part)}
    meant = (started_by.get(part.words, part) for part in report.parts if not part.harmless)
    return list({id(part): part for part in meant}.values())


def _no_rule(effect: Runs, report: RunReport, parts: Sequence[Part], facts: PolicyFacts) -> str:
    """Why no rule is offered for a command line; empty where one may be."""
    if report.downloads:
        return "not offered for commands that download"
    if report.problems or any(part.unsure or part.sets for part in report.parts):
        return "not offered for commands that are not fully understood"
    refused = next((words for name, words in _NEVER if name in report.classes), "")
    if refused:
        return refused
    if not parts and facts.git_steered and any(started(part) == GIT for part in report.parts):
        return "not offered where the repository's configuration names programs for git"
    own = next((part.program for part in report.parts if started(part) in facts.own_programs), "")
    if not parts and own:
        return f"not offered where {own} is a program of this workspace"
    if not parts or (effect.cwd and not place(literal(effect.cwd), facts).inside):
        return "not offered outside the workspace"
    for part in parts:
        named = [*part.writes, *part.removes]
        if named:
            return f"not offered: a rule for {part.name or part.program} would mean every file, not only {named[0]}"
    return next((_unnameable(part) for part in parts if not part.keeps), "")


def _shape(part: Part) -> str:
    """The command as a rule means it: the program with its subcommand and `*`, or all its words where the program may
    do anything or options stand in front of the subcommand; "" where no rule could say that."""
    words = [word or "" for word in part.whole or part.words]
    head = [word or "" for word in part.kept]
    at = len(words) - len(part.words) + 1
    named = part.name.split()[1:]  # `-m pytest` is python's subcommand, and no option in front of one
    rest = head[:at] + head[at + len(named) :] if head[at : at + len(named)] == named else head
    short = bool(named) and len(part.words) < part.keeps
    if ARBITRARY not in part.classes and not short and not any(word.startswith(("-", "+")) for word in rest):
        return f"{shlex.join(head)} *"
    return "" if any(char in word for word in words for char in _SPECIAL) else shlex.join(words)
