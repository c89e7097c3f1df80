"""A comparison on the screen: two recorded ways in, keys in, rows of text out."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.stubs.two_ways import FORK, MAIN, two_ways
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.cli.compare import compare_named
from tui_agent.folds.comparison.compared_branch import Side
from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.screens.compare.screen import CompareScreen

NAMES = (MAIN, FORK)
FOLDER = "/home/ada/timesheet"


def compared(root: Path) -> Comparison:
    """The two ways, below `root`."""
    store, _ = two_ways(root)
    return compare_named(store, *NAMES)


@dataclass
class Outside:
    """A command line that knows one comparison, and keeps what it was asked."""

    comparison: Comparison | None
    said: str = "tui-agent: There is no such session.\n"
    asked: list[tuple[str, ...]] = field(default_factory=list)
    written: asyncio.Event = field(default_factory=asyncio.Event)
    """An export is not done before."""

    async def __call__(self, *words: str) -> tuple[int, str]:
        self.asked.append(words)
        if words[0] != "compare" or self.comparison is None:
            return 2, self.said
        if "--markdown" in words:
            await self.written.wait()
            return 0, json.dumps({"path": "/home/ada/timesheet/two-ways.md"})
        return 0, json.dumps(asdict(self.comparison)) + "\n"


@dataclass
class Compared:
    """An open comparison."""

    driven: Driven
    screen: CompareScreen
    outside: Outside
    kept: list[Side] = field(default_factory=list)
    without: list[str] = field(default_factory=list)

    async def press(self, *keys: str) -> None:
        await self.driven.press(*keys)
        await self.driven.pilot.pause()

    def rows(self) -> list[str]:
        return self.driven.rows()

    def text(self) -> str:
        return self.driven.text()

    def row(self, label: str) -> str:
        """The row with this label, without it."""
        return next(row for row in self.rows() if row.strip().startswith(label)).strip().removeprefix(label)


@asynccontextmanager
async def open_comparison(
    comparison: Comparison | None,
    *,
    size: tuple[int, int] = (160, 45),
    own: str = MAIN,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Compared]:
    """The comparison over the app, once it is read; or once it is known that there is none."""
    outside = Outside(comparison)
    quiet = {"TUI_AGENT_MOTION": "off", **(environ or {})}
    async with open_app(golden("night_shift"), size=size, environ=quiet) as driven:
        app = driven.app
        kept: list[Side] = []
        without: list[str] = []
        context = app.controller
        assert context is not None
        context.ask, app.session_id = outside, own
        screen = CompareScreen(context, NAMES, kept.append, without.append)
        await app.push_screen(screen)
        while screen.comparison is None and not without:
            await driven.pilot.pause()
        await driven.pilot.pause()
        await driven.pilot.pause()
        yield Compared(driven, screen, outside, kept, without)
