"""Scores of a file's lines and symbols, from the positions of a question's words.

Invariant: at most `text_cache.MAX_HITS` positions of each word are used.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.question_words import Pair
from tui_agent.context.repomap.symbol_names import qualified_name
from tui_agent.context.repomap.text_cache import Text
from tui_agent.folds.text.word_forms import split_name

WINDOW_LINES = 60
K1, B_WINDOW, B_SYMBOL, NAME_TIMES = 1.2, 0.3, 0.35, 4
_CONTAINERS = frozenset({"class", "module", "impl", "interface", "trait", "heading"})
NO_LINE = 1 << 60
"""A number that is greater than every line number."""
NO_WORDS: frozenset[str] = frozenset()
Values = Mapping[str, float]
"""Maps a word of the question to its value (weight times rarity)."""


class WordLines:
    """The line numbers of each question word in one file."""

    def __init__(self, text: Text, values: Values) -> None:
        self.count = text.count
        self.values = values
        self.positions = {word: lines for word in values if (lines := text.lines_of(word))}

    def best_window(self) -> float:
        """Return the BM25 score of the best window of `WINDOW_LINES` lines."""
        half = WINDOW_LINES // 2
        room = K1 * (1 - B_WINDOW + B_WINDOW * min(1.0, self.count / WINDOW_LINES))
        scores: dict[int, float] = {}
        for word, lines in self.positions.items():
            value = self.values[word] * (K1 + 1)
            counts = Counter([line // half for line in lines])
            for block in counts.keys() | {block - 1 for block in counts}:
                count = counts[block] + counts[block + 1]
                scores[block] = scores.get(block, 0.0) + value * count / (count + room)
        return max(scores.values(), default=0.0)

    def pair_score(self, pairs: Mapping[Pair, float]) -> float:
        """Return the BM25 score of the word pairs whose two words are on one line."""
        positions, line_sets = self.positions, dict[str, set[int]]()
        score = 0.0
        for (first, second), value in pairs.items():
            if first in positions and second in positions:
                lines = line_sets.get(first) or line_sets.setdefault(first, set(positions[first]))
                if count := len(lines.intersection(positions[second])):
                    score += value * (K1 + 1) * count / (count + K1)
        return score

    def score_symbols(self, symbols: Sequence[Symbol]) -> list[float]:
        """Return the BM25 score of each symbol: how well its lines and its name match the question's words."""
        if not symbols:
            return []
        mean = sum(symbol.end - symbol.line + 1 for symbol in symbols) / len(symbols)
        terms = [(word, self.values[word] * (K1 + 1), lines) for word, lines in self.positions.items()]
        all_lines = sorted({line for lines in self.positions.values() for line in lines})
        all_lines.append(NO_LINE)
        name_matches = self._possible_name_matches(symbols)
        scores = []
        for index, symbol in enumerate(symbols):
            first, last = symbol.line, symbol.end
            if all_lines[bisect_left(all_lines, first)] > last and index not in name_matches:
                scores.append(0.0)
                continue
            names = split_name(symbol.name) if index in name_matches else NO_WORDS
            room = K1 * (1 - B_SYMBOL + B_SYMBOL * (last - first + 1) / mean)
            score = 0.0
            for word, value, lines in terms:
                count = bisect_right(lines, last) - bisect_left(lines, first) + NAME_TIMES * (word in names)
                if count:
                    score += value * count / (count + room)
            scores.append(score)
        return scores

    def _possible_name_matches(self, symbols: Sequence[Symbol]) -> set[int]:
        names = "\n".join([symbol.name for symbol in symbols]).lower()
        indexes: set[int] = set()
        for word in self.positions:
            beginning = word.rstrip("0123456789").removesuffix("y")
            if not beginning:
                return set(range(len(symbols)))
            line, counted_to, position = 0, 0, names.find(beginning)
            while position >= 0:
                line += names.count("\n", counted_to, position)
                indexes.add(line)
                counted_to = position
                position = names.find(beginning, position + 1)
        return indexes


def choose_symbols(symbols: Sequence[Symbol], scores: Sequence[float], limit: int) -> tuple[Symbol, ...]:
    """Return the `limit` symbols with the highest scores, in file order."""
    order = sorted(range(len(symbols)), key=lambda index: (-scores[index], symbols[index].line, index))
    selected: list[int] = []
    keys: set[tuple[str, str]] = set()
    for index in order:
        key = (symbols[index].name, symbols[index].parent)
        if len(selected) >= limit:
            break
        if key in keys or (selected and scores[index] <= 0):
            continue
        keys.add(key)
        selected.append(index)
    return tuple(symbols[index] for index in sorted(selected))


def prefer_line(line: int, symbols: Sequence[Symbol], scores: Sequence[float]) -> list[float]:
    """Return the scores, but give the highest ones to the symbols that contain `line`.

    A shorter symbol gets a higher score.
    """
    best = max(scores, default=0.0) + 1.0
    return [
        best + 1.0 / (symbol.end - symbol.line + 1) if symbol.line <= line <= symbol.end else value
        for symbol, value in zip(symbols, scores, strict=True)
    ]


def prefer_names(names: Collection[str], symbols: Sequence[Symbol], scores: Sequence[float]) -> list[float]:
    """Return the scores, with higher ones for the symbols that have exactly one of the names.

    These symbols score higher than all others. Among these symbols, prototypes score lowest.
    """
    best = max(scores, default=0.0) + 1.0
    return [
        best + (0.0 if symbol.kind == "prototype" else value)
        if symbol.name in names or qualified_name(symbol) in names
        else value
        for symbol, value in zip(symbols, scores, strict=True)
    ]


def default_scores(symbols: Sequence[Symbol]) -> list[float]:
    """Return the scores of symbols for a map without a question. Types and long symbols have high scores."""
    return [
        0.0
        if symbol.kind in ("variable", "constant", "define", "key", "prototype")
        else (symbol.end - symbol.line + 1) ** 0.5
        * (2.0 if symbol.kind in _CONTAINERS else 1.0)
        * (0.4 if symbol.parent else 1.0)
        for symbol in symbols
    ]
