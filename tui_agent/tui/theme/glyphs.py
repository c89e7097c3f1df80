"""The symbols of the screens, in a Unicode and an ASCII set.

Invariant: both sets have the same names, and every symbol is one cell wide.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

SymbolSet: TypeAlias = Literal["auto", "unicode", "ascii"]


class Symbols(NamedTuple):
    """One symbol for each meaning; the screen always shows a word next to the symbol."""

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
    meter_passed: str = "┿"
    bullet: str = "•"
    dot: str = "·"
    rule: str = "─"
    minus: str = "−"
    ellipsis: str = "…"
    line_break: str = "⏎"
    arrow: str = "->"
    compaction: str = "≡"
    files: str = "±"
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
    meter_passed="|",
    bullet="-",
    dot=".",
    rule="-",
    minus="-",
    ellipsis="...",
    line_break="\\n",
    compaction="=",
    files="~",
    activity="_.-:=+#",
)


_C_LOCALES: Final = ("C", "POSIX")
_COERCED_LOCALES: Final = ("C.UTF-8", "C.utf8", "UTF-8")
"""Values of LC_CTYPE that Python itself sets at start-up in the C locale (PEP 538)."""


def choose_symbols(symbol_set: SymbolSet, environ: Mapping[str, str]) -> Symbols:
    """Return the configured symbols. For `auto`, return symbols that the terminal can draw."""
    if symbol_set != "auto":
        return ASCII if symbol_set == "ascii" else UNICODE
    if environ.get("TERM", "") in ("linux", "dumb"):
        return ASCII
    locale = _locale(environ)
    if not locale:
        # A terminal without a locale is nearly always UTF-8.
        return UNICODE
    return UNICODE if "utf" in locale.lower() else ASCII


def _locale(environ: Mapping[str, str]) -> str:
    """Return the first of LC_ALL, LC_CTYPE and LANG that is set."""
    # Python itself sets LC_CTYPE if LANG is C, so that value does not count.
    locale, language = environ.get("LC_ALL") or environ.get("LC_CTYPE", ""), environ.get("LANG", "")
    is_coerced = not environ.get("LC_ALL") and locale in _COERCED_LOCALES and language in _C_LOCALES
    return language if is_coerced else locale or language
