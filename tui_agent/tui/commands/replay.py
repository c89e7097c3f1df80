"""The action that shows the open session as it was at any event."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Record
from tui_agent.tui.controller.drafts import stored
from tui_agent.tui.screens.replay.live_log import FollowingScreen
from tui_agent.tui.screens.replay.recording import Recording, Ways
from tui_agent.tui.screens.tree.fork import fork, what_if

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

EVERYTHING = 10**9


class OpenSession:
    """The open session, read through its engine, but for the history of one that has a file: `recorded`."""

    def __init__(self, live: "Live", recorded: Recording | None) -> None:
        self._live = live
        self._recorded = recorded

    @property
    def id(self) -> str:
        """The session's id."""
        return self._live.app.session_id

    async def records(self) -> Sequence[Record]:
        """Every event so far."""
        if self._recorded is not None:
            return await self._recorded.records()
        return await self._live.reading.events_between(0, self._live.views.seq, EVERYTHING)

    async def newer(self, after: int) -> Sequence[Record]:
        """The events behind this one; nothing is read where there are none."""
        if self._live.views.seq <= after:
            return ()
        return await self._live.reading.events_between(after + 1, self._live.views.seq, EVERYTHING)

    async def read_text(self, text: LongText) -> str:
        """The whole of a text."""
        if self._recorded is not None:
            return await self._recorded.read_text(text)
        return await self._live.reading.read_text(text)


def replay(live: "Live", argument: str) -> None:
    """Open the session's replay over the app, at an event where one is named."""
    if argument and (not argument.isdecimal() or int(argument) > live.views.seq):
        live.app.say(f"/replay takes the number of an event, up to {live.views.seq}.", "warning")
        return
    recorded: Recording | None = None
    if live.folder is not None and stored(live.folder):
        recorded = cast(Recording, import_module("tui_agent.session.recorded").RecordedSession(live.folder))
    recording = OpenSession(live, recorded)
    ways = Ways(
        live.ask,
        live.app.terminal.copy,
        opens="/session",
        revert=partial(_revert, live),
        fork=partial(fork, live),
        what_if=partial(what_if, live),
    )
    to_seq = int(argument) if argument else None
    live.app.push_screen(FollowingScreen(recording, ways, lambda: live.app.looks, to_seq=to_seq))


def _revert(live: "Live", seq: int, leave: Callable[[], object]) -> None:
    """Ask over the replay how to go back; where it cannot be now, the app says so."""
    if live.running:
        leave()
        live.app.call_later(live.act, "revert", str(seq))
    else:
        live.rewinding.revert(str(seq), then=leave)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"replay": replay}
