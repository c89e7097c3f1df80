"""The screen with the list of sessions: `python -m benchmarks.sessions_screen [SESSIONS]` prints JSON.

The screen has generated rows. Milliseconds of CPU time per key, with the whole screen painted again: for moving down the
list, for typing a search over all names, and for changing the order.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence

from textual import events

from tests.tui.app.driving import Driven
from tests.tui.app.sessions_story import Programs, open_sessions, told
from tui_agent.tui.screens.sessions.screen import SessionsScreen

ROUNDS = 40


async def timed(driven: Driven, screen: SessionsScreen, keys: Sequence[str]) -> list[float]:
    """Return the CPU time for each key, including painting."""
    found = []
    for key in keys:
        await driven.pilot.pause()
        start = time.process_time()
        screen.on_key(events.Key(key, " " if key == "space" else key if len(key) == 1 else None))
        driven.rows()
        found.append((time.process_time() - start) * 1000)
    return found


async def main(count: int) -> dict[str, float]:
    """Measure."""
    rows = [
        told(
            number, f"session {number} of the night", f"w{number % 40}", 600.0 * number, cost_usd=number / 999
        )
        for number in range(count)
    ]
    figures: dict[str, float] = {"sessions": count}
    start = time.perf_counter()
    async with open_sessions(Programs(rows)) as (driven, screen):
        figures["open_s"] = round(time.perf_counter() - start, 3)
        walks = {
            "walk": ["down"] * ROUNDS,
            "page": ["pagedown"] * ROUNDS,
            "sort": ["s"] * 8,
            "search": ["slash", *"night 49", *["backspace"] * 8, *"session 7"],
        }
        for name, keys in walks.items():
            taken = await timed(driven, screen, ["space" if key == " " else key for key in keys])
            figures[f"{name}_ms_p50"] = round(statistics.median(taken), 1)
            figures[f"{name}_ms_max"] = round(max(taken), 1)
    return figures


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)), indent=2))
