"""Plugins in a headless run: what they print, crash or leave running does not spoil its output or its end."""

import re
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_headless_runs import events, kinds

pytestmark = pytest.mark.e2e


def test_what_plugins_print_stays_out_of_the_output_and_a_broken_one_is_told(
    program: Program, mock: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "plugs"
    folder.mkdir()
    (folder / "broken.py").write_text("def register(api:\n")
    (folder / "chatty.py").write_text(
        "print('at import')\ndef register(api):\n    api.hook('turn.started', lambda event: print('in a turn'))\n"
    )
    done = program.run("run", "hello", "--json", "--plugin-dir", str(folder), *mock)
    assert done.returncode == 0
    assert kinds(events(done.stdout))[-1] == "run.finished"
    assert "at import" in done.stderr and "in a turn" in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("tui-agent: ")]
    assert len(told) == 1
    assert told[0].startswith("tui-agent: The plugin broken is off. SyntaxError: ")


CRASHING_TOOL = """\
import ctypes
from tui_agent.plugin_api import tool

@tool(internal="memory")
async def read_memory() -> str:
    \"\"\"Read address 0.\"\"\"
    return ctypes.string_at(0).decode()
"""


def test_a_crash_in_a_plugins_c_code_is_named_at_once_and_again_by_the_next_run(
    program: Program, tmp_path: Path
) -> None:
    plugin, script = tmp_path / "crasher.py", tmp_path / "script.yaml"
    plugin.write_text(CRASHING_TOOL)
    script.write_text("answers:\n  - calls: [{read_memory: {}}]\n  - text: Gone on.\n")
    words = ("-m", f"scripted:{script}", "--plugin-dir", str(plugin))
    crashed = program.run("run", "go", *words)
    assert crashed.returncode == -signal.SIGSEGV
    assert re.search(rf'File "{re.escape(str(plugin))}", line \d+ in read_memory', crashed.stderr)
    next_run = program.run("run", "--continue", "--go-on", *words)
    assert (next_run.returncode, "Gone on." in next_run.stdout) == (0, True), next_run.stderr
    assert (
        "tui-agent exited while the tool read_memory (plugin crasher) was running. "
        "If the tool caused this, turn its plugin off: tui-agent plugins disable crasher"
    ) in next_run.stderr


BLOCKING_TOOL = """\
import threading
from tui_agent.plugin_api import tool

@tool(internal="nothing", timeout=0.5)
def block() -> str:
    \"\"\"Wait for ever.\"\"\"
    threading.Event().wait()
    return ""
"""


def test_a_run_ends_although_a_plugins_thread_goes_on(program: Program, tmp_path: Path) -> None:
    plugin, script = tmp_path / "blocker.py", tmp_path / "script.yaml"
    plugin.write_text(BLOCKING_TOOL)
    script.write_text("answers:\n  - calls: [{block: {}}]\n  - text: Gone on.\n")
    done = program.run("run", "go", "-m", f"scripted:{script}", "--plugin-dir", str(plugin), timeout=40)
    assert (done.returncode, "Gone on." in done.stdout) == (0, True), done.stderr
    assert "The tool block (plugin blocker), in `run`, failed" in done.stderr
    assert "its thread runs until the function returns" in done.stderr


LEAVING_TOOL = """\
import asyncio, atexit, threading
from tui_agent.plugin_api import tool

@tool(internal="nothing")
async def leave() -> str:
    \"\"\"Leave a function that never returns.\"\"\"
    {leave}
    return "left"
"""


@pytest.mark.parametrize(
    "leave",
    [
        "asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)",
        "atexit.register(threading.Event().wait)",
    ],
    ids=["executor", "exit function"],
)
def test_a_run_ends_whatever_a_plugin_left_running(program: Program, tmp_path: Path, leave: str) -> None:
    plugin, model = tmp_path / "leaver.py", tmp_path / "script.yaml"
    plugin.write_text(LEAVING_TOOL.format(leave=leave))
    model.write_text("answers:\n  - calls: [{leave: {}}]\n  - text: Done.\n")
    done = program.run("run", "go", "-m", f"scripted:{model}", "--plugin-dir", str(plugin))
    assert (done.returncode, done.stdout) == (0, "Done.\n")
