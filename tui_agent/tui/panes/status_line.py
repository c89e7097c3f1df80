"""The status line: the state, the running work and its duration, and the stages of a turn.

Invariant: columns 2 to 4 show whether the app is idle, running, waiting or failed.
"""

from typing import Literal, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, cells, cut_parts, state_mark
from tui_agent.units import format_elapsed

STAGES = ("message", "model", "policy", "tools", "trace")
Mood: TypeAlias = Literal["opening", "ready", "running", "waiting", "failed", "stopped", "paused"]


class StatusView(NamedTuple):
    """The content of the status line.

    - `word`: the state, e.g. `ready`, or a verb, e.g. `running`
    - `detail`: the text after `word`, e.g. the object of the verb or a hint
    - `since`: start of the running work, in seconds since the epoch; None if no elapsed time is shown
    - `stage`: the current stage of the turn, e.g. `policy`; empty if there is none
    """

    mood: Mood = "opening"
    word: str = "opening"
    detail: str = ""
    since: float | None = None
    stage: str = ""
    note: str = ""
    """Text at the end of the status line on wide screens: run id and newest event."""
    below: str = ""
    """A text such as `12 new rows` while the user has scrolled up; otherwise empty."""
    below_key: str = ""
    """The key that goes to these rows."""


def mood_symbol(view: StatusView, symbols: Symbols, *, lit: bool = True) -> tuple[str, Role]:
    """Return the symbol for a status's mood, e.g. running or failed, and the symbol's colour role.

    `lit`: pass True and False alternately to make the symbol blink.
    """
    if view.mood == "running" and not lit:
        return symbols.running_dim, "accent"
    return state_mark("stopped" if view.mood == "paused" else view.mood, symbols)


class Status(LinePane):
    """The status line of the main screen; `beat` is called twice a second while something runs.

    - `lit`: False during the dark half of a blink
    - `now`: the current time, in seconds since the epoch
    """

    view: StatusView = StatusView()
    own_text: str = ""
    """The output of the user's `[status] command`, shown in place of the stages of the turn."""
    lit: bool = True
    now: float = 0.0

    def set_view(self, view: StatusView, now: float) -> None:
        """Show this status; `now` is the current time in seconds."""
        self.view, self.now = view, now
        if view.mood != "running":
            self.lit = True
        self.show()

    def set_own_text(self, text: str) -> None:
        """Show the user's own text at the end of the line; if it is empty, show the stages of the turn."""
        self.own_text = text
        self.show()

    def beat(self, now: float) -> None:
        """Blink the symbol and update the elapsed time; no other row of the screen is repainted."""
        self.now = now
        self.lit = not self.lit if self.looks.motion else True
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        left = self._left_parts(width)
        room = width - cells(left) - 4
        right = self._pipeline(room)
        if self.own_text:
            right = cut_parts([self.pen.part(self.own_text, "t2")], room, self.looks.symbols.ellipsis)
        if self.view.below:
            key = f" ({self.view.below_key})" if self.screen.is_active else ""
            right = [self.pen.part(self.view.below + key, "accent", intent="to_end")]
        return [self.pen.line(width, left, right)]

    def _left_parts(self, width: int) -> list[Part]:
        view, symbols, pen = self.view, self.looks.symbols, self.pen
        symbol, role = mood_symbol(view, symbols, lit=self.lit)
        is_calm = view.mood in ("opening", "ready")
        word = pen.part(view.word, "t2" if is_calm else "t1", bold=not is_calm)
        parts = [pen.part("  "), pen.part(f"{symbol} ", role), word]
        clock = ""
        if view.since is not None and view.mood == "running":
            clock = "  " + format_elapsed(self.now - view.since)
        if view.detail:
            room = max(8, width - 40) if width >= 70 else width - cells(parts) - len(clock) - 16
            if not view.stage:  # Without a stage, the pipeline on the right may be left out.
                room = width - cells(parts) - len(clock) - 4
            gap = " " if view.mood == "running" else "  "
            parts += cut_parts([pen.part(gap + view.detail, "t2")], room, symbols.ellipsis)
        note = f"   {view.note}" if view.note and width >= 90 else ""
        return [*parts, pen.part(clock + note, "t3")]

    def _pipeline(self, room: int) -> list[Part]:
        """Return the longest form of the turn's stages that fits, with the current stage marked."""
        symbols, lit, pen = self.looks.symbols, self.view.stage, self.pen
        lit_stage = pen.part(f"[{lit}]", "accent", bold=True)
        every: list[Part] = []
        for stage in STAGES:
            every += [pen.part(f" {symbols.arrow} ", "t3")] if every else []
            every.append(lit_stage if stage == lit else pen.part(f"[{stage}]", "t3"))
        before = f"{symbols.ellipsis} {symbols.arrow} " if lit != STAGES[0] else ""
        after = f" {symbols.arrow} {symbols.ellipsis}" if lit != STAGES[-1] else ""
        forms = [every] if self.shape.width >= 70 else []
        if lit:
            around = [pen.part(before, "t3"), lit_stage, pen.part(after, "t3")]
            forms = [*forms, around, [lit_stage]] if forms else [[lit_stage]]
        return next((form for form in forms if cells(form) <= room), [])
