"""Normalises words of code, paths, questions and notes, so that they can be compared.

Invariant: a word of a question and the same word inside an identifier have the same form.
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
"""Matches one piece of an identifier. Words like i18n, k8s, 2fa or URLs stay one piece."""
_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?![a-z])")
"""Matches the pieces of a word that consists of ASCII letters only. For such words, this is faster than `_PIECE`."""
_WIDE = re.compile(r"(?![\u3100-\u33ff])[\u3040-\u9fff\uac00-\ud7af]")
"""Matches a Kana, Han or Hangul character."""
# This form compiles twenty times faster than a set of the three ranges.
MAX_WORD_CHARS = 64
"""Maximum length of an indexed word, in characters."""
MAX_NUMBER_DIGITS = 5
"""Maximum number of digits that are joined with the letters before them, as in sha512."""
MIN_GENERATED_CHARS = 20
"""Minimum length of a run of letters and digits that looks generated, in characters."""
MIN_GENERATED_DIGITS = 3
"""Minimum number of digits in a run of letters and digits that looks generated."""
MAX_CHARS_PER_CHANGE = 4
"""A word looks generated if it has at most this many characters for each change of character class.

The classes are lower case, capitals and digits. For example, a word of 20 characters needs 5 changes.
"""
_LONG_RUN = re.compile(rf"[A-Za-z0-9]{{{MIN_GENERATED_CHARS},}}")
_KIND_CHANGE = re.compile(r"(?<=[a-z0-9])[A-Z]|(?<=[A-Za-z])[0-9]|(?<=[0-9])[a-z]")
_DOUBLED_CONSONANT = re.compile(r"(?<=..)([bdfgmnprt])\1$")

STOP_WORDS = frozenset(
    """a about above after again all also always am an and any are as at be because been before being below between
    both but by can cannot could did do does doing don done down during each either else etc even ever every few for
    from further get gets give given go goes had has have having he her here his how however i if in instead into is it
    its itself just let like make makes many may me might more most much must my need needs never no nor not now of off
    on once one only or other our out over own please rather same see she should so some still such than that the their
    them then there these they this those though through to too under until up us use used uses using very via want was
    way we well were what when where whether which while who why will with within without would yet you your""".split()  # noqa: SIM905 - read as prose
)


def stem(word: str) -> str:
    """Return a lower-case word without its common English ending, such as `ing`."""
    if len(word) > 3 and word.endswith("s"):
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(("xes", "ches", "shes", "sses", "zes")):
            word = word[:-2]
        elif not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = _DOUBLED_CONSONANT.sub(r"\1", word[:-3])
    elif len(word) > 4 and word.endswith("ed"):
        word = _DOUBLED_CONSONANT.sub(r"\1", word[:-2])
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


@lru_cache(maxsize=65_536)
def _normalize(piece: str) -> str:
    """Return the normal form of a run of letters, or an empty string for stop words and single letters."""
    if len(piece) > 2 and piece[-1] == "s" and piece[:-1].isupper():
        piece = piece[:-1]
    lowered = piece.lower()
    return stem(lowered) if len(lowered) > 1 and lowered not in STOP_WORDS else ""


def _is_generated(run: str) -> bool:
    """Return True if a run of letters and digits looks generated, like a digest or a key."""
    return sum(map(str.isdigit, run)) >= MIN_GENERATED_DIGITS and len(
        _KIND_CHANGE.findall(run)
    ) * MAX_CHARS_PER_CHANGE >= len(run)


def split_identifier(word: str) -> tuple[str, ...]:
    """Return the pieces of an identifier or word, in their normal form for comparison."""
    if len(word) > MAX_WORD_CHARS:
        return ()
    if word.isascii() and (word.isalpha() or word.replace("_", "a").isalpha()):
        parts = word.split("_") if word.islower() or word.isupper() else _LETTERS.findall(word)
        return tuple(filter(None, map(_normalize, parts)))
    if len(word) >= MIN_GENERATED_CHARS and any(map(_is_generated, _LONG_RUN.findall(word))):
        return ()
    pieces: list[str] = []
    preceding_letters = ""
    for match in _PIECE.finditer(word):
        piece, start = match.group(), match.start()
        # Chinese, Japanese and Korean have no spaces between words: compare pairs of characters.
        if _WIDE.search(piece):
            pieces += [piece[start : start + 2] for start in range(max(1, len(piece) - 1))]
            continue
        lowered = piece.lower()
        if (
            preceding_letters
            and lowered.isdigit()
            and len(lowered) <= (1 if word[start - 1] == "_" else MAX_NUMBER_DIGITS)
        ):
            pieces.append(preceding_letters + lowered)
        elif lowered.isalpha():
            pieces += filter(None, [_normalize(piece)])
        elif len(lowered) > 1:
            pieces.append(lowered)
        starts_word = len(lowered) > 1 or not word[max(0, start - 1) : start].isalnum()
        preceding_letters = lowered if starts_word and lowered.isalpha() else ""
    return tuple(pieces)


def find_words(text: str) -> list[str]:
    """Return the identifiers and words of a text unchanged."""
    return _WORD.findall(text)


def split_text(text: str) -> list[str]:
    """Return the normalised pieces of all words of a short text, in order."""
    return [piece for word in find_words(text) for piece in split_identifier(word)]


@lru_cache(maxsize=16_384)
def split_name(name: str) -> frozenset[str]:
    """Return the pieces of a symbol's name, in their normal form for comparison."""
    return frozenset(split_text(name))


def strip_accents(text: str) -> str:
    """Return the text with accents removed from Latin letters: Größe becomes Grosse."""
    return text if text.isascii() else normalize("NFC", text).translate(_plain_letters)


class _PlainLetters(dict[int, str]):
    """Maps a character's code to the character without accents, and caches the result."""

    def __missing__(self, code: int) -> str:
        letters = "".join(part for part in normalize("NFKD", chr(code)) if not combining(part))
        plain = letters if letters.isascii() and letters.isalpha() else chr(code)
        self[code] = plain
        return plain


_plain_letters = _PlainLetters({ord("ß"): "ss"})
