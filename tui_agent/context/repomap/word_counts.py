"""How often which words stand in a file, as the index keeps them.

Invariant: the same bytes give the same text; what is remembered of words is bounded and only saves time.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import TypeAlias

from tui_agent.folds.text.word_forms import MAX_WORD, raw_words, split

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


Known: TypeAlias = tuple[int, tuple[str, ...]]


class Words(dict[str, Known]):
    """Of each word what is kept of it: its hash where it may name something, else 0, and its pieces; worked out once.
    Bounded: it forgets all when it holds `LIMIT` words."""

    LIMIT = 200_000

    def __missing__(self, word: str) -> Known:
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
    plain = data.translate(_BLANKED)
    if not data.isascii():
        return _bare(_decoded(Counter(plain.split())))
    found = Counter(plain.decode().split())
    for word in [word for word in found if word[0] == "_" or word[-1] == "_"]:
        times, bare = found.pop(word), word.strip("_")
        if bare:
            found[bare] += times
    return found


def _decoded(runs: Mapping[bytes, int]) -> Iterator[tuple[str, int]]:
    """The words of runs of bytes between which nothing of a word stands."""
    for run, times in runs.items():
        if run.isascii():
            yield run.decode(), times
        else:
            for word in raw_words(run.decode("utf-8", "replace")):
                yield word, times


def _bare(words: Iterable[tuple[str, int]]) -> "Counter[str]":
    """The same words in their order without signs beside them."""
    found: Counter[str] = Counter()
    for word, times in words:
        if bare := word.strip("_"):
            found[bare] += times
    return found


def told(words: Mapping[str, int]) -> tuple[list[int], str]:
    """The first names that a file speaks of, as hashes in order; and the pieces of its words, as often as they occur, in
    order."""
    known = list(map(_words.__getitem__, words))
    names = set(islice(filter(None, map(_hash_of, known)), MAX_REFS))
    return sorted(names), _text(known, words.values())


def pieces_of_names(names: Iterable[str]) -> str:
    """The pieces of the words of names, in order."""
    words = times_of("\n".join(names).encode("utf-8", "replace"))
    return _text(map(_words.__getitem__, words), words.values())


def _text(known: Iterable[Known], times: Iterable[int]) -> str:
    found: dict[str, int] = {}
    get = found.get
    for (_, pieces), count in zip(known, times, strict=True):
        for piece in pieces:
            found[piece] = get(piece, 0) + count
    order = sorted(found)
    counts = list(map(found.__getitem__, order))
    if max(counts, default=0) > MAX_TIMES:
        counts = [min(count, MAX_TIMES) for count in counts]
    return " ".join(chain.from_iterable(map(repeat, order, counts)))


def pieces_of(path: str) -> str:
    """The pieces of a path, in its order."""
    folder, _, name = path.rpartition("/")
    return " ".join([*_pieces_of_folder(folder), *_in_order(name)])


@lru_cache(maxsize=1_024)
def _pieces_of_folder(path: str) -> tuple[str, ...]:
    return _in_order(path)


def _in_order(text: str) -> tuple[str, ...]:
    return tuple([piece for word in raw_words(text) for piece in _words[word][1]])
