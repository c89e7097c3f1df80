"""Where in a file a question's words stand: its best window of lines, the lines on which two
of them stand together, and the symbols that they are in.

Invariant: pure; the work is bounded by `texts.MAX_HITS` places a word.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

from tui_agent.context.repomap.question_words import Pair
from tui_agent.context.repomap.texts import Text
from tui_agent.context.repomap.views import Symbol
from tui_agent.folds.text.word_forms import named

WINDOW = 60
K1, B_WINDOW, B_SYMBOL, NAME_TIMES = 1.2, 0.3, 0.35, 4
_CONTAINERS = frozenset({"class", "module", "impl", "interface", "trait", "heading"})
NOWHERE = 1 << 60
"""A line behind all."""
NOTHING: frozenset[str] = frozenset()
Values = Mapping[str, float]
"""What each word of the question is worth: its weight times its rarity."""


class Lines:
    """The lines at which each word of the question stands in one file."""

    def __init__(self, text: Text, values: Values) -> None:
        self.count = text.count
        self.values = values
        self.at = {word: lines for word in values if (lines := text.lines_of(word))}

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

    def beside(self, pairs: Mapping[Pair, float]) -> float:
        """BM25 of pairs of words, with what each is worth, by the lines on which both stand."""
        at, known = self.at, dict[str, set[int]]()
        worth = 0.0
        for (one, other), value in pairs.items():
            if one in at and other in at:
                lines = known.get(one) or known.setdefault(one, set(at[one]))
                if n := len(lines.intersection(at[other])):
                    worth += value * (K1 + 1) * n / (n + K1)
        return worth

    def worth_of(self, symbols: Sequence[Symbol]) -> list[float]:
        """BM25 of each symbol's own lines and name."""
        if not symbols:
            return []
        mean = sum(one.end - one.line + 1 for one in symbols) / len(symbols)
        terms = [(word, self.values[word] * (K1 + 1), lines) for word, lines in self.at.items()]
        anywhere = sorted({line for lines in self.at.values() for line in lines})
        anywhere.append(NOWHERE)
        alike = self._named_alike(symbols)
        found = []
        for at, one in enumerate(symbols):
            first, last = one.line, one.end
            if anywhere[bisect_left(anywhere, first)] > last and at not in alike:
                found.append(0.0)
                continue
            names = named(one.name) if at in alike else NOTHING
            room = K1 * (1 - B_SYMBOL + B_SYMBOL * (last - first + 1) / mean)
            worth = 0.0
            for word, value, lines in terms:
                n = bisect_right(lines, last) - bisect_left(lines, first) + NAME_TIMES * (word in names)
                if n:
                    worth += value * n / (n + room)
            found.append(worth)
        return found

    def _named_alike(self, symbols: Sequence[Symbol]) -> set[int]:
        """The places of the symbols in whose names a word may be: the pieces of a name begin like what they were cut from."""
        names = "\n".join([one.name for one in symbols]).lower()
        found: set[int] = set()
        for word in self.at:
            begin = word.rstrip("0123456789").removesuffix("y")
            if not begin:
                return set(range(len(symbols)))
            line, counted, at = 0, 0, names.find(begin)
            while at >= 0:
                line += names.count("\n", counted, at)
                found.add(line)
                counted = at
                at = names.find(begin, at + 1)
        return found


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


def around(line: int, symbols: Sequence[Symbol], worth: Sequence[float]) -> list[float]:
    """The same worth, but that the symbols around a line come first, the nearest before all."""
    most = max(worth, default=0.0) + 1.0
    return [
        most + 1.0 / (one.end - one.line + 1) if one.line <= line <= one.end else value
        for one, value in zip(symbols, worth, strict=True)
    ]


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
