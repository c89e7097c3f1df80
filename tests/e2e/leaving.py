"""Commands that leave processes behind in every way there is, the ways in which the program ends, and who is left.

Each process holds a shared lock on a file of its kind, and so do all that come of it, whatever they do with their name,
environment, session or parents: a kind is gone when the lock can be had alone.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.conftest import ROOT, Program
from tests.e2e.killing import engine_of
from tests.e2e.terminal import Terminal

GONE_S = 5.0
PATIENCE = 40.0
PYTHON = sys.executable
HOLD = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_SH)
os.set_inheritable(lock, True)
open(sys.argv[1] + ".held", "w").close()
os.execvp(sys.argv[2], sys.argv[2:])
"""
DAEMON = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
null = os.open(os.devnull, os.O_RDWR)
for place in (0, 1, 2): os.dup2(null, place)
os.chdir("/")
time.sleep(1000)
"""
COMET = """
import os, time
for generation in range(400):
    if os.fork(): os._exit(0)
    if generation % 3 == 0: os.setsid()
    time.sleep(0.05)
"""
"""Each generation ends and leaves the next one behind; after 400 it is over by itself."""
BROOD = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for number in range(300):
    if not os.fork():
        time.sleep(2)
        os._exit(0)
    time.sleep(0.05)
"""
"""Forks steadily, and ends by itself after 300 children of 2 s each."""
LOOP = "while :; do sleep 1000; done"
KINDS = {
    "plain": "{hold} sleep 1000 &",
    "background": "{hold} sleep 1000 > /dev/null 2>&1 &",
    "nohup": "nohup {hold} sleep 1000 > /dev/null 2>&1 &",
    "own session": "setsid {hold} sleep 1000 > /dev/null 2>&1 &",
    "double fork": "{hold} {python} -c '{daemon}'",
    "disown": "{hold} sleep 1000 > /dev/null 2>&1 & disown",
    "deaf to SIGTERM": "{hold} bash -c 'trap \"\" TERM INT QUIT; {loop}' &",
    "deaf to SIGHUP": "setsid {hold} bash -c 'trap \"\" HUP; {loop}' > /dev/null 2>&1 &",
    "no environment": "env -i {hold} setsid /bin/sleep 1000 > /dev/null 2>&1 &",
    "renamed": "{hold} bash -c 'exec -a kworker/0:1 sleep 1000' > /dev/null 2>&1 &",
    "own group": "set -m; {hold} sleep 1000 > /dev/null 2>&1 & set +m",
    "stopped": "{hold} bash -c 'kill -STOP $$; sleep 1000' &",
    "reparented": "( ( {hold} sleep 1000 > /dev/null 2>&1 & ) & )",
    "forks steadily": "{hold} {python} -c '{brood}' > /dev/null 2>&1 &",
    "comet": "{hold} {python} -c '{comet}' > /dev/null 2>&1 &",
    "holds the pipe": "setsid {hold} sleep 1000 &",
    "all at once": "env -i setsid {hold} /bin/bash -c 'trap \"\" TERM HUP INT; {python} -c \"$0\"; {loop}' '{daemon}' &",
}


def script(folder: Path) -> str:
    """A shell script that starts one of each kind, and returns once all of them hold their lock."""
    (folder / "hold.py").write_text(HOLD)
    lines = []
    for kind, line in KINDS.items():
        lock = str(lock_of(folder, kind))
        hold = f"{PYTHON} -I -S {folder / 'hold.py'} {lock}"
        lines.append(
            line.format(hold=hold, python=PYTHON, daemon=DAEMON, comet=COMET, brood=BROOD, loop=LOOP)
        )
        lines.append(f"until [ -e {lock}.held ]; do sleep 0.02; done")
    return "\n".join([*lines, "echo all are there"]) + "\n"


def lock_of(folder: Path, kind: str) -> Path:
    """The file that processes of a kind hold."""
    return folder / f"{kind.replace(' ', '-')}.lock"


def lives(folder: Path, kind: str) -> bool:
    """Whether a process of the kind is left."""
    lock = os.open(lock_of(folder, kind), os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def left(
    folder: Path, seconds: float = GONE_S, kinds: Iterable[str] = tuple(KINDS)
) -> tuple[list[str], float]:
    """The kinds of which something is left after so many seconds, and when the last of the others had gone."""
    began = time.monotonic()
    while True:
        there = [kind for kind in kinds if lives(folder, kind)]
        passed = time.monotonic() - began
        if not there or passed > seconds:
            return there, passed
        select.select([], [], [], 0.02)


def scenarios(folder: Path) -> dict[str, object]:
    """What the stand-in model does: a command that stays, one that ends, and one in the background."""
    (folder / "leave.sh").write_text(script(folder))

    def command(words: str, **more: object) -> list[dict[str, object]]:
        return [{"tools": [["run_command", {"command": words, "timeout": 600, **more}]]}, {"text": "Done."}]

    start = f"bash {folder / 'leave.sh'}"
    return {
        "default": [{"text": "Hello."}],
        "stay": command(f"{start}; sleep 1000"),
        "return": command(start),
        "job": command(f"{start}; sleep 1000", background=True),
    }


@dataclass
class Leaving:
    """The program, a stand-in model, and the folder of the locks."""

    program: Program
    url: str
    folder: Path
    pids: list[int] = field(default_factory=list)

    @property
    def model(self) -> tuple[str, ...]:
        return ("--model", "mock", "--base-url", self.url, "--policy", "bypass")

    def run(self, scenario: str, end: Callable[["subprocess.Popen[str]"], None]) -> None:
        """A run without a screen, and how it ends."""
        process = self.program.start("run", f"go scenario-{scenario}", *self.model)
        try:
            self._all_there()
            end(process)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.communicate()

    @contextmanager
    def app(self, scenario: str) -> Iterator[Terminal]:
        """The app on a terminal, with all kinds running."""
        words = self.program.line(*self.model)
        environment = self.program.environment
        with Terminal(words, size=(100, 30), cwd=self.program.workspace, environment=environment) as terminal:
            terminal.until_text("Ask for a change")
            terminal.send(f"go scenario-{scenario}\r")
            self._all_there(terminal)
            yield terminal

    def _all_there(self, terminal: Terminal | None = None) -> None:
        end = time.monotonic() + PATIENCE
        last = list(KINDS)[-1]
        held = Path(f"{lock_of(self.folder, last)}.held")
        while not held.exists():
            assert time.monotonic() < end, terminal.text if terminal is not None else "no child came up"
            if terminal is not None:
                terminal.read_for(0.05)
            else:
                select.select([], [], [], 0.05)


@contextmanager
def leaving(program: Program, *, sandbox: bool = True) -> Iterator[Leaving]:
    """A stand-in model with the scenarios, for one program."""
    folder = program.workspace / "locks"  # where a sandbox lets commands write
    folder.mkdir()
    if not sandbox:
        config = program.home / ".config" / "tui-agent"
        config.mkdir(parents=True)
        (config / "config.toml").write_text('[sandbox]\nmode = "off"\n')
    path = program.home / "leaving.json"
    path.write_text(json.dumps(scenarios(folder)))
    command = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--script", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as mock:
        assert mock.stdout is not None
        try:
            yield Leaving(program, mock.stdout.readline().split()[-1], folder)
        finally:
            mock.terminate()


def _end_app(how: Callable[[Terminal], None], scenario: str) -> Callable[[Leaving], None]:
    def end(bench: Leaving) -> None:
        with bench.app(scenario) as terminal:
            how(terminal)
            _gone(bench, terminal)

    return end


def _gone(bench: Leaving, terminal: Terminal) -> None:
    """Keep reading the screen while the kinds go."""
    end = time.monotonic() + GONE_S
    while any(lives(bench.folder, kind) for kind in KINDS) and time.monotonic() < end:
        terminal.read_for(0.05)


def _signal(sign: signal.Signals) -> Callable[["subprocess.Popen[str]"], None]:
    return lambda process: process.send_signal(sign)


def _run(scenario: str, end: Callable[["subprocess.Popen[str]"], None]) -> Callable[[Leaving], None]:
    return lambda bench: bench.run(scenario, end)


def _close(terminal: Terminal) -> None:
    terminal.send("/quit\r")
    terminal.until_text("Quit now?")
    terminal.send("\x11")  # Ctrl+Q


ENDS: dict[str, Callable[[Leaving], None]] = {
    "run: the command ends": _run("return", lambda process: None),
    "run: SIGINT": _run("stay", _signal(signal.SIGINT)),
    "run: SIGTERM": _run("stay", _signal(signal.SIGTERM)),
    "run: SIGHUP": _run("stay", _signal(signal.SIGHUP)),
    "run: kill -9": _run("stay", _signal(signal.SIGKILL)),
    "app: Esc": _end_app(lambda terminal: terminal.send("\x1b"), "stay"),
    "app: /quit": _end_app(_close, "stay"),
    "app: SIGHUP": _end_app(lambda terminal: terminal.process.send_signal(signal.SIGHUP), "stay"),
    "app: SIGTERM": _end_app(lambda terminal: terminal.process.terminate(), "stay"),
    "app: kill -9": _end_app(lambda terminal: terminal.process.kill(), "stay"),
    "app: kill -9 of its engine": _end_app(
        lambda terminal: os.kill(engine_of(terminal.process.pid), signal.SIGKILL), "stay"
    ),
    "app: kill -9 of both": _end_app(
        lambda terminal: (
            [os.kill(pid, signal.SIGKILL) for pid in (engine_of(terminal.process.pid), terminal.process.pid)]
            and None
        ),
        "stay",
    ),
    "job: /quit": _end_app(_close, "job"),
    "job: kill -9": _end_app(lambda terminal: terminal.process.kill(), "job"),
    "job: kill -9 of its engine": _end_app(
        lambda terminal: os.kill(engine_of(terminal.process.pid), signal.SIGKILL), "job"
    ),
}
