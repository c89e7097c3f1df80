"""SIGTERM ends a program that computes without end; its log stays whole and nothing that it started stays."""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_headless_runs import script
from tests.e2e.test_orphan_engine import APP, PATIENCE
from tests.stubs.left_out import only_where

pytestmark = pytest.mark.e2e

ENDLESS = {
    "python": "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "regex": "re.match('(a|a?)+$', 'a' * 64 + 'b')",
}
PLUGIN = """
import re
from pathlib import Path

def stay(event):
    Path(__file__).with_suffix('.stuck').touch()
    {endless}

def register(api):
    api.hook('tool.finished', stay)
"""
STARTS_A_JOB = """\
answers:
  - calls: [{run_command: {command: "exec 9>held && flock -s 9 && exec sleep 1000", background: true}}]
  - text: Started.
"""


@pytest.mark.parametrize("kind", list(ENDLESS))
def test_sigterm_ends_a_run_whatever_it_computes(program: Program, tmp_path: Path, kind: str) -> None:
    plugin = tmp_path / "plugs" / "stay.py"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN.format(endless=ENDLESS[kind]))
    model = script(program.home, STARTS_A_JOB)
    words = ("run", "go", "--policy", "bypass", "-m", model, "--plugin-dir", str(plugin.parent))
    with program.start(*words) as running:
        while not plugin.with_suffix(".stuck").exists():
            assert running.poll() is None
            select.select([], [], [], 0.05)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=PATIENCE)
    # A loop that catches every error may still be left by an error that comes between two rounds.
    was_interrupted = kind == "python" and "The listener for tool.finished of the plugin stay is off." in err
    end = (running.returncode, err.splitlines()[-1])
    if was_interrupted:
        assert end == (130, "tui-agent: The turn ended: interrupted.")
    elif kind == "python":
        assert end[0] == 143 and "The function stay of the plugin stay (stay.py, line " in end[1]
    else:
        assert end == (143, "tui-agent: Stopped in the middle of a long computation. The session is saved.")
    with (program.workspace / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # the job is gone; otherwise the test's time limit ends this
    shown = program.run_in_process("sessions", "show", "latest", "--json").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in shown] == list(range(len(shown)))
    assert program.run_in_process("sessions", "verify", "latest").returncode == 0


@only_where(hasattr(os, "pidfd_open"), "watches processes by descriptors, which this system has not")
@pytest.mark.parametrize("kind", list(ENDLESS))
def test_sigterm_ends_the_engine_of_the_app_whatever_it_computes(tmp_path: Path, kind: str) -> None:
    plugin = tmp_path / "endless.py"
    plugin.write_text(
        f"import re\nfrom pathlib import Path\nPath(__file__).with_suffix('.stuck').touch()\nif True:\n    {ENDLESS[kind]}\n"
    )
    app = subprocess.Popen(
        [sys.executable, "-c", APP, str(tmp_path), str(plugin)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert app.stdout is not None and app.stdin is not None
    pid = int(app.stdout.readline())
    engine = os.pidfd_open(pid)
    try:
        while not plugin.with_suffix(".stuck").exists():
            assert not select.select([engine], [], [], 0.05)[0]
        os.kill(pid, signal.SIGTERM)
        assert select.select([engine], [], [], PATIENCE)[0]
    finally:
        os.close(engine)
        app.kill()
        app.communicate()
