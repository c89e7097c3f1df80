"""Cost of the session log: `python -m benchmarks.log_append [EVENTS_FILE]` prints JSON.

Appends a usual mix of events without syncing, then measures syncs, reading the log, and reading only its summary.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.tool import ToolCalled, ToolProgress, ToolStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.store.log_reader import read_records
from tui_agent.store.log_scan import survey_bytes
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore

SECRETS = {f"SECRET_{number}": f"value-of-secret-{number:08d}" for number in range(5)}


class WallClock:
    def now(self) -> float:
        return time.time()


def payloads(number: int) -> Payload:
    """Yield a usual mix of small events."""
    call = CallId(f"call_{number:08x}")
    match number % 5:
        case 0:
            arguments = {"command": "pytest -q tests/unit", "timeout": 30}
            return ToolCalled(
                call_id=call, name="run_command", arguments=arguments, iteration=1, verb="run", target="x"
            )
        case 1:
            return ToolStarted(call_id=call, writes=True)
        case 2:
            return ToolProgress(call_id=call, text="tests/test_entry.py ............. [ 59%]\n" * 4)
        case 3:
            return FileRead(
                path="src/app.py",
                digest="0" * 64,
                size=900,
                first_line=1,
                last_line=40,
                complete=True,
                call_id=call,
            )
        case _:
            return ModelDelta(
                request_id=RequestId("req_1"),
                part_kind="text",
                part_index=0,
                text="some words of an answer, " * 4,
            )


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def append_all(log: SessionLog, count: int) -> list[float]:
    mix = [payloads(number) for number in range(1_000)]
    taken = []
    for number in range(count):
        payload = mix[number % len(mix)]
        begun = time.perf_counter()
        log.append(payload)
        taken.append(time.perf_counter() - begun)
    return taken


async def commits(log: SessionLog, count: int) -> list[float]:
    taken = []
    for number in range(count):
        log.append(payloads(number))
        begun = time.perf_counter()
        await log.commit()
        taken.append(time.perf_counter() - begun)
    return taken


def main(count: int = 100_000) -> dict[str, float]:
    """Return the figures; the end of each name is its unit."""
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder) / "sessions", WallClock(), Redactor(secrets=SECRETS))
        log = store.create("bench")
        taken = append_all(log, count)
        synced = anyio.run(commits, log, 50)
        data = (log.folder / "events.jsonl").read_bytes()
        log.close()
        begun = time.perf_counter()
        survey_bytes(data)
        surveyed = time.perf_counter() - begun
        begun = time.perf_counter()
        found = read_records(store.folder("bench"))
        read = time.perf_counter() - begun
        return {
            "events": len(found),
            "append_median_us": round(statistics.median(taken) * 1e6, 1),
            "append_p99_us": round(percentile(taken, 0.99) * 1e6, 1),
            "commit_median_ms": round(statistics.median(synced) * 1e3, 2),
            "survey_ms": round(surveyed * 1e3, 1),
            "read_ms": round(read * 1e3, 1),
            "bytes": len(data),
        }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1])) if len(sys.argv) > 1 else main()))
