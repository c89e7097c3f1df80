"""L3: programs that a command would fetch from outside were they not installed in the workspace already.

Invariant: pure; a program counts as installed only where its name in the folder of such programs is a link to its file.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_agent.policy.programs.part import Part
from tui_agent.policy.programs.runs import from_cwd, read_runs
from tui_agent.policy.programs.table import Program, Table, table
from tui_agent.policy.shell.script import WORKSPACE
from tui_agent.protocol.effects import Effect, Runs


def places_of(effects: Sequence[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """Where they may lie, as keys for `PolicyFacts.resolved`."""
    return tuple(path for one in _wanted(effects, programs) for path in one)


def with_installed(
    effects: Sequence[Effect], resolved: Mapping[str, str], programs: Table | None
) -> Table | None:
    """The table to judge by: where all that they would fetch is installed, what fetches runs code of the workspace."""
    wanted = list(_wanted(effects, programs))
    there = all(any(map(_leads_on, map(resolved.get, one))) for one in wanted)
    return _nothing_fetched(programs or table()) if wanted and there else programs


def _wanted(effects: Sequence[Effect], programs: Table | None) -> Iterator[Sequence[str]]:
    """For each command that may fetch one, the places of it: in a folder that the command runs in, and those above."""
    for effect in effects:
        if not isinstance(effect, Runs):
            continue
        for part in read_runs(effect, programs).parts:
            if part.at_hand:
                yield tuple(_above(effect, part))


def _above(effect: Runs, part: Part) -> Iterator[str]:
    for place in part.places:
        folder = from_cwd(effect, place) if place is not None else "/"
        folder = "" if folder == "." else folder
        while not folder.startswith(("/", "~", "..")):
            yield posixpath.join(folder, part.at_hand)
            if not folder:
                break
            folder = posixpath.dirname(folder)


def _leads_on(real: str | None) -> bool:
    """Whether a name in the folder of programs is a link out of it."""
    return real is not None and posixpath.basename(posixpath.dirname(real)) != ".bin"


@lru_cache(maxsize=4)
def _nothing_fetched(programs: Table) -> Table:
    known = {name: _at_hand(program) for name, program in programs.programs.items()}
    return replace(programs, programs=known)


def _at_hand(program: Program) -> Program:
    subs = program.subs
    if any(sub.at_hand for sub in subs.values()):
        subs = {name: _at_hand(sub) for name, sub in subs.items()}
    if not program.at_hand:
        return replace(program, subs=subs) if subs is not program.subs else program
    return replace(program, does=WORKSPACE, downloads=False, at_hand="", at_least=WORKSPACE, subs=subs)
