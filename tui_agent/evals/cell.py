"""One cell of a run: a fresh workspace, one session of the agent, tests and verifier, and the result.

Invariant: tests and verifier run on copies, so the workspace stays as the agent left it; their results are in the
session's log before the session closes.
"""

import shutil
import time
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from tui_agent.config.options import SessionOptions
from tui_agent.config.trust import current_trust_keys
from tui_agent.errors import ConfigError, StoreError, TuiAgentError
from tui_agent.evals.attribution import Conduct, Verdict, judge
from tui_agent.evals.case import Case
from tui_agent.evals.case_functions import load_case_functions
from tui_agent.evals.checks import run_tests
from tui_agent.evals.oracle import CaseOracle
from tui_agent.evals.plan import ORACLE, Arm, Cell, CellResult, Plan, RunFolder
from tui_agent.evals.workspace import create_workspace
from tui_agent.evals.workspace_checks import CheckedWorkspace, check_workspace
from tui_agent.export.trajectory.writer import TraceWriter
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import ContinueTurn, RecordResult
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.eval import EvalCaseStarted, EvalScored, TestFinished, VerifierFinished
from tui_agent.protocol.events.session import SessionEnded
from tui_agent.session.headless_turn import Outcome, TurnStart, run_turn
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

DEFAULT_SECONDS = 1_800.0
"""Time limit of a case that has none."""
MAX_TEST_OUTPUT_CHARS = 20_000
NOT_IN_RESULT = ("kinds", "events", "final_answer")
"""Metrics that a result leaves out; the session has them."""


async def run_cell(plan: Plan, run: RunFolder, case: Case, cell: Cell) -> CellResult:
    """Run a case once, and return its result without storing it.

    Raises `ConfigError` if the case cannot run at all, such as one whose tests pass before the agent acts.
    """
    started = time.monotonic()
    arm = next(arm for arm in plan.arms if arm.name == cell.arm)
    folder = run.cell_folder(cell)
    shutil.rmtree(folder, ignore_errors=True)
    if plan.test_timeout_seconds is not None:
        case = case.model_copy(update={"test_timeout_seconds": plan.test_timeout_seconds})
    create_workspace(case, folder / "repo")
    trial = _Trial(plan, run, case, arm, cell, folder)
    await trial.require_failing_tests()
    result = await trial.run()
    shutil.rmtree(folder / "checked", ignore_errors=True)
    return result.model_copy(update={"seconds": round(time.monotonic() - started, 2)})


class _Trial:
    """The state of one cell while it runs."""

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
        self._cell, self._folder = cell, folder
        self._oracle = CaseOracle(case, folder) if arm.model == ORACLE else None
        self._base = load_startup_context(self._options())
        self._functions = load_case_functions(self._base, case)
        self._metrics, self._conduct = Metrics(), Conduct()
        self._tests: TestFinished | None = None
        self._verifier: VerifierFinished | None = None
        self._verdict = Verdict(False)
        self._outcome: Outcome | None = None
        self._turn = 1
        self._session, self._model = "", arm.model
        self._notes = [] if case.harbor is None else list(case.harbor.skipped)

    def _options(self) -> SessionOptions:
        plan, case, arm = self._plan, self._case, self._arm
        limits: dict[str, Any] = {"timeout_seconds": DEFAULT_SECONDS}
        limits |= case.budgets.model_dump(exclude_none=True) | plan.budgets.model_dump(exclude_none=True)
        workspace = self._folder / "repo"
        return SessionOptions(
            cwd=workspace,
            client="eval",
            model=arm.model or None if self._oracle is None else self._oracle.write_model(),
            effort=arm.effort,
            policy=plan.policy or case.policy,
            allowed_tools=case.allowed_tools,
            without=arm.without,
            context_mode=arm.context_mode,
            data_dir=self._run.data,
            plugin_dirs=plan.plugin_dirs,
            interactive=self._oracle is not None and self._oracle.is_attended,
            trusted_once=current_trust_keys(workspace),
            **limits,
        )

    async def require_failing_tests(self) -> None:
        """Raise `ConfigError` if the case's tests pass in the untouched fixture. In a frozen session they may."""
        if not self._case.test_command or self._case.recording:
            return
        workspace = CheckedWorkspace(self._case, self._base, self._folder / "repo", self._folder)
        async with workspace.open_copy() as env:
            test = await run_tests(self._case, env)
        if test.exit_code == 0:
            raise ConfigError(
                f"{self._case.id}: its tests pass before the agent acts, so they say nothing.",
                hint="Correct the case's fixture or its test_command.",
            )

    async def run(self) -> CellResult:
        """Run the session and the checks; return the result."""
        errors: list[TuiAgentError] = []
        config_error: ConfigError | None = None
        async with anyio.create_task_group() as writers:
            try:
                await self._run_session(errors, writers)
            except ConfigError as error:
                config_error = error
            except TuiAgentError as error:
                category = "environment" if isinstance(error, StoreError) else "engine"
                self._verdict = Verdict(False, category, error.message, end="env_error")
        if config_error is not None:
            raise config_error  # outside of the task group, which would wrap it
        if errors and self._outcome is None:
            self._verdict = Verdict(False, "environment", errors[0].message, end="env_error")
        return self._result()

    async def _run_session(self, errors: list[TuiAgentError], writers: TaskGroup) -> None:
        async with open_session(self._options(), self._base, errors.append) as session:
            self._session = session.id
            self._model = session.settings.model.model if session.settings is not None else self._model
            if find_spec("duckdb") is not None:
                writers.start_soon(self._trace_writer().follow, session.follow())
            started = EvalCaseStarted(suite=self._plan.suite_name, case=self._case.id, arm=self._arm.name)
            session.submit(RecordResult(result=started))
            if self._oracle is not None:
                await self._oracle.solve(self._functions.oracle)
            await run_turn(session, self._case.prompt, partial(self._note, session), coda=self._end_turn)

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

    async def _end_turn(self, session: Session, outcome: Outcome) -> TurnStart | None:
        """Return the case's next message; evaluate after the last one, or if the turn did not end as it should."""
        rest = self._case.follow_ups[self._turn - 1 :]
        if rest and outcome.reason in ("finished", "denied"):
            self._turn += 1
            if self._oracle is not None:
                self._oracle.begin_turn(self._turn)
            return rest[0] or ContinueTurn()
        await self._evaluate(session, outcome)
        return None

    async def _evaluate(self, session: Session, outcome: Outcome) -> None:
        """Run tests and verifier after the last turn, and record their results in the session."""
        self._outcome = outcome
        check_fault = await self._run_checks(session)
        tests, verifier = self._test_result(), self._verifier_result()
        oracle_fault = "" if self._oracle is None else self._oracle.find_fault(self._conduct)
        verdict = self._verdict = judge(
            outcome,
            self._conduct,
            tests=tests,
            verifier=verifier,
            check_fault=check_fault,
            oracle_fault=oracle_fault,
        )
        for result in (self._tests, self._verifier, self._score(verdict), SessionEnded(reason=verdict.end)):
            if result is not None:
                session.submit(RecordResult(result=result))

    async def _run_checks(self, session: Session) -> tuple[str, str]:
        """Run tests and verifier; return the category and the reason if one gave no result."""
        workspace = CheckedWorkspace(self._case, self._base, self._folder / "repo", self._folder)
        session_folder = self._run.session_folder(session.id)
        checks = await check_workspace(workspace, session_folder, self._functions, self._conduct.used_tools)
        self._tests, self._verifier = checks.tests, checks.verifier
        return checks.fault

    def _test_result(self) -> bool | None:
        if self._tests is None or self._case.harbor is not None:
            return None
        return self._tests.exit_code == 0

    def _verifier_result(self) -> bool | None:
        return None if self._verifier is None else self._verifier.reward >= 1 and not self._verifier.fault

    def _score(self, verdict: Verdict) -> EvalScored:
        reward = self._verifier.reward if self._verifier is not None else float(verdict.passed)
        return EvalScored(
            case=self._case.id,
            passed=verdict.passed,
            score=reward if verdict.passed or self._case.harbor is not None else 0.0,
            failure=verdict.failure,
            detail=verdict.detail,
            agent=self._outcome is not None and self._outcome.reason in ("finished", "denied"),
            patch=bool(self._metrics.view().files_changed),
            tests=self._test_result(),
            verifier=self._verifier_result(),
            instability=verdict.instability,
        )

    def _result(self) -> CellResult:
        verdict, test, verifier, case = self._verdict, self._tests, self._verifier, self._case
        scored = self._score(verdict).model_dump(exclude={"kind", "case"})
        output = "".join(test.failures) if test is not None else ""
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
            session=self._session,
            open_with=self._run.open_commands(self._session) if self._session else (),
            success=int(verdict.passed),
            test_output=output[-MAX_TEST_OUTPUT_CHARS:],
            returncode=None if test is None else test.exit_code,
            verify=verify,
            metrics=metrics,
            notes=tuple(self._notes),
        )
