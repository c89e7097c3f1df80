"""L3: what a command has from outside: a program that it fetches, or the one of that name which is installed already.

Invariant: pure; only a plain name counts, without a version or a place.
"""

import re
from collections.abc import Iterable

from tui_agent.policy.programs.options import Call
from tui_agent.policy.programs.part import Part
from tui_agent.policy.rules.hosts import host_of
from tui_agent.policy.shell.script import NETWORK, WORKSPACE, Word

_PLAIN = re.compile(r"[a-z0-9][\w.-]*", re.ASCII)
"""A program's name without a version or a place."""
_PACKAGES = frozenset({"-p", "--package"})


def fetched(part: Part, call: Call, name: str | None) -> None:
    """A program from outside, unless it is installed, or nothing may be fetched."""
    program, options = call.program, set(call.options)
    if program.offline & options:
        part.turn(WORKSPACE, f"{call.name} runs code of this workspace")
        return
    part.downloads = program.downloads
    part.turn(program.does, f"{call.name} fetches code from outside")
    if name and _PLAIN.fullmatch(name) and not _PACKAGES & options:
        part.at_hand = f"{program.at_hand}/{name}"


def addresses(part: Part, name: str, words: Iterable[Word]) -> None:
    """Programs that read files may as well fetch what an address names."""
    for value in (value for word in words for value in word.values or ()):
        if "://" in value and not value.lower().startswith("file://"):
            part.turn(NETWORK, f"{name} may fetch {value}")
            part.hosts += filter(None, (host_of(value),))
