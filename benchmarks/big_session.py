"""A session of a million events and a gigabyte: `python -m benchmarks.big_session [DIR]` prints JSON.

Creates the session in DIR if it does not exist (two minutes). `--no-deltas`: answers are not streamed; `--events N`: a
smaller session. Measures, each in a new process: the app from outside (first screen, input ready, idle again, memory of
both processes), the engine alone, a fold of all views, and the commands that read a session. `again` opens the app a
second time, when it can use the files that the first start cached.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from benchmarks.big_turns import MODEL, Day
from benchmarks.ptybench import Tui, cpu, cpu_of, prioritise, pss_of, tree
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import RunFinished, RunStarted, SessionStarted, SessionTitled
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RunId
from tui_agent.protocol.settings import SessionSettings
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_line import encode_body, seal_line

ROOT = Path(__file__).resolve().parents[1]
SESSION = "ses_b16b16b16b16"
LAST_WORDS = "stops at `end`".replace("`", "")
Figures = dict[str, float | str | None]


def make(data: Path, events: int, *, deltas: bool) -> Path:
    """Create the session if it does not exist, always with the same bytes; return its folder."""
    folder = data / "sessions" / SESSION
    if (folder / "events.jsonl").exists():
        return folder
    workspace = data / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name("draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    with (draft / "events.jsonl").open("wb") as log:
        day = Day(BlobStore(draft / "blobs"), deltas=16, length=1.3)
        if not deltas:
            day = Day(BlobStore(draft / "blobs"), deltas=0, length=0.5)  # the same bytes of fewer pieces
        _fill(log, day, workspace, events)
    draft.rename(folder)
    return folder


def _fill(log: IO[bytes], day: Day, workspace: Path, events: int) -> None:
    def write(payload: Payload) -> None:
        at = 1_700_000_000.0 + day.seq * 0.05
        parent = day.seq - 1 if day.seq else None
        raw = payload.__pydantic_serializer__.to_json(payload)
        log.write(
            seal_line(encode_body(day.seq, at, f'"{SESSION}"'.encode(), b'"main"', parent, b"null", raw))
        )
        day.seq += 1

    write(SessionStarted(workspace=str(workspace), product="bench", settings=SessionSettings(model=MODEL)))
    run = RunId("run_0123456789ab")
    write(RunStarted(run_id=run, pid=1, client="app", product="bench", model=MODEL))
    write(EnvStarted(environment="local", root=str(workspace)))
    write(SessionTitled(title="A long working day", titled_by="user"))
    while day.seq < events:
        for payload in day.next_turn():
            write(payload)
    write(RunFinished(run_id=run, reason="quit"))


def environment(home: Path) -> dict[str, str]:
    """Return the environment for the measured programs, without the user's settings."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    return {
        **kept,
        "HOME": str(home),
        "OPENAI_API_KEY": "none",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }


def command(data: Path, *words: str) -> list[str]:
    """Return the command line of a tui-agent command."""
    return [sys.executable, "-m", "tui_agent", *words, "--data-dir", str(data)]


def peak_mib(pid: int) -> float:
    """Return the peak memory of a process in MiB; 0 if the process has ended."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return 0.0
    return round(int(found[1]) / 1024, 1) if found else 0.0


def app(data: Path, env: Mapping[str, str], nice: int) -> Figures:
    """Open the session in the app; return seconds since the start of the program, and memory in MiB."""
    line = ["env", "-i", *(f"{name}={value}" for name, value in env.items())]
    words = command(data, "--session", SESSION, "--model", "mock", "--base-url", "http://127.0.0.1:1")
    tui = Tui([*line, *words], nice=nice)
    try:
        if nice:
            tui.wait(lambda: len(tree()) > 1, 5)
            _raise_all(nice)
        shown = tui.wait(tui.shows(LAST_WORDS), 120)
        typed, _ = tui.ready(120)
        quiet = _quiet(tui)
        engine = max((pid for pid, _ in tree() if pid != tui.pid), key=pss_of, default=0)
        return {
            "shown_s": shown and round(shown - tui.t0, 2),
            "echo_s": typed and round(typed - tui.t0, 2),
            "quiet_s": round(quiet - tui.t0, 2),
            "cpu_s": round(cpu(), 2),
            "app_cpu_s": round(cpu_of(tui.pid), 2),
            "app_peak_mib": peak_mib(tui.pid),
            "app_pss_mib": pss_of(tui.pid),
            "engine_peak_mib": peak_mib(engine),
            "engine_pss_mib": pss_of(engine),
            "status": next((row.strip() for row in reversed(tui.screen.text()) if row.strip()), ""),
        }
    finally:
        tui.send("\x15\x03\x03")
        tui.wait(lambda: tui.closed, 20)
        tui.close()


def _raise_all(nice: int) -> None:
    """Raise the priority of all processes, also of the engine, whose session the kernel schedules separately."""
    for pid, _ in tree():
        with suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _quiet(tui: Tui) -> float:
    """Wait for a second in which the program uses under 15 % of a core; return the time when that second began."""
    while True:
        began, before = time.monotonic(), cpu()
        tui.wait(lambda: False, 1.0)
        if cpu() - before < 0.15 or time.monotonic() - tui.t0 > 300:
            return began


def engine(data: Path, env: Mapping[str, str]) -> Figures:
    """Start the engine alone; return the seconds until it has locked the session, and until it is ready for a prompt."""
    options = SessionOptions(cwd=data / "workspace", session=SESSION, data_dir=data, model="mock")
    child = subprocess.Popen(
        [sys.executable, "-m", "tui_agent.engine_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**env, "TUI_AGENT_BASE_URL": "http://127.0.0.1:1"},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    begun = time.perf_counter()
    child.stdin.write(json.dumps({"options": options.to_json()}).encode() + b"\n")
    child.stdin.flush()
    found: Figures = {}
    for line in child.stdout:
        name = next(iter(json.loads(line)))
        if name in ("held", "opened", "failed"):
            found[f"{name}_s"] = round(time.perf_counter() - begun, 2)
        if name == "failed":
            found["said"] = str(json.loads(line)[name])[:300]
        if name in ("opened", "failed"):
            break
    found["cpu_s"] = round(cpu_of(child.pid), 2)
    found["peak_mib"] = peak_mib(child.pid)
    child.stdin.close()
    child.stdout.read()
    child.wait()
    found["closed_s"] = round(time.perf_counter() - begun, 2)
    return found


def timed(line: list[str], env: Mapping[str, str], cwd: Path, timeout: float = 300) -> Figures:
    """Run a command; return its duration, peak memory and exit status."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=env, cwd=cwd
        )
        peak = 0.0
        while child.poll() is None:
            peak = max(peak, peak_mib(child.pid))
            time.sleep(0.01)
            if time.perf_counter() - begun > timeout:
                child.kill()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip().splitlines()
    return {
        "seconds": round(time.perf_counter() - begun, 2),
        "peak_mib": peak,
        "status": child.returncode,
        "said": said[-1][:100] if said and child.returncode else "",
    }


WHOLE = """
import asyncio, json, time, sys
from pathlib import Path
from tui_agent.folds.screen_folds import Views
from tui_agent.session.remote_session import RemoteFollower
from tui_agent.tui.controller.event_pump import Pump

class Closed:
    def __init__(self, folder): self.place, self.closed, self.kept_from = folder, True, 1 << 60
    async def folder(self): return self.place
    def next_after(self, seq, limit): return ()
    def drop(self, follower): pass

async def main():
    begun = time.perf_counter()
    views, source = Views(), Closed(Path(sys.argv[1]))
    pump = Pump(lambda after: RemoteFollower(source, after), views, lambda changed: None, show_from_seq=1 << 60)
    await pump.run()
    took = time.perf_counter() - begun
    found = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    view = views.transcript.view()
    print(json.dumps({"seconds": round(took, 2), "cpu_s": round(time.process_time(), 2), "peak_mib": round(int(found) / 1024, 1), "entries": len(view.entries)}))

asyncio.run(main())
"""


def whole(folder: Path, env: Mapping[str, str]) -> Figures:
    """Fold all views with the app's own pump, without a screen; return time and memory."""
    done = subprocess.run(
        [sys.executable, "-c", WHOLE, str(folder)], env=dict(env), capture_output=True, check=True
    )
    found: Figures = json.loads(done.stdout)
    return found


def commands(data: Path, env: Mapping[str, str]) -> dict[str, Figures]:
    """Measure commands that read the session, and then runs that continue it."""
    cwd = data / "workspace"
    lines = {
        "sessions_list": ("sessions", "list"),
        "sessions_show": ("sessions", "show", SESSION),
        "replay_headless": ("replay", SESSION, "--headless"),
        "verify": ("sessions", "verify", SESSION),
    }
    found = {name: timed(command(data, *words), env, cwd) for name, words in lines.items()}
    server = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--log", os.devnull]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        try:
            assert served.stdout is not None
            model = ("--model", "mock", "--base-url", served.stdout.readline().split()[-1])
            for name, which in (("run", ("--session", SESSION)), ("run_continue", ("--continue",))):
                found[name] = timed(command(data, "run", "hello", *which, *model), env, cwd)
        finally:
            served.terminate()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--no-deltas", action="store_true")
    options.add_argument("--only", default="engine,app,again,whole,commands")
    options.add_argument("--nice", type=int, default=0)
    given = options.parse_args()
    if given.nice:
        prioritise(given.nice)
    with tempfile.TemporaryDirectory() as scratch:
        place = given.folder or Path(scratch) / "data"
        begun = time.perf_counter()
        folder = make(place, given.events, deltas=not given.no_deltas)
        size = (folder / "events.jsonl").stat().st_size
        print(json.dumps({"made_s": round(time.perf_counter() - begun, 1), "bytes": size}), flush=True)
        home = Path(scratch) / "home"
        home.mkdir()
        env = environment(home)
        parts: dict[str, Callable[[], object]] = {
            "engine": lambda: engine(place, env),
            "app": lambda: app(place, env, given.nice),
            "again": lambda: app(place, env, given.nice),
            "whole": lambda: whole(folder, env),
            "commands": lambda: commands(place, env),
        }
        for name in given.only.split(","):
            print(json.dumps({name: parts[name]()}), flush=True)


if __name__ == "__main__":
    main()
