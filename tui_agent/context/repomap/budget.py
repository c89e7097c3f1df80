"""Size of a map: characters per token, and symbols per file by rank.

Invariant: pure arithmetic. One token is `CHARS_PER_TOKEN` characters, as measured on maps of code.
"""

CHARS_PER_TOKEN = 3.3
DETAIL_SHARE = 0.55
"""Fraction of the room for files with symbols; the rest is for bare paths."""
TAIL = 0.06
"""Fraction of the room reserved for folders and for the note of what was left out."""


def room_of(max_tokens: int) -> int:
    """Return the maximum characters of a map with this many tokens."""
    return max(200, int(max_tokens * CHARS_PER_TOKEN))


def tokens_of(text: str) -> int:
    """Estimate the tokens of a map."""
    return round(len(text) / CHARS_PER_TOKEN)


def symbols_at(place: int, max_tokens: int) -> int:
    """Return the number of symbols shown for the file at this rank (from 0)."""
    if max_tokens < 1_500:
        return 4 if place < 3 else 3 if place < 5 else 1 if place < 15 else 0
    if max_tokens < 3_000:
        return 5 if place < 5 else 2 if place < 20 else 0
    if max_tokens < 6_000:
        return 7 if place < 5 else 4 if place < 12 else 2 if place < 40 else 0
    return 10 if place < 5 else 6 if place < 20 else 2 if place < 60 else 0


def detailed_files(max_tokens: int) -> int:
    """Return the maximum number of files shown with symbols."""
    return next(place for place in range(1_000) if symbols_at(place, max_tokens) == 0)
