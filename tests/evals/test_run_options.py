"""Options of a whole run: chosen test paths, the environment of the commands, and the list of runs."""

import json
import re
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from tests.features.test_environments import PLUGIN
from tests.stubs.cells import stored_run
from tests.unit.plugin_host.test_plugin_loading import write
from tui_agent.cli.evals.run_progress import Progress
from tui_agent.cli.main import main
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.cases.task_folder import load_task_folder
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Cell, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import LOCK_FILE, START_LOCK_FILE, RunFolder
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.store.log_reader import read_records
from tui_agent.store.writer_lock import WriterLock

CASE = """\
prompt = "Make a 1."
files = { a = "0", b = "0" }
test_command = "grep 1 {path}"
test_paths = ["a", "b"]
policy = "bypass"
[[oracle]]
calls = [{ run_command = { command = "echo 1 > a" } }]
[[oracle]]
text = "Done."
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.toml").write_text(CASE)


def test_a_run_checks_the_chosen_paths_and_runs_commands_in_the_chosen_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "plugins", "elsewhere", PLUGIN)
    monkeypatch.setitem(
        sys.modules, "ray", None
    )  # so the plan is stored, and its cell can run in this process
    words = ["eval", "run", "case.toml", "-m", "oracle", "--out", "out", "--engine", "ray"]
    words += ["--plugin-dir", "plugins", "--environment", "elsewhere"]
    assert main([*words, "--test", "c"]) == 2
    assert "No case has the test path 'c'." in capsys.readouterr().err
    assert main([*words, "--test", "a"]) == 2
    run = RunFolder(tmp_path / "out")
    plan = run.load_plan()
    (case,), (cell,) = load_suite(plan.suite, plan.here).cases, plan.cells()
    result = anyio.run(run_cell, plan, run, case, cell)
    assert result.passed
    events = [
        record.payload
        for record in read_records(run.session_folder(result.session))
        if isinstance(record, Envelope)
    ]
    assert [event.environment for event in events if isinstance(event, EnvStarted)] == ["elsewhere"]
    assert [event.command for event in events if isinstance(event, TestFinished)] == ["grep 1 a"]


HARBOR = {
    "task.toml": "[verifier]\ntimeout_sec = 60\n",
    "instruction.md": "Make a 1.",
    "environment/Dockerfile": "FROM ubuntu\nWORKDIR /data/in\n",
    "environment/a": "0",
    "tests/test.sh": "pwd; grep -c 1 a > /logs/verifier/reward.txt; cat /tests/test.sh | wc -l\n",
}


def run_harbor(tmp_path: Path, **changes: str) -> tuple[RunFolder, Cell]:
    """Run the task `HARBOR`, with the test script `script` and the Dockerfile `dockerfile`, by an oracle that writes a 1 to `a`."""
    changed = {"tests/test.sh": "script", "environment/Dockerfile": "dockerfile"}
    for name, text in HARBOR.items():
        text = changes.get(changed.get(name, ""), text)
        file = tmp_path / "task" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    oracle = load_suite("case.toml", tmp_path).cases[0].oracle
    case = load_task_folder(tmp_path / "task").model_copy(update={"oracle": oracle, "policy": "bypass"})
    run, cell = RunFolder(tmp_path / "out"), Cell(case=case.id, arm=ORACLE)
    arms = (Arm(name=ORACLE, model=ORACLE),)
    plan = Plan(
        suite="task",
        suite_name="task",
        here=tmp_path,
        arms=arms,
        cases=(case.id,),
        test_timeout_seconds=float(changes.get("seconds", "60")),
    )
    run.save_result(cell, anyio.run(run_cell, plan, run, case, cell))
    return run, cell


@pytest.mark.slow
def test_the_tests_of_a_harbor_task_can_change_their_own_folder_and_not_the_tasks(tmp_path: Path) -> None:
    run, cell = run_harbor(
        tmp_path,
        script="chmod 700 /tests && touch /tests/mine && grep -c 1 a > /logs/verifier/reward.txt",
    )
    result = run.read_result(cell)
    assert result is not None and result.passed
    assert [path.name for path in (tmp_path / "task" / "tests").iterdir()] == ["test.sh"]
    assert not list(tmp_path.glob("out/**/mine"))


@pytest.mark.slow
def test_a_failed_harbor_task_names_the_instructions_that_were_not_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dockerfile = HARBOR["environment/Dockerfile"] + "COPY a /opt/a\n"
    run, cell = run_harbor(tmp_path, script="echo 0 > /logs/verifier/reward.txt", dockerfile=dockerfile)
    result = run.read_result(cell)
    assert result is not None and result.notes == (
        "Dockerfile line ignored in this environment: COPY a /opt/a",
    )
    Progress(1, 0, as_json=False).report(cell, result)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "    Dockerfile line ignored in this environment: COPY a /opt/a"
    ]


def test_a_harbor_task_whose_tests_pass_before_the_agent_acts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task: its tests pass before the agent acts"):
        run_harbor(tmp_path, script="echo 1 > /logs/verifier/reward.txt")
    assert not (tmp_path / "out" / "data").exists()


@pytest.mark.slow
def test_a_harbor_test_that_hangs_only_after_the_agent_acted_has_failed(tmp_path: Path) -> None:
    stopped = "was stopped after 1 s, its time limit"
    for script, failure, detail in (
        ("grep 1 a && sleep 60", "tool", f"the test command {stopped}"),
        ("sleep 60", "verifier", f"/tests/test.sh: {stopped}"),
    ):
        run, cell = run_harbor(tmp_path, script=script, seconds="1")
        result = run.load_result(cell)
        assert result is not None and (result.failure, result.passed) == (failure, False)
        assert result.detail == detail and result.test_output.startswith(stopped)


def test_a_harbor_task_is_verified_at_its_own_paths_and_its_figures_are_those_of_the_log(
    tmp_path: Path,
) -> None:
    run, cell = run_harbor(tmp_path)
    result = json.loads(run.result_file(cell).read_text())
    assert (result["success"], result["returncode"]) == (1, 0)
    assert result["test_output"].split() == ["/data/in", "1"]
    assert result["verify"] == {"reward": 1.0, "fault": ""}
    metrics, limits = Metrics(), []
    for record in read_records(run.session_folder(result["session"])):
        if isinstance(record, Envelope):
            metrics.apply(record)
            limits += re.findall(r'"timeout_seconds":([\d.]+)', record.model_dump_json())
    assert "7200.0" in limits
    folded = json.loads(json.dumps(asdict(metrics.view())))
    assert result["metrics"]["tools"] == {"run_command": 1}
    assert {name: folded[name] for name in result["metrics"]} == result["metrics"]


@pytest.mark.slow
def test_static_checks_count_findings_before_and_after_and_a_missing_program_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    fake = tmp_path / "bin" / "ruff"
    fake.write_text("#!/bin/sh\nshift 4\ngrep -Hn 'import' \"$@\" | sed 's/^\\([^:]*:[0-9]*\\):/\\1:1: /'\n")
    fake.chmod(0o755)
    text = CASE.replace('a = "0"', '"m.py" = "import a\\n", "old.py" = "import a", a = "0"')
    change = "echo 1 > a; echo import b >> m.py; echo import c > new.py"
    (tmp_path / "case.toml").write_text(text.replace("echo 1 > a", change).replace('["a", "b"]', '["a"]'))
    words = ["eval", "run", "case.toml", "-m", "oracle", "--out", "out"]
    assert main([*words, "--checks", "pylint"]) == 2
    assert "'pylint' is not one of pytest, ruff, mypy, bandit" in capsys.readouterr().err
    assert main([*words, "--checks", "ruff,bandit"]) == 0
    assert capsys.readouterr().err.count("bandit is not installed, so its findings are not counted.") == 1
    result = json.loads(next((tmp_path / "out" / "cells").rglob("result.json")).read_text())
    assert (result["static_checks"], result["notes"]) == ({"ruff": {"before": 1, "after": 3}}, [])
    assert main(["eval", "report", "out"]) == 0
    assert ["ruff", "oracle", "1", "1", "3", "+2"] in map(str.split, capsys.readouterr().out.splitlines())


def test_the_list_names_the_state_of_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("done", "on", "starting", "stopped")
    runs = {name: stored_run(Path("eval-runs", name), a="pf") for name in names}
    for name in names[1:]:
        run = runs[name]
        run.result_file(next(run.load_plan().cells())).unlink()
    Path("eval-runs", "odd").mkdir()
    Path("eval-runs", "odd", "run.json").write_text("{")
    lock = WriterLock(runs["on"].path / LOCK_FILE, wait_s=0.0)
    starting = WriterLock(runs["starting"].path / START_LOCK_FILE, wait_s=0.0)
    assert main(["eval", "list"]) == 0
    starting.release()
    lock.release()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "eval-runs" in line]
    assert rows == [
        ["eval-runs/done", "finished", "2/2"],
        ["eval-runs/odd", "cannot", "be", "read", "0/0"],
        ["eval-runs/on", "running", "1/2"],
        ["eval-runs/starting", "starting", "1/2"],
        ["eval-runs/stopped", "stopped", "1/2"],
    ]


def test_ctrl_c_while_a_cluster_starts_names_the_command_that_continues_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=start))
    words = ["eval", "run", "case.toml", "-m", "oracle", "--out", "a run", "--engine", "ray"]
    assert main(words) == 130
    command = f"tui-agent eval run --resume '{Path.cwd()}/a run' --engine ray\n"
    assert capsys.readouterr().err.endswith(f"Interrupted. Continue with: {command}")


@pytest.mark.parametrize(
    "option",
    ["--repetitions 2", "--evaluate commits", "--evaluate end", "--checks ruff", "--preemptible", "--test a"],
)
def test_a_resumed_run_refuses_options_of_its_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    stored_run(tmp_path / "run", a="p")
    assert main(["eval", "run", "--resume", str(tmp_path / "run"), *option.split()]) == 2
    assert f"does not accept {option.split()[0]}." in capsys.readouterr().err


@pytest.mark.slow
def test_a_refused_case_is_reported_once_and_a_changed_case_is_named_when_the_run_is_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "case.toml").unlink()
    suite = tmp_path / "suite"
    (suite / "good" / "repo").mkdir(parents=True)
    (suite / "good" / "repo" / "c").write_text("c")
    (suite / "good" / "case.toml").write_text(f'fixture = "repo"\n{CASE}')
    (suite / "bad.toml").write_text(CASE.replace("grep 1 {path}", "test -e {path}"))
    words = ["eval", "run", "suite", "-m", "oracle", "--out", "out", "--test", "a", "--repetitions", "2"]
    assert main([*words, "--jobs", "1"]) == 1
    err = capsys.readouterr().err
    assert err.count("bad: its tests pass before the agent acts") == 1
    assert len(list((tmp_path / "out" / "logs").glob("bad-*"))) == 1

    shutil.rmtree(tmp_path / "out" / "cells" / "good" / "oracle-1")
    assert main(["eval", "run", "--resume", "out"]) == 1
    assert "Changed since" not in capsys.readouterr().err
    (suite / "good" / "repo" / "c").write_text("changed")
    assert main(["eval", "run", "--resume", "out"]) == 1
    assert (
        "These cases changed after some of their cells ran: good. The finished cells"
        in capsys.readouterr().err
    )
