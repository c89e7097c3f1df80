"""Checks of a recorded session's checkpoints, to find the change that solved a test.

Invariant: the session is only read.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tui_agent.errors import UsageError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.checks.case_functions import load_case_functions
from tui_agent.evals.checks.commit_checks import CheckedCommit, CommitChecks, Report
from tui_agent.evals.checks.workspace_checks import Checker, CheckResults
from tui_agent.evals.runs.attribution import Conduct
from tui_agent.export.trajectory.trajectory_file import read_session_trace
from tui_agent.protocol.envelope import find_payload, known_events
from tui_agent.protocol.events.eval import EvalCaseStarted
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.startup_context import StartupContext


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
        part.git_commit: part.part for part in reversed(trace.parts) if part.git_commit and not part.abandoned
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
