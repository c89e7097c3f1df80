"""The words and code names of a question, for the comparison with a repository's files."""

import re
from itertools import islice, pairwise

from tui_agent.context.repomap.question_topic import strip_boilerplate, strip_stack_frames
from tui_agent.folds.text.word_forms import find_words, split_identifier, split_text, stem

_TICKED = re.compile(r"(?<!`)`++([^`\n]{1,200})`++")
_IDENTIFIER = re.compile(
    r"(?<![A-Za-z0-9_$.])[A-Za-z0-9_$.]*(?:[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9])[\w$]*|\b[A-Z][A-Z0-9]{2,}\b"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b")
_NUMBERED = re.compile(r"\b([A-Za-z]{2,})[-/]([0-9]{1,5})\b")
"""Matches a name and a number joined by a separator, such as UTF-8 or HTTP/2."""
_NUMBER = re.compile(r"[\d_]+")
_TITLE = re.compile(
    r"\s*(?:feat|feature|fix|bug|bugfix|perf|refactor|chore|patch)(?:\((?P<scopes>[^()\n]{1,80})\))?\s?!?:\s",
    re.IGNORECASE,
)
"""Matches the start of a conventional commit title, such as `fix(client): `."""
_PREFIX = re.compile(r"\s*(?P<scopes>[\w./,+ -]{2,60}?):\s+\S")
"""Matches the start of a title without a type, such as `tsdb/index: `."""
_SCOPE = re.compile(r"[\w.-]{2,}")
SCOPE_WEIGHT, PREFIX_WEIGHT = 3.0, 1.5
"""Factors for a match in a folder that a title names.

`SCOPE_WEIGHT`: the title names the folder as a scope: `fix(client): …` names packages/client.
`PREFIX_WEIGHT`: the title names the folder before a colon: `index: …` names tsdb/index.
"""
MAX_QUERY = 20_000
MAX_TERMS = 48
IDENTIFIER_WEIGHT = 2.0
NUMBERED_WEIGHT = 0.5
"""Weight of a name that is joined with its number, such as `utf8`."""
REQUEST_WORDS = frozenset(
    map(
        stem,
        """add added allow allowed avoid better broken bug change check chore clean cleanup correct correctly enable enhance
        ensure expose extend feature fix handle implement improve improvement introduce issue minor missing move new optimise
        optimize possible prevent properly provide refactor remove rename replace respect restore revise simplify skip small
        stop support tweak update upgrade wrong""".split(),  # noqa: SIM905 - read as prose
    )
)
"""Words that ask for a change without describing the change."""
# They are rare in code, so their weight must be reduced.
REQUEST_WEIGHT = 0.1
"""Weight of a word in `REQUEST_WORDS` outside code names."""
_DIGITS = "0123456789"
MIN_POSITION_WEIGHT, MIDWAY_POSITION = 0.5, 10
"""Limits for the weight of a word, which falls with the word's position in the question.

The weight falls from 1 towards `MIN_POSITION_WEIGHT`. It is halfway at `MIDWAY_POSITION`.
"""


ABOUT: dict[str, frozenset[str]] = {
    kind: frozenset(map(stem, words.split()))
    for kind, words in {
        "test": "test spec fixture",
        "doc": "doc documentation readme changelog example guide tutorial",
        "settings": "yaml json toml workflow ci settings css html stylesheet template",
    }.items()
}
"""Maps a kind of file to the words that refer to it in a question."""
SUBJECT = 8
"""Number of words at the start of a question that are taken as its topic."""
Pair = tuple[str, str]
_PLAIN_WORD = re.compile(r"[\w-]+")


class Query:
    """A question about a repository as weighted words. Early words have the highest weight.

    Only the first `MAX_QUERY` characters and the `MAX_TERMS` heaviest words are used.

    `pairs`: adjacent words.
    `names`: code names as they are written, and the whole text of the question.
    `plain_words`: words as they are written, in lower case.
    `strong`: words of code names, each whole and split into its parts.
    `about`: kinds of files (see `path_kinds.kind_of`).
    `scopes`: names before the colon of a commit title, in lower case.
    `scope_weight`: factor for a match in a folder named after a scope.
    """

    def __init__(self, text: str) -> None:
        self.text = strip_boilerplate(text[:MAX_QUERY])
        self.scopes, self.scope_weight, topic = _split_title(self.text)
        text = _NUMBERED.sub(r"\1\2", _HASH.sub(" ", strip_stack_frames(topic)))
        names = [*_TICKED.findall(text), *_IDENTIFIER.findall(text), *_CALLED.findall(text)]
        words = [
            piece
            for word in find_words(text)
            for piece in split_identifier(word)
            if not piece.isdigit() or not _NUMBER.fullmatch(word)
        ]
        self.names = frozenset((*names, self.text.strip()))
        self.plain_words = frozenset(_PLAIN_WORD.findall(self.text.lower()))
        ordered = dict.fromkeys(words)
        self.strong = strong = frozenset(piece for name in names for piece in split_text(name))
        terms = sorted(ordered, key=lambda term: term not in strong)[:MAX_TERMS]
        positions = {term: place for place, term in enumerate(ordered)}
        self.weights = {
            term: (IDENTIFIER_WEIGHT if term in strong else REQUEST_WEIGHT if term in REQUEST_WORDS else 1.0)
            * (NUMBERED_WEIGHT if stem(term.rstrip(_DIGITS)) in positions and term[-1] in _DIGITS else 1.0)
            * _position_weight(positions[term])
            for term in terms
        }
        self.pairs = _pairs([piece for piece in words if piece in self.weights])
        subject = frozenset(islice(ordered, SUBJECT))
        self.about = frozenset(kind for kind, words in ABOUT.items() if words & subject)

    def __bool__(self) -> bool:
        return bool(self.weights)


def _split_title(text: str) -> tuple[tuple[str, ...], float, str]:
    """Split a commit title such as `fix(client): …`; return its scopes, their weight, and the text without the type
    `fix`."""
    # The type is not part of the topic: `feat` would match the word `features`.
    title = _TITLE.match(text)
    if title is None:
        prefix = _PREFIX.match(text)
        return _find_scopes(prefix["scopes"] if prefix else ""), PREFIX_WEIGHT, text
    if not text[title.end() :].strip():
        return (), SCOPE_WEIGHT, text
    scopes = title["scopes"] or ""
    return _find_scopes(scopes), SCOPE_WEIGHT, f"{scopes} {text[title.end() :]}"


def _find_scopes(text: str) -> tuple[str, ...]:
    return tuple(_SCOPE.findall(text.lower()))


def _pairs(words: list[str]) -> tuple[Pair, ...]:
    return tuple(dict.fromkeys((min(pair), max(pair)) for pair in pairwise(words) if pair[0] != pair[1]))


def _position_weight(place: int) -> float:
    return MIN_POSITION_WEIGHT + (1 - MIN_POSITION_WEIGHT) * MIDWAY_POSITION / (MIDWAY_POSITION + place)
