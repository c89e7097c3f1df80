"""The child process of the panes: what stops it, and how it goes on."""

import faulthandler
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.tui.app.driving import GOLDEN
from tui_agent.plugin_host.panes.pane_client import PaneClient
from tui_agent.plugin_host.panes.pane_messages import (
    PROCESSOR_LIMIT_S,
    WAIT_LIMIT_S,
    PaneAnswer,
    PaneBlocks,
    PaneFault,
    PaneRequest,
    PaneUnchanged,
)
from tui_agent.plugin_host.panes.pane_server import Deadline
from tui_agent.protocol.display_blocks import TextBlock

PLUGIN = """
import os, sys, time
from tui_agent.plugin_api import pane

class Calls:
    def __init__(self):
        self.calls = 0
    def apply(self, event):
        self.calls += event.payload.kind == "tool.called"
    def view(self):
        return self.calls

@pane(Calls)
def calls(view):
    print('{"kind":"blocks","seq":1,"blocks":[]}', flush=True)
    os.write(1, b"x" * 100_000)
    return f"{view} calls, {sys.stdin.read()!r} typed"

@pane(Calls)
def loops(view):
    os.posix_spawnp("sleep", ["sleep", "1234.5"], os.environ)
    while True: pass

@pane(Calls)
def sleeps(view):
    time.sleep(99)

@pane(Calls)
def dies(view):
    os.kill(os.getpid(), 9)
"""


def command_lines() -> list[bytes]:
    """Return the command lines of all processes."""
    found = list[bytes]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # Other processes end meanwhile.
            found.append(path.read_bytes())
    return found


class Asked:
    """A client with a plugin and a log."""

    def __init__(self, folder: Path) -> None:
        self.client, self._folder = PaneClient(), folder

    async def ask(self, pane: str, seq: int = 196) -> PaneAnswer:
        log, plugin = str(self._folder / "log"), str(self._folder / "mine")
        request = PaneRequest(pane=pane, plugin="mine", folder=plugin, log=log, seq=seq)
        return await self.client.ask(request, lambda seq: None)


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[Asked]:
    (tmp_path / "log").mkdir()
    shutil.copy(GOLDEN / "night_shift.jsonl", tmp_path / "log" / "events.jsonl")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "folds.py").write_text(PLUGIN)
    asked = Asked(tmp_path)
    try:
        yield asked
    finally:
        await asked.client.close()


@pytest.mark.slow
async def test_a_pane_that_loops_is_stopped_and_named_and_the_others_go_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as asked:
        text = TextBlock(text="15 calls, '' typed")
        assert await asked.ask("calls") == PaneBlocks(seq=196, blocks=(text,))
        assert await asked.ask("calls") == PaneUnchanged(seq=196)
        fault = await asked.ask("loops")
        # On a busy machine, 5 s pass before it has computed for 1 s.
        assert isinstance(fault, PaneFault) and fault.stopped
        assert fault.message.startswith(("Stopped: 1 s of computing", "Stopped: 5 s of waiting"))
        assert fault.message.endswith(" without an answer (folds.py:22, in loops).")
        assert await asked.ask("calls") == PaneBlocks(seq=196, blocks=(text,))
        assert asked.client.starts == 2
        assert b"sleep\x001234.5\x00" not in command_lines()


@pytest.mark.slow
async def test_a_pane_that_waits_has_more_time_than_one_that_computes(tmp_path: Path) -> None:
    async with opened(tmp_path) as asked:
        message = "Stopped: 5 s of waiting without an answer (folds.py:26, in sleeps)."
        assert await asked.ask("sleeps") == PaneFault(message=message, stopped=True)


def test_a_pane_that_waits_is_stopped_after_the_time_that_the_message_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, processor_limits = list[float](), list[tuple[int, float]]()
    monkeypatch.setattr(faulthandler, "register", lambda *_, **__: None)
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda limit, **_: limits.append(limit))
    monkeypatch.setattr(signal, "setitimer", lambda *given: processor_limits.append(given))
    with (tmp_path / "output").open("wb") as output:
        Deadline(output).set()
    assert limits == [WAIT_LIMIT_S] and processor_limits == [(signal.ITIMER_PROF, PROCESSOR_LIMIT_S)]


def test_an_import_has_more_time_and_the_message_names_it() -> None:
    request = PaneRequest(pane="loops", plugin="mine", folder="/mine", log="/log", seq=1)
    frames = [b'  File "/app/pane_folds.py", line 9 in load_panes']
    fault = PaneClient()._timed_out(request, frames)
    assert fault.message == "Stopped: 5 s of computing without an answer."
    fault = PaneClient()._timed_out(request, [b"Timeout (0:00:10)!", *frames])
    assert fault.message == "Stopped: 10 s of waiting without an answer."


@pytest.mark.slow
async def test_a_child_that_is_killed_starts_again_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as asked:
        await asked.ask("calls")
        child = asked.client._child
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        assert isinstance(await asked.ask("calls", 50), PaneBlocks) and asked.client.starts == 2
        message = "Stopped: its process was killed twice."
        assert await asked.ask("dies") == PaneFault(message=message, stopped=True)
        assert asked.client.starts == 3
