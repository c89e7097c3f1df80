"""The characters of a text that a person cannot see, or takes for others; and a number of things in words.

Invariant: pure, linear in the text, imports nothing of ours, and the same for the rules that judge a text and for the
screen that shows it. `revealed` loses nothing: two texts that differ are shown differently.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final, NamedTuple

MOST_MARKS: Final = 4
"""Marks that stand over one letter; more are a pile that covers the lines around it."""
MOST_BLANKS: Final = 40
"""Blanks in a row within a line; more push what follows out of sight."""
MOST_BREAKS: Final = 20
"""Line breaks in a row; more do the same."""

_NAMED: Final = 3

_PLAIN = re.compile(r"[\n\t\x20-\x7e]*+")
_UNSEEN: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001d159\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
)
"""Printable by their category, and yet without a shape or a width of their own that every terminal agrees on."""
_ODD_SHAPES = re.compile(f"[{_UNSEEN}]")


class _Find(NamedTuple):
    odd: re.Pattern[str]
    marks: re.Pattern[str]
    notation: re.Pattern[str]
    joined_or_odd: re.Pattern[str]
    joined: re.Pattern[str]
    wide_blank: re.Pattern[str]
    padding: re.Pattern[str]
    word: re.Pattern[str]


@cache
def _find() -> _Find:
    """Compiled when a text first needs it."""
    odd = rf"[^\x20-\x7e\n\w]|[{_UNSEEN}]"
    joined = (
        "(?<=[^\x00-\x7f\u200c\u200d\ufe0e\ufe0f])(?:\ufe0f?\u200d|\u200c|[\ufe0e\ufe0f])"
        "|(?<=[0-9#*])\ufe0f\u20e3|[\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]"
    )
    return _Find(
        odd=re.compile(odd),
        marks=re.compile(rf"[^\w\x00-\x7f\s]{{{MOST_MARKS + 1},}}+"),
        notation=re.compile(r"<(?=U\+[0-9A-F]{4,6}>|tab>|(?:\d{1,12} )?blanks?>|\d{1,12} line breaks>)"),
        joined=re.compile(joined),
        joined_or_odd=re.compile(f"(?P<joined>{joined})|{odd}"),
        wide_blank=re.compile("(?<=[\u3001-\u9fff\uac00-\ud7af\uff01-\uffef])\u3000"),
        padding=re.compile(
            rf"(?<=[^ \n]) {{{MOST_BLANKS + 1},}}+(?=[^ \n])|\n(?:[ \t]*+\n){{{MOST_BREAKS},}}+"
        ),
        word=re.compile(r"[^\W_]++"),
    )


@lru_cache(maxsize=4096)
def unseen(character: str) -> bool:
    """Whether a character has no shape of its own: a control, a direction, an odd blank, a filler, a selector, a part of
    an emoji, half a pair, or one that no font need have. The line feed and the space are not."""
    if "\x20" <= character <= "\x7e" or character == "\n":
        return False
    return not character.isprintable() or _ODD_SHAPES.fullmatch(character) is not None


def revealed(text: str, *, tabs: bool = False) -> str:
    """The text with everything unseen as its code point, `<U+202E>`, line feeds apart, and with `tabs` tabs as `<tab>`;
    so are letters that are taken for Latin ones beside which they stand.

    What merely reads like such a sign is marked too, so that every sign can be read back.
    """
    find = _find()
    text = find.notation.sub("<U+003C>", text)
    if not text.isascii():
        text = find.marks.sub(_pile_revealed, find.word.sub(_undisguised, text))
    shown = find.odd.sub(_sign, text)
    return shown.replace("\t", "<tab>") if tabs else shown


def replaced(text: str, by: str, kept: str = "\t") -> str:
    """The text with `by` for everything unseen but line feeds and what is `kept`. Odd blanks become spaces, joined letters
    and emoji stay, and piles of marks are cut."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    find = _find()

    def replace(found: re.Match[str]) -> str:
        if found.lastgroup == "joined" or found[0] in kept or not unseen(found[0]):
            return found[0]
        return " " if unicodedata.category(found[0]) == "Zs" else by

    return find.joined_or_odd.sub(replace, unpiled(text))


def unpiled(text: str) -> str:
    """The text with at most `MOST_MARKS` marks over one letter."""
    return text if text.isascii() else _find().marks.sub(_pile_cut, text)


def concealed(text: str) -> str:
    """What of a text cannot be seen, in words; empty where all of it can. Joined letters and emoji, and blanks as their
    script writes them, are what they look like."""
    find = _find()
    if not _PLAIN.fullmatch(text):
        rest = text if text.isascii() else find.wide_blank.sub("", find.joined.sub("", text))
        found = _named(find.odd, rest)
        if found:
            named = ", ".join(f"U+{ord(one):04X}" for one in found[:_NAMED])
            more = " and more" if len(found) > _NAMED else ""
            return f"characters that cannot be seen ({named}{more})"
        if any(_marks_of(one[0]) for one in find.marks.finditer(rest)):
            return "a pile of marks over one letter"
    padded = find.padding.search(text)
    if padded is not None:
        count = padded[0].count("\n") or len(padded[0])
        return f"{count} {'empty lines' if padded[0][0] == chr(10) else 'blanks'} in a row"
    return ""


def disguised(text: str) -> str:
    """A word of letters that read like others, and what they are; empty where there is none."""
    if text.isascii():
        return ""
    for word in _find().word.finditer(text):
        if _mixed(word[0]):
            one = next(filter(_looks_like, word[0]))
            named = f"{one} is U+{ord(one):04X}, not {_looks_like(one)}"
            return f"`{word[0][:40]}` is not all Latin: {named}"
    return ""


def _mixed(word: str) -> bool:
    """Whether letters that are taken for Latin ones stand beside Latin ones."""
    if word.isascii() or not any(one.isascii() and one.isalpha() for one in word):
        return False
    return any(map(_looks_like, word))


def _undisguised(word: re.Match[str]) -> str:
    if not _mixed(word[0]):
        return word[0]
    return "".join(f"<U+{ord(one):04X}>" if _looks_like(one) else one for one in word[0])


def _named(odd: re.Pattern[str], text: str) -> list[str]:
    """The first few unseen characters, each once."""
    found: dict[str, None] = {}
    for one in odd.finditer(text):
        if one[0] != "\t" and one[0] not in found and _deceives(one[0]):
            found[one[0]] = None
            if len(found) > _NAMED:
                break
    return list(found)


def _deceives(character: str) -> bool:
    """Of the unseen ones: a letter that is newer than the tables here is seen, as a box at least."""
    return unseen(character) and unicodedata.category(character) != "Cn"


def _sign(found: re.Match[str]) -> str:
    character = found[0]
    return f"<U+{ord(character):04X}>" if unseen(character) and character != "\t" else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _marks_of(run: str) -> bool:
    """Whether more marks than may be stand in a row."""
    count = 0
    for character in run:
        count = count + 1 if _is_mark(character) else 0
        if count > MOST_MARKS:
            return True
    return False


def _pile_cut(found: re.Match[str]) -> str:
    return _piled(found[0], keep=False)


def _pile_revealed(found: re.Match[str]) -> str:
    return _piled(found[0], keep=True)


def _piled(run: str, *, keep: bool) -> str:
    out: list[str] = []
    count = 0
    for character in run:
        count = count + 1 if _is_mark(character) else 0
        if count <= MOST_MARKS:
            out.append(character)
        elif keep:
            out.append(f"<U+{ord(character):04X}>")
    return "".join(out)


_PAIRS: Final = (
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw кk мm тt вb нh АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ԌG ԚQ ԜW "
    "οo νv ρp ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX օo ոn ցg հh ՍU ՏS"
)
_ALIKE: Final = {pair[0]: pair[1] for pair in _PAIRS.split()}
"""Letters of Cyrillic, Greek and Armenian, by the Latin one that they are taken for."""


def _looks_like(character: str) -> str:
    """The Latin letter that one of another script is taken for."""
    if character in _ALIKE:
        return _ALIKE[character]
    if "\uff21" <= character <= "\uff5a" or "\U0001d400" <= character <= "\U0001d7ff":
        plain = unicodedata.normalize("NFKC", character)
        return plain if plain.isascii() else ""
    return ""


def counted(count: int, noun: str, many: str = "") -> str:
    """A number of things: `1 file`, `3,000 files`; `many` where an `s` does not do."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
