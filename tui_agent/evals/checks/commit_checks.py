"""Checks of an agent's checkpoints, while the agent works (`--evaluate commits`) or of a recorded session.

Invariant: the winner is the earliest checkpoint that passes all checks.
"""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio.abc import TaskGroup

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.checks.case_functions import load_case_functions
from tui_agent.evals.checks.check_results import CheckResults
from tui_agent.evals.checks.workspace_checks import Checker
from tui_agent.evals.runs.failure_attribution import Conduct
from tui_agent.export.archive.checkpoint_export import checkout_commit
from tui_agent.export.trajectory.trajectory_file import read_session_trace
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Envelope, find_payload, known_events
from tui_agent.protocol.events.eval import EvalCaseStarted
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.startup_context import StartupContext

MAX_SIDE_BY_SIDE = 2
"""Maximum number of checkpoints that are checked at the same time."""
Check = Callable[[Path, str], Awaitable[CheckResults]]
"""Function that checks a workspace. It takes the workspace's path and the name of a folder for its copies."""


@dataclass(slots=True)
class CheckedCommit:
    """A checkpoint, taken after the message part number `part`. `results` is None before the check."""

    commit: str
    part: int
    results: CheckResults | None = None


Report = Callable[[CheckedCommit], None]


class CommitChecks:
    """Checks each checkpoint of a session in the background.

    - `session`: the session's folder.
    - `report`: called with each checked checkpoint.
    - `on_winner`: called once, with the first checkpoint that passed its checks.
    """

    def __init__(
        self, group: TaskGroup, session: Path, folder: Path, check: Check, report: Report, on_winner: Report
    ) -> None:
        self._group, self._session, self._folder = group, session, folder
        self._check, self._report, self._on_winner = check, report, on_winner
        self._limiter = anyio.CapacityLimiter(MAX_SIDE_BY_SIDE)
        self._commits: list[CheckedCommit] = []
        self._changed = anyio.Event()

    @property
    def count(self) -> int:
        """The number of checkpoints so far."""
        return len(self._commits)

    @property
    def winner(self) -> CheckedCommit | None:
        """The earliest checkpoint that passed all checks. None if no checkpoint passed, or if this is not known yet."""
        for commit in self._commits:
            if commit.results is None:
                return None
            if commit.results.passed:
                return commit
        return None

    def apply(self, event: Envelope) -> None:
        """If the event is a new checkpoint of the agent's work, queue its check."""
        match event.payload:
            case CheckpointTaken(commit=commit, part=part, author=author) if part >= 0 and author != "human":
                if not self._has_winner:
                    self.add(commit, part)

    def add(self, commit: str, part: int) -> None:
        """Queue the check of a checkpoint. Ignore a checkpoint that was queued earlier.

        `part`: number of the message part before the checkpoint.
        """
        if any(known.commit == commit for known in self._commits):
            return
        self._commits.append(CheckedCommit(commit, part))
        self._group.start_soon(self._run, self._commits[-1])

    @property
    def _has_winner(self) -> bool:
        return any(commit.results is not None and commit.results.passed for commit in self._commits)

    async def wait(self) -> CheckedCommit | None:
        """Wait until all queued checkpoints are checked; return the winner, or None if no checkpoint passed."""
        while any(commit.results is None for commit in self._commits):
            await self._changed.wait()
        return self.winner

    async def _run(self, commit: CheckedCommit) -> None:
        async with self._limiter:
            results = await self._check_commit(commit)
        # Asked before the results are stored, because afterwards this checkpoint itself would be the winner.
        is_first = results.passed and not self._has_winner
        commit.results = results
        self._report(commit)
        if is_first:
            self._on_winner(commit)
        self._changed.set()
        # An anyio event cannot be reset, so each check leaves a new one for the next wait.
        self._changed = anyio.Event()

    async def _check_commit(self, commit: CheckedCommit) -> CheckResults:
        name = f"commit-{commit.commit[:12]}"
        workspace = self._folder / name
        try:
            await checkout_commit(self._session, commit.commit, workspace)
            return await self._check(workspace, f"{name}-checked")
        except (OSError, CheckpointError) as error:
            return CheckResults(category="environment", fault=f"{name} cannot be checked: {error}")
        finally:
            shutil.rmtree(workspace, ignore_errors=True)


def describe_results(results: CheckResults) -> str:
    """Return the message to the agent about checks that did not pass."""
    total, solved = len(results.tests), sum(test.exit_code == 0 for test in results.tests)
    lines = [f"The task is not solved yet: {solved} of {total} test commands pass."] if total else []
    for test in results.tests:
        if test.exit_code != 0:
            lines += ["", f"{test.command} (exit status {test.exit_code}):", "".join(test.failures).strip()]
    if results.verifier_passed is False and results.verifier is not None:
        output = results.verifier.fault or results.verifier.output
        lines += ["", f"The verifier gave the reward {results.verifier.reward:g}: {output}"]
    return "\n".join([*lines, "", "Continue until everything passes."]).strip()


async def check_recorded_commits(
    base: StartupContext, session: Path, case: Case, report: Report
) -> list[CheckedCommit]:
    """Check each checkpoint of a session's current branch. Return the results in the order of the checkpoints.

    - `session`: the session's folder.
    - `report`: called with each checkpoint as soon as it is checked.

    Raise `UsageError` if the session has no checkpoints.
    """
    trace = read_session_trace(session, base.redactor)
    commits = {
        # In reverse order, because several parts can share a checkpoint and the first of them counts.
        part.git_commit: part.part
        for part in reversed(trace.parts)
        if part.git_commit and not part.abandoned
    }
    if not commits:
        raise UsageError(f"{session.name} has no checkpoints, so there is nothing to check.")
    conduct = Conduct()
    for record in known_events(read_records(session)):
        conduct.apply(record)
    checked: list[CheckedCommit] = []

    def note(commit: CheckedCommit) -> None:
        checked.append(commit)
        report(commit)

    with TemporaryDirectory(prefix="tui-agent-commits-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        checker = Checker(base, case, folder, load_case_functions(base, case))

        async def check(workspace: Path, copy: str) -> CheckResults:
            return await checker.check(workspace, session, conduct.used_tools, copy)

        async with anyio.create_task_group() as group:
            checks = CommitChecks(group, session, folder, check, note, lambda winner: None)
            for commit, part in reversed(commits.items()):
                checks.add(commit, part)
    return sorted(checked, key=lambda commit: commit.part)


def find_evaluated_case(session: Path, suite: str, here: Path) -> Case:
    """Return the case of a session from an evaluation run.

    `suite`: a suite's name or file, relative to `here`. If empty, use the suite named in the session.

    Raise `UsageError` if the session is not from an evaluation, or if the suite has no such case.
    """
    started = find_payload(read_records(session), EvalCaseStarted)
    if started is None:
        raise UsageError(
            f"{session.name} is not an evaluation session.", hint="Name the test command: --test COMMAND"
        )
    cases = load_suite(suite or started.suite, here).cases
    case = next((case for case in cases if case.id == started.case), None)
    if case is None:
        raise UsageError(f"The suite has no case {started.case!r}.", hint="Name its suite: --suite SUITE")
    return case
