"""Checks of a workspace after the agent's work: tests, verifier and expectations, on copies with the hidden tests.

Invariant: the checked folder is never changed.
"""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

from anyio import to_thread

from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.evals.cases.case import FORMAT_HINT, Case
from tui_agent.evals.cases.case_image import CaseImage
from tui_agent.evals.checks.case_functions import CaseFunctions, run_environment_verifier, run_plugin_verifier
from tui_agent.evals.checks.case_workspace import create_check_copy, create_workspace
from tui_agent.evals.checks.check_results import EXPECTED, CheckResults, with_fault
from tui_agent.evals.checks.tests_and_verifier import CheckInput, run_harbor_tests, run_tests, run_verifier
from tui_agent.evals.environments.environment_tests import EnvironmentSession, sandboxed_environments
from tui_agent.ports.environment import Environment
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.wiring.environments import build_confinement
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

CHECKED = "checked"
FIXTURE_CHECK = "fixture-checked"
LOGS = "logs"
TESTS = "tests"


class Checker:
    """Checks the workspaces of one case, on copies in `folder`."""

    def __init__(self, base: StartupContext, case: Case, folder: Path, functions: CaseFunctions) -> None:
        self._base, self._case, self._folder = base, case, folder
        self._functions = functions
        self.image: CaseImage | None = None
        """The image for tests and verifier commands; None if they run on this machine."""
        self.ended_commands: frozenset[str] = frozenset()
        """Test commands that ended by themselves before the agent acted."""

    async def check(
        self, workspace: Path, session: Path, used_tools: Mapping[str, int], name: str = CHECKED
    ) -> CheckResults:
        """Check a workspace after the agent's work.

        - `session`: folder of the agent's session.
        - `name`: folder for the copies. Checks that run at the same time need different names.
        """
        case = self._case
        tests: tuple[TestFinished, ...] = ()
        verifier: VerifierFinished | None = None
        try:
            tests, verifier = await self._run_tests(workspace, name)
            if case.verifier is not None:
                verifier = await self._verify(workspace, session, name)
            if case.expected is not None and (verifier is None or verifier.reward >= 1):
                verifier = check_expected(case, workspace, used_tools)
        except OSError as error:
            return CheckResults((), None, "environment", f"the workspace cannot be checked: {error}")
        finally:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        return with_fault(CheckResults(tests, verifier, decides_by_reward=case.harbor is not None))

    async def check_fixture(self, workspace: Path) -> CheckResults:
        """Check the workspace before the agent acts. Set `ended_commands` to the test commands that did not hang.

        The verifier runs only if there are no tests. Raise `OSError` if the workspace cannot be copied.
        """
        try:
            tests, verifier = await self._run_tests(workspace, FIXTURE_CHECK)
            if not tests:
                verifier = await self._verify_fixture(workspace)
        finally:
            shutil.rmtree(self._folder / FIXTURE_CHECK, ignore_errors=True)
        self.ended_commands = frozenset(test.command for test in tests if test.exit_code is not None)
        return CheckResults(tests, verifier, decides_by_reward=self._case.harbor is not None)

    async def _verify_fixture(self, workspace: Path) -> VerifierFinished | None:
        """Run the verifier on the fixture with an empty log.

        Return None if the case has no verifier, or if its verifier belongs to a plugin.
        """
        case, session = self._case, self._folder / FIXTURE_CHECK / "session"
        if case.verifier is None or case.verifier.plugin:
            return None
        session.mkdir(parents=True)
        (session / "events.jsonl").touch()
        verifier = await self._verify(workspace, session, FIXTURE_CHECK)
        return check_expected(case, workspace, {}) if case.expected and verifier.reward >= 1 else verifier

    async def _run_tests(
        self, workspace: Path, name: str
    ) -> tuple[tuple[TestFinished, ...], VerifierFinished | None]:
        case = self._case
        if case.harbor is None:
            if not case.test_command:
                return (), None
            async with self.copy(workspace, name) as env:
                return await run_tests(case, env, self.ended_commands), None
        # The logs of the last check stay in the cell's folder; those of other checks are deleted with their copies.
        logs = self._folder / (LOGS if name == CHECKED else f"{name}/{LOGS}")
        logs.mkdir(parents=True, exist_ok=True)
        # A test script can change files and rights in /tests, for example to hide the answers from tested programs.
        tests = logs.with_name(TESTS)
        copy_tests = partial(shutil.copytree, symlinks=True, dirs_exist_ok=True)
        await to_thread.run_sync(copy_tests, case.folder / case.harbor.tests, tests)
        try:
            async with self.copy(workspace, name, {tests: "/tests", logs: "/logs"}) as env:
                test, verifier = await run_harbor_tests(case, env, tests, logs, self.ended_commands)
                return (test,), verifier
        finally:
            await to_thread.run_sync(shutil.rmtree, tests, True)

    @asynccontextmanager
    async def copy(
        self, workspace: Path, name: str, mounts: Mapping[Path, str] = MappingProxyType({})
    ) -> AsyncIterator[Environment]:
        """Copy a folder, add the hidden tests, and yield an environment for the copy."""
        copy = self._folder / name / "repo"
        copy.parent.mkdir(parents=True, exist_ok=True)
        create_check_copy(self._case, workspace, copy)
        env = self._open_env(copy, mounts)
        try:
            await env.start()
            yield env
        finally:
            await env.aclose()

    def _open_env(self, copy: Path, mounts: Mapping[Path, str]) -> Environment:
        if self.image is not None:
            return self.image.container(copy, mounts)
        return LocalEnvironment(copy, confinement=build_confinement(self._base, copy))

    async def _verify(self, workspace: Path, session: Path, name: str) -> VerifierFinished:
        case, offered, environment = self._case, self._functions.verifier, self._functions.environment
        assert case.verifier is not None
        async with self.copy(workspace, name) as env:
            if environment is not None:
                tests = EnvironmentSession(environment, Path(env.root), sandboxed_environments(self._base))
                return await run_environment_verifier(case.verifier, tests)
            if offered is not None:
                return await run_plugin_verifier(case.verifier, offered, Path(env.root), session)
            fixture = self._folder / name / "fixture"
            create_workspace(case, fixture)
            checked = CheckInput(Path(env.root), fixture, session / "events.jsonl")
            return await run_verifier(case, checked, env)


def check_expected(case: Case, workspace: Path, used_tools: Mapping[str, int]) -> VerifierFinished:
    """Compare the agent's work with the case's `expected`; the reward is 1 if everything is as expected.

    `used_tools`: maps the names of tools to their numbers of successful calls.

    Raise `ConfigError` if a file of the case cannot be read.
    """
    assert case.expected is not None
    missed = [f"no call of {tool} succeeded" for tool in case.expected.tools if not used_tools.get(tool)]
    for path, name in case.expected.files.items():
        with os_errors_as(
            ConfigError, f"{case.id}, at expected.files: {name} cannot be read", hint=FORMAT_HINT
        ):
            expected = (case.folder / name).read_bytes() if name else None
        file = workspace / path
        content = file.read_bytes() if file.is_file() else None
        if content != expected:
            problem = (
                "is missing" if content is None else f"differs from {name}" if name else "should not exist"
            )
            missed.append(f"{path} {problem}")
    return VerifierFinished(verifier=EXPECTED, reward=float(not missed), output="; ".join(missed))
