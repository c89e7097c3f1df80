"""One cell of a run: a fresh workspace, one session of the agent, tests and verifier, and the result.

Invariant: tests and verifier run on copies, so the workspace stays as the agent left it.
"""

import shutil
import time
from collections.abc import Awaitable
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from tui_agent.config.project.trust import current_trust_keys
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import (
    CaseRefused,
    ConfigError,
    EnvironmentFault,
    EnvironmentLost,
    StoreError,
    TuiAgentError,
)
from tui_agent.evals.cases.case import Case, case_digest
from tui_agent.evals.cases.case_image import CaseImage, build_case_image
from tui_agent.evals.checks.case_functions import load_case_functions
from tui_agent.evals.checks.case_workspace import create_workspace
from tui_agent.evals.checks.check_results import CheckResults
from tui_agent.evals.checks.commit_checks import CheckedCommit, CommitChecks, describe_results
from tui_agent.evals.checks.static_checks import run_static_checks
from tui_agent.evals.checks.workspace_checks import Checker
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Cell, Plan
from tui_agent.evals.runs.failure_attribution import Conduct, Verdict, judge
from tui_agent.evals.runs.oracle import CaseOracle
from tui_agent.evals.runs.pool import end_with_fault
from tui_agent.evals.runs.preflight import require_model
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.export.trajectory.trajectory_file import TraceWriter
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import ContinueTurn, Interrupt, RecordResult
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.eval import EvalCaseStarted, EvalScored
from tui_agent.protocol.events.session import SessionEnded
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.headless_turn import Outcome, TurnStart, run_turn
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

DEFAULT_SECONDS = 7_200.0
"""Default time limit of a case, in seconds."""
MAX_TEST_OUTPUT_CHARS = 20_000
NOT_IN_RESULT = ("kinds", "events", "final_answer")
"""Names of metrics that a result leaves out. They can be computed from the session's log."""


async def run_cell(plan: Plan, run: RunFolder, case: Case, cell: Cell) -> CellResult:
    """Run a case once, and return its result without storing it.

    Raise `ConfigError` if the case cannot run, and `StoreError` if the session cannot be stored.
    """
    started = time.monotonic()
    arm = next(arm for arm in plan.arms if arm.name == cell.arm)
    folder, digest = run.cell_folder(cell), case_digest(case)
    shutil.rmtree(folder, ignore_errors=True)
    if plan.test_timeout_seconds is not None:
        case = case.with_time_limit(plan.test_timeout_seconds)
    if plan.test_paths:
        paths = tuple(path for path in case.test_paths if path in plan.test_paths)
        case = case.model_copy(update={"test_paths": paths})
    create_workspace(case, folder / "repo")
    trial = _Trial(plan, run, case, arm, cell, folder)
    try:
        await trial.prepare()
    except EnvironmentFault as fault:
        return trial.fail(fault).model_copy(update={"case_digest": digest})
    result = await trial.run()
    changes: dict[str, Any] = {"seconds": round(time.monotonic() - started, 2), "case_digest": digest}
    if plan.static_checks:
        trial.checker.image = None  # the static checkers are programs of this machine, not of the image
        findings, notes = await run_static_checks(plan.static_checks, case, trial.checker, folder)
        changes |= {"static_checks": findings, "notes": (*result.notes, *notes)}
    return result.model_copy(update=changes)


class _Trial:
    """A cell (one run of a case) with its state while it runs."""

    def __init__(
        self,
        plan: Plan,
        run: RunFolder,
        case: Case,
        arm: Arm,
        cell: Cell,
        folder: Path,
    ) -> None:
        self._plan, self._run, self._case, self._arm = plan, run, case, arm
        self._cell, self._folder, self._workspace = cell, folder, folder / "repo"
        self._limits: dict[str, Any] = {"timeout_seconds": DEFAULT_SECONDS}
        self._limits |= case.budgets.model_dump(exclude_none=True) | plan.budgets.model_dump(
            exclude_none=True
        )
        self._oracle = CaseOracle(case, folder) if arm.model == ORACLE else None
        self._image: CaseImage | None = None
        self._base = load_startup_context(self._options())
        require_model(self._base)
        self._functions = load_case_functions(self._base, case)
        self.checker = Checker(self._base, case, folder, self._functions)
        self._metrics, self._conduct = Metrics(), Conduct()
        self._writer: TraceWriter | None = None
        self._commits: CommitChecks | None = None
        self._winner: CheckedCommit | None = None
        self._checked_count = 0
        """Number of checkpoints when the previous turn ended."""
        self._results = CheckResults()
        self._verdict = Verdict(False)
        self._outcome: Outcome | None = None
        self._turn, self._is_working, self._is_concluded = 1, True, False
        self._errors: list[TuiAgentError] = []
        self._session, self._model = "", arm.model
        skipped = () if case.harbor is None else case.harbor.skipped
        self._notes = [
            f"Dockerfile line ignored in this environment: {instruction}" for instruction in skipped
        ]

    def _options(self) -> SessionOptions:
        plan, case, arm = self._plan, self._case, self._arm
        return SessionOptions(
            cwd=self._workspace,
            client="eval",
            agent=arm.agent or None,
            model=arm.model or None if self._oracle is None else self._oracle.write_model(),
            effort=arm.effort,
            policy=plan.policy or case.policy,
            environment=plan.environment,
            image=self._image.image if self._image is not None else None,
            work_dir=self._image.work_dir if self._image is not None else "",
            allowed_tools=case.allowed_tools,
            without=arm.without,
            context_mode=arm.context_mode,
            data_dir=self._run.data,
            plugin_dirs=plan.plugin_dirs,
            interactive=self._oracle is not None and self._oracle.is_attended,
            trusted_once=current_trust_keys(self._workspace),
            **self._limits,
        )

    async def prepare(self) -> None:
        """Build the image of the case, if the case has an image, and check the case's fixture."""
        image = await build_case_image(self._base, self._case, self._workspace)
        if image is not None:
            self._image, self.checker.image, self._notes = image, image, []
            self._base = replace(self._base, options=self._options())
        await self._require_failing_checks()

    def fail(self, fault: EnvironmentFault) -> CellResult:
        """Return the result of a case whose environment could not be prepared."""
        is_lost = isinstance(fault, EnvironmentLost)
        self._verdict = Verdict(False, "environment", str(fault), interrupted=is_lost, end="env_error")
        return self._result()

    async def _require_failing_checks(self) -> None:
        """Raise `CaseRefused` if the unchanged fixture already passes the tests or, for a case without tests, the
        verifier."""
        if self._case.recording:
            return
        results = await self.checker.check_fixture(self._workspace)
        if results.tests and results.passed:
            raise CaseRefused(
                f"{self._case.id}: its tests pass before the agent acts, so they prove nothing.",
                hint="Correct the case's fixture or its test_command.",
            )
        if not results.tests and results.verifier_passed:
            raise CaseRefused(
                f"{self._case.id}: its verifier passes before the agent acts, so it proves nothing.",
                hint="Correct the case's fixture or its verifier, or add a test_command.",
            )

    async def run(self) -> CellResult:
        fatal: TuiAgentError | None = None
        async with anyio.create_task_group() as writers:
            try:
                await self._run_session(writers)
            except (ConfigError, StoreError) as error:
                fatal = error
            except TuiAgentError as error:
                category = "environment" if isinstance(error, EnvironmentFault) else "engine"
                is_lost = isinstance(error, EnvironmentLost)
                self._verdict = Verdict(False, category, error.message, interrupted=is_lost, end="env_error")
        # An error after the verdict, such as a failed plugin at the session's end, does not change the verdict.
        if self._errors and (not self._is_concluded or self._verdict.failure == "engine"):
            fatal = fatal or self._errors[0]
        if fatal is not None:
            raise fatal  # outside of the task group, which would wrap it
        return self._result()

    async def _run_session(self, writers: TaskGroup) -> None:
        scope = anyio.CancelScope()

        def give_up(error: TuiAgentError) -> None:
            self._errors.append(error)
            scope.cancel()

        async with open_session(self._options(), self._base, give_up) as session:
            # A plugin that blocks the engine cannot be cancelled: the process ends, and the run reads the reason from
            # standard error.
            session.end_process = end_with_fault
            self._session = session.id
            self._run.save_session(self._cell, session.id)
            self._model = session.settings.model.model if session.settings is not None else self._model
            # The trajectory is a Parquet file, which needs DuckDB, an optional package.
            if find_spec("duckdb") is not None:
                self._writer = self._trace_writer()
                writers.start_soon(self._writer.follow, session.follow())
            started = EvalCaseStarted(suite=self._plan.suite_name, case=self._case.id, arm=self._arm.name)
            session.submit(RecordResult(result=started))
            if self._oracle is not None:
                await self._oracle.solve(self._functions.oracle)
            with scope:
                async with anyio.create_task_group() as checks:
                    if self._plan.evaluate == "commits":
                        self._commits = self._commit_checks(session, checks)
                    note = partial(self._note, session)
                    await run_turn(session, self._case.prompt, note, after_turn=self._end_turn)

    def _commit_checks(self, session: Session, group: TaskGroup) -> CommitChecks:
        session_folder = self._run.session_folder(session.id)

        def check(workspace: Path, name: str) -> Awaitable[CheckResults]:
            return self.checker.check(workspace, session_folder, self._conduct.used_tools, name)

        def report(commit: CheckedCommit) -> None:
            for test in commit.results.tests if commit.results is not None else ():
                session.submit(RecordResult(result=test.model_copy(update={"part": commit.part})))

        def stop(_: CheckedCommit) -> None:
            # Between two turns there is nothing to interrupt, and the next turn is not started if there is a winner.
            if self._is_working:
                session.submit(Interrupt())

        return CommitChecks(group, session_folder, self._folder, check, report, stop)

    def _trace_writer(self) -> TraceWriter:
        session = self._run.session_folder(self._session)
        dest = self._run.trajectory_folder(self._session)
        return TraceWriter(session, dest, self._base.redactor, report=self._note_unwritten_trace)

    def _note_unwritten_trace(self, error: StoreError) -> None:
        self._notes.append(f"The trajectory may lack parts: {error.message}")

    def _note(self, session: Session, record: Record) -> None:
        if isinstance(record, Envelope):
            self._metrics.apply(record)
            self._conduct.apply(record)
            if self._oracle is not None:
                self._oracle.apply(record, session)
            if self._commits is not None:
                self._commits.apply(record)

    async def _end_turn(self, session: Session, outcome: Outcome) -> TurnStart | None:
        """Return the message that starts the next turn, or judge the case and return None."""
        self._outcome, self._is_working = outcome, False
        more = self._next_follow_up(outcome) if self._winner is None else None
        if more is None:
            results = await self._check(session)
            more = self._feedback(session, outcome, results)
            if more is None:
                self._conclude(session, self._outcome, results)
        self._is_working = more is not None
        return more

    def _next_follow_up(self, outcome: Outcome) -> TurnStart | None:
        rest = self._case.follow_ups[self._turn - 1 :]
        if not rest or outcome.reason not in ("finished", "denied"):
            return None
        self._turn += 1
        if self._oracle is not None:
            self._oracle.begin_turn(self._turn)
        return rest[0] or ContinueTurn()

    async def _check(self, session: Session) -> CheckResults:
        """Return the check results of the earliest checkpoint that passed. If none passed, check the workspace."""
        if self._commits is not None:
            self._winner = await self._commits.wait()
        if self._winner is not None and self._winner.results is not None:
            return self._winner.results
        session_folder = self._run.session_folder(session.id)
        return await self.checker.check(self._workspace, session_folder, self._conduct.used_tools)

    def _feedback(self, session: Session, outcome: Outcome, results: CheckResults) -> str | None:
        """Return the check results as a message to the agent, or None if the agent should not continue."""
        commits, limit = self._commits, self._limits.get("max_turns")
        if commits is None or results.passed or results.fault or outcome.reason not in ("finished", "denied"):
            return None
        # The last turn changed no file, so the agent would get the same message again.
        if commits.count == self._checked_count:
            return None
        if limit is not None and self._turn >= limit:
            detail = (
                f"Stopped at {format_count(limit, 'turn')}, the limit of this session. --max-turns raises it."
            )
            self._outcome = replace(outcome, reason="turn_limit", detail=detail)
            return None
        self._checked_count, self._turn = commits.count, self._turn + 1
        for result in (*results.tests, results.verifier):
            if result is not None:
                session.submit(RecordResult(result=result))
        return describe_results(results)

    def _conclude(self, session: Session, outcome: Outcome, results: CheckResults) -> None:
        self._results, self._is_concluded = results, True
        is_latched = self._winner is not None
        if self._winner is not None and self._writer is not None:
            self._writer.project_to(self._winner.part, self._winner.commit)
        verdict = self._verdict = judge(
            outcome,
            self._conduct,
            tests=results.tests_passed,
            verifier=results.verifier_passed,
            check_fault=(results.category, results.fault),
            oracle_fault=self._oracle_fault(is_latched=is_latched),
            tests_result=results.tests_result,
            verifier_result=results.verifier_result,
        )
        for result in (
            *(() if is_latched else results.tests),  # the winner's test results are recorded with its part
            results.verifier,
            self._score(verdict),
            SessionEnded(reason=verdict.end),
        ):
            if result is not None:
                session.submit(RecordResult(result=result))

    def _oracle_fault(self, *, is_latched: bool) -> str | None:
        if self._oracle is None:
            return None
        return "" if is_latched else self._oracle.find_fault(self._conduct)

    def _score(self, verdict: Verdict) -> EvalScored:
        results, outcome = self._results, self._outcome
        reward = results.verifier.reward if results.verifier is not None else float(verdict.passed)
        is_partial = results.verifier_passed is False and results.tests_passed is not False
        return EvalScored(
            case=self._case.id,
            passed=verdict.passed,
            score=reward if verdict.passed or is_partial or self._case.harbor is not None else 0.0,
            failure=verdict.failure,
            detail=verdict.detail,
            # The winner's turn was interrupted by this program, so its end says nothing about the agent.
            agent=self._winner is not None
            or (outcome is not None and outcome.reason in ("finished", "denied")),
            patch=bool(self._metrics.view().files_changed),
            tests=results.tests_passed,
            verifier=results.verifier_passed,
            instability=verdict.instability,
        )

    def _result(self) -> CellResult:
        verdict, results, case = self._verdict, self._results, self._case
        verifier, winner = results.verifier, self._winner
        scored = self._score(verdict).model_dump(exclude={"kind", "case"})
        output = "".join(failure for test in results.tests for failure in test.failures)
        if verifier is not None and isinstance(verifier.output, str) and not output:
            output = verifier.output
        metrics = {
            key: value for key, value in asdict(self._metrics.view()).items() if key not in NOT_IN_RESULT
        }
        verify: dict[str, Any] = (
            {} if verifier is None else {"reward": verifier.reward, "fault": verifier.fault}
        )
        return CellResult(
            **scored,
            case=case.id,
            arm=self._arm.name,
            repetition=self._cell.repetition,
            category=case.category,
            split=case.split,
            model=self._model,
            effort=self._arm.effort,
            end=verdict.end,
            interrupted=verdict.interrupted,
            session=self._session,
            open_with=self._run.open_commands(self._session) if self._session else (),
            success=int(verdict.passed),
            test_output=output[-MAX_TEST_OUTPUT_CHARS:],
            returncode=results.returncode,
            verify=verify,
            winner="" if winner is None else winner.commit,
            winner_part=None if winner is None else winner.part,
            metrics=metrics,
            notes=tuple(self._notes),
        )
