"""Figures of the chat: CPU of a streamed reply, opening 10,000 entries, appending, memory; compared with an empty app.

    python benchmarks/transcript.py [--rounds 3]

Each figure is measured in a new process, in turns with an empty Textual app. A reply is 20,000 deltas of 4 characters
(80 KB of Markdown of one kind), passed to `set_view` in merged pieces: `at once`: 20 views, as at 1,000 deltas a second;
`live`: 1,000 views, as at 100 deltas a second. There are no waits in between.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from textual.app import App

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.tui.transcript.samples import Samples, TranscriptApp, diff_block
from tui_agent.folds.transcript.entries import TranscriptView
from tui_agent.tui.transcript.canvas import Pace

SIZE = (120, 40)
REPLY = 80_000


def shapes() -> Iterator[tuple[str, str]]:
    """Return replies of 80 KB by kind of Markdown."""
    words = "the quick brown fox jumps over a lazy dog and then runs away again "
    prose = (words * 6 + "with **bold** and `code`.\n\n") * 400
    fence = "```python\n" + "".join(f"def f{i}(x):\n    return x + {i}  # add\n\n" for i in range(3000))
    items = "".join(f"- item {i} with **bold** text, `code` and more\n" for i in range(3000))
    table = "| name | count | note |\n|---|--:|---|\n" + "".join(
        f"| cell {i} | {i} | some `text` |\n" for i in range(4000)
    )
    mixed = (
        f"## Part\n\n{words * 3}\n\n- one **two**\n- three `four`\n\n```python\nx = [1, 2]\nprint(x)\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    )
    yield "mixed", (mixed * 300)[:REPLY]
    yield "prose", prose[:REPLY]
    yield "fence", fence[:REPLY]
    yield "list", items[:REPLY]
    yield "table", table[:REPLY]
    yield "one line", (words * 1300)[:REPLY]


def rss_mib() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 2**20


async def stream(text: str, views: int) -> dict[str, float]:
    """Return the CPU time of one reply in a widget on a screen that paints every view."""
    samples = Samples()
    samples.user("Write it.")
    entry = samples.answer("", streaming=True)
    app = TranscriptApp(samples.entries)
    frames: list[float] = []
    # A clock on which every view is due: all of them are painted.
    app.transcript._pace = Pace(clock=count().__next__)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        started = time.process_time()
        for number in range(1, views + 1):
            done = number == views
            grown = replace(
                entry, text=text[: len(text) * number // views], streaming=not done, revision=number + 1
            )
            samples.entries[1] = grown
            frame = time.process_time()
            app.transcript.set_view(TranscriptView(entries=samples.entries, revision=number), (1,))
            await pilot.pause(0)
            frames.append(time.process_time() - frame)
        return {
            "cpu_s": time.process_time() - started,
            "frame_ms_median": sorted(frames)[len(frames) // 2] * 1000,
        }


async def long_view(size: int) -> dict[str, float]:
    """Measure opening, scrolling, appending and memory of a long transcript."""
    samples = Samples()
    while len(samples.entries) < size:
        samples.user(f"Message {len(samples.entries)}: find out why and fix it.")
        samples.tool("read", "src/timesheet/entry.py", "61 lines", 6)
        samples.answer(
            "A paragraph of **text** that is a little longer than one row of the screen, so that it wraps.\n\n- a\n- b\n"
        )
        samples.tool(
            "edit", "src/timesheet/entry.py", "+4 -1", 8, blocks=(diff_block("src/timesheet/entry.py"),)
        )
        samples.turn_end()
    app = TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before, started = rss_mib(), time.process_time()
        app.transcript.set_view(samples.view(), range(len(samples.entries)))
        await pilot.pause(0)
        opened = time.process_time() - started
        started = time.process_time()
        for number in range(200):
            samples.tool("read", f"src/{number}.py", "61 lines", 6)
            app.transcript.set_view(samples.view())
            await pilot.pause(0)
        appended = (time.process_time() - started) / 200
        started = time.process_time()
        for number in range(100):
            app.transcript.viewport.scroll_to(number * app.transcript.viewport.layout.total // 100)
            app.transcript.repaint()
            await pilot.pause(0)
        jumped = (time.process_time() - started) / 100
        return {
            "open_cpu_s": opened,
            "append_ms": appended * 1000,
            "jump_ms": jumped * 1000,
            "added_mib": rss_mib() - before,
        }


async def empty() -> dict[str, float]:
    """Measure an empty Textual app: start, 20 idle frames, end."""
    started = time.process_time()
    app: App[None] = App()
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(20):
            await pilot.pause(0)
    return {"cpu_s": time.process_time() - started}


def one(name: str) -> dict[str, float]:
    """Measure one figure in this process."""
    if name == "empty":
        return asyncio.run(empty())
    if name.startswith("entries"):
        return asyncio.run(long_view(int(name.split()[1])))
    shape, views = name.rsplit(" ", 1)
    return asyncio.run(stream(dict(shapes())[shape], int(views)))


def main() -> None:
    """Measure all figures in new processes and print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one)))
        return
    names = [
        "empty",
        *(f"{shape} {views}" for shape, _ in shapes() for views in (20, 1000)),
        "entries 1000",
        "entries 10000",
    ]
    for name in names:
        rounds = [
            json.loads(
                subprocess.run(
                    [sys.executable, __file__, "--one", name], check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(arguments.rounds)
        ]
        medians = {key: sorted(r[key] for r in rounds)[len(rounds) // 2] for key in rounds[0]}
        print(f"{name:16}", "  ".join(f"{key} {value:.3f}" for key, value in medians.items()), flush=True)


if __name__ == "__main__":
    main()
