"""A run that is started again where it is killed: what its processes print comes out in whole lines."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from tui_agent.cli.run.supervisor import run_with_restarts
from tui_agent.config.session_options import SessionOptions

here = Path(sys.argv[1])
options = SessionOptions(cwd=here, client="headless", data_dir=here, session="ses_supervised")

def run_once(options, begin):
    try:
        (here / "first").touch(exist_ok=False)
    except FileExistsError:
        print('{"n": 2}')
        return 0
    left = subprocess.Popen(["sleep", "60"], stderr=subprocess.DEVNULL)
    print('{"left": %d}' % left.pid)
    print('{"n": 1}' + " " * 200_000)
    print('{"cut": ', end="", flush=True)
    os.kill(os.getpid(), 9)

raise SystemExit(run_with_restarts(options, "go", 1, run_once, lambda ended: 0, by_line=True))
"""


@pytest.mark.slow
def test_a_line_that_a_crash_cut_is_not_printed_and_a_process_left_behind_holds_nothing_up(
    tmp_path: Path,
) -> None:
    ran = subprocess.run(
        (sys.executable, "-c", PROGRAM, str(tmp_path)),
        capture_output=True,
        timeout=30,
        check=False,
    )
    left, *lines = (json.loads(line) for line in ran.stdout.splitlines())
    os.kill(left["left"], signal.SIGKILL)
    assert (ran.returncode, lines) == (0, [{"n": 1}, {"n": 2}])
