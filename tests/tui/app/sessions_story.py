"""Sessions as the command line tells of them: what the list of sessions is tested with."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.tui.screens.sessions.screen import SessionsScreen

NOW = golden("night_shift")[-1].time + 1
HOUR, DAY = 3_600.0, 86_400.0


def told(number: int, title: str, folder: str, age: float, **rest: object) -> dict[str, object]:
    """A line of `sessions list --json`."""
    return {
        "id": f"ses_{number:016}",
        "path": f"/dev/null/ses_{number}",
        "workspace": f"/code/{folder}",
        "started": NOW - age - 180,
        "updated": NOW - age,
        "title": title,
        "events": 369,
        "last_seq": 368,
        "turns": 3,
        "cost_usd": 0.097,
        "outcome": "done",
        "model": "claude-sonnet-4-5",
        "parent": None,
        "forked_at": None,
        "size_bytes": 118_000,
        "open": False,
        "damaged": False,
        "other_version": False,
        **rest,
    }


SESSIONS: Sequence[dict[str, object]] = (
    told(1, "night-shift-hours", "timesheet", 120),
    told(2, "break-rounding", "timesheet", 3 * HOUR + 60, turns=5, cost_usd=0.212),
    told(3, "break-rounding", "timesheet", 3 * HOUR, turns=2, cost_usd=0.061, outcome="stopped", parent="ses_0000000000000002", forked_at=88),
    told(4, "csv-import-quotes", "timesheet", DAY + HOUR, turns=9, cost_usd=0.54, size_bytes=4_000_000),
    told(5, "why-is-ci-slow", "shiftplan", DAY + 2 * HOUR, turns=4, cost_usd=0.133, outcome="failed"),
    told(6, "rename-week-to-period", "shiftplan", 6 * DAY, turns=12, cost_usd=1.02, outcome="waiting"),
    told(7, "first look", "shiftplan", 9 * DAY, turns=None, cost_usd=None, outcome="empty"),
    told(8, "of another time", "shiftplan", 12 * DAY, other_version=True),
    told(9, "", "timesheet", 40 * DAY, damaged=True),
)  # fmt: skip
PREVIEW: Mapping[str, object] = {
    "first": {
        "seq": 4,
        "time": NOW,
        "text": "timesheet report --week 13 shows -32.5 h for the night shift. Find out why and fix it.",
    },
    "last": None,
    "answer": "Fixed. A shift that ends before it starts now ends on the next day.",
    "whole": True,
    "flaws": [],
    "files": [
        {"path": "src/timesheet/entry.py", "added": 4, "removed": 1},
        {"path": "tests/test_entry.py", "added": 15, "removed": 0},
        {"path": "tests/test_report.py", "added": 1, "removed": 1},
    ],
    "todo": {"done": 5, "total": 5},
    "context": {"used": 42_200, "window": 200_000, "fraction": 0.211},
    "waiting": {"approval": [], "question": [], "queued": [], "draft": False},
    "tests": {"passed": 32, "failed": 0},
    "branches": [
        {
            "kind": "branch",
            "name": "main",
            "started": NOW,
            "outcome": "done, 30 tests pass",
            "state": "done",
            "current": False,
        },
        {
            "kind": "branch",
            "name": "branch at 50",
            "started": NOW,
            "outcome": "done",
            "state": "done",
            "current": True,
        },
        {
            "kind": "fork",
            "name": "fork at event 88",
            "started": NOW,
            "outcome": "done",
            "state": "done",
            "current": False,
            "tests": {"passed": 30, "failed": 2},
        },
    ],
}


class Programs:
    """A command line that knows these sessions. `texts` are what is said in which; `gates` hold answers back."""

    def __init__(
        self, sessions: Sequence[dict[str, object]] = SESSIONS, texts: Mapping[str, str] | None = None
    ) -> None:
        self.sessions = list(sessions)
        self.texts = texts or {}
        self.calls: list[tuple[str, ...]] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.failing: dict[str, str] = {}
        self.warning: dict[str, str] = {}

    async def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        self.calls.append(words)
        verb = words[1] if len(words) > 1 else ""
        if gate := self.gates.get(words[-1]):
            await gate.wait()
        if verb in self.failing:
            return 2, self.failing[verb]
        answer = getattr(self, f"_{verb}", None)
        rows: list[dict[str, object]] = answer(words) if answer is not None else []
        return 0, self.warning.get(verb, "") + "".join(json.dumps(row) + "\n" for row in rows)

    def _list(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        named = next((word.removeprefix("--id=") for word in words if word.startswith("--id=")), "")
        return [row for row in self.sessions if str(row["id"]).startswith(named)]

    def _search(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        found = [(name, said) for name, said in self.texts.items() if words[-1] in said]
        return [
            {"session": name, "seq": 41, "kind": "model.responded", "snippet": said, "places": 3}
            for name, said in found
        ]

    def _preview(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        return [{**row, **PREVIEW} for row in self.sessions if row["id"] == words[2]]

    def _rm(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        self.sessions = [row for row in self.sessions if row["id"] != words[2]]
        return [{"id": words[2], "removed": True}]

    def _fork(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        row = next(row for row in self.sessions if row["id"] == words[2])
        made = {
            **row,
            "id": "ses_new",
            "parent": words[2],
            "forked_at": int(words[4]),
            "updated": NOW,
            "started": NOW,
        }
        self.sessions.append(made)
        return [{"id": "ses_new"}]

    def _rename(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        self.sessions = [
            {**row, "title": words[3]} if row["id"] == words[2] else row for row in self.sessions
        ]
        return []

    def _export(self, words: tuple[str, ...]) -> list[dict[str, object]]:
        return [{"path": f"/tmp/{words[2]}.html"}]

    def of(self, verb: str) -> list[tuple[str, ...]]:
        """The calls of one verb of `sessions`."""
        return [words for words in self.calls if words[1:2] == (verb,)]


@asynccontextmanager
async def open_sessions(
    programs: Programs, *, size: tuple[int, int] = (120, 40), environ: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Driven, SessionsScreen]]:
    """The app with the list of sessions over it, read."""
    looks = {"TUI_AGENT_MOTION": "off", **(environ or {})}
    async with open_app(golden("night_shift"), size=size, environ=looks, outside=programs) as driven:
        driven.app.do("sessions")
        screen = await shown(driven)
        yield driven, screen


async def shown(driven: Driven) -> SessionsScreen:
    """The list, once what was asked for it has come."""

    def there() -> bool:
        screen = driven.app.screen
        return isinstance(screen, SessionsScreen) and quiet(screen)

    await driven.pilot.pause()
    await driven.until(there)
    await driven.pilot.pause()
    screen = driven.app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


def quiet(screen: SessionsScreen) -> bool:
    """Whether nothing is asked that will be answered."""
    return not any(worker.is_running for worker in screen.workers if worker.node is screen)
