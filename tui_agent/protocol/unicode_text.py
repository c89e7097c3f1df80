"""Detection of invisible and deceptive characters, and small text functions.

Invariant: all functions are pure, and take time linear in the length of the text.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple

from tui_agent.units import format_number

MAX_COMBINING_MARKS: Final = 4
"""Maximum number of combining marks on one letter."""
MAX_SPACES_IN_ROW: Final = 40
"""Maximum number of spaces in a row within a line."""
# More spaces would push the following text out of sight.
MAX_LINE_BREAKS_IN_ROW: Final = 20
"""Maximum number of line breaks in a row."""
# More line breaks would push the following text out of sight.
MAX_MESSAGE_CHARS: Final = 4_000_000
"""Maximum characters of a message: more than any model's context window holds."""

_MAX_LISTED_CHARS: Final = 3

# Some patterns use possessive quantifiers (`*+`): a search in a hostile text then takes linear time.
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*+")
_SHAPELESS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001d159\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
)
"""Characters that Python counts as printable, but that have no shape or differ in width between terminals."""
_SHAPELESS_RE = re.compile(f"[{_SHAPELESS}]")


class _Patterns(NamedTuple):
    odd: re.Pattern[str]
    marks: re.Pattern[str]
    notation: re.Pattern[str]
    joined_or_odd: re.Pattern[str]
    joined: re.Pattern[str]
    wide_blank: re.Pattern[str]
    padding: re.Pattern[str]
    word: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    odd = rf"[^\x20-\x7e\n\w]|[{_SHAPELESS}]"
    joined = (
        "(?<=[^\x00-\x7f\u200c\u200d\ufe0e\ufe0f])(?:\ufe0f?\u200d|\u200c|[\ufe0e\ufe0f])"
        "|(?<=[0-9#*])\ufe0f\u20e3|[\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]"
    )
    return _Patterns(
        odd=re.compile(odd),
        marks=re.compile(rf"[^\w\x00-\x7f\s]{{{MAX_COMBINING_MARKS + 1},}}+"),
        notation=re.compile(r"<(?=U\+[0-9A-F]{4,6}>|tab>|(?:\d{1,12} )?blanks?>|\d{1,12} line breaks>)"),
        joined=re.compile(joined),
        joined_or_odd=re.compile(f"(?P<joined>{joined})|{odd}"),
        wide_blank=re.compile("(?<=[\u3001-\u9fff\uac00-\ud7af\uff01-\uffef])\u3000"),
        padding=re.compile(
            rf"(?<=[^ \n]) {{{MAX_SPACES_IN_ROW + 1},}}+(?=[^ \n])|\n(?:[ \t]*+\n){{{MAX_LINE_BREAKS_IN_ROW},}}+"
        ),
        word=re.compile(r"[^\W_]++"),
    )


@lru_cache(maxsize=4096)
def is_invisible(character: str) -> bool:
    """Return True if a character has no shape of its own. Line feeds and plain spaces count as visible.

    Examples: controls, direction marks, unusual spaces, fillers, selectors and parts of an emoji.
    """
    if "\x20" <= character <= "\x7e" or character == "\n":
        return False
    return not character.isprintable() or _SHAPELESS_RE.fullmatch(character) is not None


def reveal_invisible(text: str, *, tabs: bool = False) -> str:
    """Return the text with invisible characters replaced by their code points, such as `<U+202E>`. Line feeds stay.

    In a word with Latin letters, letters that only look Latin are replaced too. Two different texts always give
    different results. If `tabs` is True, tabs become `<tab>`.
    """
    # The `<` of a `<U+202E>` in the original text is replaced too; otherwise two texts could give the same result.
    patterns = _patterns()
    text = patterns.notation.sub("<U+003C>", text)
    if not text.isascii():
        text = patterns.marks.sub(
            partial(_limit_marks, reveal=True), patterns.word.sub(_reveal_lookalikes, text)
        )
    shown = patterns.odd.sub(_reveal_character, text)
    return shown.replace("\t", "<tab>") if tabs else shown


def replace_invisible(text: str, replacement: str, keep: str = "\t") -> str:
    """Return the text with each invisible character replaced by `replacement`, except line feeds and characters in
    `keep`.

    Unusual spaces become plain spaces. Invisible characters that join letters or emoji are kept. If a letter has more
    than `MAX_COMBINING_MARKS` combining marks, the others are removed.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    patterns = _patterns()

    def replace(match: re.Match[str]) -> str:
        if match.lastgroup == "joined" or match[0] in keep or not is_invisible(match[0]):
            return match[0]
        return " " if unicodedata.category(match[0]) == "Zs" else replacement

    return patterns.joined_or_odd.sub(replace, limit_combining_marks(text))


def limit_combining_marks(text: str) -> str:
    """Return the text with at most `MAX_COMBINING_MARKS` combining marks on each letter."""
    return text if text.isascii() else _patterns().marks.sub(partial(_limit_marks, reveal=False), text)


def describe_invisible(text: str) -> str:
    """Describe invisible characters in a text, many combining marks on a letter, or many spaces or empty lines in a row.

    Return an empty string if there are none. Characters that join letters or emoji count as visible, and so do the
    usual spaces of a script, such as the wide space of Chinese.
    """
    patterns = _patterns()
    if not _PLAIN.fullmatch(text):
        rest = text if text.isascii() else patterns.wide_blank.sub("", patterns.joined.sub("", text))
        characters = _list_deceptive(patterns.odd, rest)
        if characters:
            codes = ", ".join(f"U+{ord(character):04X}" for character in characters[:_MAX_LISTED_CHARS])
            more = " and more" if len(characters) > _MAX_LISTED_CHARS else ""
            return f"invisible characters ({codes}{more})"
        if any(_has_stacked_marks(match[0]) for match in patterns.marks.finditer(rest)):
            return "a stack of combining marks on one letter"
    padded = patterns.padding.search(text)
    if padded is not None:
        count = padded[0].count("\n") or len(padded[0])
        return f"{count} {'empty lines' if padded[0][0] == chr(10) else 'spaces'} in a row"
    return ""


def describe_lookalike(text: str) -> str:
    """Describe the first word that mixes Latin letters with lookalikes from other alphabets.

    Return an empty string if there is no such word.
    """
    if text.isascii():
        return ""
    for word in _patterns().word.finditer(text):
        if _mixes_alphabets(word[0]):
            letter = next(filter(_latin_lookalike, word[0]))
            comparison = f"{letter} is U+{ord(letter):04X}, not {_latin_lookalike(letter)}"
            return f"`{word[0][:40]}` mixes alphabets: {comparison}"
    return ""


def _mixes_alphabets(word: str) -> bool:
    if word.isascii() or not any(letter.isascii() and letter.isalpha() for letter in word):
        return False
    return any(map(_latin_lookalike, word))


def _reveal_lookalikes(match: re.Match[str]) -> str:
    if not _mixes_alphabets(match[0]):
        return match[0]
    return "".join(f"<U+{ord(letter):04X}>" if _latin_lookalike(letter) else letter for letter in match[0])


def _list_deceptive(odd: re.Pattern[str], text: str) -> list[str]:
    characters: dict[str, None] = {}
    for match in odd.finditer(text):
        if match[0] != "\t" and match[0] not in characters and _is_deceptive(match[0]):
            characters[match[0]] = None
            if len(characters) > _MAX_LISTED_CHARS:
                break
    return list(characters)


def _is_deceptive(character: str) -> bool:
    """Return True if a character is invisible and defined in Unicode."""
    return is_invisible(character) and unicodedata.category(character) != "Cn"


def _reveal_character(match: re.Match[str]) -> str:
    character = match[0]
    return f"<U+{ord(character):04X}>" if is_invisible(character) and character != "\t" else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _has_stacked_marks(run: str) -> bool:
    count = 0
    for character in run:
        count = count + 1 if _is_mark(character) else 0
        if count > MAX_COMBINING_MARKS:
            return True
    return False


def _limit_marks(stack: re.Match[str], *, reveal: bool) -> str:
    characters: list[str] = []
    count = 0
    for character in stack[0]:
        count = count + 1 if _is_mark(character) else 0
        if count <= MAX_COMBINING_MARKS:
            characters.append(character)
        elif reveal:
            characters.append(f"<U+{ord(character):04X}>")
    return "".join(characters)


_LOOKALIKE_PAIRS: Final = (
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw кk мm тt вb нh АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ԌG ԚQ ԜW "
    "οo νv ρp ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX օo ոn ցg հh ՍU ՏS"
)
_LOOKALIKES: Final = {pair[0]: pair[1] for pair in _LOOKALIKE_PAIRS.split()}
"""Maps a Cyrillic, Greek or Armenian letter to the Latin letter that it looks like."""


def _latin_lookalike(character: str) -> str:
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    if "\uff21" <= character <= "\uff5a" or "\U0001d400" <= character <= "\U0001d7ff":
        plain = unicodedata.normalize("NFKC", character)
        return plain if plain.isascii() else ""
    return ""


def escape_unprintable(name: str) -> str:
    """Escape the unprintable and unencodable characters in a path or name."""
    text = name.encode("utf-8", "backslashreplace").decode()
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, e.g. `1 file` or `3,000 files`. `plural` is an irregular plural."""
    return f"{format_number(count)} {noun if count == 1 else plural or noun + 's'}"


def list_first(names: Sequence[str], max_names: int) -> str:
    """Return the first `max_names` names and the number of further names, e.g. `a, b and 3 more`."""
    listed = ", ".join(names[:max_names])
    return listed if len(names) <= max_names else f"{listed} and {len(names) - max_names} more"


def clip_line(text: str, max_chars: int) -> str:
    """Return a text as one line of at most `max_chars` characters."""
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    end = line.rfind(" ", max_chars // 2, max_chars)
    return f"{line[: end if end > 0 else max_chars - 1]}…"


def limit_text(text: str, max_chars: int) -> str:
    """Make a text fit for the log: encodable, and cut after `max_chars` characters with a note."""
    left_out = len(text) - max_chars
    shown = (
        text if left_out <= 0 else f"{text[:max_chars]} … ({format_count(left_out, 'character')} left out)"
    )
    return shown.encode(errors="replace").decode()


def describe_long_message(length: int) -> str:
    """Return the reason why a message of `length` characters is refused, and another way to send the text."""
    limit = format_number(MAX_MESSAGE_CHARS)
    return (
        f"It has {format_number(length)} characters; a message can have at most {limit}. "
        "Save the text as a file and mention the file: @PATH."
    )
