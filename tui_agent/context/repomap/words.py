"""L3: words of code, of paths and of questions, in the form in which they are compared.

Invariant: a word of a question and the same word inside an identifier have the same form: identifiers are split
where the case or a sign changes, and endings are cut lightly. Letters with a number behind them count once without
and once with it: sha512 is a sha, and no sha1.
"""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PIECE = re.compile(
    r"(?:(?<![A-Za-z0-9])[a-z]|[A-Z])[0-9]+[a-z](?![a-z0-9])"
    r"|(?<![A-Za-z0-9])[0-9](?:[a-z]{1,2}|[A-Z]{1,2})(?![A-Za-z0-9])"
    r"|[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+"
)
"""What is compared on its own; a word as i18n, k8s or 2fa, whose letters would say nothing, stays whole, and so do URLs and
IPv4, which would be cut before their last capital."""
_LETTERS = re.compile(r"[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""The same for a word without digits and other letters than those of ASCII."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
MAX_WORD = 64
"""Characters; a longer run is data, not a word."""
MAX_NUMBER = 5
"""Digits that belong to the letters before them, as in sha512, utf8 or phase_2; a longer number is one of its own."""
LEAST_MADE, LEAST_DIGITS, TURNS = 20, 3, 4
"""Characters and digits of a run that a generator made, and between how many characters one turn of their kind comes."""
_RUN = re.compile(rf"[A-Za-z0-9]{{{LEAST_MADE},}}")
_TURN = re.compile(r"(?<=[a-z0-9])[A-Z]|(?<=[A-Za-z])[0-9]|(?<=[0-9])[a-z]")
_DOUBLED = re.compile(r"(?<=..)([bdfgmnprt])\1$")

STOP = frozenset(
    """a about above after again all also always am an and any are as at be because been before being below between
    both but by can cannot could did do does doing don done down during each either else etc even ever every few for
    from further get gets give given go goes had has have having he her here his how however i if in instead into is it
    its itself just let like make makes many may me might more most much must my need needs never no nor not now of off
    on once one only or other our out over own please rather same see she should so some still such than that the their
    them then there these they this those though through to too under until up us use used uses using very via want was
    way we well were what when where whether which while who why will with within without would yet you your""".split()  # noqa: SIM905 - read as prose
)


def stem(word: str) -> str:
    """A lower-case word without its commonest English endings."""
    if len(word) > 3 and word.endswith("s"):
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(("xes", "ches", "shes", "sses", "zes")):
            word = word[:-2]
        elif not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = _DOUBLED.sub(r"\1", word[:-3])
    elif len(word) > 4 and word.endswith("ed"):
        word = _DOUBLED.sub(r"\1", word[:-2])
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


@lru_cache(maxsize=65_536)
def _formed(piece: str) -> str:
    """The form in which a run of letters is compared; empty where it is not."""
    if len(piece) > 2 and piece[-1] == "s" and piece[:-1].isupper():
        piece = piece[:-1]
    small = piece.lower()
    return stem(small) if len(small) > 1 and small not in STOP else ""


def _is_made(run: str) -> bool:
    """Whether a generator made it: a digest, a key. It is no word, and an index is no place for it."""
    return sum(map(str.isdigit, run)) >= LEAST_DIGITS and len(_TURN.findall(run)) * TURNS >= len(run)


def split(word: str) -> tuple[str, ...]:
    """The comparable pieces of one identifier or word."""
    if len(word) > MAX_WORD:
        return ()
    if word.isascii() and word.replace("_", "a").isalpha():
        return tuple(filter(None, map(_formed, _LETTERS.findall(word))))
    if len(word) >= LEAST_MADE and any(map(_is_made, _RUN.findall(word))):
        return ()
    found: list[str] = []
    before = ""
    for match in _PIECE.finditer(word):
        piece, at = match.group(), match.start()
        if _WIDE.search(piece):
            found += [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
            continue
        small = piece.lower()
        if before and small.isdigit() and len(small) <= (1 if word[at - 1] == "_" else MAX_NUMBER):
            found.append(before + small)
        elif small.isalpha():
            found += filter(None, [_formed(piece)])
        elif len(small) > 1:
            found.append(small)
        begins = len(small) > 1 or not word[max(0, at - 1) : at].isalnum()
        before = small if begins and small.isalpha() else ""
    return tuple(found)


def raw_words(text: str) -> list[str]:
    """Identifiers and words as they stand."""
    return _WORD.findall(text)


def pieces(text: str) -> list[str]:
    """The comparable pieces of a short text, in order."""
    return [piece for word in raw_words(text) for piece in split(word)]


@lru_cache(maxsize=16_384)
def named(name: str) -> frozenset[str]:
    """The comparable pieces of a symbol's name."""
    return frozenset(pieces(name))


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


class Query:
    """A question: its comparable words with their weights, the names of code in it, whole and cut (`strong`), and the kinds
    of files that it is about (see `places.kind_of`).

    What is said first weighs most: a question begins with what it is about and goes on with how it came to be asked.
    Only the first `MAX_QUERY` characters and the first `MAX_TERMS` words of the highest weight count.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:MAX_QUERY]
        text = _NUMBERED.sub(r"\1\2", _HASH.sub(" ", self.text))
        names = [*_TICKED.findall(text), *_IDENTIFIER.findall(text), *_CALLED.findall(text)]
        self.names = frozenset(word for name in names for word in raw_words(name))
        ordered = dict.fromkeys(
            piece
            for word in raw_words(text)
            for piece in split(word)
            if not piece.isdigit() or not _NUMBER.fullmatch(word)
        )
        self.strong = strong = frozenset(piece for name in names for piece in pieces(name))
        terms = sorted(ordered, key=lambda term: term not in strong)[:MAX_TERMS]
        places = {term: place for place, term in enumerate(ordered)}
        self.weights = {
            term: (IDENTIFIER_WEIGHT if term in strong else 1.0)
            * (NUMBERED_WEIGHT if stem(term.rstrip(_DIGITS)) in places and term[-1] in _DIGITS else 1.0)
            * _worth_of_place(places[term])
            for term in terms
        }
        self.about = frozenset(kind for kind, words in ABOUT.items() if words & self.weights.keys())

    def __bool__(self) -> bool:
        return bool(self.weights)


def _worth_of_place(place: int) -> float:
    return LEAST_PLACE + (1 - LEAST_PLACE) * HALF_PLACE / (HALF_PLACE + place)
