"""A program: one session in this process that takes turn after turn of a stand-in model, and prints what it holds.

    python -m tests.soak.turning HOME WORKSPACE URL TURNS EVERY

One JSON line each `EVERY` turns: turn, rss_mb, descriptors, threads, tasks, below (processes that stand below this one).
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path

import anyio

from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.wiring.session import open_session

SCENARIOS = 10


def main() -> None:
    """Play the turns."""
    home, workspace, url, turns, every = sys.argv[1:]
    anyio.run(_turns, Path(home), Path(workspace), url, int(turns), int(every))


async def _turns(home: Path, workspace: Path, url: str, turns: int, every: int) -> None:
    options = SessionOptions(
        cwd=workspace, client="headless", model="mock", base_url=url, policy="bypass", data_dir=home / "data"
    )
    async with open_session(options) as opened:
        follower = opened.follow()
        for turn in range(1, turns + 1):
            opened.submit(SubmitPrompt(text=f"turn {turn} scenario-turn{turn % SCENARIOS}"))
            ended = None
            while ended is None:
                batch = await follower.next_batch()
                ended = next((record for record in batch if _ends(record)), None)
            assert isinstance(ended, Envelope) and isinstance(ended.payload, TurnFinished)
            assert ended.payload.reason == "finished", ended.payload
            if turn % every == 0:
                gc.collect()
                print(json.dumps({"turn": turn, **_held()}), flush=True)
        follower.close()


def _ends(record: object) -> bool:
    return isinstance(record, Envelope) and isinstance(record.payload, TurnFinished)


def _held() -> dict[str, float]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "at": round(time.monotonic(), 1),
        "rss_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "tasks": len(asyncio.all_tasks()),
        "below": len(Path("/proc/self/task", str(os.getpid()), "children").read_text().split()),
    }


if __name__ == "__main__":
    main()
