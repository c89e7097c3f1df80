"""How much of a map fits: characters for tokens, and how many symbols a file at a place may show.

Invariant: pure arithmetic. A token is `CHARS_PER_TOKEN` characters, as measured on maps of code.
"""

CHARS_PER_TOKEN = 3.3
DETAIL_SHARE = 0.55
"""Of the room, what files with symbols may take; the rest is for bare paths."""
TAIL = 0.06
"""Of the room, what is left for folders and for what was left out."""


def room_of(max_tokens: int) -> int:
    """Characters that a map of so many tokens may have."""
    return max(200, int(max_tokens * CHARS_PER_TOKEN))


def tokens_of(text: str) -> int:
    """Tokens of a map, as an estimate."""
    return round(len(text) / CHARS_PER_TOKEN)


def symbols_at(place: int, max_tokens: int) -> int:
    """How many symbols the file at this place (from 0) shows."""
    if max_tokens < 1_500:
        return 4 if place < 3 else 3 if place < 5 else 1 if place < 15 else 0
    if max_tokens < 3_000:
        return 5 if place < 5 else 2 if place < 20 else 0
    if max_tokens < 6_000:
        return 7 if place < 5 else 4 if place < 12 else 2 if place < 40 else 0
    return 10 if place < 5 else 6 if place < 20 else 2 if place < 60 else 0


def detailed_files(max_tokens: int) -> int:
    """How many files show symbols at most."""
    return next(place for place in range(1_000) if symbols_at(place, max_tokens) == 0)
