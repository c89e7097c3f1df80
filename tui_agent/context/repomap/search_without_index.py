"""Search for a question's words without an index: in all files, in one file, and in the messages of past commits.

Invariant: nothing is stored, and equal files, commits and questions give equal scores.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from tui_agent.context.repomap import commit_search, ranking
from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.index_db import SimilarCommit
from tui_agent.context.repomap.indexer import pieces_of
from tui_agent.context.repomap.path_kinds import weight_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.source_reader import read
from tui_agent.context.repomap.text_cache import Text
from tui_agent.folds.text.word_forms import find_words, split_identifier, split_text

BYTES_A_WORD = 7
K1, B = 1.2, 0.75
"""Parameters of BM25, with the usual values."""
PATH_TIMES = 4
MAX_WORDS: Final = 8
"""Maximum number of words that `MatchedWords.find` returns."""
_FRAGMENT: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


def count_word(small: bytes, sought: bytes) -> int:
    """Count the occurrences of a whole word: `sha1` does not occur in `sha128`."""
    if sought[-1:].isdigit():
        return sum(1 for _ in re.finditer(re.escape(sought) + rb"(?![0-9])", small))
    return small.count(sought)


class WordCounts:
    """Counts of a question's words in several texts, to compute the BM25 score of each text."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._sought = [term.encode("utf-8", "replace") for term in query.weights]
        self._indexes = {term: index for index, term in enumerate(query.weights)}
        self._times: dict[str, tuple[list[int], int]] = {}

    def add(self, name: str, lowered: bytes, path_words: Collection[str] = ()) -> None:
        """Count the words of the text `name`.

        `lowered`: the text in lower case.
        `path_words`: the words of the text's path. Each of these words counts `PATH_TIMES` times.
        """
        counts = [count_word(lowered, sought) for sought in self._sought]
        for index in [self._indexes[word] for word in path_words if word in self._indexes]:
            counts[index] += PATH_TIMES
        if any(counts):
            self._times[name] = (counts, len(lowered) // BYTES_A_WORD + 1)

    def values(self, total: int) -> dict[str, float]:
        """Return the value (weight times rarity) of each word of the question.

        `total`: number of all texts.
        """
        columns = zip(*[counts for counts, _ in self._times.values()], strict=True)
        counts_by_term = {
            term: len(column) - column.count(0)
            for term, column in zip(self._query.weights, columns, strict=False)
        }
        return ranking.values_of(self._query, counts_by_term, total)

    def scores(self, total: int) -> dict[str, float]:
        """Return the BM25 score of each text that has a word of the question.

        `total`: number of all texts.
        """
        values = list(self.values(total).values())
        mean = sum(size for _, size in self._times.values()) / max(1, len(self._times))
        scores = {}
        for name, (counts, size) in self._times.items():
            length_norm = K1 * (1 - B + B * size / mean)
            scores[name] = sum(
                value * count * (K1 + 1) / (count + length_norm)
                for value, count in zip(values, counts, strict=True)
                if count
            )
        return scores


class FullScan:
    """The result of reading all files of a repository.

    `texts`: paths of text files.
    `no_text`: paths of files that cannot be read as text.
    `skipped`: number of files in `no_text`, by reason.
    `words`: maps the path of a text file to its score.
    `values`: maps a word of the question to its value (weight times rarity).
    """

    def __init__(self, root: str, entries: Iterable[Entry], query: Query, hidden: Collection[str]) -> None:
        self.skipped: Counter[str] = Counter()
        self.texts: set[str] = set()
        self.no_text: set[str] = set()
        counts = WordCounts(query)
        for entry in entries:
            if entry.path in hidden:
                continue
            source = read(f"{root}/{entry.path}")
            if source.reason:
                self.no_text.add(entry.path)
                self.skipped[source.reason] += 1
                continue
            self.texts.add(entry.path)
            path_words = set(pieces_of(entry.path.encode("utf-8", "replace").decode()).split())
            counts.add(entry.path, source.data.lower(), path_words)
        self.values = counts.values(len(self.texts))
        scores = counts.scores(len(self.texts))
        self.words = {path: score * weight_of(path, query) for path, score in scores.items()}


def search_commits(root: Path, query: Query) -> list[SimilarCommit]:
    """Return recent commits with messages that match the question, best first."""
    messages = commit_search.read_messages(root)
    counts = WordCounts(query)
    for sha, message in messages.items():
        counts.add(sha, message)
    scores = counts.scores(len(messages))
    best = sorted(scores, key=scores.__getitem__, reverse=True)[: commit_search.BEST]
    commits = commit_search.read_commits(root, best, commit_search.SEARCH_S) if best else []
    return [(scores[sha], files) for sha, _, files in commits if files]


class MatchedWords:
    """Finds the words of one question in files below `root`."""

    def __init__(self, root: str, question: str) -> None:
        self._root = root
        query = Query(question)
        self._words: dict[str, str] = {}
        """Maps the normal form of a word to the word in the question. The words with the highest weight come first."""
        forms: dict[str, str] = {}
        for word in find_words(query.text):
            for piece in split_identifier(word):
                fragments = (fragment.lower() for fragment in _FRAGMENT.findall(word))
                forms.setdefault(piece, next((text for text in fragments if text.startswith(piece)), piece))
        for term in sorted(query.weights, key=lambda term: -query.weights[term]):
            self._words[term] = forms.get(term, term)

    def find(self, path: str) -> list[tuple[str, int]]:
        """Return the question's words in a file or its path, each with the number of its occurrences in the file."""
        text, in_path = Text(read(f"{self._root}/{path}").data), set(split_text(path))
        counts = ((word, len(text.lines_of(term)), term in in_path) for term, word in self._words.items())
        return [(word, count) for word, count, named in counts if count or named][:MAX_WORDS]
