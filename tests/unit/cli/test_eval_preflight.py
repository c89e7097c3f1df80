"""`tui-agent eval run` refuses what cannot work before the first cell: no model, an unknown one, or no oracle."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tui_agent.cli.main import main
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.runs.arms_and_cells import Arm, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import RunFolder

CASE = 'prompt = "Do it."\ntest_command = "false"\n'


@pytest.fixture(autouse=True)
def one_case(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)
    for name in ("TUI_AGENT_MODEL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (work / "one.toml").write_text(CASE)


@rows(
    "words, message",
    [
        ((), "No model is set. Add -m NAME"),
        (("-m", "nosuchmodel"), "Unknown model 'nosuchmodel'."),
        (
            ("-m", "oracle"),
            "These cases have no oracle: one. Add [[oracle]] to each case, or choose another model.",
        ),
    ],
)
def test_a_run_that_cannot_work_is_refused_before_its_first_cell(
    work: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    status = main(["eval", "run", "one.toml", "--out", "out", *words])
    out, err = capsys.readouterr()
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"tui-agent: {message}")
    assert not (work / "out").exists()


@pytest.mark.slow
def test_a_skill_of_a_case_can_be_turned_off_and_another_one_is_refused_with_similar_names(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = "---\\nname: deploying\\ndescription: How to deploy.\\n---\\nRun it."
    (work / "skilled.toml").write_text(f'{CASE}[files]\n".tui_agent/skills/deploying/SKILL.md" = "{guide}"\n')
    words = ["eval", "ablate", "skilled.toml", "-m", "demo", "--out", "out", "--address", "x:1"]
    # Without --engine ray, the address is refused after these checks and before the first cell.
    for name, expected in (
        ("skill:deploying", "--address needs --engine ray."),
        (
            "skill:deployin",
            "There is no 'skill:deployin'. Did you mean skill:deploying? Known: skill:deploying.",
        ),
        ("skill:xyz", "There is no 'skill:xyz'. Known: skill:deploying."),
        ("tool:grpe", "There is no 'tool:grpe'. Did you mean tool:grep? Known: "),
    ):
        assert main([*words, "--without", name]) == 2
        assert capsys.readouterr().err.startswith(f"tui-agent: {expected}"), name


@pytest.mark.slow
@rows("name", ["tool:nosuch", "section:nosuch", "prompt:nosuch", "skill:nosuch"])
def test_an_unknown_feature_is_refused_before_the_cells_of_the_other_arms(
    work: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    words = ["eval", "ablate", "one.toml", "-m", "demo", "--out", "out", "--without", "tool:grep"]
    assert main([*words, "--without", name]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"tui-agent: There is no '{name}'. Known: ")) == ("", True), err
    assert not (work / "out").exists()


@pytest.mark.slow
def test_a_cost_limit_over_a_model_without_a_known_price_is_told_once_at_the_start(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "half.yaml").write_text("input_price: 3\nanswers: [{text: Done.}]\n")
    (work / "priced.yaml").write_text("input_price: 3\noutput_price: 9\nanswers: [{text: Done.}]\n")
    (work / "limited.toml").write_text(CASE + "budgets = { max_cost_usd = 2 }\n")
    unpriced, priced = (f"scripted:{work / name}" for name in ("half.yaml", "priced.yaml"))
    words = "tui-agent: The price of half is unknown, so the cost limit of $"
    for case, options, expected in (
        (
            "one.toml",
            ("--max-cost", "1"),
            f"{words}1.00 cannot be enforced. To set the price, add input_price",
        ),
        ("limited.toml", (), f"{words}2.00 cannot be enforced."),
        ("one.toml", (), ""),
    ):
        models = f"{unpriced},{priced}"
        matrix = ["eval", "matrix", case, "--model-profiles", models, "--reasoning-efforts", "low,high"]
        # Without --engine ray, the address is refused after these checks and before the first cell.
        assert main([*matrix, "--out", f"out-{case}", "--address", "x:1", *options]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 + bool(expected) and lines[0].startswith(expected), lines


def test_a_resumed_run_takes_no_option_of_its_plan(capsys: pytest.CaptureFixture[str]) -> None:
    for words, option in (
        (("-m", "demo"), "--model"),
        (("--max-parts", "3"), "--max-parts"),
        (("one",), "SUITE"),
    ):
        assert main(["eval", "run", "--resume", "out", *words]) == 2
        assert f"with its own options and does not accept {option}." in capsys.readouterr().err


def test_a_folder_that_cannot_be_created_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run", "one.toml", "-m", "demo", "--out", "one.toml/out"]) == 2
    assert "one.toml/out cannot be created: Not a directory. Choose another --out." in capsys.readouterr().err


@pytest.mark.slow
def test_a_cell_whose_session_cannot_be_stored_has_no_result_and_runs_again(work: Path) -> None:
    (work / "answers.yaml").write_text("answers: [{text: Done.}]")

    def run(limit: str, *words: str) -> tuple[int, str]:
        command = f'ulimit -f {limit}; exec "$0" -m tui_agent eval run "$@"'
        done = subprocess.run(
            ["bash", "-c", command, sys.executable, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.returncode, done.stdout + done.stderr

    status, output = run("8", "one.toml", "-m", f"scripted:{work / 'answers.yaml'}", "--out", "out")
    assert status == 1 and "gave no result: " in output and "could not be stored" in output, output
    assert not list((work / "out").glob("cells/**/result.json"))
    assert "failed (model)" in run("unlimited", "--resume", "out")[1]


async def test_a_cell_without_a_model_on_another_machine_has_no_result(work: Path, tmp_path: Path) -> None:
    plan = Plan(suite="one.toml", suite_name="one", here=work, arms=(Arm(name="default"),), cases=("one",))
    (cell,), (case,) = plan.cells(), load_suite(plan.suite, plan.here).cases
    with pytest.raises(ConfigError, match=r"No model is set\."):
        await run_cell(plan, RunFolder(tmp_path / "run"), case, cell)
