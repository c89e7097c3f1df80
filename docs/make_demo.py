"""Write docs/pictures/demo.svg, a film of a recorded session: `python -m docs.make_demo`.

The events of `tests/golden/night_shift.jsonl` reach the real app at the pace at which they were recorded; pauses are
shortened. At the end the trace and the context are opened. Run it again when the screen has changed.
"""

import asyncio
import os
import time
from pathlib import Path

from docs.screen_svg import Frame, film, grab
from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.envelope import Record

FILM = Path(__file__).parent / "pictures" / "demo.svg"
LOG = "night_shift"
SIZE = (120, 36)
OPENING = 4
"""Events that are there when the film begins."""
SHORTEST_S, LONGEST_S = 0.25, 2.5
SHOWN_LONGER = {"user.message": 3.0, "permission.requested": 4.0, "turn.finished": 3.5}
LAST_KEYS = (("f3", 4.0), ("escape", 0.5), ("f4", 4.0), ("escape", 2.0))


async def frames_of(records: list[Record]) -> list[Frame]:
    """One frame for each change of the screen."""
    session = FakeSession(records[:OPENING])
    frames: list[Frame] = []
    async with open_app(size=SIZE, session=session, environ={"TUI_AGENT_MOTION": "off"}) as driven:
        frames.append(grab(driven.app.screen, 1.5))
        for index in range(OPENING, len(records)):
            record = records[index]
            session.records.append(record)
            session.wake()
            pause = records[index + 1].time - record.time if index + 1 < len(records) else LONGEST_S
            kind = record.payload.kind if hasattr(record, "payload") else ""
            longest = SHOWN_LONGER.get(kind, LONGEST_S)
            if pause >= SHORTEST_S or kind in SHOWN_LONGER:
                await driven.settle()
                add(
                    frames,
                    grab(driven.app.screen, max(min(pause, longest), SHOWN_LONGER.get(kind, SHORTEST_S))),
                )
        await open_the_panes(driven, frames)
    return frames


async def open_the_panes(driven: Driven, frames: list[Frame]) -> None:
    """Show the trace and the context of what has just happened."""
    for key, seconds in LAST_KEYS:
        await driven.press(key)
        add(frames, grab(driven.app.screen, seconds))


def add(frames: list[Frame], frame: Frame) -> None:
    """Append a frame, or show the last one longer if nothing has changed."""
    if frames and frames[-1].rows == frame.rows:
        frames[-1] = Frame(frame.rows, min(frames[-1].seconds + frame.seconds, 2 * LONGEST_S))
    else:
        frames.append(frame)


def main() -> None:
    """Draw and write the film."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    frames = asyncio.run(frames_of(golden(LOG)))
    FILM.parent.mkdir(exist_ok=True)
    FILM.write_text(film(frames, SIZE[0], "A recorded session of tui-agent"), encoding="utf-8")


if __name__ == "__main__":
    main()
