"""Words of code, of paths, of questions and of notes, in the form in which they are compared.

Invariant: a word of a question and the same word inside an identifier have the same form: identifiers are split
where the case or a sign changes, and endings are cut lightly. Letters with a number behind them count once without
and once with it: sha512 is a sha, and no sha1.
"""

import re
from functools import lru_cache
from unicodedata import combining, normalize

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PIECE = re.compile(
    r"(?:(?<![A-Za-z0-9])[a-z]|[A-Z])[0-9]+[a-z](?![a-z0-9])"
    r"|(?<![A-Za-z0-9])[0-9](?:[a-z]{1,2}|[A-Z]{1,2})(?![A-Za-z0-9])"
    r"|[A-Z]?[a-z]+|[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_a-zA-Z]+"
)
"""What is compared on its own; a word as i18n, k8s or 2fa, whose letters would say nothing, stays whole, and so do URLs and
IPv4, which would be cut before their last capital."""
_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?![a-z])")
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
    if word.isascii() and (word.isalpha() or word.replace("_", "a").isalpha()):
        parts = word.split("_") if word.islower() or word.isupper() else _LETTERS.findall(word)
        return tuple(filter(None, map(_formed, parts)))
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


def plain_letters(text: str) -> str:
    """A text whose Latin letters have no marks, so that words are found however they are typed: Größe is Grosse."""
    return text if text.isascii() else normalize("NFC", text).translate(_PLAIN)


class _Plain(dict[int, str]):
    """Letters without their marks, worked out once each."""

    def __missing__(self, code: int) -> str:
        letters = "".join(part for part in normalize("NFKD", chr(code)) if not combining(part))
        plain = letters if letters.isascii() and letters.isalpha() else chr(code)
        self[code] = plain
        return plain


_PLAIN = _Plain({ord("ß"): "ss"})
