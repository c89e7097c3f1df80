"""The board of an evaluation run: the states of the cells (attempts at a case), and a cell's session.

Invariant: files are read in a thread, and the board never writes.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.errors import ConfigError
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.screens.list_page import Page
from tui_agent.tui.screens.replay.live_log import open_live_replay
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean, fit, reveal_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Column, Pen, cells, right_columns, state_mark
from tui_agent.units import format_duration

if TYPE_CHECKING:  # few sessions look at evaluations
    from tui_agent.evals.runs.progress_board import Board, BoardCell

COLUMNS = Column("state".ljust(16), 17), Column("time", 9)
NO_RUNS: Final = (
    "There are no evaluation runs in eval-runs/. To start a run: tui-agent eval run bench-20 -m MODEL"
)


class BoardScreen(Page["BoardCell"]):
    """The board: a row for each cell of the run."""

    scope = "evals"
    use_action = "cell_open"
    follow_s = 1.0
    first_column, columns = "cell", COLUMNS

    def __init__(self, context: AppContext, board: "Board") -> None:
        super().__init__(context)
        self._board = board
        self._is_reading = False
        self.listing.key = lambda shown: shown.cell.name

    def follow(self) -> None:
        """Read the run's folder again."""
        if not self._is_reading:
            self._is_reading = True
            self.start_worker(self._read(), "evals")

    async def _read(self) -> None:
        try:
            cells = await asyncio.to_thread(self._board.read)
        finally:
            self._is_reading = False
        if self.is_changed(cells):
            self.listing.set_items(cells)
            self.show_head()
            self.show_detail()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        cells: Sequence[BoardCell] = self.listing.items
        counts = Counter(shown.state for shown in cells)
        words = [f"{counts[state]} {state}" for state in ("passed", "failed", "running") if counts[state]]
        title = f"Evaluation of {self._board.plan.suite_name}"
        self.head.show_title(title, ", ".join([*words, format_count(len(cells), "cell")]) if cells else "")

    def draw_row(self, item: "BoardCell", width: int, line: Pen) -> Strip:
        looks = line.looks
        mark, role = _mark(item, looks)
        seconds = format_duration(item.result.seconds) if item.result is not None else ""
        right = right_columns(COLUMNS, [item.state.ljust(16), seconds], width, line.style(role))
        room = max(6, width - cells(right) - 6)
        name = fit(reveal_line(item.cell.name), room, looks.symbols.ellipsis)
        return line.line(width, [*line.first(mark, role), (name, line.style(bold=line.chosen))], right)

    def draw_detail(self, facts: Facts, shown: "BoardCell") -> None:
        result, cell = shown.result, shown.cell
        facts.gap()
        facts.text(reveal_line(cell.case), bold=True)
        facts.gap()
        facts.fact("state", shown.state, _mark(shown, facts.looks)[1])
        facts.fact("arm", reveal_line(cell.arm))
        facts.fact("repetition", str(cell.repetition))
        facts.fact("session", shown.session)
        if result is None:
            return
        facts.fact("model", reveal_line(result.model))
        facts.fact("time", format_duration(result.seconds))
        facts.fact("attempts", str(result.attempts) if result.attempts > 1 else "")
        facts.fact("cause", result.failure, "warning")
        if result.detail:
            facts.section("Why" if not result.passed else "Detail")
            facts.text(clean(result.detail))

    # -- actions ---------------------------------------------------------------------------------------------------

    def use(self, shown: "BoardCell") -> None:
        """Open the session of the selected cell, and follow the session if it is still running."""
        folder = self._board.run.session_folder(shown.session)
        if not shown.session or not folder.exists():
            self.say(f"{shown.cell.name} has no session yet.", "warning")
            return
        open_live_replay(self.context, folder, is_watched=shown.state == "running")


def open_board(context: AppContext, argument: str) -> None:
    """Show the board of an evaluation run.

    `argument`: the run's folder; by default the workspace's newest run.
    """
    # Imported here, because the app loads the evaluation's types only when it shows a run.
    board = import_module("tui_agent.evals.runs.progress_board")
    path = context.app.options.cwd / argument if argument else board.newest_run(context.app.options.cwd)
    if path is None:
        context.app.say(NO_RUNS, "warning")
        return
    try:
        context.app.push_screen(BoardScreen(context, board.Board(path)))
    except ConfigError as error:
        context.app.say(str(error), "warning")


def _mark(shown: "BoardCell", looks: Looks) -> tuple[str, Role]:
    known = {"passed": "done", "waiting": "queued", "running": "running", "stopped": "stopped"}
    return state_mark(known.get(shown.state, "failed"), looks.symbols)
