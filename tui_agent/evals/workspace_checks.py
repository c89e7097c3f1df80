"""Tests and verifier of a case on copies of a workspace.

Invariant: the workspace stays as the agent left it.
"""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tui_agent.evals.case import Case
from tui_agent.evals.case_functions import CaseFunctions, run_plugin_verifier
from tui_agent.evals.checks import Checked, run_harbor_tests, run_tests, run_verifier
from tui_agent.evals.expectations import check_expected
from tui_agent.evals.workspace import create_check_copy, create_workspace
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.wiring.sandbox import build_confinement
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment


@dataclass(slots=True)
class CheckResults:
    """The results of tests and verifier, and the category and the reason if one gave no result."""

    tests: TestFinished | None = None
    verifier: VerifierFinished | None = None
    fault: tuple[str, str] = ("", "")
    counts_tests: bool = True
    """False for a Harbor task, whose tests count by the reward that they write."""

    @property
    def passed(self) -> bool:
        """True if everything that the case has succeeded."""
        tests = self.tests is None or not self.counts_tests or self.tests.exit_code == 0
        return tests and (self.verifier is None or self.verifier_passed) and not self.fault[0]

    @property
    def verifier_passed(self) -> bool:
        """True if there is a verifier, and it succeeded."""
        return self.verifier is not None and self.verifier.reward >= 1 and not self.verifier.fault


@dataclass(frozen=True, slots=True)
class CheckedWorkspace:
    """A case's workspace as an agent left it, and a folder for copies of it."""

    case: Case
    base: StartupContext
    workspace: Path
    folder: Path

    @asynccontextmanager
    async def open_copy(self) -> AsyncIterator[LocalEnvironment]:
        """Yield an environment in a copy of the workspace that has the hidden tests."""
        copy = self.folder / "checked" / "repo"
        copy.parent.mkdir(exist_ok=True)
        create_check_copy(self.case, self.workspace, copy)
        environment = LocalEnvironment(copy, confinement=build_confinement(self.base, copy))
        try:
            yield environment
        finally:
            await environment.aclose()

    def new_folder(self, name: str) -> Path:
        """Return an empty place for a folder."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return self.folder / name


async def check_workspace(
    checked: CheckedWorkspace, session: Path, functions: CaseFunctions, used_tools: Mapping[str, int]
) -> CheckResults:
    """Run the case's tests and verifier, and compare with what it expects.

    `session` is the session's folder, `used_tools` counts the successful calls of each tool.
    """
    case = checked.case
    results = CheckResults(counts_tests=case.harbor is None)
    try:
        if case.harbor is not None:
            async with checked.open_copy() as env:
                logs = checked.folder / "logs"
                results.tests, results.verifier = await run_harbor_tests(case, env, logs)
        elif case.test_command:
            async with checked.open_copy() as env:
                results.tests = await run_tests(case, env)
        if case.verifier is not None and functions.verifier is not None:
            async with checked.open_copy() as env:
                results.verifier = await run_plugin_verifier(
                    case.verifier, functions.verifier, Path(env.root), session
                )
        elif case.verifier is not None:
            create_workspace(case, checked.new_folder("fixture"))
            async with checked.open_copy() as env:
                view = Checked(Path(env.root), checked.folder / "fixture", session / "events.jsonl")
                results.verifier = await run_verifier(case, view, env)
            shutil.rmtree(checked.folder / "fixture", ignore_errors=True)
        if case.expected is not None and (results.verifier is None or results.verifier_passed):
            results.verifier = check_expected(case, checked.workspace, used_tools)
    except OSError as error:
        results.fault = ("environment", f"the workspace cannot be checked: {error}")
        return results
    if results.tests is not None and results.tests.exit_code is None and case.harbor is None:
        results.fault = ("environment", f"the tests: {results.tests.failures[0]}")
    elif results.verifier is not None and results.verifier.fault:
        results.fault = ("verifier", f"{results.verifier.verifier}: {results.verifier.fault}")
    return results
