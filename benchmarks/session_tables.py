"""Sessions as tables: `python -m benchmarks.session_tables [SESSIONS] [EVENTS] [PARTS]` prints JSON.

`query_…`: CPU seconds of `tui-agent query` over all sessions, cold (nothing read before), warm, and after one session
changed; `floor` is a bare interpreter that imports DuckDB and runs `SELECT 1`. `upkeep_…`: milliseconds for each part to
keep `trace.parquet` up to date while a session of PARTS parts is recorded, with a write whenever one is due; `turns_…`:
with a write for each TURN_PARTS parts, as at the end of turns, whatever a write costs.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sessions_index import events, words
from tui_agent.export.trajectory.trajectory_file import MIN_PAUSE_S, PAUSE_FACTOR, TrajectoryFile
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextContent, ToolCallPart, Usage
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

GROUP_BY = "SELECT kind, count(*), min(time) FROM events GROUP BY kind ORDER BY 2 DESC"
TURN_PARTS = 200
DIFFERENT = 25
"""Number of different sessions; the others are copies of them."""


def cpu_seconds(*command: str, data: Path) -> float:
    """Return the CPU seconds of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**os.environ, "TUI_AGENT_HOME": str(data), "HOME": str(data)}
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environ, cwd=data)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_queries(data: Path, sessions: int, count: int) -> dict[str, float]:
    """Record the sessions and measure queries over them."""
    store = SessionStore(data / "sessions", SystemClock(), Redactor())
    for number in range(DIFFERENT):
        log = store.create(f"ses_{number:08}")
        for event in events(number, count):
            log.append(event)
        log.close()
    for number in range(DIFFERENT, sessions):
        folder = store.root / f"ses_{number:08}"
        folder.mkdir()
        os.link(store.root / f"ses_{number % DIFFERENT:08}" / "events.jsonl", folder / "events.jsonl")
    query = ("-m", "tui_agent", "query", GROUP_BY)
    cold = cpu_seconds(*query, data=data)
    start = time.perf_counter()
    warm = min(cpu_seconds(*query, data=data) for _ in range(3))
    wall = (time.perf_counter() - start) / 3
    os.utime(store.root / f"ses_{DIFFERENT:08}" / "events.jsonl")
    changed = cpu_seconds(*query, data=data)
    floor = min(cpu_seconds("-c", "import duckdb; duckdb.sql('SELECT 1')", data=data) for _ in range(3))
    return {
        "sessions": sessions,
        "events": sessions * count,
        "database_mb": round((store.root / "query.duckdb").stat().st_size / 1e6, 1),
        "query_cold_s": round(cold, 2),
        "query_warm_s": round(warm, 2),
        "query_warm_wall_s": round(wall, 2),
        f"query_{DIFFERENT}th_changed_s": round(changed, 2),
        "floor_s": round(floor, 2),
        "warm_to_floor": round(warm / floor, 2),
    }


def measure_upkeep(data: Path, parts: int, turn_parts: int = 0) -> dict[str, float]:
    """Record a session of this many parts, and keep its trajectory up to date as the writer does.

    With `turn_parts`, write after so many parts, as at the end of turns, and at no other time.
    """
    log = SessionStore(data / "sessions", SystemClock(), Redactor()).create("ses_long")
    file = TrajectoryFile(log.folder, data / "trajectory", Redactor())
    spent, writes, next_write, last = 0.0, 0, 0.0, -1
    log.append(TurnStarted(turn=1))
    for part in range(0, parts, 2):
        call = CallId(f"c{part}")
        arguments = {"command": words(8)}
        log.append(
            ModelResponded(
                request_id=RequestId(f"r{part}"),
                first_part=part,
                parts=(ToolCallPart(call_id=call, name="run_command", arguments={"command": words(8)}),),
                finish="tool_calls",
                usage=Usage(input_tokens=1000, output_tokens=20),
                cost_usd=0.001,
                duration_ms=1.0,
            )
        )
        log.append(
            ToolCalled(
                call_id=call, name="run_command", arguments=arguments, iteration=1, verb="run", target="x"
            )
        )
        content = (TextContent(text=words(60)),)
        log.append(
            ToolFinished(call_id=call, name="run_command", status="ok", part=part + 1, content=content)
        )
        if (part + 2) % turn_parts if turn_parts else time.perf_counter() < next_write:
            continue
        start = time.process_time()
        records = log.read(last)
        last = log.last_seq
        file.apply(records)
        begun = time.perf_counter()
        file.write()
        took = time.perf_counter() - begun
        spent += time.process_time() - start
        writes += 1
        next_write = time.perf_counter() + max(MIN_PAUSE_S, PAUSE_FACTOR * took)
    start = time.process_time()
    file.apply(log.read(last))
    file.write()
    spent += time.process_time() - start
    log.close()
    return {
        "parts": parts,
        "upkeep_writes": writes + 1,
        "upkeep_ms_a_part": round(spent / parts * 1000, 3),
        "last_write_s": round(time.process_time() - start, 2),
        "trace_mb": round(file.path.stat().st_size / 1e6, 1),
    }


def main(sessions: int, count: int, parts: int) -> dict[str, float]:
    """Measure, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="tables-") as folder:
        return {
            **measure_queries(Path(folder) / "many", sessions, count),
            **measure_upkeep(Path(folder) / "long", parts),
            **{
                name.replace("upkeep", "turns"): figure
                for name, figure in measure_upkeep(Path(folder) / "turns", parts, TURN_PARTS).items()
                if name.startswith("upkeep")
            },
        }


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    print(json.dumps(main(*(given + [5_000, 200, 100_000][len(given) :])), indent=2))
