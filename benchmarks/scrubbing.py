"""Cost of moving through a recorded session: `python -m benchmarks.scrubbing [EVENTS_FILE]` prints JSON.

Milliseconds of moving back by one event (the maximum: a keyframe is copied and the events after it are folded again), of
jumping to any event, and of folding the log once; also the number of events that the slowest move folded.
"""

import gc
import json
import random
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.fold_events import write
from tui_agent.folds.replay_cursor import KEYFRAME_INTERVAL, ReplayCursor
from tui_agent.store.log_reader import read_records

MOVES = 400


def main(count: int = 50_000) -> dict[str, float]:
    """Return the figures: milliseconds, and counts if the name says so."""
    with tempfile.TemporaryDirectory() as root:
        records = read_records(write(Path(root), count))
    gc.freeze()  # as the app does: what was read stays
    begun = time.perf_counter()
    moments = ReplayCursor(records)
    slices = [begun]
    while moments.build_keyframes():
        slices.append(time.perf_counter())
    ready = time.perf_counter() - begun
    gc.freeze()
    chance = random.Random(1)
    back, most = [], 0
    seq = records[-1].seq
    for _ in range(MOVES):
        folded = moments.folded_count
        back.append(timed(moments, seq))
        most = max(most, moments.folded_count - folded)
        seq -= 1
    jumps = [timed(moments, chance.randrange(len(records))) for _ in range(MOVES)]
    return {
        "events": len(records),
        "prepare_ms": round(ready * 1e3),
        "prepare_slice_most_ms": round(max(b - a for a, b in pairwise(slices)) * 1e3, 1),
        "back_mean_ms": round(sum(back) / MOVES * 1e3, 1),
        "back_most_ms": round(max(back) * 1e3, 1),
        "jump_mean_ms": round(sum(jumps) / MOVES * 1e3, 1),
        "jump_most_ms": round(max(jumps) * 1e3, 1),
        "folded_most_events": most,
        "span_events": KEYFRAME_INTERVAL,
    }


def timed(moments: ReplayCursor, seq: int) -> float:
    """Return the seconds of one move, including the computation of all views."""
    begun = time.perf_counter()
    views = moments.views_at(seq)
    views.transcript.view(), views.trace.view(), views.state.view(), views.files.view(), views.meter.view()
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1])) if len(sys.argv) > 1 else main()))
