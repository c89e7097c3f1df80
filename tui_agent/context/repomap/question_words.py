"""A question as its comparable words, and the names of code in it."""

import re
from itertools import islice, pairwise

from tui_agent.context.repomap.question_topic import told, unframed
from tui_agent.folds.text.word_forms import pieces, raw_words, split, stem

_TICKED = re.compile(r"`+([^`\n]{1,200})`+")
_IDENTIFIER = re.compile(
    r"[A-Za-z0-9_$.]*(?:[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9])[\w$]*|\b[A-Z][A-Z0-9]{2,}\b"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b")
_NUMBERED = re.compile(r"\b([A-Za-z]{2,})[-/]([0-9]{1,5})\b")
"""A name that is written apart from its number, as UTF-8 or HTTP/2."""
_NUMBER = re.compile(r"[\d_]+")
MAX_QUERY = 20_000
MAX_TERMS = 48
IDENTIFIER_WEIGHT = 3.0
NUMBERED_WEIGHT = 0.5
"""What a name with its number counts beside the name alone: enough to tell files apart that have both."""
_DIGITS = "0123456789"
LEAST_PLACE, HALF_PLACE = 0.5, 10
"""What a word late in a question still weighs, and after how many words half of what a place is worth is lost."""


ABOUT: dict[str, frozenset[str]] = {
    kind: frozenset(stem(word) for word in words)
    for kind, words in {
        "test": ("test", "spec", "fixture"),
        "doc": ("doc", "documentation", "readme", "changelog", "example", "guide", "tutorial"),
        "settings": (
            "yaml",
            "json",
            "toml",
            "workflow",
            "ci",
            "settings",
            "css",
            "html",
            "stylesheet",
            "template",
        ),
    }.items()
}
"""Words of a question that speak of a kind of file."""
SUBJECT = 8
"""Words at the beginning of a question that say what it is about; what comes behind may only be told beside it."""
Pair = tuple[str, str]


class Query:
    """A question: its comparable words with their weights, those of them that stand beside one another (`pairs`), the names
    of code in it, whole and cut (`strong`), and the kinds of files that it is about (see `places.kind_of`).

    What is said first weighs most: a question begins with what it is about and goes on with how it came to be asked.
    What a form asks beside that says nothing (see `telling`). Only the first `MAX_QUERY` characters and the first `MAX_TERMS` words of the highest weight count.
    """

    def __init__(self, text: str) -> None:
        self.text = told(text[:MAX_QUERY])
        text = _NUMBERED.sub(r"\1\2", _HASH.sub(" ", unframed(self.text)))
        names = [*_TICKED.findall(text), *_IDENTIFIER.findall(text), *_CALLED.findall(text)]
        self.names = frozenset(word for name in names for word in raw_words(name))
        said = [
            piece
            for word in raw_words(text)
            for piece in split(word)
            if not piece.isdigit() or not _NUMBER.fullmatch(word)
        ]
        ordered = dict.fromkeys(said)
        self.strong = strong = frozenset(piece for name in names for piece in pieces(name))
        terms = sorted(ordered, key=lambda term: term not in strong)[:MAX_TERMS]
        places = {term: place for place, term in enumerate(ordered)}
        self.weights = {
            term: (IDENTIFIER_WEIGHT if term in strong else 1.0)
            * (NUMBERED_WEIGHT if stem(term.rstrip(_DIGITS)) in places and term[-1] in _DIGITS else 1.0)
            * _worth_of_place(places[term])
            for term in terms
        }
        self.pairs = _pairs([piece for piece in said if piece in self.weights])
        subject = frozenset(islice(ordered, SUBJECT))
        self.about = frozenset(kind for kind, words in ABOUT.items() if words & subject)

    def __bool__(self) -> bool:
        return bool(self.weights)


def _pairs(said: list[str]) -> tuple[Pair, ...]:
    """Those words, two by two in one order, that stand beside one another."""
    return tuple(dict.fromkeys((min(two), max(two)) for two in pairwise(said) if two[0] != two[1]))


def _worth_of_place(place: int) -> float:
    return LEAST_PLACE + (1 - LEAST_PLACE) * HALF_PLACE / (HALF_PLACE + place)
