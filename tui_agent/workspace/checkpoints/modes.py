"""Permission bits, of which git keeps only one.

A commit's last paragraph names what differs from the store's usual bits: `Usual: 644 755` in the first commit, then
`Mode: 600 "path"`, and `Mode: - "path"` where it is as usual again. So every checkpoint's bits follow from the
commits before it, in any clone.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tui_agent.workspace.checkpoints.rooted_files import EXECUTABLE, PLAIN

Usual = tuple[int, int]
"""The usual bits of a plain and of an executable file."""


@dataclass(frozen=True, slots=True)
class Modes:
    """The permission bits of every file of one checkpoint."""

    usual: Usual = (0o644, 0o755)
    unusual: Mapping[str, int] = field(default_factory=dict)

    def bits(self, path: str, git_mode: int) -> int:
        """The bits of a file that is in the checkpoint."""
        return self.unusual.get(path, self.usual[git_mode == EXECUTABLE])

    def differ(self, path: str, git_mode: int, bits: int) -> bool:
        """Whether a regular file has other bits than the checkpoint says."""
        return git_mode in (PLAIN, EXECUTABLE) and self.bits(path, git_mode) != bits

    def changed(self, found: Mapping[str, tuple[int, int]], gone: Iterable[str]) -> "Modes":
        """With these (git mode, bits) for the paths that are there, and without those that are gone."""
        unusual = dict(self.unusual)
        for path in gone:
            unusual.pop(path, None)
        for path, (git_mode, bits) in found.items():
            unusual.pop(path, None)
            if git_mode in (PLAIN, EXECUTABLE) and bits != self.usual[git_mode == EXECUTABLE]:
                unusual[path] = bits
        return Modes(self.usual, unusual)

    def since(self, before: "Modes") -> list[str]:
        """The lines that lead from `before` to these."""
        gone = [f"Mode: - {json.dumps(path)}" for path in sorted(before.unusual.keys() - self.unusual.keys())]
        new = [
            f"Mode: {bits:o} {json.dumps(path)}"
            for path, bits in sorted(self.unusual.items())
            if before.unusual.get(path) != bits
        ]
        return gone + new

    def first_lines(self) -> list[str]:
        """The lines of a first commit."""
        return [f"Usual: {self.usual[0]:o} {self.usual[1]:o}", *self.since(Modes(self.usual))]


def most_usual(found: Iterable[tuple[int, int]]) -> Usual:
    """The most frequent bits among (git mode, bits)."""
    counts: Counter[tuple[int, int]] = Counter(found)

    def first(git_mode: int, otherwise: int) -> int:
        seen = [(count, bits) for (mode, bits), count in counts.items() if mode == git_mode]
        return max(seen)[1] if seen else otherwise

    plain = first(PLAIN, 0o644)
    return plain, first(EXECUTABLE, plain | (plain & 0o444) >> 2)


def trailer(message: str) -> list[str]:
    """The lines of a commit message's last paragraph."""
    return message.strip("\n").rsplit("\n\n", 1)[-1].split("\n")


def modes_after(messages: Iterable[str]) -> Modes:
    """The bits after commits whose messages these are, the first one first."""
    usual: Usual = (0o644, 0o755)
    unusual: dict[str, int] = {}
    for message in messages:
        for line in trailer(message):
            word, _, rest = line.partition(": ")
            if word == "Usual":
                plain, executable = rest.split()
                usual, unusual = (int(plain, 8), int(executable, 8)), {}
            elif word == "Mode":
                bits, _, name = rest.partition(" ")
                path = json.loads(name)
                unusual.pop(path, None)
                if bits != "-":
                    unusual[path] = int(bits, 8)
    return Modes(usual, unusual)


def mode_paths(message: str) -> set[str]:
    """The paths whose bits a commit changed."""
    lines = [line for line in trailer(message) if line.startswith("Mode: ")]
    return {json.loads(line.split(" ", 2)[2]) for line in lines}
