"""The rows of the map of the repository: files with their score and symbols, and the details of one of them.

Invariant: drawn from what the list knows; nothing is asked for it.
"""

import re
from collections.abc import Callable
from typing import Final

from rich.style import Style
from textual.strip import Strip

from tui_agent.protocol.settings import RepoMapOptions, SessionSettings
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.screens.map.queries import MapFile, MapSymbol
from tui_agent.tui.screens.page import Facts
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, cells, row
from tui_agent.units import format_tokens

_BAR = 9
_SIGNATURE = re.compile(
    r"(\s*(?:(?:export|default|public|private|protected|static|pub|abstract|final|async|unsafe|extern)\s+)*"
    r"(?:def|class|fn|func|fun|function|struct|enum|trait|interface|type|impl|mod|module|namespace|object|union)\s+)"
    r"([\w$.:]+)(.*)"
)
"""What makes a symbol, and its name."""
_SCORE_FROM = 60
"""Cells of the list from which on the score has a bar."""


class MapRows:
    """Draws them, one at a time."""

    def __init__(self, looks: Callable[[], Looks]) -> None:
        self._looks = looks

    def columns(self, width: int) -> Strip:
        """The columns' names."""
        quiet = self._style("t3")
        score = "    score".ljust(_BAR + 10) if width >= _SCORE_FROM else "    "
        return row(width, [(f"{score}file and symbols", quiet)], [("why", quiet)], fill=quiet)

    def file(self, one: MapFile, width: int, ground: Role, *, pinned: bool) -> Strip:
        """A file, how well it fits, and why."""
        symbols = self._looks().symbols
        fill = self._style(ground=ground)
        mark = symbols.chosen if ground == "selection" else " "
        left: list[Part] = [
            (mark, self._style("accent", ground=ground)),
            (" ", fill),
            ("+ " if pinned else "  ", self._style("accent" if pinned else "t3", ground=ground)),
        ]
        if width >= _SCORE_FROM:
            full = round(one.share * _BAR)
            score = (
                str(round(one.share * 100)) if one.share else ""
            )  # before there is an index nobody knows it
            left += [
                (f"{score:>3} ", self._style("t2", ground=ground)),
                (symbols.meter_full * full, self._style("accent", ground=ground)),
                (symbols.meter_rest * (_BAR - full), self._style("border-strong", ground=ground)),
                ("  ", fill),
            ]
        room = max(8, width - cells(left) - 2)
        path = fit(clean_line(one.path), room, symbols.ellipsis)
        left.append((path, self._style(bold=True, ground=ground)))
        rest = room - len(path) - 3
        why = fit(clean_line(", ".join(one.reasons)), max(0, rest), symbols.ellipsis) if rest > 8 else ""
        return row(width, left, [(why, self._style("t2", ground=ground))] if why else (), fill=fill)

    def symbol(self, one: MapSymbol, width: int, ground: Role) -> Strip:
        """What is shown of a file, and where it stands there."""
        symbols = self._looks().symbols
        fill = self._style(ground=ground)
        indent = " " * (2 + (_BAR + 6 if width >= _SCORE_FROM else 0))
        mark = symbols.chosen if ground == "selection" else " "
        room = max(8, width - len(indent) - len(one.lines) - 6)
        text = fit(clean_line(one.signature), room, symbols.ellipsis)
        left: list[Part] = [
            (mark, self._style("accent", ground=ground)),
            (f" {indent}", fill),
            *self._coloured(text, ground),
        ]
        return row(width, left, [(one.lines, self._style("t3", ground=ground))], fill=fill)

    def _coloured(self, text: str, ground: Role) -> list[Part]:
        """A signature with its keyword and its name in the colours of code; the chosen row has none."""
        found = _SIGNATURE.match(text) if ground == "s0" else None
        if found is None:
            return [(text, self._style("t1", ground=ground))]
        keyword, name, rest = found.groups()
        return [
            (keyword, self._style("keyword")),
            (name, self._style("function")),
            (rest, self._style("t2")),
        ]

    def _style(self, text: Role = "t1", *, bold: bool = False, ground: Role = "s0") -> Style:
        return self._looks().palette.rich(text, ground, bold=bold)


PINNED = "pinned"
"""The reason that the ranking gives for what was pinned."""
MEANT: Final = {
    "named": "the question names it",
    "words": "it has words of the question",
    "window": "several stand close together",
    "history": "such commits changed it before",
    "neighbour": "it goes with the first files",
    "no word": "it has no word of the question",
    "recent": "it was changed lately",
    "entry": "a program begins here",
    "graph": "other files lean on it",
    "place": "it lies where such files lie",
    "test": "tests come behind code",
    "doc": "documents come behind code",
    "foreign": "it comes from elsewhere",
    "settings": "settings come behind code",
    "hidden": "you hid it; the same key shows it again",
}
"""What the ranking's reasons mean."""


class MapDetail(Facts):
    """Its rows, of the parts in the order in which they are called."""

    def draw(self, one: MapFile | None, choice: RepoMapOptions, *, fault: str) -> None:
        """The chosen file; where there is none, why."""
        self.gap()
        if one is None:
            if fault:
                self.text(fault, "t3")
            return
        self.text(one.path, bold=True)
        self.heading("Why it stands here")
        for reason in one.reasons:
            if reason in MEANT:
                self.fact(reason, MEANT[reason])
            elif reason != PINNED:
                self.text(reason, "t2")
        if one.path in choice.pinned:
            self.fact(PINNED, "it always comes first", "accent")
        if one.symbols:
            self.heading("Shown of it")
        for symbol in one.symbols:
            self.fact(symbol.lines, symbol.signature.strip())

    def budget(self, choice: RepoMapOptions, files: int, settings: SessionSettings | None) -> None:
        """What the model gets of it, and by what way."""
        self.heading("For the model")
        self.fact("budget", f"{format_tokens(choice.max_tokens)} tokens")
        if files:
            self.fact("sees", f"{format_count(files, 'file')}, as listed")
        bare = settings is not None and settings.context_mode == "none"
        auto = settings is not None and settings.repo_map == "auto" and not bare
        when = "with a session's first message, and after a compaction" if auto else "only when it asks"
        when += ", as the context mode is none" if bare else ""
        self.fact("gets it", when, "t1" if auto else "warning")
        self.fact("hidden", ", ".join(clean_line(path) for path in choice.hidden))

    def besides(self, said: str) -> None:
        """What the command line told beside the map."""
        self.fact("besides", said.partition(";")[2].strip(), "t2")
