"""Cells on a real Ray cluster of this machine's processors, of which one worker is killed while it runs a cell."""

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.conftest import Program
from tests.stubs.left_out import only_where
from tests.unit.plugin_host.test_plugin_loading import write

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    only_where(find_spec("ray") is not None, "the extra ray is not installed"),
]

CASE = """\
prompt = "Mend note.txt."
fixture = "start"
test_command = "grep -q whole note.txt"
oracle_plugin = "mend"
"""
PLUGIN = """\
import os
import signal
from pathlib import Path
from tui_agent.plugin_api import oracle

@oracle
async def mend(workspace: Path) -> None:
    try:
        Path(__file__).with_name("killed").touch(exist_ok=False)
    except FileExistsError:
        (workspace / "note.txt").write_text("whole")
    else:
        os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.mark.timeout(400)
def test_sessions_come_back_and_a_lost_workers_cell_runs_again(program: Program, tmp_path: Path) -> None:
    case, out = tmp_path / "case", tmp_path / "out"
    (case / "start").mkdir(parents=True)
    (case / "start" / "note.txt").write_text("broken")
    (case / "case.toml").write_text(CASE)
    write(tmp_path / "plugins", "mender", PLUGIN)
    words = ["eval", "run", str(case), "-m", "oracle", "--repetitions", "2", "--out", str(out), "--json"]
    words += ["--plugin-dir", str(tmp_path / "plugins"), "--engine", "ray"]
    with TemporaryDirectory(prefix="ray") as folder:  # a socket's path in tmp_path would be too long
        done = subprocess.run(
            [*program.command, *words],
            capture_output=True,
            text=True,
            env={**program.environment, "RAY_TMPDIR": folder, "TMPDIR": folder},
            cwd=program.workspace,
            timeout=380,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["passed"] for result in results] == [True, True]
    assert sorted(result["attempts"] for result in results) == [1, 2]
    for result in results:
        folder_name = f"oracle-{result['repetition']}"
        assert (out / "cells" / "case" / folder_name / "repo" / "note.txt").read_text() == "whole"
        events = (out / "data" / "sessions" / result["session"] / "events.jsonl").read_text()
        assert '"kind":"run.finished"' in events.splitlines()[-1].replace(": ", ":")
        assert f"-C {out}/cells/case/{folder_name}/repo " in result["open_with"][0]
    assert not list(out.glob(".incoming-*"))
