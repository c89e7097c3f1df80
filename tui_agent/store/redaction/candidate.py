"""L1: a text that a rule's pattern found, with what stands around it.

Invariant: at most `BEFORE` and `AFTER` bytes of the surroundings are looked at, however long the text is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

BEFORE, AFTER = 3_000, 700
"""Bytes before and behind a match that a check may look at."""


class ByteMatch(Protocol):
    """The part of a match of RE2 that is used here."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return the first byte of a group and the one behind it; -1 and -1 if it took no part."""


@dataclass(frozen=True)
class Candidate:
    """A match that may be a secret. Positions are bytes of `raw`; texts around it are read as Latin-1, byte by byte."""

    raw: bytes
    match: ByteMatch
    groups: Mapping[str, int]
    """The numbers of the pattern's named groups. A group whose name begins with `secret` holds the secret."""

    @cached_property
    def span(self) -> tuple[int, int]:
        """The secret's first byte and the one behind it: the whole match without such a group; never a part of a character in UTF-8."""
        start, end = self.match.span()
        for name, number in self.groups.items():
            if name.startswith("secret") and self.match.span(number)[0] >= 0:
                start, end = self.match.span(number)
        while end < len(self.raw) and self.raw[end] & 0xC0 == 0x80:
            end += 1
        while start > 0 and self.raw[start] & 0xC0 == 0x80:
            start -= 1
        return start, end

    @cached_property
    def value(self) -> str:
        """The secret."""
        return self.raw[slice(*self.span)].decode("utf-8", "replace")

    def group(self, name: str) -> str:
        """The text of a group; empty if it is not in the pattern or took no part."""
        start, end = self.match.span(self.groups[name]) if name in self.groups else (-1, -1)
        return self.raw[start:end].decode("latin-1") if start >= 0 else ""

    @cached_property
    def before(self) -> str:
        """Up to `BEFORE` bytes before the match."""
        start = self.match.span()[0]
        return self.raw[max(0, start - BEFORE) : start].decode("latin-1")

    @cached_property
    def lead(self) -> str:
        """The match up to the secret."""
        return self.raw[self.match.span()[0] : self.span[0]].decode("latin-1")

    @cached_property
    def behind(self) -> str:
        """Up to `AFTER` bytes behind the secret."""
        end = self.span[1]
        return self.raw[end : end + AFTER].decode("latin-1")

    @cached_property
    def tail(self) -> str:
        """Up to `AFTER` bytes behind the match."""
        end = self.match.span()[1]
        return self.raw[end : end + AFTER].decode("latin-1")
