"""The status line: a word for the state, what runs, for how long, and the lit stage of the pipeline.

Invariant: columns 2 to 4 show whether the app is idle, running, waiting or failed; only the symbol blinks.
"""

from typing import Literal, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, cells, cut, doing, part, row
from tui_agent.units import format_elapsed

STAGES = ("message", "model", "policy", "tools", "trace")
Mood: TypeAlias = Literal["opening", "ready", "running", "waiting", "failed", "stopped", "paused"]


class StatusView(NamedTuple):
    """The content of the line: `word` is the state or the verb, `what` its object, `stage` the lit stage or empty."""

    mood: Mood = "opening"
    word: str = "opening"
    what: str = ""
    since: float | None = None
    stage: str = ""
    note: str = ""
    """Shown at the end on wide screens: run id and newest event."""
    below: str = ""
    """`12 new rows, End` while the user has scrolled up."""


def mood_symbol(view: StatusView, symbols: Symbols, *, lit: bool = True) -> tuple[str, Role]:
    """Return symbol and colour of a mood."""
    looks: dict[Mood, tuple[str, Role]] = {
        "opening": (symbols.queued, "t3"),
        "ready": (symbols.queued, "t3"),
        "running": (symbols.running if lit else symbols.running_dim, "accent"),
        "waiting": (symbols.waiting, "warning"),
        "failed": (symbols.failed, "error"),
        "stopped": (symbols.stopped, "warning"),
        "paused": (symbols.stopped, "warning"),
    }
    return looks[view.mood]


class Status(LinePane):
    """One row; `beat` is called twice a second while something runs."""

    view: StatusView = StatusView()
    lit: bool = True
    now: float = 0.0

    def set_view(self, view: StatusView, now: float) -> None:
        """Show this status at this time."""
        self.view, self.now = view, now
        if view.mood != "running":
            self.lit = True
        self.show()

    def beat(self, now: float) -> None:
        """Blink and count the time; paints only this row."""
        self.now = now
        self.lit = not self.lit if self.looks.motion else True
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        left = self._left_parts(width)
        room = width - cells(left) - 4
        right = self._new_rows() if self.view.below else self._pipeline(room)
        return [row(width, left, right, fill=self.style(), ellipsis=self.looks.symbols.ellipsis)]

    def _left_parts(self, width: int) -> list[Part]:
        view, symbols = self.view, self.looks.symbols
        symbol, role = mood_symbol(view, symbols, lit=self.lit)
        is_calm = view.mood in ("opening", "ready")
        parts: list[Part] = [
            ("  ", self.style()),
            (symbol, self.style(role)),
            (" ", self.style()),
            part(view.word, self.style("t2" if is_calm else "t1", bold=not is_calm)),
        ]
        clock = ""
        if view.since is not None and view.mood == "running":
            clock = "  " + format_elapsed(self.now - view.since)
        if view.what:
            room = max(8, width - 40) if width >= 70 else width - cells(parts) - len(clock) - 16
            gap = " " if view.mood == "running" else "  "
            parts += cut([part(gap + view.what, self.style("t2"))], room, symbols.ellipsis)
        if clock:
            parts.append((clock, self.style("t3")))
        if view.note and width >= 90:
            parts.append(part("   " + view.note, self.style("t3")))
        return parts

    def _new_rows(self) -> list[Part]:
        return [part(self.view.below, doing(self.style("accent"), "to_end"))]

    def _pipeline(self, room: int) -> list[Part]:
        symbols, lit = self.looks.symbols, self.view.stage
        quiet, bright = self.style("t3"), self.style("accent", bold=True)
        if self.shape.width < 70:
            return [(f"[{lit}]", bright)] if lit and room >= len(lit) + 2 else []
        whole: list[Part] = []
        for stage in STAGES:
            if whole:
                whole.append((f" {symbols.arrow} ", quiet))
            whole.append((f"[{stage}]", bright if stage == lit else quiet))
        if cells(whole) <= room:
            return whole
        if not lit:
            return []
        dots = symbols.ellipsis
        before = f"{dots} {symbols.arrow} " if lit != STAGES[0] else ""
        after = f" {symbols.arrow} {dots}" if lit != STAGES[-1] else ""
        short: list[Part] = [(before, quiet), (f"[{lit}]", bright), (after, quiet)]
        if cells(short) <= room:
            return short
        return [(f"[{lit}]", bright)] if room >= len(lit) + 2 else []
