"""Tasks of simulations: bundled examples, prompts with an environment of their own, and what is refused."""

import json
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.errors import UsageError
from tui_agent.evals.checks.case_workspace import create_workspace
from tui_agent.simulation.tasks import example_names, load_example, load_task


def test_the_examples_are_whole_and_their_tests_stay_hidden(tmp_path: Path) -> None:
    assert example_names() == ("shop-discount", "word-count")
    for name in example_names():
        case = load_example(name)
        assert case.harbor is not None and (case.folder / case.harbor.tests / "test.sh").is_file()
        create_workspace(case, tmp_path / name)
        files = {path.name for path in (tmp_path / name).iterdir()}
        assert "main.py" in files and not files & {"tests", "Dockerfile", "setup.sh"}
        assert {"Dockerfile", "setup.sh"} <= {path.name for path in (case.folder / "environment").iterdir()}


def test_a_prompt_needs_an_environment_and_tests(tmp_path: Path) -> None:
    (tmp_path / "fix.md").write_text("Fix it.")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x")
    case = load_task(tmp_path / "fix.md", tmp_path / "repo", "true")
    create_workspace(case, tmp_path / "copy")
    assert (case.id, case.prompt, (tmp_path / "copy" / "a.py").read_text()) == ("fix", "Fix it.", "x")
    for environment, test in ((None, "true"), (tmp_path / "repo", "")):
        with pytest.raises(UsageError, match="no environment or no tests"):
            load_task(tmp_path / "fix.md", environment, test)


def test_a_task_or_an_example_is_required_and_results_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for words, message in (
        ((), "Give --task and --env, or --example."),
        (("--example", "none"), "There is no example 'none'. Examples: shop-discount, word-count."),
        (("--example", "word-count", "--tree", "t"), "--tree and --orchestrator need --mode orchestrated."),
    ):
        assert main(["sim", "run", *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["sim", "report"]) == 2
    ends = ("user_exit", "user_exit", "interrupted", "user_error")
    for number, (success, end) in enumerate(zip((1, 0, 0, 0), ends, strict=True)):
        folder = tmp_path / "jobs" / "t" / "user-agent" / str(number)
        folder.mkdir(parents=True)
        row = {
            "task": "t",
            "mode": "user-agent",
            "profile": "p",
            "end": end,
            "success": success,
            "turns": number,
        }
        (folder / "result.json").write_text(json.dumps(row))
    capsys.readouterr()
    (folder / "chat_history.json").write_text("[]")
    assert main(["view", str(folder)]) == 2
    assert "Add --headless to print the messages." in capsys.readouterr().err
    assert main(["sim", "report", "--json"]) == 0
    (figures,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (figures["runs"], figures["no result"], figures["success"], figures["turns"]) == (
        4,
        2,
        "50 %",
        0.5,
    )
    assert figures["cost"] is None
