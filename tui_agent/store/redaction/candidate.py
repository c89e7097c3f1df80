"""The candidate for redaction: a match of a rule's pattern, with the text around it.

Invariant: at most `BEFORE` bytes before the match and `AFTER` bytes after it are examined.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import re2

CandidatePart: TypeAlias = Literal["value", "name", "lead", "before", "behind"]
BEFORE, AFTER = 3_000, 700
"""Maximum number of bytes that a check can examine before and after a match."""


class Candidate:
    """A match that is possibly a secret, with the text around it decoded as Latin-1."""

    # In Latin-1, one byte is one character.

    __slots__ = ("_groups", "_match_start", "_span", "end", "raw", "start", "value")

    def __init__(self, match: "re2._Match[bytes]", groups: Mapping[str, int]) -> None:
        """Examine a match of a rule's pattern. `groups` maps the pattern's named groups to their numbers.

        The secret is the last matched group whose name begins with `secret`. Without such groups, it is the whole
        match.
        """
        self.raw: bytes = match.string
        self._span = span = match.span
        self._groups = groups
        self._match_start = match.start()
        secrets = [number for name, number in groups.items() if name.startswith("secret")]
        start, end = max(map(span, secrets)) if secrets else span(0)
        while start < end < len(self.raw) and self.raw[end] & 0xC0 == 0x80:
            end += 1
        while 0 < start < end and self.raw[start] & 0xC0 == 0x80:
            start -= 1
        self.start, self.end = start, end
        self.value: str = self.raw[start:end].decode("utf-8", "replace")

    def span_of(self, name: str) -> tuple[int, int]:
        """Return the start and end of a group in bytes. Return (-1, -1) if the group is missing or did not match."""
        return self._span(self._groups[name]) if name in self._groups else (-1, -1)

    def group(self, name: str) -> str:
        """Return the text of a group, or "" if the group does not exist or did not match."""
        start, end = self.span_of(name)
        return self.raw[start:end].decode("latin-1") if start >= 0 else ""

    @property
    def name(self) -> str:
        """The complete name before the secret, such as `db_password` in `db_password = …`."""
        return self.group("name") + self.group("rest")

    def preceding_text(self, count: int = BEFORE) -> str:
        """Return up to `count` bytes before the match."""
        start = self._match_start
        return self.raw[max(0, start - count) : start].decode("latin-1")

    def line_before(self, count: int) -> str:
        """Return the text between the start of the line and the match, at most the last `count` bytes."""
        return self.preceding_text(count).rpartition("\n")[2]

    @property
    def lead(self) -> str:
        """The part of the match before the secret."""
        return self.raw[self._match_start : self.start].decode("latin-1")

    @property
    def text_after(self) -> str:
        """Up to `AFTER` bytes after the secret."""
        return self.raw[self.end : self.end + AFTER].decode("latin-1")

    def part(self, part: CandidatePart) -> str:
        """Return a part of the candidate, or text around it, by the part's name (such as `value`)."""
        match part:
            case "value":
                return self.value
            case "name":
                return self.name
            case "lead":
                return self.lead
            case "before":
                return self.preceding_text(80)
            case "behind":
                return self.text_after
