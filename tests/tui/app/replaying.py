"""A replay of records on the screen: keys in, rows of text out."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from tests.stubs.quick_pilot import QuickPilot, piloted
from tests.tui.app.driving import ENVIRON, NOWHERE, PATIENCE
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.tui.screens.replay.app import ReplayApp


class FakeRecording:
    """Records as a recorded session."""

    id = "ses_0000000000000001"
    folder = NOWHERE

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    async def read_all(self) -> Sequence[Record]:
        return self._records

    async def read_text(self, text: LongText) -> str:
        return text_preview(text)


class FakeCommandLine:
    """Says what it is told to say, and keeps what it was asked."""

    def __init__(self, said: str = "", status: int = 0) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._said, self._status = said, status

    async def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        self.asked.append(words)
        return self._status, self._said


class Replayed:
    """An open replay."""

    def __init__(self, app: ReplayApp, pilot: QuickPilot[int]) -> None:
        self.app, self.pilot, self.screen = app, pilot, app.replay

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until_shows(self, expected: str) -> None:
        """Wait until the screen is this: what is behind is painted with the next frame. Fails with the screen as it is."""
        end = time.monotonic() + PATIENCE
        while self.text() != expected and time.monotonic() < end:
            await self.pilot.pause(0.01)
        assert self.text() == expected

    async def until(self, done: Callable[[], object]) -> None:
        """Wait until it is so. Fails with the screen as it is where that does not come about."""
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, self.text()
            await self.pilot.pause(0.01)

    def rows(self) -> list[str]:
        """The screen as text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.rows())


@asynccontextmanager
async def open_replay(
    records: Sequence[Record],
    *,
    size: tuple[int, int] = (120, 40),
    to_seq: int | None = None,
    speed: float = 1.0,
    ask: FakeCommandLine | None = None,
) -> AsyncIterator[Replayed]:
    """The replay's own app, once it stands at its first moment."""
    app = ReplayApp(
        SessionOptions(cwd=NOWHERE, data_dir=NOWHERE),
        FakeRecording(records),
        to_seq=to_seq,
        speed=speed,
        environ={**ENVIRON, "TUI_AGENT_MOTION": "off"},
        ask=ask or FakeCommandLine(),
    )
    async with piloted(app, size) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        yield Replayed(app, pilot)
