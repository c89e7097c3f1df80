"""A matrix of two scripted profiles in child processes: progress, results, sessions, and resuming."""

import json
import os
import select
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tui_agent.evals.runs.run_folder import START_LOCK_FILE
from tui_agent.store.writer_lock import is_locked

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CASE = """\
prompt = "Fix sum_to in series.py so that n is included."
category = "bugfix"
test_command = "python3 -m unittest -q"
[files]
"series.py" = "def sum_to(n):\\n    return sum(range(1, n))\\n"
[test_files]
"test_series.py" = '''
import unittest
from series import sum_to
class Sum(unittest.TestCase):
    def test_last(self):
        self.assertEqual(sum_to(4), 10)
'''
"""
STRONG = """\
answers:
  - calls: [{edit_file: {path: series.py, old_text: "range(1, n)", new_text: "range(1, n + 1)"}}]
  - text: Done.
"""
STUCK_TOOL = """\
import time

from tui_agent.plugin_api import tool


@tool(internal="nothing")
async def hang(text: str) -> str:
    "Hang."
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass
"""
LAZY = 'answers: [{text: "It looks right to me."}]\n'


def wait_for_end(pid: int) -> None:
    """Wait for a process that is not a child."""
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(pid)], [], [], 100)


def call(program: Program, *words: str) -> subprocess.CompletedProcess[str]:
    """Call the program without the data folder of its other sessions."""
    return subprocess.run(
        [*program.command, *words],
        capture_output=True,
        text=True,
        env=program.environment,
        cwd=program.workspace,
        timeout=110,
        check=False,
    )


def test_a_matrix_says_what_each_profile_can_and_goes_on_where_it_stopped(program: Program) -> None:
    work = program.home / "evaluations"
    work.mkdir()
    for name, text in (("case.toml", CASE), ("strong.yaml", STRONG), ("lazy.yaml", LAZY)):
        (work / name).write_text(text)
    profiles = f"scripted:{work / 'strong.yaml'},scripted:{work / 'lazy.yaml'}"
    out = work / "out"
    words = (
        "eval",
        "matrix",
        str(work / "case.toml"),
        "--model-profiles",
        profiles,
        "--out",
        str(out),
        "-j",
        "2",
    )
    done = call(program, *words)
    assert done.returncode == 1, done.stderr
    assert "strong.yaml-1  passed" in done.stdout
    assert "lazy.yaml-1  failed (model)" in done.stdout
    assert done.stdout.endswith(f"\nFull report: tui-agent eval report {out}\n")
    results = {path.parent.name: json.loads(path.read_text()) for path in out.glob("cells/*/*/result.json")}
    strong = results["strong.yaml-1"]
    assert (strong["success"], strong["returncode"], strong["end"]) == (1, 0, "solved")
    assert (
        Path(out, "cells", "evaluations", "strong.yaml-1", "repo", "series.py").read_text().count("n + 1")
        == 1
    )
    opened = call(program, *strong["open_with"][1].split()[1:], "--headless")
    assert json.loads(opened.stdout)["kind"] == "run.finished"
    (out / "cells" / "evaluations" / "lazy.yaml-1" / "result.json").unlink()
    again = call(program, "eval", "run", "--resume", str(out), "--json", "--detach")
    started = json.loads(again.stdout)
    assert is_locked(out / START_LOCK_FILE)
    wait_for_end(started["pid"])
    progress = Path(started["progress"])
    assert [json.loads(line)["arm"] for line in progress.read_text().splitlines()] == ["lazy.yaml"]
    report = call(program, "eval", "report", str(out))
    assert report.returncode == 0, report.stderr
    lines = [line.split() for line in report.stdout.splitlines()]
    assert ["all", "strong.yaml", "1/1", "100", "%", "21–100", "%", "-", "-"] in lines
    assert ["all", "lazy.yaml", "0/1", "0", "%", "0–79", "%", "-", "-"] in lines
    assert ["model", "unsolved", "-", "1"] in lines


def test_a_cell_that_a_plugin_blocks_ends_and_the_run_goes_on(program: Program) -> None:
    work = program.home / "evaluations"
    suite = work / "cases"
    suite.mkdir(parents=True)
    plugin = work / "plugs" / "stuck.py"
    plugin.parent.mkdir()
    plugin.write_text(STUCK_TOOL)
    (suite / "first.toml").write_text(CASE + "[budgets]\ntimeout_seconds = 15\n")
    (work / "stuck.yaml").write_text("answers: [{calls: [{hang: {text: a}}]}, {text: Done.}]")
    (work / "strong.yaml").write_text(STRONG)
    out = work / "out"
    profiles = f"scripted:{work / 'stuck.yaml'},scripted:{work / 'strong.yaml'}"
    place = ("--plugin-dir", str(plugin.parent), "--policy", "bypass", "--out", str(out), "-j", "1")
    done = call(program, "eval", "matrix", str(suite), "--model-profiles", profiles, *place)
    assert done.returncode == 1, done.stderr
    assert "/strong.yaml-1  passed" in done.stdout
    fault, advice = done.stderr.splitlines()
    assert fault.startswith(
        "tui-agent: first/stuck.yaml-1 gave no result: The function hang of the plugin stuck "
    )
    assert "(stuck.py, line " in fault and "tui-agent plugins disable stuck" in fault
    assert advice.endswith(f"Without a result: 1 cell. Run again: tui-agent eval run --resume {out}")
    plugin.write_text(STUCK_TOOL.replace("time.sleep(1000)", "return text"))
    again = call(program, "eval", "run", "--resume", str(out))
    assert "2 cells, 1 done already" in again.stdout and not again.stderr
    assert "/stuck.yaml-1  failed (model)" in again.stdout
