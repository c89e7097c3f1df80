"""Loads evaluation environments from Python files, and provides the decorators and the workspace for their tests.

Invariant: a decorator stores its test only in the globals of the environment's own file.
"""

import inspect
import re
import runpy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tui_agent.errors import ConfigError
from tui_agent.evals.environments.timed_call import call_with_limit
from tui_agent.fast_dataclass import dataclass
from tui_agent.plugin_host.plugin_imports import guard_code
from tui_agent.ports.environment import Environment, ExecSpec

MAX_OUTPUT_BYTES = 200_000
COMMAND_TIMEOUT_S = 60.0
ENVIRONMENT_FILE = "environment.py"
"""Name of an environment's file if the environment is given as a folder."""
TIMEOUT_S = 600.0
"""Time limit of the setup and of each test, in seconds. A suite can set another limit for its tests."""
LOAD_TIMEOUT_S = 60.0
"""Time limit, in seconds, for running a user's Python file, and for a call of its `generate()`."""
_COLLECTED = "__tui_agent_collected__"
"""Name of a global variable in an environment's file. It holds the functions that the file decorates."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9][A-Za-z0-9._-]{0,99})*")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command; `exit_code` is None if the command was killed, such as at its time limit."""

    exit_code: int | None
    output: str


class Workspace:
    """A test's copy of the workspace. Processes that are still running are ended after the test."""

    def __init__(self, path: Path, env: Environment) -> None:
        self.path = path
        self._env = env

    async def run(
        self, command: str, *, stdin: str = "", timeout_seconds: float = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        """Run a command line in the workspace, in the sandbox if there is one. The output includes standard error."""
        spec = ExecSpec(
            script=command, stdin=stdin.encode(), timeout=timeout_seconds, max_output=MAX_OUTPUT_BYTES
        )
        result = await self._env.exec(spec, lambda piece: None)
        return CommandResult(result.exit_code, result.output.decode("utf-8", "replace") or result.message)


EnvFunction: TypeAlias = Callable[[Workspace], Awaitable[object]]
"""Function that an author decorates as a test or setup. It fails by raising an exception."""


@dataclass(frozen=True, slots=True)
class EnvTest:
    """One test; `path` has the names of its suites and its own name, such as `basics/adds`."""

    path: str
    function: EnvFunction
    timeout_s: float
    description: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """The function that prepares a workspace before its tests."""

    function: EnvFunction


_Item = TypeVar("_Item", EnvTest, Setup)


class EnvSuite:
    """A group of tests whose paths begin with `name`; `timeout_s` is the time limit of each test in seconds."""

    def __init__(self, name: str, timeout_s: float) -> None:
        self.name = _checked_name(name)
        self.tests: list[EnvTest] = []
        self._timeout_s = timeout_s

    def test(self, function: EnvFunction) -> EnvTest:
        """Make a function a test of the suite; the test gets the function's name. Use it as a decorator."""
        test = _make_test(function, f"{self.name}/{_own_name(function)}", self._timeout_s)
        self.tests.append(test)
        return test


def suite(name: str, *, timeout_seconds: float = TIMEOUT_S) -> EnvSuite:
    """Return a new suite. Names can contain `/`: `suite("basics/numbers")` is a part of the suite `basics`."""
    return EnvSuite(name, timeout_seconds)


def test(function: EnvFunction) -> EnvTest:
    """Make a function a test that belongs to no suite. Use it as a decorator."""
    return _collect(function, _make_test(function, _own_name(function), TIMEOUT_S))


def setup(function: EnvFunction) -> Setup:
    """Decorate the environment's setup function, which runs once, before the tests of a workspace."""
    return _collect(function, Setup(_checked_function(function, "the setup")))


class EvalEnvironment:
    """The tests of one environment, in the order of the environment's file, and the setup function."""

    def __init__(self, name: str, tests: Iterable[EnvTest], setup: Setup | None = None) -> None:
        self.name = name
        self.tests = tuple(tests)
        self.setup = setup

    def select(self, path: str) -> tuple[EnvTest, ...]:
        """Return the test or the suite's tests at `path`, or all tests if `path` is empty.

        Raise `ConfigError` if there are no tests at `path`.
        """
        chosen = tuple(item for item in self.tests if not path or f"{item.path}/".startswith(f"{path}/"))
        if not chosen:
            known = ", ".join(item.path for item in self.tests)
            raise ConfigError(f"{self.name} has no test {path!r}.", hint=f"Tests: {known}.")
        return chosen


def load_environment(path: Path) -> EvalEnvironment:
    """Run the file of an environment, or `environment.py` of a folder, and return its tests.

    Raise `ConfigError` if the file fails, or has no test, two tests with the same path, or two setups.
    """
    file = (path / ENVIRONMENT_FILE if path.is_dir() else path).resolve()
    if not file.is_file():
        raise ConfigError(f"{file} was not found.", hint="Give the Python file of an environment.")
    names = run_python_file(file)
    # A decorated function is usually both a global variable and collected. It is only collected if a later function
    # of the file has the same name.
    values = list({id(value): value for value in (*names.values(), *names.get(_COLLECTED, ()))}.values())
    tests: dict[str, EnvTest] = {}
    candidates = (
        item for value in values for item in (value.tests if isinstance(value, EnvSuite) else [value])
    )
    for item in {id(item): item for item in candidates if isinstance(item, EnvTest)}.values():
        if item.path in tests:
            raise ConfigError(
                f"{file}: two tests are named {item.path!r}.", hint="Give each test its own name."
            )
        tests[item.path] = item
    if not tests:
        raise ConfigError(
            f"{file} has no test.",
            hint="Decorate a function with `@test` or, in a suite, with `@SUITE.test`.",
        )
    setups = [value for value in values if isinstance(value, Setup)]
    if len(setups) > 1:
        raise ConfigError(f"{file} has {len(setups)} setups.", hint="Keep only one function with `@setup`.")
    name = file.parent.name if file.name == ENVIRONMENT_FILE else file.stem
    return EvalEnvironment(name, tests.values(), setups[0] if setups else None)


def run_python_file(path: Path, timeout_s: float = LOAD_TIMEOUT_S) -> Mapping[str, Any]:
    """Run a user's Python file, and return its global variables.

    Raise `ConfigError` if the file fails, calls `os._exit` or reaches the time limit.
    """
    guard_code(path)
    return call_with_limit(str(path), partial(runpy.run_path, str(path)), timeout_s)


def _collect(function: EnvFunction, item: _Item) -> _Item:
    """Add `item` to the list of tests in the file of `function`, and return `item`."""
    function.__globals__.setdefault(_COLLECTED, []).append(item)
    return item


def _make_test(function: EnvFunction, path: str, timeout_s: float) -> EnvTest:
    description = (inspect.getdoc(function) or "").partition("\n")[0]
    return EnvTest(_checked_name(path), _checked_function(function, "a test"), timeout_s, description)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name for a suite or test")
    return name


def _checked_function(function: EnvFunction, role: str) -> EnvFunction:
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"{_own_name(function)} cannot be {role}: it is not an async function")
    return function


def _own_name(function: EnvFunction) -> str:
    return str(getattr(function, "__name__", function))
