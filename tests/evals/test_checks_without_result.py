"""A test or verifier command that could not run is told apart from one that ran and failed."""

from pathlib import Path

import pytest

from tests.evals.test_commit_checks import Answer, run
from tui_agent.errors import ConfigError

ORACLE: list[Answer] = [
    {"calls": [{"write_file": {"path": "run.sh", "content": "nosuchprogram\n"}}]},
    {"text": "Done."},
]
CRASH = "python3 -c 'import os; os.kill(os.getpid(), 11)'"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "command, test_reason, verifier_reason",
    [
        ("nosuchprogram", *["could not run: nosuchprogram: command not found"] * 2),
        ("/etc/passwd", *["could not run: /etc/passwd: Permission denied"] * 2),
        ("kill -9 $$", *["was ended by SIGKILL"] * 2),
        (CRASH, "", ""),
        ("./missing", "", "could not run: ./missing: No such file or directory"),
        ("bash missing.sh", "", "could not run: missing.sh: No such file or directory"),
        ("./hidden", *["could not run: ./hidden: Permission denied"] * 2),
        ("./run.sh", "", ""),
        ("bash run.sh", "", ""),
    ],
)
async def test_a_command_that_could_not_run_gives_no_result(
    tmp_path: Path, command: str, test_reason: str, verifier_reason: str
) -> None:
    hidden = {"hidden": "exit 0\n"}
    tested = await run(
        tmp_path / "t", ORACLE, evaluate="end", test_command=command, test_paths=[], test_files=hidden
    )
    verifier = {"command": command}
    verified = await run(
        tmp_path / "v",
        ORACLE,
        evaluate="end",
        test_command="",
        test_paths=[],
        test_files=hidden,
        verifier=verifier,
    )
    assert (tested.failure, tested.detail) == (
        ("environment", f"the test command {test_reason}") if test_reason else ("tool", "the tests failed")
    )
    assert (verified.failure, verified.detail) == (
        ("verifier", f"{command}: the verifier {verifier_reason}")
        if verifier_reason
        else ("tool", "the verifier failed")
    )


@pytest.mark.slow
async def test_a_hidden_test_with_an_interpreter_line_can_be_run_as_a_program(tmp_path: Path) -> None:
    for name, fields in {"tests": {"test_command": "./hidden"}, "verifier": {"test_command": ""}}.items():
        result = await run(
            tmp_path / name,
            ORACLE,
            evaluate="end",
            test_paths=[],
            test_files={"hidden": "#!/bin/sh\ntest -e run.sh\n"},
            verifier={"command": "./hidden"},
            **fields,
        )
        assert (result.passed, result.detail) == (True, "")


STOPPED = "the test command was stopped after 1 s, its time limit"


@pytest.mark.slow
async def test_a_test_that_hangs_only_after_the_agent_acted_has_failed(tmp_path: Path) -> None:
    for command, failure, status, detail in (
        ("grep -q nosuch run.sh && sleep 60", "tool", 124, STOPPED),
        ("sleep 60", "environment", None, STOPPED),
    ):
        result = await run(
            tmp_path / failure,
            ORACLE,
            evaluate="end",
            test_command=command,
            test_paths=[],
            test_timeout_seconds=1.0,
        )
        assert (result.failure, result.returncode, result.detail) == (failure, status, detail)
        assert result.test_output == "was stopped after 1 s, its time limit"


@pytest.mark.slow
async def test_a_verifier_that_passes_before_the_agent_acts_is_refused_if_there_are_no_tests(
    tmp_path: Path,
) -> None:
    verifier = {"command": "true"}
    with pytest.raises(ConfigError, match="v: its verifier passes before the agent acts"):
        await run(tmp_path / "v", ORACLE, "end", test_command="", test_paths=[], verifier=verifier)
    assert not (tmp_path / "v" / "run" / "data").exists()
    tested = await run(
        tmp_path / "t", ORACLE, "end", test_command="test -e run.sh", test_paths=[], verifier=verifier
    )
    seen = {"command": 'grep -q turn.finished "$EVAL_LOG"'}
    logged = await run(tmp_path / "l", ORACLE, "end", test_command="", test_paths=[], verifier=seen)
    assert tested.passed and logged.passed
