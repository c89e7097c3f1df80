"""L3: what a project or a plugin adds to what the table of programs says: only ever more caution.

Invariant: nothing here takes a class, a doubt or a file from a command; an entry for a program that is not in the table
leaves it unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_agent.policy.programs.part import Part
from tui_agent.policy.shell.script import READ_ONLY

KEYS = frozenset({"does", "turns", "downloads", "ruin", "keeps", "subs"})
"""What an entry may say; `keeps` may only be 0, `ruin` only "always"."""


@dataclass(frozen=True, slots=True)
class Extra:
    """`classes` it has whatever else it does, and those that a word of it adds."""

    source: str
    classes: frozenset[str] = frozenset()
    turns: Mapping[str, str] = field(default_factory=dict)
    downloads: bool = False
    ruin: bool = False
    unkept: bool = False
    """No rule is offered for it."""

    def add_to(self, part: Part, name: str) -> None:
        """Make a command more than it was."""
        for found in sorted(self.classes - {READ_ONLY}):
            part.turn(found, f"{name} is {found}, says {self.source}")
        for word in part.words:
            turned = self.turns.get((word or "").partition("=")[0]) or self.turns.get(word or "")
            if turned is not None and turned != READ_ONLY:
                part.turn(turned, f"{name} {word} is {turned}, says {self.source}")
        if self.turns and None in part.words:
            part.doubt(f"it is not certain which options {name} has")
        part.downloads = part.downloads or self.downloads
        if self.ruin:
            part.ruin = part.ruin or f"{name} destroys more than this workspace, says {self.source}"
        if self.unkept:
            part.keeps = 0


def tighten(part: Part, extras: Mapping[str, tuple[Extra, ...]]) -> None:
    """Add what stands about the program, and about its subcommand."""
    if not extras:
        return
    first = part.words[0] if part.words else None
    bare = (first or part.program).rpartition("/")[2]
    behind = tuple(word for word in part.words[1:] if word is not None)
    for name, found in extras.items():
        program, _, sub = name.partition(" ")
        if program != bare and program != part.name.partition(" ")[0]:
            continue
        if (
            sub
            and not part.name.startswith(name)
            and sub not in (" ".join(behind[:count]) for count in (1, 2))
        ):
            continue
        for extra in found:
            extra.add_to(part, name)
