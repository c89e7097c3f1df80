"""The map's screen asks the command line: for the map, and while the index is built, how far that is.

Invariant: one question goes on at a time, the newest, and what came of an older one is never shown; a map of half an index
is made anew once that is whole.
"""

from typing import TYPE_CHECKING

from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.cli_client import json_rows, number_of
from tui_agent.tui.screens.map.queries import Answer, answer_of, state_words, words

if TYPE_CHECKING:
    from tui_agent.tui.screens.map.screen import MapScreen

BUILDING = "the index is still being built"
"""What the command line says beside a map that was made without a whole index."""


class Asking:
    """What one screen asks, and the newest answer."""

    def __init__(self, screen: "MapScreen") -> None:
        self._screen = screen
        self.answer = Answer()
        self.answered = False
        """Some answer came."""
        self.asked = ""
        """The question of the newest answer, or of the one that is waited for."""
        self.busy = False
        """An answer is waited for."""
        self._counted = 0
        """Files that the index has so far; 0 where nobody knows."""
        self._built = True
        self._counting = False
        self._made_of = -1
        """Files that the index had when the map was made anew because it had grown."""

    def begin(self, *, refresh: bool = False) -> None:
        """Ask for the map (again)."""
        screen = self._screen
        self.busy, self.asked = True, screen.top.field.text
        screen.show_head()
        screen.show_detail()
        screen.map_rows.set_count(max(1, len(screen.map_rows.lines)), screen.map_rows.at)
        options = screen.live.app.options
        asked = words(
            self.asked.strip(),
            screen.choice,
            str(options.cwd),
            refresh=refresh,
            data_dir=options.data_dir,
        )
        screen.run_worker(self._ask(asked), name="map", group="map", exclusive=True, exit_on_error=False)

    async def _ask(self, asked: list[str]) -> None:
        status, said = await self._screen.live.ask(*asked)
        self.answer, self.answered, self.busy = answer_of(status, said), True, False
        self._built = BUILDING not in self.answer.said
        self._screen.show_answer()

    def look_at_index(self) -> None:
        """How far the index is, while it is waited for; once it is whole the map is made anew from it."""
        if (self.busy or not self._built) and self._screen.is_current and not self._counting:
            self._counting = True
            self._screen.run_worker(self._count(), name="count", exit_on_error=False)

    async def _count(self) -> None:
        options = self._screen.live.app.options
        try:
            _, said = await self._screen.live.ask(*state_words(str(options.cwd), options.data_dir))
        finally:
            self._counting = False
        for state in json_rows(said)[:1]:
            self._counted = int(number_of(state, "files"))
            if not self.busy and not state.get("building"):
                self._built = True
                if self._made_of != self._counted:
                    self._made_of = self._counted
                    self.begin()
        self._screen.show_head()
        self._screen.map_rows.refresh()

    def under_way(self, ellipsis: str) -> str:
        """What is waited for; empty where nothing is."""
        if not self.busy and self._built:
            return ""
        files = f" {counted(self._counted, 'file')}" if self._counted else ""
        return f"reading the repository{ellipsis}{files}"
