"""Write docs/pictures/demo.svg, a film of five minutes: `python -m docs.make_demo`.

The film shows the real app on recorded sessions of `tests/golden`: a session at reading speed, then the trace, the
context, a replay, the tree of branches and a comparison. A caption below the screen explains each scene. Run this again
when the screen has changed.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.screen import Screen

from docs.screen_svg import BASELINE, CELL_HEIGHT, CELL_WIDTH, Frame, film, grab
from tests.stubs.fake_session import FakeSession
from tests.tui.app.branching import walk
from tests.tui.app.comparing import compared, open_comparison
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.replaying import open_replay
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.turn import UserMessageReceived

FILM = Path(__file__).parent / "pictures" / "demo.svg"
LOG = "night_shift"
FOLDER = Path("/home/ada/timesheet")
"""The folder of the recorded session."""
SIZE = (120, 36)
STILL = {"TUI_AGENT_MOTION": "off"}
OPENING = 4
"""Events that are there when the film begins."""
SHORTEST_S, LONGEST_S = 0.25, 5.5
CHARACTERS_PER_FRAME, TYPING_S = 3, 0.2
READING_S = {"permission.requested": 11.0, "turn.finished": 10.0, "agent.finished": 6.0, "agent.spawned": 5.0}
"""Seconds that a viewer needs for what these events bring to the screen."""
CAPTIONS = {
    1: "A new session. Every event from here on goes into one log.",
    5: "The model reads what it needs. Reading is allowed by the policy; each decision is recorded.",
    47: "A bug report. The to-do list, the trace and the context are on the right.",
    88: "A subtask with a context of its own. It may read, not write: its write_file is denied.",
    121: "An edit has to be approved. The exact change is shown, and which rule would allow it next time.",
    144: "The tests run, one fails, the agent corrects its change and runs them again.",
    195: "Done. `undo` on the last row takes the whole turn back, files included.",
}
"""By the event with which each begins."""
CAPTION_COLOURS = ("#0f1419", "#ffcc66")


class Reel:
    """The frames of the film. New frames get `caption`."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.caption = ""

    def add(self, screen: Screen[object], seconds: float) -> None:
        """Append the present screen, or lengthen the last frame if the screen has not changed."""
        rows = (*grab(screen).rows, caption_row(self.caption))
        if self.frames and self.frames[-1].rows == rows:
            self.frames[-1] = Frame(rows, self.frames[-1].seconds + seconds)
        else:
            self.frames.append(Frame(rows, seconds))


def caption_row(text: str) -> str:
    """Return the row below the screen with the caption."""
    background, colour = CAPTION_COLOURS
    return (
        f'<rect width="{SIZE[0] * CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{background}"/>'
        f'<text x="{CELL_WIDTH}" y="{BASELINE}" fill="{colour}">{escape(text)}</text>'
    )


async def record_session(reel: Reel, records: Sequence[Record]) -> None:
    """Show a recorded session in the app: type the user's messages, and pause for reading."""
    session = FakeSession(records[:OPENING])
    with TemporaryDirectory(prefix="demo-") as data:
        options = SessionOptions(cwd=FOLDER, data_dir=Path(data))
        async with open_app(size=SIZE, session=session, environ=STILL, options=options) as driven:
            await driven.until(lambda: "git repository" in driven.text())
            await show_records(reel, driven, session, records)


async def show_records(reel: Reel, driven: Driven, session: FakeSession, records: Sequence[Record]) -> None:
    """Feed the records to the app, type the user's messages, and then open the panes."""
    reel.caption = CAPTIONS[1]
    reel.add(driven.app.screen, 4.0)
    for index in range(OPENING, len(records)):
        record = records[index]
        reel.caption = CAPTIONS.get(record.seq, reel.caption)
        payload = getattr(record, "payload", None)
        if isinstance(payload, UserMessageReceived):
            await type_message(reel, driven, str(payload.text))
        session.records.append(record)
        session.wake()
        pause = records[index + 1].time - record.time if index + 1 < len(records) else LONGEST_S
        reading = READING_S.get(payload.kind if payload is not None else "", 0.0)
        if pause >= SHORTEST_S or reading:
            await driven.settle()
            reel.add(driven.app.screen, max(min(pause, LONGEST_S), reading))
    await show_panes(reel, driven)


async def type_message(reel: Reel, driven: Driven, text: str) -> None:
    """Type a message into the prompt, a few characters per frame, and then empty the prompt."""
    editor = driven.app.prompt.editor
    for end in range(CHARACTERS_PER_FRAME, len(text) + CHARACTERS_PER_FRAME, CHARACTERS_PER_FRAME):
        editor.put_text(text[:end])
        await driven.pilot.pause()
        reel.add(driven.app.screen, TYPING_S)
    reel.add(driven.app.screen, 1.5)
    editor.put_text("")
    await driven.pilot.pause()


async def show_panes(reel: Reel, driven: Driven) -> None:
    """Open the trace and the context of the session."""
    reel.caption = "F3: the trace. Each model call and tool with tokens, time and cost; subtasks included."
    await press_keys(reel, driven, ("f3", 8.0), *[("up", 1.2)] * 8, ("escape", 1.5))
    reel.caption = "F4: what fills the model's window, by section."
    await press_keys(reel, driven, ("f4", 10.0), *[("down", 1.5)] * 4, ("escape", 1.0))
    reel.caption = "F1: every key and command. Shift+Tab changes what the agent may do without asking."
    await press_keys(reel, driven, ("f1", 9.0), ("escape", 1.0), *[("shift+tab", 3.0)] * 4)


async def press_keys(reel: Reel, driven: Driven, *keys: tuple[str, float]) -> None:
    """Press each key and show the resulting screen for the given seconds."""
    for key, seconds in keys:
        await driven.press(key)
        reel.add(driven.app.screen, seconds)


async def show_replay(reel: Reel, records: Sequence[Record]) -> None:
    """Move through the same session in the replay."""
    reel.caption = (
        "tui-agent replay latest: every pane as it was at any event. No model is asked, no tool runs."
    )
    async with open_replay(records, size=SIZE, to_seq=len(records) - 1) as replayed:
        reel.add(replayed.app.screen, 6.0)
        for key, seconds in (
            *[("left", 1.0)] * 20,
            ("2", 4.0),
            ("4", 4.0),
            ("6", 4.0),
            *[("right", 0.6)] * 12,
            ("9", 4.0),
        ):
            await replayed.press(key)
            reel.add(replayed.app.screen, seconds)


async def show_branches(reel: Reel) -> None:
    """Show the tree of a session with two branches, and a comparison of the branches."""
    with TemporaryDirectory(prefix="demo-") as folder:
        async with walk(Path(folder) / "tree", size=SIZE) as walked:
            reel.caption = (
                "/tree: nothing is deleted by an undo. Go back to any branch, or fork from any turn."
            )
            await walked.slash("/tree")
            reel.add(walked.app.screen, 6.0)
            for key in ("up", "up", "up", "down", "down"):
                await walked.keys(key)
                reel.add(walked.app.screen, 2.5)
        async with open_comparison(compared(Path(folder) / "ways"), size=SIZE) as two:
            reel.caption = "/compare: how two ways ended, what each cost, and which files differ."
            reel.add(two.driven.app.screen, 11.0)
            for key in ("down", "down", "down", "down"):
                await two.press(key)
                reel.add(two.driven.app.screen, 2.0)
            reel.caption = "Try it without an account: tui-agent demo bugfix"
            reel.add(two.driven.app.screen, 8.0)


async def make_film() -> list[Frame]:
    """Record all scenes, one after the other."""
    reel, records = Reel(), golden(LOG)
    await record_session(reel, records)
    await show_replay(reel, records)
    await show_branches(reel)
    return reel.frames


def main() -> None:
    """Write the film. Times are in UTC, so that the film is the same on every machine."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    frames = asyncio.run(make_film())
    FILM.parent.mkdir(exist_ok=True)
    FILM.write_text(film(frames, SIZE[0], "A recorded session of tui-agent"), encoding="utf-8")


if __name__ == "__main__":
    main()
