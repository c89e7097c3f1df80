"""Running the tests of an environment on a copy of a workspace.

Invariant: the workspace itself is never changed.
"""

import shutil
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import anyio
from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.evals.environments.environment_file import TIMEOUT_S, EnvFunction, EvalEnvironment, Workspace
from tui_agent.evals.environments.timed_call import call_in_thread
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment
from tui_agent.wiring.environments import build_confinement
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

OpenEnvironment: TypeAlias = Callable[[Path], Environment]
"""Function that returns the environment for commands in the given folder."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of one test; `message` says why it failed, and is empty if it passed."""

    path: str
    message: str
    seconds: float

    @property
    def passed(self) -> bool:
        """True if the test passed."""
        return not self.message


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """The results of tests that ran together."""

    tests: tuple[TestResult, ...]

    @property
    def passed(self) -> int:
        """The number of tests that passed."""
        return sum(result.passed for result in self.tests)

    @property
    def total(self) -> int:
        """The number of tests."""
        return len(self.tests)

    @property
    def failed(self) -> int:
        """The number of tests that failed."""
        return self.total - self.passed

    @property
    def summary(self) -> str:
        """A line with the counts, then a line with the reason of each failure."""
        counts = f"{self.passed} passed, {self.failed} failed, {self.total} in all"
        return "\n".join([counts, *(result.message for result in self.tests if not result.passed)])

    def to_json(self) -> dict[str, object]:
        """Return the report as plain data."""
        tests = [
            {"path": test.path, "passed": test.passed, "message": test.message, "seconds": test.seconds}
            for test in self.tests
        ]
        return {"passed": self.passed, "failed": self.failed, "total": self.total, "tests": tests}


class EnvironmentSession:
    """Runs the tests of an environment in a folder. The tests can change the folder."""

    def __init__(self, environment: EvalEnvironment, folder: Path, open_env: OpenEnvironment) -> None:
        self._environment = environment
        self._folder = folder
        self._open_env = open_env
        self._lock = anyio.Lock()
        self._setup_fault: str | None = None

    async def test(self, path: str = "") -> EnvironmentReport:
        """Run the test or the suite at `path`, or all tests if `path` is empty. Every test fails if the setup failed.

        Raise `ConfigError` if there is no test at `path`.
        """
        chosen = self._environment.select(path)
        async with self._lock:  # tests share the folder
            fault = await self._set_up()
            results = []
            for item in chosen:
                started = time.monotonic()
                message = fault or await self._call(f"the test {item.path}", item.function, item.timeout_s)
                results.append(TestResult(item.path, message, round(time.monotonic() - started, 2)))
        return EnvironmentReport(tuple(results))

    async def _set_up(self) -> str:
        """Run the setup if it has not run yet; return why it failed, or an empty text."""
        setup = self._environment.setup
        if self._setup_fault is None:
            fault = "" if setup is None else await self._call("the setup", setup.function, TIMEOUT_S)
            self._setup_fault = fault
        return self._setup_fault

    async def _call(self, name: str, function: EnvFunction, timeout_s: float) -> str:
        async def call() -> None:
            env = self._open_env(self._folder)
            try:
                await function(Workspace(self._folder, env))
            except AssertionError as error:
                raise _with_source_line(error) from error
            finally:
                with anyio.CancelScope(shield=True):
                    await env.aclose()

        return await call_in_thread(name, call, timeout_s)


def _with_source_line(error: AssertionError) -> AssertionError:
    """Return the error. If its text is empty, return a new error with the source line of the assertion."""
    lines = traceback.extract_tb(error.__traceback__)
    return error if str(error) or not lines else AssertionError(lines[-1].line or "")


def sandboxed_environments(base: StartupContext) -> OpenEnvironment:
    """Return a function that opens local environments with the user's sandbox.

    Commands do not get the environment variables with API keys.
    """
    hidden = base.keys.collect_secrets(profile.api_key_env for profile in base.config.models.values()).keys()

    def open_env(folder: Path) -> Environment:
        return LocalEnvironment(folder, hidden=hidden, confinement=build_confinement(base, folder))

    return open_env


@asynccontextmanager
async def open_copy(
    environment: EvalEnvironment, workspace: Path, open_env: OpenEnvironment
) -> AsyncIterator[EnvironmentSession]:
    """Yield a session on a temporary copy of a workspace. Raise `EnvironmentFault` if the workspace cannot be copied."""
    with TemporaryDirectory(prefix="tui-agent-environment-") as parent:
        folder = Path(parent, "workspace")
        copy = partial(shutil.copytree, workspace, folder, symlinks=True)
        try:
            await to_thread.run_sync(copy)
        except (OSError, shutil.Error) as error:
            raise EnvironmentFault(f"{workspace} cannot be copied: {error}") from error
        yield EnvironmentSession(environment, folder, open_env)
