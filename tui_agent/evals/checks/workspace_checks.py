"""Checks of a workspace after the agent's work: tests, verifier, expectations and linters, on copies with the hidden
tests.

Invariant: the checked folder is never changed.
"""

import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from anyio import to_thread

from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.evals.cases.case import FORMAT_HINT, Case
from tui_agent.evals.cases.case_image import CaseImage
from tui_agent.evals.checks.case_functions import CaseFunctions, run_environment_verifier, run_plugin_verifier
from tui_agent.evals.checks.checks import CheckInput, describe_hang, run_harbor_tests, run_tests, run_verifier
from tui_agent.evals.checks.workspace import create_check_copy, create_workspace
from tui_agent.evals.environments.environment_tests import EnvironmentSession, sandboxed_environments
from tui_agent.evals.runs.plan import CheckProgram, Findings
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment, ExecSpec
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.wiring.environments import build_confinement
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

CHECKED = "checked"
FIXTURE_CHECK = "fixture-checked"
LOGS = "logs"
TESTS = "tests"
EXPECTED = "expected"
"""The verifier's name in results if a case's `expected` was checked."""
MAX_OUTPUT_BYTES: Final = 2_000_000
COMMANDS: Final[dict[CheckProgram, tuple[tuple[str, ...], re.Pattern[str]]]] = {
    "pytest": (
        ("pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"),
        re.compile(r"^(?:FAILED|ERROR) ", re.MULTILINE),
    ),
    "ruff": (
        ("ruff", "check", "--quiet", "--no-cache", "--output-format=concise"),
        re.compile(r"^\S.*:\d+:\d+: ", re.MULTILINE),
    ),
    "mypy": (
        ("mypy", f"--cache-dir={os.devnull}", "--no-error-summary"),
        re.compile(r"^\S.*: error: ", re.MULTILINE),
    ),
    "bandit": (("bandit", "--quiet", "--format", "json"), re.compile(r'^ *+"test_id": ', re.MULTILINE)),
}
"""Maps a program to its command and the pattern of one finding in its output."""
# pytest exits with 2 for errors during collection, and with 5 if it finds no tests.
EXPECTED_CODES: Final = {"pytest": (0, 1, 2, 5)}
"""Maps a program to the exit codes of a complete run (all other programs: 0 and 1)."""


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The results of the checks.

    `category`, `fault`: the kind of fault and its reason, if a check gave no result; otherwise empty.
    """

    tests: tuple[TestFinished, ...] = ()
    verifier: VerifierFinished | None = None
    category: str = ""
    fault: str = ""
    decides_by_reward: bool = False
    """True for a Harbor task: the reward decides, not the exit status of the tests."""

    @property
    def tests_passed(self) -> bool | None:
        """True if all tests passed; None if there are no tests or only the reward decides."""
        if not self.tests or self.decides_by_reward:
            return None
        return all(test.exit_code == 0 for test in self.tests)

    @property
    def verifier_passed(self) -> bool | None:
        """True if the reward is 1 or more; None if there is no verifier."""
        return None if self.verifier is None else self.verifier.reward >= 1 and not self.verifier.fault

    @property
    def verifier_result(self) -> str:
        """A phrase that says why the verifier did not pass. Use it only if the reward is below 1."""
        verifier = self.verifier
        if verifier is not None and verifier.verifier == EXPECTED and isinstance(verifier.output, str):
            return verifier.output
        if verifier is not None and 0 < verifier.reward < 1:
            return f"the verifier gave the reward {verifier.reward:g}; 1 is needed to pass"
        return (self._hang if self.decides_by_reward else "") or "the verifier failed"

    @property
    def tests_result(self) -> str:
        """If tests failed, a phrase about the failure or about a reached time limit."""
        return self._hang or "the tests failed"

    @property
    def _hang(self) -> str:
        return next(filter(None, map(describe_hang, self.tests)), "")

    @property
    def returncode(self) -> int | None:
        """The exit status of the first failed test command, or 0 if all passed; None if there are no tests."""
        if not self.tests:
            return None
        return next((test.exit_code for test in self.tests if test.exit_code != 0), 0)

    @property
    def passed(self) -> bool:
        """True if every check gave a result and passed."""
        return not self.fault and self.tests_passed is not False and self.verifier_passed is not False


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
        return _with_fault(CheckResults(tests, verifier, decides_by_reward=case.harbor is not None))

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


def _with_fault(results: CheckResults) -> CheckResults:
    """Return the results, with the fault of the first check that gave no result."""
    stopped = next((test for test in results.tests if test.exit_code is None), None)
    if stopped is not None and not results.decides_by_reward:
        fault = f"the test command {stopped.failures[0]}"
        return CheckResults(results.tests, results.verifier, "environment", fault)
    verifier = results.verifier
    if verifier is not None and verifier.fault:
        fault = f"{verifier.verifier}: {verifier.fault}"
        return CheckResults(results.tests, verifier, "verifier", fault, results.decides_by_reward)
    return results


def check_expected(case: Case, workspace: Path, used_tools: Mapping[str, int]) -> VerifierFinished:
    """Compare the workspace and the tools in `used_tools` with the case's `expected`.

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


async def run_static_checks(
    programs: Sequence[CheckProgram], case: Case, checker: Checker, folder: Path
) -> tuple[dict[str, Findings], tuple[str, ...]]:
    """Return each program's number of findings in the changed Python files, and notes about failed programs.

    `folder`: the cell's folder. Raise `ConfigError` if the fixture cannot be copied.
    """
    fixture, workspace = folder / "fixture", folder / "repo"
    create_workspace(case, fixture)
    try:
        files = sorted(_changed_files(fixture, workspace))
        # Files that the agent created do not exist in the fixture, and a checker fails for a missing file.
        older = [name for name in files if (fixture / name).is_file()]
        before, _ = await _count_findings(programs, case, checker, fixture, older)
        after, notes = await _count_findings(programs, case, checker, workspace, files)
    except OSError as error:
        return {}, (f"The static checks could not run: {error}",)
    finally:
        shutil.rmtree(fixture, ignore_errors=True)
    return {name: Findings(before=before.get(name), after=count) for name, count in after.items()}, tuple(
        notes
    )


def _changed_files(fixture: Path, workspace: Path) -> Iterator[str]:
    for place, folders, names in os.walk(workspace):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for path in (Path(place, name) for name in names if name.endswith(".py")):
            name = path.relative_to(workspace)
            if path.is_file() and not path.is_symlink() and not _has_same_content(path, fixture / name):
                yield f"./{name}"


def _has_same_content(path: Path, other: Path) -> bool:
    return other.is_file() and path.read_bytes() == other.read_bytes()


async def _count_findings(
    programs: Sequence[CheckProgram], case: Case, checker: Checker, folder: Path, files: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Return each program's number of findings in a folder, and notes about failed programs."""
    counts, notes = dict[str, int](), list[str]()
    async with checker.copy(folder, "static") as env:
        for program in programs:
            words, pattern = COMMANDS[program]
            # pytest finds its tests itself: a change in one file can break the tests of another file.
            chosen = () if program == "pytest" else files
            if program != "pytest" and not files:
                counts[program] = 0
                continue
            spec = ExecSpec(
                argv=(*words, *chosen), timeout=case.test_timeout_seconds, max_output=MAX_OUTPUT_BYTES
            )
            result = await env.exec(spec, lambda data: None)
            text = result.output.decode("utf-8", "replace")
            count = len(pattern.findall(text))
            # Findings count even if the exit status is unusual: mypy can report some, and then stop at a fatal error.
            if count or result.exit_code in EXPECTED_CODES.get(program, (0, 1)):
                counts[program] = count
            elif result.outcome != "not_found":
                notes.append(f"{program} could not check the files: {result.message or text.strip()[-200:]}")
    shutil.rmtree(Path(env.root).parent, ignore_errors=True)
    return counts, notes
