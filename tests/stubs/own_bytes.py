"""What the program itself sends to a terminal, byte for byte: everything else is somebody else's."""

import codecs
import re
import unicodedata
from functools import cache

_MODES = r"(?:1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048|25|7)"
_OWN = re.compile(
    rf"""
      \x1b\[(?P<row>\d{{1,4}});(?P<column>\d{{1,4}})H          # where a row of cells begins
    | \x1b\[(?P<style>\d{{0,3}}(?:;\d{{1,3}}){{0,40}})m         # colours, bold, underline, reverse
    | \x1b\[\?{_MODES}[hl] | \x1b\[\?(?:2026|2048)\$p           # modes of the screen and the mouse
    | \x1b\[>\d{{1,2}}u | \x1b\[<u                              # keys
    | \x1b\[2[23];2t                                            # keep the window's title, give it back
    | \x1b\](?P<title>[29]);(?P<words>[^\x00-\x1f\x7f-\x9f]{{0,120}})\x07
    | \x1b\]11;\?\x07                                          # asks for the background
    | \x1b\]52;c;[A-Za-z0-9+/=]*\x07                            # the clipboard
    | \x1b\]22;[a-z-]{{1,20}}\x07                              # the pointer's shape
    | \x07 | \r\n | \r | \n
    | (?P<text>[^\x00-\x1f\x7f-\x9f]+)
    """,
    re.VERBOSE,
)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;?]{0,40})?")
"""A sequence that the end of what was read has cut."""
_STYLES = frozenset(
    [0, 1, 2, 4, 7, 22, 24, 27, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)]
)
_HIDDEN = frozenset(
    [
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0000, 0xE0200)),
        *"\u200b\u200d\u00ad\u2060\ufeff\u3164\u061c\u200e\u200f",
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029",
    ]
)


@cache
def _hidden(character: str) -> bool:
    return character in _HIDDEN or unicodedata.category(character) in ("Cc", "Cs")


def foreign(output: bytes, size: tuple[int, int]) -> list[str]:
    """What of a terminal's input on a screen of `size` (columns, rows) the program did not make itself."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(output)
    except UnicodeDecodeError as error:
        return [f"not UTF-8 at {error.start}: {output[error.start - 20 : error.start + 20]!r}"]
    found: list[str] = []
    at = 0
    while at < len(text):
        own = _OWN.match(text, at)
        if own is None and _BEGUN.fullmatch(text, at):
            break
        if own is None:
            found.append(f"at {at}: {text[max(0, at - 30) : at + 30]!r}")
            at += 1
            continue
        if not _sound(own, size):
            found.append(f"at {at}: {own[0]!r}")
        at = own.end()
    return found


def _sound(own: re.Match[str], size: tuple[int, int]) -> bool:
    if own["row"]:
        return 0 < int(own["row"]) <= size[1] and 0 < int(own["column"]) <= size[0]
    if own["style"] is not None:
        return _is_style([int(code or 0) for code in own["style"].split(";")])
    said = own["text"] or own["words"] or ""
    return not any(map(_hidden, said))


def _is_style(codes: list[int]) -> bool:
    at = 0
    while at < len(codes):
        if codes[at] in (38, 48):
            kind = codes[at + 1 : at + 2]
            length = {2: 5, 5: 3}.get(kind[0], 0) if kind else 0
            if not length or len(codes) < at + length or any(code > 255 for code in codes[at : at + length]):
                return False
            at += length
        elif codes[at] in _STYLES:
            at += 1
        else:
            return False
    return True
