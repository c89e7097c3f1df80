"""A Python program whose event loop a plugin blocks for good is told, and Ctrl+C ends it."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_evaluations import STUCK_TOOL
from tests.e2e.test_orphan_engine import PATIENCE

pytestmark = pytest.mark.e2e

HOST = """
import asyncio, os, signal, sys
from pathlib import Path
from tui_agent.api import open_session

async def main(model, plugin):
    async with open_session(
        Path("."), model=model, policy="bypass", plugin_dirs=(Path(plugin),), data_dir=Path("../data")
    ) as session:
        await session.ask("Go.")

if sys.argv[3:]:
    signal.signal(signal.SIGINT, lambda *_: os.write(2, b"Own handler.\\n"))
asyncio.run(main(*sys.argv[1:3]))
"""


@pytest.fixture
def start_host(program: Program, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a program whose event loop is blocked, and wait until it is told."""
    plugin, script = tmp_path / "stuck.py", tmp_path / "script.yaml"
    plugin.write_text(STUCK_TOOL)
    script.write_text(json.dumps({"answers": [{"calls": [{"hang": {"text": "a"}}]}, {"text": "Done."}]}))
    with ExitStack() as stack:

        def start(*words: str) -> "subprocess.Popen[str]":
            host = subprocess.Popen(
                [sys.executable, "-c", HOST, f"scripted:{script}", str(plugin), *words],
                stderr=subprocess.PIPE,
                text=True,
                env=program.environment,
                cwd=program.workspace,
            )
            stack.callback(host.communicate)
            stack.callback(host.kill)
            line = read_line(host)
            assert line.startswith("The function hang of the plugin stuck (stuck.py, line ")
            assert "It still blocks this program's event loop. To turn the plugin off: " in line
            return host

        yield start


def read_line(host: "subprocess.Popen[str]") -> str:
    assert host.stderr is not None and select.select([host.stderr], [], [], PATIENCE)[0]
    return host.stderr.readline()


def test_a_blocked_program_is_told_and_ctrl_c_ends_it(
    start_host: Callable[..., "subprocess.Popen[str]"],
) -> None:
    host = start_host()
    assert host.poll() is None
    host.send_signal(signal.SIGINT)
    _, rest = host.communicate(timeout=PATIENCE)
    assert (host.returncode, rest) == (-signal.SIGINT, "")


def test_a_blocked_program_keeps_its_own_handler(
    start_host: Callable[..., "subprocess.Popen[str]"],
) -> None:
    host = start_host("own")
    host.send_signal(signal.SIGINT)
    assert read_line(host) == "Own handler.\n"
    assert host.poll() is None
