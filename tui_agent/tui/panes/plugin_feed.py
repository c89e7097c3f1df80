"""The panes of plugins: the list of all panes, and the content of open panes.

Invariant: the app never waits for a plugin, because a child process draws the panes.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

import anyio
from anyio import to_thread
from textual.strip import Strip

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded

if TYPE_CHECKING:  # few sessions have panes of plugins
    from tui_agent.plugin_host.panes.pane_messages import PaneAnswer, PaneRequest
    from tui_agent.plugin_host.plugin_folders import PanePlace

PanePlaces: TypeAlias = Mapping[str, "PanePlace"]
"""Maps a pane's name to its place (plugin and folder)."""
PERIOD_S: Final = 0.2
"""Time between two requests to the child process, in seconds."""
KIND: Final = "pane:"
"""Prefix of a pane's name in `PluginLoaded.contributions`, e.g. `pane:test_runs`."""


class PaneSource(Protocol):
    """Answers requests for panes; implemented by `PaneClient`."""

    async def ask(self, request: "PaneRequest", progress: Callable[[int], object]) -> "PaneAnswer": ...

    async def close(self) -> None: ...


def start_client() -> PaneSource:
    """Return a client that starts its child process with the first request."""
    # Loaded here, because only an open pane needs it.
    return cast(PaneSource, import_module("tui_agent.plugin_host.panes.pane_client").PaneClient())


def find_panes(options: SessionOptions, folder: str, environ: Mapping[str, str]) -> PanePlaces:
    """Return the place of each pane for a session in `folder`. This function blocks: call it in a thread."""
    find: Callable[..., PanePlaces] = import_module("tui_agent.plugin_host.plugin_folders").find_panes
    return find(replace(options, cwd=Path(folder)), environ)


@dataclass(slots=True)
class PaneState:
    """A pane of a plugin: its newest blocks, or the reason why it has no blocks."""

    loaded: PluginLoaded
    """The event that recorded the loading of the pane's plugin."""
    blocks: tuple[DisplayBlock, ...] | None = None
    """The newest content of the pane; None until the first answer."""
    asked_seq: int = -2
    """Number of the newest event when the pane's content was last requested; -2 before the first request."""
    progress: int = -1
    """Number of the newest event read, while the pane reads a long log; otherwise -1."""
    fault: str = ""
    """The reason why the pane has no new content; empty if there is no fault."""
    is_stopped: bool = False
    """True if the pane is not requested again until the user opens it again."""
    drawn_rows: tuple[object, list[Strip]] | None = None
    """The rows drawn for `blocks`, as (key, rows). The key identifies the width and the look. None before drawing."""


class PaneFeed:
    """Keeps the open panes of one session up to date.

    A pane shows the session at the newest event or, in a replay, at the shown event.

    - `log`: returns the folder of the session's log
    - `find`: returns the places of the panes; runs in a thread
    - `start`: runs a coroutine in the background
    - `make_source`: starts the child process
    - `is_live`: True to restart the child process after a plugin was reloaded; False in a replay
    """

    def __init__(
        self,
        log: Callable[[], Path | None],
        find: Callable[[], PanePlaces],
        start: Callable[[Coroutine[object, object, None], str], object],
        *,
        is_live: bool = True,
        make_source: Callable[[], PaneSource] = start_client,
    ) -> None:
        self._log, self.find, self._start, self.make_source = log, find, start, make_source
        self._is_live = is_live
        self.panes: dict[str, PaneState] = {}
        self.unfolded: set[str] = set()
        """The names of the open panes in the sidebar."""
        self.page = ""
        """The name of the pane that is open as a page."""
        self.changed: list[Callable[[], object]] = []
        """Functions called after a change of a pane."""
        self._places: PanePlaces | None = None
        self._seq = -1
        self._shown_log: Path | None = None
        self._is_running = self._must_restart = False
        self._wake = anyio.Event()

    def update(self, plugins: Mapping[str, PluginLoaded | PluginFailed], seq: int) -> None:
        """Update the list of panes, and request new content if the shown event changed; called for each frame.

        - `plugins`: maps a plugin's name to the newest event about its loading
        - `seq`: number of the shown event
        """
        offers = {
            name.removeprefix(KIND): event
            for event in plugins.values()
            if isinstance(event, PluginLoaded)
            for name in event.contributions
            if name.startswith(KIND)
        }
        log = self._log()
        # A reload records a new event for the plugin, so compare the events too.
        is_same = offers.keys() == self.panes.keys() and not (
            self._is_live and any(state.loaded is not offers[name] for name, state in self.panes.items())
        )
        if log != self._shown_log or not is_same:
            self._shown_log, self._places, self._must_restart = log, None, True
            self.panes = {name: PaneState(event) for name, event in offers.items()}
            self._notify_listeners()
        if seq != self._seq or self._must_restart:
            self._seq = seq
            self._wake.set()

    def toggle(self, name: str) -> None:
        """Open or close a pane in the sidebar."""
        if name in self.panes:
            self.unfolded ^= {name}
            self._open(name)

    def open_page(self, name: str) -> None:
        """Keep the pane `name` up to date while a page shows it.

        `name`: empty if no page is open.
        """
        self.page = name
        self._open(name)

    def _open(self, name: str) -> None:
        state = self.panes.get(name)
        if state is not None and state.is_stopped:
            self.panes[name] = PaneState(state.loaded)  # opened again: give it another chance
        if not self._is_running and self._next() is not None:
            self._is_running = True
            self._start(self._run(), "the plugin panes")
        self._wake.set()
        self._notify_listeners()

    def _notify_listeners(self) -> None:
        for changed in tuple(self.changed):
            changed()

    def _next(self) -> tuple[str, PaneState] | None:
        """Return the open pane that has waited longest; None if no open pane needs an update."""
        waiting = [
            (name, state)
            for name, state in self.panes.items()
            if (name in self.unfolded or name == self.page)
            and not state.is_stopped
            and state.asked_seq != self._seq
        ]
        return min(waiting, key=lambda pane: pane[1].asked_seq, default=None)

    async def _run(self) -> None:
        source = self.make_source()
        try:
            while True:
                pane = self._next()
                if pane is None:
                    # An anyio event cannot be cleared, so each wait needs a new one.
                    self._wake = anyio.Event()
                    await self._wake.wait()
                    continue
                if self._must_restart:
                    # Before the wait in `close`, so that a change during this wait restarts the process again.
                    self._must_restart = False
                    await source.close()
                await self._ask(source, *pane)
                self._notify_listeners()
                await anyio.sleep(PERIOD_S)
        finally:
            self._is_running = False
            await source.close()

    async def _ask(self, source: PaneSource, name: str, state: PaneState) -> None:
        # Before the answer, so that a faulty pane is asked again only after another event.
        state.asked_seq = self._seq
        try:
            if self._places is None:
                self._places = await to_thread.run_sync(self.find)
            place = self._places.get(name)
            if place is None or place.plugin != state.loaded.plugin or self._shown_log is None:
                state.fault = f"The plugin {state.loaded.plugin} was removed."
                return
            messages = import_module("tui_agent.plugin_host.panes.pane_messages")
            request = messages.PaneRequest(
                pane=name,
                plugin=place.plugin,
                folder=str(place.folder),
                log=str(self._shown_log),
                seq=state.asked_seq,
            )
            answer: PaneAnswer = await source.ask(request, partial(self._take_progress, state))
        except TuiAgentError as error:
            state.fault, state.is_stopped = str(error), True
            return
        state.progress = -1
        if answer.kind == "fault":
            state.fault, state.is_stopped = answer.message, answer.stopped
        else:
            state.fault = ""
        if answer.kind == "blocks":
            state.blocks, state.drawn_rows = answer.blocks, None

    def _take_progress(self, state: PaneState, seq: int) -> None:
        state.progress = seq
        self._notify_listeners()
