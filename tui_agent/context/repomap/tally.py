"""L3: how often which words stand in a file, as the index keeps them.

Invariant: the same bytes give the same text; what is remembered of words is bounded and only saves time.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from operator import itemgetter

from tui_agent.folds.word_forms import MAX_WORD, raw_words, split

MAX_TIMES = 200
"""How often one word of a file counts at most: BM25 hardly tells more apart."""
MAX_REFS = 500
_TELLING = re.compile(r"[^\W\d_]{6}|[^\W\d]\w*?(?:_|[a-z0-9][A-Z])\w")
"""What is long, or made of several words, is likely to name something."""
_BLANKED = bytes(sign if chr(sign).isalnum() or sign == 95 else 32 for sign in range(128)) + bytes(
    range(128, 256)
)
"""Makes of ASCII a text in which only what a word is made of, and signs beside it, is not blank."""


def name_hash(name: str) -> int:
    """A name as a number of 32 bits."""
    return zlib.crc32(name.encode("utf-8", "replace"))


class Words(dict[str, tuple[int, tuple[str, ...]]]):
    """Of each word what is kept of it: its hash where it may name something, else 0, and its pieces; worked out once.
    Bounded: it forgets all when it holds `LIMIT` words."""

    LIMIT = 200_000

    def __missing__(self, word: str) -> tuple[int, tuple[str, ...]]:
        if len(self) >= self.LIMIT:
            self.clear()
        found = self[word] = (name_hash(word) if _is_telling(word) else 0, split(word))
        return found


def _is_telling(word: str) -> bool:
    if word.isalpha() and word.islower():
        return 6 <= len(word) <= MAX_WORD
    return len(word) <= MAX_WORD and _TELLING.match(word) is not None


_words = Words()
_hash_of = itemgetter(0)


def times_of(data: bytes) -> "Counter[str]":
    """How often each identifier and word occurs in a text, which is UTF-8 but for broken bytes."""
    plain = data.isascii()
    if not plain:
        data = b"\n".join([line if line.isascii() else _wordy(line) for line in data.split(b"\n")])
    found = Counter(data.translate(_BLANKED).decode().split())
    bared = [word for word in found if word[0] == "_" or word[-1] == "_"]
    if bared and not plain:
        return _bare(found)
    for word in bared:
        times, bare = found.pop(word), word.strip("_")
        if bare:
            found[bare] += times
    return found


def _wordy(line: bytes) -> bytes:
    return " ".join(raw_words(line.decode("utf-8", "replace"))).encode()


def _bare(words: "Counter[str]") -> "Counter[str]":
    """The same words in their order without signs beside them."""
    found: Counter[str] = Counter()
    for word, times in words.items():
        if bare := word.strip("_"):
            found[bare] += times
    return found


def told(words: Mapping[str, int]) -> tuple[list[int], str]:
    """The first names that a file speaks of, as hashes in order; and the pieces of its words, as often as they occur, in
    order."""
    known = list(map(_words.__getitem__, words))
    names = sorted(set(islice(filter(None, map(_hash_of, known)), MAX_REFS)))
    found: dict[str, int] = {}
    get = found.get
    for (_, pieces), times in zip(known, words.values(), strict=True):
        for piece in pieces:
            found[piece] = get(piece, 0) + times
    return names, " ".join(
        [
            piece if (n := found[piece]) == 1 else " ".join([piece] * min(n, MAX_TIMES))
            for piece in sorted(found)
        ]
    )


def pieces_of(path: str) -> str:
    """The pieces of a path, in its order."""
    return " ".join([piece for word in raw_words(path) for piece in _words[word][1]])
