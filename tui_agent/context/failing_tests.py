"""The tests that fail, according to the test runs of a task.

Invariant: a test run clears only the failures of tests that the run covers.
"""

import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tui_agent.protocol.events.eval import TestFinished

# Possessive quantifiers (`++`) do not backtrack, so a long command cannot make the match slow.
_COMMAND = re.compile(
    r"""(?:cd\ (?P<folder>'[^']*+'|[^\s']++)\ &&\ )?+
    (?:(?:uv|poetry|pipenv|hatch|pdm|rye)\ run\ )?+ (?:(?:npx|bunx)\ )?+
    (?:(?:[^\s/]*+/)*+ python[\d.]*+\ -m\ )?+ (?:[^\s/]*+/)*+
    (?:(?P<pytest> pytest | py\.test)
    | (?P<unittest> unittest (?:\ discover)?)
    | (?P<go> go\ test)
    | (?P<cargo> cargo\ (?:test|nextest\ run))
    | (?P<node> (?:npm|pnpm|yarn|bun)(?:\ run)?(?:\ (?:test|t))? | node | vitest(?:\ run)? | jest | mocha | ava | tap))
    (?!\S)""",
    re.VERBOSE,
)
"""Matches the beginning of a test command: the program and its subcommand, such as `npm run test`."""


class _Options(NamedTuple):
    """The options of a test program, separated by spaces.

    - `by_name`: options that select the tests whose names contain the option's value
    - `narrowing`: options that leave out tests by anything but their names, such as pytest's `-m` by their markers
    - `with_value`: other options that take the next word of the command as their value
    """

    by_name: str
    narrowing: str
    with_value: str


_OPTIONS: Final = {
    "pytest": _Options(
        "-k",
        "-m --lf --last-failed --sw --stepwise --deselect --ignore --ignore-glob",
        "-n -p -c -o -r -W --rootdir --maxfail --tb --color --cov --junitxml --durations",
    ),
    "unittest": _Options("-k", "-p --pattern", "-s -t --start-directory --top-level-directory"),
    "go": _Options("-run", "-skip -short", "-count -timeout -parallel -p -tags -coverprofile"),
    "cargo": _Options(
        "",
        "-p --package --exclude --lib --bin --bins --test --tests --doc --ignored --skip --exact -E",
        "-j --jobs --features --target --color",
    ),
    "node": _Options(
        "-t -g --grep --fgrep --testNamePattern --test-name-pattern",
        "-o -f -w --workspace --shard --project --selectProjects --changed --changedSince --onlyChanged --onlyFailures "
        "--findRelatedTests --only --test-only --test-skip-pattern --testPathPattern --testPathPatterns "
        "--testPathIgnorePatterns --exclude --invert",
        "-c -r --config --require --import --reporter --timeout --test-reporter --test-reporter-destination "
        "--test-concurrency --test-timeout",
    ),
}
_DOTTED = re.compile(r"\w+(?:\.\w+)*+")
_JS_FILE = re.compile(r"([^>]+?\.[cm]?[jt]sx?)(?: > |$)")


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The tests that a command runs.

    - `program`: a name in `_OPTIONS`
    - `paths`: the selected files, folders and tests, as paths in the workspace
    - `names`: if not empty, only tests whose names contain one of these texts are selected
    - `is_partial`: True if other options leave out some of the tests
    - `base`: the folder to which names of tests are relative
    """

    program: str
    paths: tuple[str, ...]
    names: tuple[str, ...]
    is_partial: bool
    base: str

    @property
    def language(self) -> str:
        return "python" if self.program in ("pytest", "unittest") else self.program

    def covers(self, name: str, places: tuple[str, ...]) -> bool:
        """Return True if the command certainly runs the test `name`. `places`: the files that can contain the test."""
        if self.is_partial or (self.names and not any(text in name for text in self.names)):
            return False
        return all(any(PurePosixPath(place).is_relative_to(path) for path in self.paths) for place in places)


def command_line(run: TestFinished) -> str:
    """Return the command of a test run. If the run was in a subfolder, the command starts with `cd FOLDER &&`."""
    folder = posixpath.normpath(run.folder)
    return run.command if folder == "." else f"cd {shlex.quote(folder)} && {run.command}"


def still_failing(
    failing_before: Mapping[str, str], run: TestFinished, command: str, limit: int
) -> dict[str, str]:
    """Return up to `limit` tests that fail after `run`, each with the command that reported the failure.

    The tests in `failing_before` stay in the result if the run ran no test, did not end, or does not name its failures.

    - `failing_before`: the tests that failed before `run`
    - `command`: the run's command as `command_line` returns it, without secrets
    """
    if run.passed == run.failed == run.skipped == run.xfailed == run.xpassed == 0:
        return dict(failing_before)
    passes = run.exit_code == 0
    # If every failure is an error, for example while tests are collected, no test ran to its end.
    has_ended = run.exit_code is not None and (run.passed > 0 or run.failed > run.errors)
    names_failures = run.failed == 0 or bool(run.failures)
    new_failures = [] if passes else list(run.failures) or [_run_failure(command)]
    failing = dict.fromkeys(new_failures, command)
    for name, command_before in failing_before.items():
        is_over = (passes or (has_ended and names_failures)) and _is_covered(name, command_before, command)
        if name not in failing and not is_over:
            failing[name] = command_before
    return dict(islice(failing.items(), limit))


def runs_all(command: str) -> bool:
    """Return True if the test command runs all tests of the workspace."""
    coverage = _coverage(command)
    return (
        coverage is not None and coverage.paths == (".",) and not coverage.names and not coverage.is_partial
    )


def _run_failure(command: str) -> str:
    return f"`{command}` failed"


def _is_covered(name: str, command_before: str, command: str) -> bool:
    """Return True if `command` runs the test `name`. An earlier run of `command_before` reported the test as failed."""
    if command == command_before:
        return True
    before, now = _coverage(command_before), _coverage(command)
    if now is None or (before is not None and before.language != now.language):
        return False
    if before is None:
        return now.covers(name, (".",))
    if name == _run_failure(command_before):
        return now.covers("", before.paths)
    return now.covers(name, _places(name, before))


def _places(name: str, coverage: _Coverage) -> tuple[str, ...]:
    """Return the path of a failed test. If the test's name contains no file, return all selected paths."""
    if coverage.language == "python":
        return (_python_path(coverage.base, name, coverage.program),)
    file = _JS_FILE.match(name) if coverage.program == "node" else None
    return coverage.paths if file is None else (_join(coverage.base, file[1]),)


def _coverage(command: str) -> _Coverage | None:
    """Return which tests a command runs; None if this is not known."""
    match = _COMMAND.match(command)
    if match is None:
        return None
    try:
        words = iter(shlex.split(command[match.end() :]))
    except ValueError:  # the command was cut within quotes
        return None
    folder = base = (match["folder"] or "").strip("'")
    program = next(name for name in _OPTIONS if match[name])
    by_name, narrowing, with_value = (text.split() for text in _OPTIONS[program])
    # A command is stored in shortened form; what follows "…" could leave out tests.
    selected, names, values, is_partial = list[str](), list[str](), dict[str, str](), command.endswith("…")
    for word in words:
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            selected.append(word)
        elif option in narrowing:
            is_partial = True
        elif option in by_name:
            names.append(value if equals else next(words, ""))
        elif option in with_value:
            values[option] = value if equals else next(words, "")
    if match["unittest"] and match[0].endswith(" discover"):
        is_partial = is_partial or len(selected) > 1
        start = values.get("-s") or values.get("--start-directory") or "".join(selected[:1])
        top = values.get("-t") or values.get("--top-level-directory") or start
        selected, base = [start], posixpath.join(folder, top)
    if program == "cargo":  # its arguments are parts of names
        selected, names = [], [*names, *selected]
    paths = tuple(_selected_path(folder, word, program) for word in selected or [""])
    return _Coverage(program, paths, tuple(names), is_partial, base)


def _selected_path(folder: str, selected: str, program: str) -> str:
    """Return the path from which the argument `selected` selects tests: for a single Go package, `FOLDER/*.go`."""
    if program in ("pytest", "unittest"):
        return _python_path(folder, selected, program)
    if program == "go":
        selected = selected.removesuffix("...") if selected.endswith("...") else f"{selected}/*.go"
        selected = selected.lstrip("/")
    return _join(folder, selected)


def _python_path(folder: str, selected: str, program: str) -> str:
    """Return the path of Python tests, such as `tests/test_a/Class/test` for `tests/test_a.py::Class::test`."""
    file, _, test = selected.partition("::")
    if program == "unittest" and _DOTTED.fullmatch(file) and not file.endswith(".py"):
        file = file.replace(".", "/")
    path = _join(folder, file.removesuffix(".py"))
    return f"{path}/{test.replace('::', '/')}" if test else path


def _join(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))
