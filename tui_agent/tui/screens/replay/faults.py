"""Faults of a replay's own screen: said once each, and kept from stopping what works.

Invariant: a part that cannot be drawn takes no other with it; the header names the first that lacks something.
"""

from collections.abc import Callable

from tui_agent.folds.views import Views, fault_words
from tui_agent.tui.screens.replay.header import ReplayHeader
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role


class ReplayFaults:
    """Of one replay; `say` puts a short word where the user looks."""

    def __init__(self, header: ReplayHeader, say: Callable[[str, Role], None]) -> None:
        self._header = header
        self._say = say
        self._told = set[tuple[str, str]]()

    def guarded(self, what: str, draw: Callable[[], object]) -> None:
        """Draw a part of the screen; where it fails, that is said once, and the others are drawn."""
        try:
            draw()
        except Exception as error:  # noqa: BLE001 - a supervisor: a part that breaks takes no other with it
            self._header.lacks = self._header.lacks or what
            words = clean_line(fault_words(error))
            if (what, words) in self._told:
                return
            self._told.add((what, words))
            self.guarded("the header", self._header.show)
            self._say(f"{what} could not be drawn: {words}", "error")

    def look(self, views: Views) -> None:
        """Say what a pane lacks, once for each."""
        for key, fault in views.faults.items():
            if key not in self._told:
                self._told.add(key)
                self._say(f"{fault.view} lacks event {fault.seq}, {fault.kind}: {fault.error}", "error")
