"""L7: the symbols of the screens, in a Unicode and an ASCII set.

Invariant: both sets have the same names, and every symbol is one cell wide.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

SymbolSet: TypeAlias = Literal["auto", "unicode", "ascii"]


class Symbols(NamedTuple):
    """One symbol a meaning; a word always goes with it on the screen."""

    name: Literal["unicode", "ascii"] = "unicode"
    queued: str = "·"
    running: str = "●"
    running_dim: str = "•"
    waiting: str = "?"
    done: str = "✓"
    failed: str = "✗"
    stopped: str = "■"
    warning: str = "!"
    subtask: str = "◆"
    folded: str = "▸"
    open: str = "▾"
    chosen: str = "›"
    bar: str = "▌"
    rail: str = "│"
    meter_full: str = "━"
    meter_rest: str = "─"
    meter_limit: str = "┼"
    bullet: str = "•"
    dot: str = "·"
    rule: str = "─"
    minus: str = "−"
    ellipsis: str = "…"
    arrow: str = "->"
    compaction: str = "≡"
    files: str = "±"
    scroll_thumb: str = "▐"
    activity: str = "▁▂▃▄▅▆▇"
    todo_done: str = "[x]"
    todo_now: str = "[>]"
    todo_open: str = "[ ]"


UNICODE: Final = Symbols()
ASCII: Final = Symbols(
    name="ascii",
    queued=".",
    running="*",
    running_dim="+",
    done="+",
    failed="x",
    stopped="#",
    subtask="@",
    folded=">",
    open="v",
    chosen=">",
    bar="|",
    rail="|",
    meter_full="=",
    meter_rest="-",
    meter_limit="|",
    bullet="-",
    dot=".",
    rule="-",
    minus="-",
    ellipsis="...",
    compaction="=",
    files="~",
    scroll_thumb="|",
    activity="_.-:=+#",
)


def choose_symbols(wanted: SymbolSet, environ: Mapping[str, str]) -> Symbols:
    """The set to draw with: as configured, else ASCII where the locale is not UTF-8 or TERM is linux or dumb."""
    if wanted != "auto":
        return ASCII if wanted == "ascii" else UNICODE
    if environ.get("TERM", "") in ("linux", "dumb"):
        return ASCII
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if not locale:
        # Python turns the C locale into UTF-8 by itself, and terminals without one are nearly always UTF-8.
        return UNICODE
    return UNICODE if "utf" in locale.lower() else ASCII
