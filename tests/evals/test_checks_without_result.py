"""A test or verifier command that could not run is told apart from one that ran and failed."""

from pathlib import Path

import pytest

from tests.evals.test_commit_checks import Answer, run

ORACLE: list[Answer] = [
    {"calls": [{"write_file": {"path": "run.sh", "content": "nosuchprogram\n"}}]},
    {"text": "Done."},
]
CRASH = "python3 -c 'import os; os.kill(os.getpid(), 11)'"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    "command, reason",
    [
        ("nosuchprogram", "could not run: nosuchprogram: command not found"),
        ("/etc/passwd", "could not run: /etc/passwd: Permission denied"),
        ("kill -9 $$", "was ended by SIGKILL"),
        (CRASH, ""),
        ("./missing", ""),
        ("./run.sh", ""),
        ("bash run.sh", ""),
        ("bash missing.sh", ""),
    ],
)
async def test_a_command_that_could_not_run_gives_no_result(
    tmp_path: Path, command: str, reason: str
) -> None:
    tested = await run(tmp_path / "t", ORACLE, evaluate="end", test_command=command, test_paths=[])
    verifier = {"command": command}
    verified = await run(
        tmp_path / "v", ORACLE, evaluate="end", test_command="", test_paths=[], verifier=verifier
    )
    if reason:
        assert (tested.failure, tested.detail) == ("environment", f"the test command {reason}")
        assert (verified.failure, verified.detail) == ("verifier", f"{command}: the verifier {reason}")
    else:
        assert (tested.failure, tested.detail) == ("tool", "the tests failed")
        assert (verified.failure, verified.detail) == ("tool", "the verifier failed")


STOPPED = "the test command was stopped after 1 s, its time limit"


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
