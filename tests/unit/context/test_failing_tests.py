"""Which failures a later test run clears: those of the tests that it covers, whatever started it."""

import pytest

from tui_agent.context.failing_tests import command_line, still_failing
from tui_agent.protocol.events.eval import TestFinished

NODE = "tests/negatives.test.js > negatives -1"
PYTEST = "tests/unit/test_a.py::test_one"
UNITTEST = "tests.test_calc.T.test_add"


def run(command: str, exit_code: int | None = 0, *failures: str, **fields: object) -> TestFinished:
    values = {"passed": 3, "failed": len(failures), "skipped": 0, "framework": "", **fields}
    return TestFinished.model_validate(
        {"command": command, "exit_code": exit_code, "failures": failures, **values}
    )


def names_after(*runs: TestFinished) -> list[str]:
    failing: dict[str, str] = {}
    for item in runs:
        failing = still_failing(failing, item, command_line(item), 200)
    return list(failing)


@pytest.mark.parametrize(
    ("name", "command", "later"),
    [
        (NODE, "npm test", "node --test tests/negatives.test.js"),
        (NODE, "npm test", "node --test tests/other.test.js ./tests/negatives.test.js"),
        (NODE, "npm test", "npm test -- tests/negatives.test.js"),
        (NODE, "npm test", "npx mocha tests"),
        (NODE, "node --test tests/negatives.test.js", "npm test"),
        (NODE, "npm run test:unit", "npx vitest run tests/"),
        ("./" + NODE, "npx jest negatives", "npx jest tests/negatives.test.js --silent"),
        ("suite adds", "npm test -- test/a.js", "npx mocha test/a.js test/b.js"),
        ("suite adds", "npx mocha test/a.js test/b.js", "npx mocha test"),
        (PYTEST, "python -m pytest -q", "pytest tests/unit"),
        (PYTEST, "python -m pytest -q", "uv run pytest -n 2 -x tests/unit/test_a.py tests/test_b.py"),
        (PYTEST, "pytest tests/unit/test_a.py", f".venv/bin/python -m pytest {PYTEST}"),
        (PYTEST, "pytest tests/unit/test_a.py", "pytest -k one"),
        ("tests/unit/test_a.py", "pytest", "pytest tests/unit/test_a.py"),
        (UNITTEST, "python -m unittest discover", "python -m unittest tests.test_calc"),
        (UNITTEST, "python -m unittest discover", "python -m pytest tests/test_calc.py"),
        (UNITTEST, "python -m unittest discover -s tests -t .", "python -m unittest tests/test_calc.py"),
        (
            "test_calc.T.test_add",
            "python -m unittest discover tests",
            "python -m unittest -v tests.test_calc.T",
        ),
        ("TestAdd", "go test ./calc", "go test -v ./..."),
        ("TestAdd", "go test ./...", "go test -run TestAdd ./..."),
        ("calc::adds", "cargo test", "cargo test calc"),
    ],
)
def test_a_later_run_that_covers_a_failed_test_clears_it(name: str, command: str, later: str) -> None:
    assert names_after(run(command, 1, name), run(later)) == []
    # A check after the tests failed, such as that of the types.
    assert names_after(run(command, 1, name), run(later, 1)) == [f"`{later}` failed"]
    assert names_after(run(command, 1, name), run(later, 1, "new")) == ["new"]


@pytest.mark.parametrize(
    ("name", "command", "later"),
    [
        (NODE, "npm test", "node --test tests/options.test.js"),
        (NODE, "npm test", "node --test lib/tests/negatives.test.js"),
        (NODE, "npm test", "node --test other/test"),
        (NODE, "npm test", "node --test test"),
        (NODE, "npm test", "npm run test:types"),
        (NODE, "npm test", "npm test -- -t options"),
        (NODE, "npm test", "npm test -w packages/a"),
        (NODE, "npm test", "pytest"),
        ("suite adds", "npm test", "node --test tests/a.test.js"),
        ("suite adds", "npx mocha test/a.js test/b.js", "npx mocha test/a.js"),
        (PYTEST, "pytest", "pytest test_a.py"),
        (PYTEST, "pytest", "pytest tests/unit/test_a.py::test_two"),
        (PYTEST, "pytest", "pytest tests/unit/test_a.py -k two"),
        (PYTEST, "pytest", "pytest -m unit"),
        (PYTEST, "pytest", "pytest --lf"),
        (PYTEST, "pytest", "pytest --ignore=tests/unit"),
        ("tests/test_x.py::test_one", "pytest", "pytest test_x.py"),
        (UNITTEST, "python -m unittest discover", "python -m unittest test_calc.py"),
        (UNITTEST, "python -m unittest discover", "python -m unittest discover -p 'check_*.py'"),
        ("TestAdd", "go test ./...", "go test ./calc/..."),
        ("TestAdd", "go test ./...", "go test"),
        ("TestAdd", "go test ./...", "go test -run TestSub ./..."),
        ("calc::adds", "cargo test", "cargo test parse"),
    ],
)
def test_a_run_of_other_tests_clears_nothing(name: str, command: str, later: str) -> None:
    assert names_after(run(command, 1, name), run(later)) == [name]


@pytest.mark.parametrize(
    ("exit_code", "failures", "fields"),
    [
        (4, (), {"passed": 0}),
        (0, (), {"passed": 0}),
        (2, ("test_b.py",), {"passed": 0, "errors": 1}),
        (1, (), {"passed": -1, "failed": -1, "skipped": -1}),
        (1, (), {"failed": 2}),
        (None, (), {}),
        (None, ("TestOther",), {}),
    ],
    ids=[
        "usage error",
        "no tests",
        "file not loaded",
        "not started",
        "failures without names",
        "stopped",
        "stopped after a failure",
    ],
)
def test_a_run_that_did_not_start_or_end_clears_nothing(
    exit_code: int | None, failures: tuple[str, ...], fields: dict[str, int]
) -> None:
    assert PYTEST in names_after(run("pytest", 1, PYTEST), run("pytest", exit_code, *failures, **fields))


def test_a_failed_run_without_names_is_cleared_by_a_run_of_the_same_files() -> None:
    failed = run("npm test -- tests/a.test.js", 1)
    assert names_after(failed) == ["`npm test -- tests/a.test.js` failed"]
    assert names_after(failed, run("node --test tests/b.test.js")) == names_after(failed)
    assert names_after(failed, run("node --test tests/a.test.js --test-name-pattern=a")) == names_after(
        failed
    )
    assert names_after(failed, run("node --test tests/a.test.js tests/b.test.js")) == []
    assert names_after(failed, run("npm test", 1)) == ["`npm test` failed"]


def test_a_run_in_a_folder_covers_only_that_folder() -> None:
    failed = run("npm test", 1, "tests/a.test.js > adds", folder="web")
    assert names_after(failed, run("npm test", folder="api")) == ["tests/a.test.js > adds"]
    assert names_after(failed, run("node --test web/tests/a.test.js")) == []
    assert names_after(failed, run("node --test tests/a.test.js", folder="./web/")) == []
    assert names_after(failed, run("npm test")) == []
    assert names_after(run("npm test", 1, folder="my web")) == ["`cd 'my web' && npm test` failed"]


def test_a_run_whose_extent_is_unknown_clears_only_its_own_failures() -> None:
    failed = run("make test", 1, "test_one")
    assert names_after(failed, run("make test_two")) == ["test_one"]
    assert names_after(failed, run("make test")) == []
