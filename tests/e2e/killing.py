"""Kills of the real program at random moments, each followed by a start that takes the session up, and what must hold.

One `Chain` is one session: every start is the resume of the kill before it, sends the next numbered prompt (whose
commands write their number into a ledger), and is killed in turn.
"""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ROOT, Program
from tests.e2e.terminal import Terminal
from tests.stubs.strict_history import faults_in
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import RunResumed
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.store.log_reader import read_records

SESSION = "ses_killed"
PATIENCE = 30.0
GONE_S = 5.0
"""Seconds after which nothing of a killed program may run any more."""
RESUME_S = 2.0
"""Seconds that taking a session up should take; the report counts the slower ones."""
TICKS = os.sysconf("SC_CLK_TCK")


def script(count: int) -> dict[str, list[dict[str, Any]]]:
    """Scenarios `kill0` and so on: streamed words, commands that leave a line in the ledger, new and changed files."""
    return {"default": [{"text": "Hello from the mock."}], **{f"kill{n}": _turn(n) for n in range(count)}}


def _turn(n: int) -> list[dict[str, Any]]:
    def command(words: str) -> list[list[object]]:
        return [["run_command", {"command": f"echo {n}-{{i}} >> ledger.txt; {words}"}]]

    def write(path: str, lines: int) -> list[list[object]]:
        return [["write_file", {"path": path, "content": f"content {n}\n" * lines}]]

    prose = {"shape": "prose", "tokens": 60}
    return [
        {"text": prose, "rate": 400, "tools": command("sleep 0.02")},
        {"tools": write(f"made/{n}.txt", 400)},
        {"tools": command(f"echo side of {n} > side{n % 5}.txt; rm -f made/{n - 3}.txt")},
        {"tools": write(f"made/{n}-large.txt", 3_000)},
        {"text": prose, "rate": 200, "tools": command("sleep 300")},
        {"text": "All done."},
    ]


@contextmanager
def served(folder: Path, count: int) -> Iterator[str]:
    """The address of a stand-in model with the scenarios of `count` kills."""
    path = folder / "kills.json"
    path.write_text(json.dumps(script(count)))
    command = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--script", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as mock:
        assert mock.stdout is not None
        try:
            yield mock.stdout.readline().split()[-1]
        finally:
            mock.terminate()


@dataclass
class Figures:
    """What the kills of one run came to."""

    kills: Counter[str] = field(default_factory=Counter)
    resumed_s: list[float] = field(default_factory=list)
    """Wall seconds from a start to its `run.resumed`."""
    cpu_s: list[float] = field(default_factory=list)
    """Processor seconds of the same: what a busy machine does not lengthen."""
    closed: Counter[str] = field(default_factory=Counter)
    """How calls ended: `lost` and `interrupted` are those that a kill met."""
    gone_s: list[float] = field(default_factory=list)
    """Seconds until nothing of a killed program ran any more."""
    events: int = 0

    def summary(self) -> str:
        """The figures in a few lines."""
        slow = sum(1 for each in self.resumed_s if each >= RESUME_S)
        words = ", ".join(f"{count} of {kind}" for kind, count in sorted(self.kills.items()))
        ends = ", ".join(f"{count} {status}" for status, count in sorted(self.closed.items()))
        return "\n".join(
            (
                f"kill -9: {sum(self.kills.values())} ({words}); {self.events} events in the logs afterwards",
                f"resumes: {len(self.resumed_s)}, wall {_spread(self.resumed_s)} s, {slow} over {RESUME_S:g} s; "
                f"processor {_spread(self.cpu_s)} s",
                f"calls: {ends}; all processes gone after {_spread(self.gone_s)} s",
            )
        )


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    ordered = sorted(values)
    return f"median {ordered[len(ordered) // 2]:.2f}, p95 {ordered[int(len(ordered) * 0.95)]:.2f}, most {ordered[-1]:.2f}"


class Chain:
    """One session that is killed and taken up again and again."""

    def __init__(self, program: Program, url: str, dice: random.Random, figures: Figures) -> None:
        self.program = program
        self.dice = dice
        self.figures = figures
        self.number = 0
        self.known: list[Record] = []
        self._model = ("--model", "mock", "--base-url", url, "--policy", "bypass", "--session", SESSION)

    @property
    def folder(self) -> Path:
        return self.program.data / "sessions" / SESSION

    def log(self) -> list[Record]:
        """What stands in the log; nothing before the first event."""
        return read_records(self.folder) if (self.folder / "events.jsonl").exists() else []

    # -- headless runs ---------------------------------------------------------------------------------------------

    def kill_a_run(self) -> None:
        """Start a turn without a screen, and kill it somewhere: in its start, in an answer, in a call."""
        words = ("run", f"go scenario-kill{self.number}", "--json", *self._model)
        early = self.dice.random() < 0.2
        moment = self.dice.uniform(0, 0.7 if early else 1.2)
        with Running(self.program, words) as running:
            if not early:
                self._taken_up(running)
            running.read_for(moment)
            running.process.kill()
            printed = running.rest()
        self._killed("a run in its start" if early else "a run")
        self._check(printed)

    def _taken_up(self, running: "Running") -> None:
        """Wait until the run has its session; that is timed where there was one to take up."""
        resumes = bool(self.known)
        begun = b'"kind":"run.resumed"' if resumes else b'"kind":"turn.started"'
        running.read(lambda line: begun in line)
        if resumes:
            self._timed(time.monotonic() - running.started, _cpu(running.process.pid))

    def finish(self) -> None:
        """An ordinary run after all kills, and a look at all that was stored."""
        with Running(self.program, ("run", "go scenario-default", "--json", *self._model)) as running:
            self._taken_up(running)
            printed = running.rest()
            assert running.process.wait(PATIENCE) == 0
        self._check(printed)
        assert printed[-1]["payload"]["kind"] == "run.finished"
        done = self.program.run_in_process("sessions", "verify", SESSION)
        assert done.returncode == 0, done.stdout
        self.figures.events += len(self.known)
        ends = (each.payload for each in self.known if isinstance(each, Envelope))
        self.figures.closed.update(end.status for end in ends if isinstance(end, ToolFinished))
        assert not list(self.program.workspace.rglob(".tui-agent*")), "drafts of files were left behind"

    # -- the app ---------------------------------------------------------------------------------------------------

    def kill_the_app(self, *, engine_only: bool = False) -> None:
        """Type into the app on its screen, let a turn run, queue a message, leave a draft; then kill it or its engine.

        The next start must show the draft and the queued message.
        """
        size = (100, 30)
        line = self.program.line(*self._model)
        with Terminal(
            line, size=size, cwd=self.program.workspace, environment=self.program.environment
        ) as terminal:
            self._opened(terminal)
            terminal.send(f"go scenario-kill{self.number}\r")
            terminal.until_text("Esc")
            later, draft = f"later {self.number} please", f"half a thought {self.number}"
            terminal.send(f"{later}\t{draft}")
            self._wait_for(terminal, lambda: later in self._raw(), "the queued message in the log")
            self._wait_for(terminal, lambda: draft in self._draft(), "the draft in its file")
            terminal.read_for(self.dice.uniform(0, 1.0))
            if engine_only:
                os.kill(engine_of(terminal.process.pid), signal.SIGKILL)
                terminal.until_text("engine")
                self._wait_for(terminal, lambda: draft in self._draft(), "the draft, still there")
            terminal.process.kill()
            terminal.process.wait()
        self._killed("an engine" if engine_only else "an app")
        self._check([])
        self._back(later, draft)

    def _back(self, later: str, draft: str) -> None:
        """The next start shows what was unsent, and lets go of it."""
        with Terminal(
            self.program.line(*self._model),
            size=(100, 30),
            cwd=self.program.workspace,
            environment=self.program.environment,
        ) as terminal:
            self._opened(terminal)
            terminal.until(
                lambda screen: draft in screen and (later in screen or "more" in screen),
                f"{draft!r} and {later!r}",
            )
            assert later in [waiting.text for waiting in self._state().queue]
            terminal.send("\x15")  # the line away
            self._wait_for(terminal, lambda: draft not in self._draft(), "the draft to be gone")
            terminal.process.kill()
            terminal.process.wait()
        self._killed("an idle app")
        self._check([])

    def _opened(self, terminal: Terminal) -> None:
        count = len(_resumes(self.known))
        if not self.known:
            terminal.until_text("Ask for a change")
            return
        started = time.time()
        self._wait_for(
            terminal, lambda: self._raw().count('"kind":"run.resumed"') > count, "the session to be taken up"
        )
        cpu = _cpu(
            engine_of(terminal.process.pid)
        )  # the wall's time is as the engine noted it: drawing is ours
        self._timed(_resumes(self.log())[-1].time - started, cpu)

    def _state(self) -> SessionStateView:
        return fold(SessionState(), current_branch(self.log()))

    def _wait_for(self, terminal: Terminal, seen: Any, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < end, f"waited in vain for {what}; the screen:\n{terminal.text}"
            terminal.read_for(0.02)

    def _raw(self) -> str:
        path = self.folder / "events.jsonl"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def _draft(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "draft").read_text()
        return ""

    # -- what must hold --------------------------------------------------------------------------------------------

    def _timed(self, wall: float, cpu: float) -> None:
        self.figures.resumed_s.append(wall)
        self.figures.cpu_s.append(cpu)

    def _killed(self, what: str) -> None:
        self.figures.kills[what] += 1
        self.number += 1
        self.figures.gone_s.append(_all_gone(self.program))

    def _check(self, printed: list[dict[str, Any]]) -> None:
        """Nothing acknowledged is lost, numbers have no holes, no call ran twice, and the history is legal."""
        records = self.log()
        assert [record.seq for record in records] == list(range(len(records)))
        assert records[: len(self.known)] == self.known
        if records:  # a session in which nothing was said yet is printed before it is made
            kinds = {record.seq: record.payload.kind for record in records if isinstance(record, Envelope)}
            assert all(kinds.get(each["seq"]) == each["payload"]["kind"] for each in printed)
        events = [record.payload for record in records if isinstance(record, Envelope)]
        starts = Counter(event.call_id for event in events if isinstance(event, ToolStarted))
        assert set(starts.values()) <= {1}, "a call was started twice"
        ledger = self.program.workspace / "ledger.txt"
        lines = Counter(ledger.read_text().split()) if ledger.exists() else Counter[str]()
        assert set(lines.values()) <= {1}, "a command ran twice"
        assert sum(lines.values()) <= len(starts)
        messages = ModelMessages()
        for record in current_branch(records):
            if isinstance(record, Envelope):
                messages.apply(record)
        closed = not records or isinstance(events[-1], RunResumed) or events[-1].kind == "run.finished"
        assert not closed or faults_in(messages.view()) == []
        self.known = records


class Running:
    """A start of the program whose lines are read as they come."""

    def __init__(self, program: Program, words: tuple[str, ...]) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            program.line(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=program.environment,
            cwd=program.workspace,
        )
        assert self.process.stdout is not None
        self._out = self.process.stdout.fileno()
        self._data = b""
        self._ended = False

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def read(self, wanted: Any) -> None:
        """Read until a line is as wanted."""
        end, seen = time.monotonic() + PATIENCE, 0
        while not any(
            wanted(line) for line in self._data[seen:].splitlines(keepends=True) if line[-1:] == b"\n"
        ):
            seen = self._data.rfind(b"\n") + 1
            if self._ended or not self._more(end - time.monotonic()):
                assert self.process.stderr is not None
                self.process.kill()
                raise AssertionError(f"it ended or hung: {self.process.stderr.read()!r}")

    def read_for(self, seconds: float) -> None:
        """Read whatever comes in this time."""
        end = time.monotonic() + seconds
        while not self._ended and (left := end - time.monotonic()) > 0:
            self._more(left)

    def rest(self) -> list[dict[str, Any]]:
        """Read to the end; every whole line as JSON."""
        end = time.monotonic() + PATIENCE
        while not self._ended:
            assert self._more(end - time.monotonic()), (
                "something holds the output of a program that has ended"
            )
        return [json.loads(line) for line in self._data.split(b"\n")[:-1]]

    def _more(self, seconds: float) -> bool:
        if not select.select([self._out], [], [], max(0.0, seconds))[0]:
            return False
        data = os.read(self._out, 1 << 16)
        self._ended = not data
        self._data += data
        return True


def _resumes(records: list[Record]) -> list[Envelope]:
    return [each for each in records if isinstance(each, Envelope) and isinstance(each.payload, RunResumed)]


def _cpu(pid: int) -> float:
    """Seconds of the processor that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def engine_of(app: int) -> int:
    """The engine's process of an app."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):
            if folder.name.isdigit() and b"tui_agent.engine_process" in (folder / "cmdline").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == app:
                    return int(folder.name)
    raise AssertionError("the app has no engine")


def _all_gone(program: Program) -> float:
    """Wait until nothing runs that was started with this program's home; how many seconds that took."""
    mark = f"HOME={program.home}".encode()
    started = time.monotonic()
    while left := _carrying(mark):
        remaining = started + GONE_S - time.monotonic()
        assert remaining > 0, f"{GONE_S:g} s after the kill these still run: {left}"
        for pid in left:
            _ended(pid, remaining)
    return time.monotonic() - started


def _carrying(mark: bytes) -> dict[int, bytes]:
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
    return found


def _ended(pid: int, seconds: float) -> None:
    """Wait for a process that is not ours to reap."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([watched], [], [], max(0.0, seconds))
    finally:
        os.close(watched)
