"""Write the pictures in docs/pictures from recorded sessions: `python -m docs.make_showcase`.

Each picture is a screen of the real app with a session of `tests/golden`. Run this again when the screen has changed.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.screen_svg import Frame, film, grab
from tests.tui.app.branching import walk
from tests.tui.app.comparing import compared, open_comparison
from tests.tui.app.driving import golden, open_app
from tests.tui.app.replaying import open_replay

PICTURES = Path(__file__).parent / "pictures"
SIZE = (120, 36)
WIDE = (132, 38)
NARROW = (60, 20)
STILL = {"TUI_AGENT_MOTION": "off"}
SCREENS = {
    "main": ("night_shift", WIDE, ()),
    "approval": ("approval", SIZE, ()),
    "trace": ("night_shift", WIDE, ("f3",)),
    "context": ("night_shift", SIZE, ("f4",)),
    "narrow": ("night_shift", NARROW, ()),
}
"""The golden log, the size in cells and the keys of each picture."""


async def pictures() -> AsyncIterator[tuple[str, int, Frame]]:
    """Return (name, columns, screen) for each picture."""
    for name, (log, size, keys) in SCREENS.items():
        async with open_app(golden(log), size=size, environ=STILL) as driven:
            await driven.press(*keys)
            yield name, size[0], grab(driven.app.screen)
    async with open_replay(golden("night_shift"), size=SIZE, to_seq=150) as replayed:
        yield "replay", SIZE[0], grab(replayed.app.screen)
    with TemporaryDirectory(prefix="showcase-") as folder:
        async with walk(Path(folder) / "tree", size=SIZE) as walked:
            await walked.slash("/tree")
            await walked.keys("up")
            yield "tree", SIZE[0], grab(walked.app.screen)
        async with open_comparison(compared(Path(folder) / "ways"), size=WIDE) as two:
            yield "compare", WIDE[0], grab(two.driven.app.screen)


async def draw() -> None:
    """Write every picture."""
    PICTURES.mkdir(exist_ok=True)
    async for name, columns, frame in pictures():
        text = film([frame], columns, f"tui-agent: {name}")
        (PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")


def main() -> None:
    """Write the pictures. Times are in UTC, so that the pictures are the same on every machine."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    asyncio.run(draw())


if __name__ == "__main__":
    main()
