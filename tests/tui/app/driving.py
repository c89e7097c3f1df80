"""The whole app on a fake session: golden logs in, keys in, rows of text out."""

import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.stubs.fake_session import FakeSession
from tests.stubs.quick_pilot import QuickPilot, piloted
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.envelope import Record
from tui_agent.store.log_line import decode_line
from tui_agent.tui.app import AgentApp
from tui_agent.tui.widgets.question_keys import QuestionKeys

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
PATIENCE = 30.0
"""Seconds that a busy machine may take for what comes by itself."""
NOWHERE = Path("/dev/null/nowhere")
"""A folder that can neither be there nor be made."""
ENVIRON = {"HOME": str(NOWHERE), "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}


def golden(name: str) -> list[Record]:
    """Return the records of a golden log, without the texts that are in its blobs."""
    return list(_records(name))


@cache
def _records(name: str) -> tuple[Record, ...]:
    lines = (GOLDEN / f"{name}.jsonl").read_bytes().splitlines()
    return tuple(record for record in map(decode_line, lines) if record is not None)


async def no_program(*words: str) -> tuple[int, str]:
    """A command line that says nothing."""
    return 0, ""


def end_grace_period(screen: object) -> None:
    """End the grace period of a question. From now on, a letter gives its answer at once."""
    assert isinstance(screen, QuestionKeys)
    screen._opened_at, screen.answer_delay_s = -math.inf, 0


class Driven:
    """An open app with its session."""

    def __init__(self, app: AgentApp, session: FakeSession, pilot: QuickPilot[int]) -> None:
        self.app = app
        self.session = session
        self.pilot = pilot
        self.may_break = False
        """Whether something on the screen is meant to fail."""

    async def settle(self) -> None:
        """Wait until everything that was fed, also in answer to what the app submits, is on the screen."""
        controller = self.app.controller
        assert controller is not None and controller.pump is not None
        last = -2
        while last < len(self.session.records) - 1:
            last = len(self.session.records) - 1
            await controller.pump.wait_until_shown(last)
            await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Text, letter by letter."""
        await self.press(*("space" if char == " " else char for char in text))

    async def until(self, done: Callable[[], object], case: str = "") -> None:
        """Wait until it is so. Fails with the case and the screen as it is where that does not come about."""
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, f"{case}\n{self.text()}"
            await self.pilot.pause(0.01)

    def rows(self) -> list[str]:
        """The screen as text."""
        height = self.app.size.height
        strips = self.app.screen._compositor.render_strips()
        rows = ["".join(segment.text for segment in strip) for strip in strips]
        return [row.rstrip() for row in rows[:height]] + [""] * (height - len(rows))

    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.rows())


@asynccontextmanager
async def open_app(
    records: list[Record] | None = None,
    *,
    size: tuple[int, int] = (120, 40),
    environ: Mapping[str, str] | None = None,
    session: FakeSession | None = None,
    options: SessionOptions | None = None,
    outside: object = no_program,
) -> AsyncIterator[Driven]:
    """The app, opened on a session of these records, settled. Its data folder is its own and goes with it."""
    with TemporaryDirectory(prefix="tui-agent-test-") as data:
        chosen = options or SessionOptions(cwd=NOWHERE, data_dir=Path(data))
        async with _open(records, size, environ, session, chosen, outside) as driven:
            yield driven


@asynccontextmanager
async def _open(
    records: list[Record] | None,
    size: tuple[int, int],
    environ: Mapping[str, str] | None,
    session: FakeSession | None,
    options: SessionOptions,
    outside: object,
) -> AsyncIterator[Driven]:
    held = session or FakeSession(records or [])
    clock_at = held.records[-1].time + 1 if held.records else 1_700_000_000.0
    app = AgentApp(
        options,
        spawn=lambda _: held,
        environ={**ENVIRON, **(environ or {})},
        clock=lambda: clock_at,
        outside=outside,  # type: ignore[arg-type]
    )
    async with piloted(app, size) as pilot:
        driven = Driven(app, held, pilot)
        while held.gate is None and held.failure is None and app.is_running:
            if app.controller is not None and app.controller.pump is not None:
                break
            faults = [worker.error for worker in app.workers if worker.error is not None]
            if faults:
                raise faults[0]
            await pilot.pause(0.01)
        if app.controller is not None and app.controller.pump is not None:
            await driven.settle()
        yield driven
        controller = app.controller
        assert driven.may_break or controller is None or not controller.faults.first, app.notice.text
