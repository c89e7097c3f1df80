"""Scan for a first answer without an index: every file is read once and its words are counted.

Invariant: nothing is stored or parsed; only one file is in memory at a time.
"""

import re
from collections.abc import Collection, Iterable

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.file_text import read
from tui_agent.context.repomap.path_kinds import weight_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import values_of
from tui_agent.folds.text.word_forms import split_text

BYTES_A_WORD = 7
K1, B = 1.2, 0.75
PATH_TIMES = 4


def count_word(small: bytes, sought: bytes) -> int:
    """Count the occurrences of a word; sha1 does not count in sha128."""
    if sought[-1:].isdigit():
        return sum(1 for _ in re.finditer(re.escape(sought) + rb"(?![0-9])", small))
    return small.count(sought)


class FullScan:
    """The result of reading all files.

    `words`: score by path; `skipped`: counts of files that are not text, by reason; `no_text`: their paths.
    """

    def __init__(self, root: str, entries: Iterable[Entry], query: Query, hidden: Collection[str]) -> None:
        self.skipped: dict[str, int] = {}
        self.no_text: set[str] = set()
        self.total = 0
        self.counts: dict[str, int] = {}
        self._terms = list(query.weights)
        self._sought = [term.encode("utf-8", "replace") for term in self._terms]
        times: dict[str, tuple[list[int], int]] = {}
        for entry in entries:
            if entry.path in hidden:
                continue
            source = read(f"{root}/{entry.path}")
            if source.reason:
                self.no_text.add(entry.path)
                self.skipped[source.reason] = self.skipped.get(source.reason, 0) + 1
                continue
            self.total += 1
            counts = self._count_words(entry.path, source.data)
            if any(counts):
                times[entry.path] = (counts, len(source.data) // BYTES_A_WORD + 1)
        self.words = self._scores(times, query)

    def _count_words(self, path: str, data: bytes) -> list[int]:
        lowered = data.lower()
        path_words = set(split_text(path.encode("utf-8", "replace").decode()))
        counts = []
        for term, sought in zip(self._terms, self._sought, strict=True):
            count = count_word(lowered, sought) + (PATH_TIMES if term in path_words else 0)
            if count:
                self.counts[term] = self.counts.get(term, 0) + 1
            counts.append(count)
        return counts

    def _scores(self, times: dict[str, tuple[list[int], int]], query: Query) -> dict[str, float]:
        values = values_of(query, self.counts, self.total)
        mean = sum(size for _, size in times.values()) / max(1, len(times))
        scores = {}
        for path, (counts, size) in times.items():
            room = K1 * (1 - B + B * size / mean)
            score = sum(
                values[term] * count * (K1 + 1) / (count + room)
                for term, count in zip(self._terms, counts, strict=True)
                if count
            )
            scores[path] = score * weight_of(path, query)
        return scores
