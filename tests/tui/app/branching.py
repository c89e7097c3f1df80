"""The app on a session that went two ways, with a command line that knows its store."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.worker import Worker

from tests.stubs.branched import AFTER, BEFORE, FORK, SESSION, Branched
from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import NOWHERE, PATIENCE, Driven, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.tui.widgets.sheet import Sheet


class Told:
    """Answers what the app asks of the command line, and keeps what was asked."""

    def __init__(self, branched: Branched) -> None:
        self.branched = branched
        self.asked: list[tuple[str, ...]] = []
        self.refuses = ""
        self.texts: list[str] = []
        """The new message or result of each fork, from standard input."""
        self.note = ""
        """What the fork says about its files."""
        self.may_fork = asyncio.Event()
        """Unset while a fork takes its time."""
        self.may_fork.set()

    async def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        self.asked.append(words)
        self.texts += [stdin] if words[:2] == ("sessions", "fork") else []
        if words[:2] == ("sessions", "fork"):
            await self.may_fork.wait()
        match words:
            case ("sessions", "tree", session, "--json"):
                return 0, self.branched.tree(session)
            case ("sessions", "checkpoints", _, "--json"):
                return 0, self.branched.checkpoints()
            case ("sessions", "fork", *_) if self.refuses:
                return 2, f"tui-agent: {self.refuses}\n"
            case ("sessions", "fork", *_):
                return 0, json.dumps({"id": FORK, "note": self.note})
            case _:
                return 0, ""

    @property
    def forks(self) -> list[tuple[str, ...]]:
        """What was asked of `sessions fork`."""
        return [words for words in self.asked if words[:2] == ("sessions", "fork")]


class Walked(Driven):
    """An open app, with the sessions that it has opened in turn."""

    told: Told
    opened: list[SessionOptions]
    sessions: list[FakeSession]

    @property
    def newest(self) -> FakeSession:
        """The session that was opened last."""
        return self.sessions[-1]

    async def slash(self, command: str) -> None:
        """Send a slash command, and wait for what it asks for."""
        self.app.prompt.editor.put_text(command)
        await self.press("enter")
        await self.quiet()

    async def keys(self, *keys: str) -> None:
        """Keys, each with what it leads to."""
        for key in keys:
            await self.press(key)
            await self.quiet()

    async def quiet(self) -> None:
        """Nothing but the session itself is under way, and who asks waits for an answer."""
        still, end = 0, time.monotonic() + PATIENCE
        while still < 3:
            await self.pilot.pause(0.01 if still == 0 else None)
            busy = [one for one in self.app.workers if not one.is_finished and not self._rests(one)]
            assert time.monotonic() < end, [(one.name, one.group) for one in busy]
            still = 0 if busy else still + 1
        await self.pilot.pause()

    def _rests(self, worker: Worker[Any]) -> bool:
        """Whether it waits for what comes from outside: a session for its end, an asker for the sheet on top."""
        if worker.name in ("fork", "what if"):
            return isinstance(self.app.screen, Sheet)
        return worker.group == "session"


@asynccontextmanager
async def walk(
    root: Path, *, size: tuple[int, int] = (120, 40), environ: dict[str, str] | None = None
) -> AsyncIterator[Walked]:
    """The app on the session of `Branched`, below `root`."""
    branched = Branched(root)
    told = Told(branched)
    sessions = [_held(branched, SESSION, branched.records)]
    opened: list[SessionOptions] = []

    async with open_app(
        session=sessions[0],
        options=SessionOptions(cwd=NOWHERE, data_dir=root, model="started/with"),
        size=size,
        environ={"TUI_AGENT_MOTION": "off", **(environ or {})},
        outside=told,
    ) as driven:

        def spawn(options: SessionOptions) -> FakeSession:
            name = options.session or SESSION
            opened.append(options)
            sessions.append(_held(branched, name, branched.store.read(name)))
            return sessions[-1]

        driven.app.spawn = spawn
        walked = Walked(driven.app, driven.session, driven.pilot)
        walked.told, walked.opened, walked.sessions = told, opened, sessions
        yield walked


def _held(branched: Branched, name: str, records: Sequence[object]) -> FakeSession:
    session = FakeSession(records, session_id=name, folder=str(branched.store.folder(name)))  # type: ignore[arg-type]
    for part in range(40, 80):
        session.blobs[f"{part:064x}"] = BEFORE.encode()
        session.blobs[f"{part + 1000:064x}"] = AFTER.encode()
    return session
