"""What the index held at one moment, with what was looked up in it since.

Invariant: holds for one state of the index; another state has another one. What is kept of answers is bounded.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.index_db import Kept, Known
from tui_agent.context.repomap.path_kinds import by_first_name, first_name, is_entry, kind_of
from tui_agent.context.repomap.views import Symbol

PATH, NAMES, BODY = 4.0, 3.0, 1.0
"""What a word counts in a file's path, in the names that it defines, and in all of its text."""
NO_PROGRAM = frozenset({"", "cmake", "docker", "make"})
"""Languages of what is no program: none that is known, and recipes."""
OF_NO_PROGRAM, ALONE = 0.6, 0.9
"""What a match counts in a file of no language, and in one of which no other file speaks: a script, a leaf."""
MOST_SHARE = 2.2
"""What BM25 makes at most of one word in one file, before its rarity comes in."""
MOST_MATCHES, MOST_FILES = 400_000, 2_000
Scores = tuple["array[int]", "array[float]"]


class Snapshot:
    """The files of an index by their paths, and ways to look further. Raises what reading the index raises."""

    def __init__(self, kept: Kept, known: dict[str, Known], before: "Snapshot | None" = None) -> None:
        """`before`: an earlier state; what it has looked up of files that are the same is taken over."""
        self._kept = kept
        self.known = known
        self._scores: dict[str, Scores] = {}
        self._matches = 0
        self._listed: tuple[Sequence[Entry], list[str]] | None = None
        self._symbols: dict[str, tuple[Known, tuple[Symbol, ...]]] = before._symbols if before else {}

    @cached_property
    def text(self) -> dict[str, Known]:
        """Those that have words."""
        return {path: one for path, one in self.known.items() if not one.reason}

    @cached_property
    def skipped(self) -> dict[str, int]:
        """How many have none, by reason."""
        found: dict[str, int] = {}
        for one in self.known.values():
            if one.reason:
                found[one.reason] = found.get(one.reason, 0) + 1
        return found

    @cached_property
    def paths(self) -> dict[int, str]:
        """The files that have words, by their numbers."""
        return {one.id: path for path, one in self.text.items()}

    def footing(self, path: str) -> float:
        """What a match in this file counts for how it stands among the others; those by whose place that is known, as
        tests, are left to `places.weight_of`."""
        known = self.text.get(path)
        if known is None or kind_of(path):
            return 1.0
        if known.language in NO_PROGRAM:
            return OF_NO_PROGRAM
        return ALONE if 0 < known.rank <= self._least and not is_entry(path) else 1.0

    @cached_property
    def _least(self) -> float:
        """The rank of a file of which no other one speaks; 0 where none speaks of another."""
        ranks = {one.rank for one in self.text.values() if one.rank > 0}
        return min(ranks) if len(ranks) > 1 else 0.0

    def listed(self, entries: Sequence[Entry]) -> Sequence[str]:
        """The paths of those of these files that can be shown: not of those that have no words. In their order."""
        if self._listed is None or self._listed[0] is not entries:
            text, known = self.text, self.known
            found = [one.path for one in entries if one.path in text or one.path not in known]
            self._listed = entries, found
        return self._listed[1]

    def namesakes(self, path: str) -> Sequence[str]:
        """The files, with this one, whose names begin with the same word."""
        return self._names.get(first_name(path), ())

    def alike(self, first: str) -> Sequence[str]:
        """All files, with those that have no words, whose names begin with this word."""
        return [*self._names.get(first, ()), *self._wordless.get(first, ())]

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return by_first_name(self.text)

    @cached_property
    def _wordless(self) -> dict[str, list[str]]:
        return by_first_name(path for path, one in self.known.items() if one.reason)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """The symbols of a file, in its order; none of a file that is not in the index."""
        known = self.known.get(path)
        if known is None:
            return ()
        found = self._symbols.get(path)
        if found is None or found[0] is not known:
            if len(self._symbols) >= MOST_FILES:
                self._symbols.clear()
            found = self._symbols[path] = (known, self._kept.symbols(known.id))
        return found[1]

    def neighbours(self, path: str) -> tuple[bytes, bytes]:
        """What a file speaks of and what speaks of it, packed."""
        known = self.known.get(path)
        return self._kept.neighbours(known.id) if known is not None else (b"", b"")

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many files each word occurs."""
        return {term: len(self._shares(term)[0]) for term in terms}

    def matches(self, values: Mapping[str, float], most: int) -> dict[str, float]:
        """BM25 of the `most` best files, with what each word is worth; more where the last ones are worth the same."""
        total: dict[int, float] = {}
        get = total.get
        for term, value in values.items():
            for at, share in zip(*self._shares(term), strict=True):
                total[at] = get(at, 0.0) + value * share
        least = sorted(total.values(), reverse=True)[most - 1] if len(total) > most else 0.0
        paths = self.paths
        return {paths[at]: score for at, score in total.items() if score >= least and at in paths}

    def like(self, expression: str, most: int) -> list[tuple[float, str, list[str]]]:
        """BM25, words and files of the commits whose messages match, best first."""
        return self._kept.commits.like(expression, most)

    def _shares(self, term: str) -> Scores:
        """The files in which a word occurs, and how much it is what they are about."""
        found = self._scores.get(term)
        if found is None:
            ats, scores = self._kept.scores(term, (PATH, NAMES, BODY))
            rarity = _rarity_of_index(len(ats), len(self.text))
            most = MOST_SHARE * rarity
            shares = [MOST_SHARE if score > most else score / rarity for score in scores]
            found = ats, array("d", shares)
            self._matches += len(ats)
            if self._matches > MOST_MATCHES:
                self._scores.clear()
                self._matches = len(ats)
            self._scores[term] = found
        return found


def _rarity_of_index(count: int, total: int) -> float:
    """What the index multiplies by for a word of so many files: next to nothing where every other file has it."""
    rarity = log((total - count + 0.5) / (count + 0.5)) if count <= total else 0.0
    return rarity if rarity > 0 else 1e-6
