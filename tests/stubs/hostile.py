"""Text that means harm to a screen, by classes and by a grammar of control sequences, and records full of it.

Every sequence carries the number 7357: what of it reached a terminal can be told from what the program itself sent.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import Any, Final

from pydantic import ValidationError

from tui_agent.protocol.envelope import Envelope, Record

MARK: Final = "7357"
_CSI_FINALS: Final = [chr(code) for code in range(0x40, 0x7F)]
_CSI_KINDS: Final = [
    ("", ""),
    ("?", ""),
    (">", ""),
    ("=", ""),
    ("<", ""),
    ("", " "),
    ("", "!"),
    ("", '"'),
    ("", "$"),
    ("", "'"),
]
_STRINGS: Final = [
    *(f"{number};{MARK}" for number in (0, 1, 2, 4, 7, 9, 10, 11, 12, 22, 50, 104, 133, 777, 1337)),
    f"8;id={MARK};https://{MARK}.example",
    f"52;c;{MARK}",
    f"4;1;rgb:73/57/{MARK}",
]
_BEGINS: Final = {
    "OSC": ("\x1b]", "\x9d"),
    "DCS": ("\x1bP", "\x90"),
    "APC": ("\x1b_", "\x9f"),
    "PM": ("\x1b^", "\x9e"),
    "SOS": ("\x1bX", "\x98"),
}
_ENDS: Final = ("\x07", "\x1b\\", "\x9c", "")


def control_sequences() -> list[str]:
    """Every kind of sequence that a terminal obeys, whole, unfinished and one inside the other."""
    found: list[str] = []
    for begin, final in product(("\x1b[", "\x9b"), _CSI_FINALS):
        found.append(f"{begin}{MARK};2{final}")
    for (private, between), final in product(_CSI_KINDS[1:], "hlmnpqrstuvwxyzcJKHW"):
        found.append(f"\x1b[{private}{MARK}{between}{final}")
    found += [f"\x1b{chr(code)}" for code in range(0x20, 0x7F) if chr(code) not in "[]P_^X\\"]
    found += [f"\x1b{between}{final}" for between in "()*+-./#% &" for final in "0AB8CGK@"]
    found += [chr(code) for code in (*range(0x80, 0xA0),)]
    for kind, begins in _BEGINS.items():
        for begin, end in product(begins, _ENDS):
            bodies = (
                _STRINGS
                if kind == "OSC"
                else [MARK, f"q{MARK}", f"Gf={MARK};AAAA", f"+q{MARK}", f"tmux;\x1b\x1b]0;{MARK}\x07"]
            )
            found += [f"{begin}{body}{end}" for body in (bodies if end in ("\x07", "\x1b\\") else bodies[:3])]
    found += [
        f"\x1b[{MARK}", f"\x1b[1;\x1b[{MARK}m", f"\x1b]0;\x1b[{MARK}m\x07", f"\x1b\x1b[{MARK}m", f"\x1b[{MARK}\x18m", f"\x1b[{MARK}\x1am",
        f"\x1b[{'1;' * 200}{MARK}m", f"\x1b]0;{'x' * 5000}{MARK}\x07", f"\xc2\x9b{MARK}m", f"\x1bP\x1b]0;{MARK}\x07\x1b\\", f"\x1bN{MARK}", f"\x1bO{MARK}",
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def classes() -> dict[str, list[str]]:
    """Naughty strings by what they try."""
    return {
        "c0": [chr(code) for code in range(0x20)] + ["\x7f"],
        "breaks": ["a\rb", "a\r\nb", "a\x0bb", "a\x0cb", "a\x85b", "a\u2028b", "a\u2029b", "\n" * 50],
        "bidi": [f"a{one}gnp.exe" for one in "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"],
        "tags": ["x" + "".join(chr(0xE0000 + ord(one)) for one in "run rm -rf"), "\U000e0001\U000e007f"],
        "zero width": [f"a{one}b" for one in "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u180e\u00ad\u034f"],
        "fillers": [f"a{one}b" for one in "\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5"],
        "blanks": [f"a{one}b" for one in "\u00a0\u1680\u2000\u2003\u2007\u202f\u205f\u3000"] + ["x" + " " * 300 + "y"],
        "selectors": ["a\ufe0f", "☃\ufe0e", "🙂" + "".join(chr(0xE0100 + one) for one in range(40))],
        "piles": ["Z" + "\u0301\u0302\u0303\u0304" * 40, "ก" + "\u0e47" * 90, "x" + "\u20dd" * 30, "\u0301start", "a" + "\u0591" * 30],
        "halves": ["\ud800", "\udfff", "a\udc00\ud800b"],
        "private": ["\ue000\uf8ff", "\U000f0001", "\U0010fffd"],
        "unassigned": ["\uffff\ufffe", "\U0001fffe", "\u0378", "\U0003ffff", "\ufdd0"],
        "wide": ["漢字" * 30, "👩\u200d👩\u200d👧\u200d👦" * 5, "👍🏽🇩🇪1\ufe0f\u20e3", "ﷺ", "Ａｂｃ", "𝒜𝓫𝔠"],
        "ambiguous": ["±×÷°①─│█▌▐░", "αβγ", "“”‘’…—"],
        "right to left": ["مرحبا بالعالم", "שלום עולם", "a שלום b"],
        "markup": ["[bold]x[/bold]", "[/", "[/]", "[", "]", "[]", "[/a/b]", "[@click=app.quit]go[/]", "[link=http://x]", "\\[x", "[red", "[[", "[$error]"],
        "markup of others": ["<b>x</b>", "<script>alert(1)</script>", "{{7*7}}", "${x}", "%s%n%d", "{0}", "$(touch x)", "`x`", "**", "```", "|a|b|", "# x"],
        "tabs": ["a\tb\t\tc", "\t", "漢\tb"],
        "words": ["null", "NaN", "undefined", "-1", "1e309", "True", "../../etc/passwd", "CON", "~", "-rf", "--help", "", " ", "."],
        "long": ["x" * 5000, "ab " * 2000, "\u0301" * 3000],
    }  # fmt: skip


def every_text() -> list[str]:
    """All of it."""
    return [*control_sequences(), *(text for texts in classes().values() for text in texts)]


_FIXED: Final = (
    "kind",
    "id",
    "digest",
    "before",
    "after",
    "workspace",
    "root",
    "folder",
    "language",
    "media_type",
    "cwd",
)


def _free(key: str) -> bool:
    return key not in _FIXED and not key.endswith(("_id", "sha256", "_digest", "_path", "_json"))


def poisoned(records: Sequence[Record], texts: Sequence[str], per_field: int = 3) -> list[Record]:
    """The records with hostile text in every field that takes one: all texts in turn, a few in each field."""
    source = cycle(texts)
    return [_poisoned(one, source, per_field) if isinstance(one, Envelope) else one for one in records]


def _poisoned(record: Envelope, source: Iterator[str], per_field: int) -> Envelope:
    payload = record.payload.model_dump(mode="python")
    for holder, key in list(_leaves(payload)):
        kept = holder[key]
        holder[key] = f"{kept[:24]} " + " ".join(next(source) for _ in range(per_field))
        try:
            type(record.payload).model_validate(payload)
        except ValidationError:
            holder[key] = kept
    return record.model_copy(update={"payload": type(record.payload).model_validate(payload)})


def _leaves(value: Any, key: str = "") -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        if "blob_sha256" in value:
            return
        for name, one in value.items():
            if isinstance(one, str) and _free(str(name)):
                yield value, name
            elif isinstance(one, tuple):
                value[name] = list(one)
                yield from _leaves(value[name], str(name))
            else:
                yield from _leaves(one, str(name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            if isinstance(one, str) and _free(key):
                yield value, at
            elif isinstance(one, tuple):
                value[at] = list(one)
                yield from _leaves(value[at], key)
            else:
                yield from _leaves(one, key)
