"""Sanitizing of untrusted text from models, tools, files and users.

Invariant: text from `clean` has no control character except the line feed, and no invisible or direction-changing
character.

Every regular expression here takes linear time.
"""

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from string import ascii_uppercase
from typing import Final, NamedTuple

from rich.cells import cell_len, split_text

from tui_agent.protocol.unicode_text import limit_combining_marks, reveal_invisible

TAB: Final = 4
_MAX_CACHED: Final = 200
"""Maximum length of a text to cache after cleaning, in characters."""

_PLAIN = re.compile(r"[\n\x20-\x7e]*+")
"""Matches a text that needs no cleaning."""
# A sequence without its end does not match, so that it cannot hide the rest of a text.
_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,4096}+(?:\x07|\x1b\\|\x9c)"
_CSI = r"(?:\x1b\[|\x9b)[0-?]{0,128}+[ -/]{0,16}+[@-~]"
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_FLAG_LETTERS = {0x1F1E6 + index: letter for index, letter in enumerate(ascii_uppercase)}
"""Maps the code points of which flags consist to plain letters."""


class _CleaningPatterns(NamedTuple):
    """The compiled regular expressions for cleaning a text that is not plain ASCII."""

    escape: re.Pattern[str]
    line_break: re.Pattern[str]
    remove: re.Pattern[str]
    joiners: re.Pattern[str]
    emoji: re.Pattern[str]
    flags: re.Pattern[str]


@cache
def _cleaning_patterns() -> _CleaningPatterns:
    """Compile the regular expressions on first use, because the first paint does not need them."""
    return _CleaningPatterns(
        escape=re.compile(rf"{_STRING}|{_CSI}|\x1b[ -/]{{0,8}}+[0-Z\\^-~]?|\x1b"),
        line_break=re.compile(r"\r\n|\r|\u2028|\u2029|\x0b|\x0c"),
        remove=re.compile(rf"[\x00-\x08\x0e-\x1f\x7f-\x9f{_UNSEEN}]++"),
        joiners=re.compile(r"(?<![^\x00-\x7f])[\u200c\u200d]++|(?<=[\u200c\u200d])[\u200c\u200d]++"),
        emoji=re.compile("[\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]++"),
        flags=re.compile("[\U0001f1e6-\U0001f1ff]"),
    )


def clean(text: str, *, reveal: bool = False, tab: int = TAB) -> str:
    """Remove control sequences and invisible characters, and expand tabs.

    `tab`: cells of a tab; 0 keeps tabs. `reveal`: True to show characters as code points, e.g. `<U+202E>`, instead of
    removing them.
    """
    if _PLAIN.fullmatch(text) and not (reveal and "<" in text):
        return text
    if reveal:
        text = reveal_invisible(text)
    else:
        text = _remove_controls(text)
        text = text if text.isascii() else _fix_widths(text, _cleaning_patterns())
    return expand_tabs(text, tab) if tab and "\t" in text else text


def clean_typed_text(text: str) -> str:
    """Remove control sequences and invisible characters from typed text. Tabs and emoji stay."""
    if _PLAIN.fullmatch(text):
        return text
    text = _remove_controls(text)
    if text.isascii():
        return text
    return _cleaning_patterns().joiners.sub("", text).encode("utf-8", "replace").decode()


def _remove_controls(text: str) -> str:
    find = _cleaning_patterns()
    return find.remove.sub("", find.line_break.sub("\n", find.escape.sub("", text)))


def _fix_widths(text: str, find: _CleaningPatterns) -> str:
    """Remove or replace the characters for which terminals use different widths."""
    text = find.joiners.sub("", find.emoji.sub("", text))
    if find.flags.search(text):
        text = text.translate(_FLAG_LETTERS)
    text = limit_combining_marks(text)
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return text.translate(_REPLACEMENTS)


class _Replacements(dict[int, str]):
    """Table for `str.translate` that replaces unassigned code points and surrogates.

    An entry is computed on its first use.
    """

    def __missing__(self, code: int) -> str:
        unknown = unicodedata.category(chr(code)) in ("Cn", "Cs")
        self[code] = replacement = "\ufffd" if unknown else chr(code)
        return replacement


_REPLACEMENTS: Final = _Replacements()


def clean_line(text: str, *, reveal: bool = False) -> str:
    """Clean a text for titles, labels and cells. A line break becomes a space."""
    cleaned = clean(text, reveal=reveal)
    return cleaned.replace("\n", " ") if "\n" in cleaned else cleaned


def shorten_home(path: Path) -> str:
    """Return a path with `~` in place of the user's home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}".removesuffix("/.") if path.is_relative_to(home) else str(path)


def reveal_line(text: str, line_break: str = " ") -> str:
    """Return a text as one line with invisible characters revealed.

    `line_break`: text to show in place of a line break.
    """
    return clean(text, reveal=True).replace("\n", line_break)


def cell_text(text: str) -> str:
    """Clean a text for a row of cells; faster than `clean_line` for clean text."""
    if text.isascii() and text.isprintable():
        return text
    return _cached_line(text) if len(text) <= _MAX_CACHED else clean_line(text)


@lru_cache(maxsize=8192)
def _cached_line(text: str) -> str:
    return clean_line(text)


def expand_tabs(text: str, tab: int = TAB) -> str:
    """Replace tabs by spaces up to the next tab stop, counted in cells."""
    if text.isascii():
        return text.expandtabs(tab)
    return "\n".join(_expand_line(line, tab) if "\t" in line else line for line in text.split("\n"))


def width(text: str) -> int:
    """Return the width of a cleaned line in terminal cells."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int, ellipsis: str = "…") -> str:
    """Shorten a cleaned line to at most `cells` cells. A shortened line ends with the ellipsis if there is room."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 0:
        return split_cells(text, max(cells, 0))[0]
    return split_cells(text, room)[0].rstrip() + ellipsis


def fit_path(path: str, cells: int, ellipsis: str = "…") -> str:
    """Shorten a cleaned path to at most `cells` cells by leaving out its middle."""
    if width(path) <= cells:
        return path
    folder, slash, name = path.rstrip("/").rpartition("/")
    end = slash + name + path[len(path.rstrip("/")) :]
    room = cells - width(end) - width(ellipsis)
    if folder and room >= 0:
        return f"{split_cells(folder, room)[0]}{ellipsis}{end}"
    return fit(end.lstrip("/"), cells, ellipsis)


def as_sentence(phrase: str) -> str:
    """Return a phrase as a sentence: with a capital letter and a full stop."""
    return f"{phrase[:1].upper()}{phrase[1:]}."


def pad(text: str, cells: int) -> str:
    """Pad a cleaned line with spaces to `cells` cells; return a longer line unchanged."""
    return text + " " * (cells - width(text))


def split_cells(text: str, cells: int) -> tuple[str, str]:
    """Split a cleaned line into two parts; the first part has at most `cells` cells. No character is divided."""
    if text.isascii():
        return text[:cells], text[cells:]
    if cell_len(text) <= cells:
        return text, ""
    if cells <= 0:
        return "", text
    # Only a window of the line is split, which bounds the cost for a huge line.
    window = text[: cells * 4 + 16]
    if cell_len(window) <= cells:
        window = text
    head, _ = split_text(window, cells)
    # The library replaces each half of a wide character at the edge by a space.
    if not text.startswith(head):
        head = head[:-1]
    if not text.startswith(head):
        head = _whole_characters(window, cells)
    return head, text[len(head) :]


def _whole_characters(text: str, cells: int) -> str:
    end = 0
    while end < len(text) and cell_len(text[: end + 1]) <= cells:
        end += 1
    return text[:end]


def _expand_line(line: str, tab: int) -> str:
    *pieces, last = line.split("\t")
    expanded = ""
    column = 0
    for piece in pieces:
        column += width(piece)
        fill = tab - column % tab
        expanded += piece + " " * fill
        column += fill
    return expanded + last
