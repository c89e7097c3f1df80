"""Permission bits of the files in checkpoints.

Git stores only the executable bit, so the last paragraph of a commit message lists the bits:

- `Usual: 644 755`: the usual bits of plain files and of executable files. Only the first commit has this line.
- `Mode: 600 "path"`: a file that now has other bits
- `Mode: - "path"`: a file that has the usual bits again
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field

from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.workspace.checkpoints.commit_message import trailer_lines
from tui_agent.workspace.checkpoints.rooted_files import EXECUTABLE, PLAIN

UsualBits = tuple[int, int]
"""The most frequent permission bits of plain files and of executable files in a checkpoint."""


@dataclass(frozen=True, slots=True)
class Modes:
    """The permission bits of every file of one checkpoint."""

    usual: UsualBits = (0o644, 0o755)
    unusual: Mapping[str, int] = field(default_factory=dict)

    def bits(self, path: str, git_mode: int) -> int:
        """Return the permission bits that a file has in the checkpoint."""
        return self.unusual.get(path, self.usual[git_mode == EXECUTABLE])

    def has_other_bits(self, path: str, git_mode: int, bits: int) -> bool:
        """Return True if a regular file with these permission bits differs from its version in the checkpoint."""
        return git_mode in (PLAIN, EXECUTABLE) and self.bits(path, git_mode) != bits

    def with_changes(self, bits_by_path: Mapping[str, tuple[int, int]], removed: Iterable[str]) -> "Modes":
        """Return a copy with the changes in `bits_by_path` and without the paths in `removed`.

        `bits_by_path`: maps a path to its git mode and its permission bits.
        """
        unusual = dict(self.unusual)
        for path in removed:
            unusual.pop(path, None)
        for path, (git_mode, bits) in bits_by_path.items():
            unusual.pop(path, None)
            if git_mode in (PLAIN, EXECUTABLE) and bits != self.usual[git_mode == EXECUTABLE]:
                unusual[path] = bits
        return Modes(self.usual, unusual)

    def lines_since(self, before: "Modes") -> list[str]:
        """Return the `Mode` lines of a commit message for the differences from `before`."""
        removed_lines = [
            f"Mode: - {json.dumps(path)}" for path in sorted(before.unusual.keys() - self.unusual.keys())
        ]
        changed_lines = [
            f"Mode: {bits:o} {json.dumps(path)}"
            for path, bits in sorted(self.unusual.items())
            if before.unusual.get(path) != bits
        ]
        return removed_lines + changed_lines

    def first_lines(self) -> list[str]:
        """Return the `Usual` and `Mode` lines for the message of a store's first commit."""
        return [f"Usual: {self.usual[0]:o} {self.usual[1]:o}", *self.lines_since(Modes(self.usual))]


def most_frequent_bits(modes: Iterable[tuple[int, int]]) -> UsualBits:
    """Return the most frequent permission bits of plain and of executable files. `modes`: pairs (git mode, bits)."""
    counts: Counter[tuple[int, int]] = Counter(modes)

    def most_frequent(git_mode: int, default: int) -> int:
        frequencies = [(count, bits) for (mode, bits), count in counts.items() if mode == git_mode]
        return max(frequencies)[1] if frequencies else default

    plain = most_frequent(PLAIN, 0o644)
    return plain, most_frequent(EXECUTABLE, plain | (plain & 0o444) >> 2)


def read_modes(messages: Iterable[str]) -> Modes:
    """Return the permission bits of a checkpoint's files.

    `messages`: the messages of all commits up to the checkpoint, oldest first.
    """
    usual: UsualBits = (0o644, 0o755)
    unusual: dict[str, int] = {}
    for message in messages:
        for line in trailer_lines(message):
            key, _, rest = line.partition(": ")
            if key == "Usual":
                plain, executable = rest.split()
                usual, unusual = (int(plain, 8), int(executable, 8)), {}
            elif key == "Mode":
                bits, _, name = rest.partition(" ")
                path = parse_json(name)
                unusual.pop(path, None)
                if bits != "-":
                    unusual[path] = int(bits, 8)
    return Modes(usual, unusual)


def changed_mode_paths(message: str) -> set[str]:
    """Return the files with changed permission bits, from the `Mode` lines of a commit message."""
    lines = [line for line in trailer_lines(message) if line.startswith("Mode: ")]
    return {parse_json(line.split(" ", 2)[2]) for line in lines}
