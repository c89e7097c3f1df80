"""L3: where in a file a question's words stand: its best window of lines, and the symbols that they are in.

Invariant: only the bytes that are given are looked at; the work is bounded by `MAX_HITS` places a word.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from tui_agent.context.repomap.views import Symbol
from tui_agent.context.repomap.words import pieces

WINDOW = 60
MAX_HITS = 400
K1, B_WINDOW, B_SYMBOL, NAME_TIMES = 1.2, 0.3, 0.35, 4
_CONTAINERS = frozenset({"class", "module", "impl", "interface", "trait", "heading"})
Values = Mapping[str, float]
"""What each word of the question is worth: its weight times its rarity."""


class Lines:
    """The lines at which each word of the question stands in one file."""

    def __init__(self, data: bytes, values: Values) -> None:
        small = data.lower()
        ends = list(accumulate([len(line) + 1 for line in small.split(b"\n")]))
        self.count = len(ends)
        self.values = values
        self.at = {
            word: lines
            for word in values
            if (lines := _lines(data, small, word.encode("utf-8", "replace"), ends))
        }

    def best_window(self) -> float:
        """BM25 of the best run of `WINDOW` lines."""
        half = WINDOW // 2
        room = K1 * (1 - B_WINDOW + B_WINDOW * min(1.0, self.count / WINDOW))
        worth: dict[int, float] = {}
        for word, lines in self.at.items():
            value = self.values[word] * (K1 + 1)
            times = Counter([line // half for line in lines])
            for block in times.keys() | {block - 1 for block in times}:
                n = times[block] + times[block + 1]
                worth[block] = worth.get(block, 0.0) + value * n / (n + room)
        return max(worth.values(), default=0.0)

    def worth_of(self, symbols: Sequence[Symbol]) -> list[float]:
        """BM25 of each symbol's own lines and name."""
        if not symbols:
            return []
        mean = sum(one.end - one.line + 1 for one in symbols) / len(symbols)
        found = []
        for one in symbols:
            named = set(pieces(one.name))
            room = K1 * (1 - B_SYMBOL + B_SYMBOL * (one.end - one.line + 1) / mean)
            worth = 0.0
            for word, lines in self.at.items():
                n = bisect_right(lines, one.end) - bisect_left(lines, one.line) + NAME_TIMES * (word in named)
                if n:
                    worth += self.values[word] * n * (K1 + 1) / (n + room)
            found.append(worth)
        return found


def _lines(data: bytes, small: bytes, word: bytes, ends: list[int]) -> list[int]:
    found: list[int] = []
    at, size, short = small.find(word), len(word), len(word) < 4
    while at >= 0 and len(found) < MAX_HITS:
        if _begins(data, small, at) and not (short and _goes_on(data, at + size)):
            found.append(bisect_right(ends, at) + 1)
        at = small.find(word, at + size)
    return found


def _begins(data: bytes, small: bytes, at: int) -> bool:
    """Whether a piece of an identifier begins there."""
    if at == 0 or len(small) != len(data):
        return True
    before = data[at - 1]
    if not (65 <= before <= 90 or 97 <= before <= 122):
        return True
    return data[at] <= 90 and (before >= 97 or data[at + 1 : at + 2] > b"Z")


def _goes_on(data: bytes, at: int) -> bool:
    after = data[at : at + 2]
    return after[:1].isalpha() and after[:1] >= b"a" and not (after[:1] == b"s" and not after[1:2].isalpha())


def chosen(symbols: Sequence[Symbol], worth: Sequence[float], most: int) -> tuple[Symbol, ...]:
    """The `most` best symbols, in the file's order; what is worth nothing only where all are."""
    order = sorted(range(len(symbols)), key=lambda at: (-worth[at], symbols[at].line, at))
    picked: list[int] = []
    seen: set[tuple[str, str]] = set()
    for at in order:
        key = (symbols[at].name, symbols[at].parent)
        if len(picked) >= most:
            break
        if key in seen or (picked and worth[at] <= 0):
            continue
        seen.add(key)
        picked.append(at)
    return tuple(symbols[at] for at in sorted(picked))


def telling(symbols: Sequence[Symbol]) -> list[float]:
    """What each symbol tells of a file where there is no question: types and what is long, not what is nested."""
    return [
        0.0
        if one.kind in ("variable", "constant", "define", "key", "prototype")
        else (one.end - one.line + 1) ** 0.5
        * (2.0 if one.kind in _CONTAINERS else 1.0)
        * (0.4 if one.parent else 1.0)
        for one in symbols
    ]
