"""The words of a question that occur in a file, spelled as in the question."""

import re
from typing import Final

from tui_agent.context.repomap.file_text import read
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.texts import Text
from tui_agent.folds.text.word_forms import find_words, split_identifier, split_text

MAX_WORDS: Final = 8
_FRAGMENT: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


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
        """Return the question's words in a file, each with the number of lines that contain it."""
        text, in_path = Text(read(f"{self._root}/{path}").data), set(split_text(path))
        counts = ((word, len(text.lines_of(term)), term in in_path) for term, word in self._words.items())
        return [(word, count) for word, count, named in counts if count or named][:MAX_WORDS]
