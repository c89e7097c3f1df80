"""Runs of simulations: one function for each mode.

Invariant: however a run ends, its history so far, its result and its workspace are kept.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from tui_agent.config.project.trust import current_trust_keys
from tui_agent.config.session_options import SessionOptions
from tui_agent.context.token_counter import Tokens, load_bundled_vocabulary
from tui_agent.errors import BudgetExceeded, ConfigError, ModelError, TuiAgentError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.checks.case_functions import load_case_functions
from tui_agent.evals.checks.case_workspace import create_workspace
from tui_agent.evals.checks.check_results import CheckResults
from tui_agent.evals.checks.workspace_checks import Checker
from tui_agent.evals.runs.run_folder import open_commands
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.simulation_fold import OVERSEERS, SimulationHistory
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import RecordResult
from tui_agent.protocol.events.session import SessionEnded, TrajectoryEnd
from tui_agent.protocol.events.simulation import SimulationMessage, SimulationRole, Viewer
from tui_agent.protocol.settings import SessionSettings
from tui_agent.simulation.agent_session import AgentAnswer, AgentSession, AgentTurn
from tui_agent.simulation.job_folder import JobFolder, SimulationResult
from tui_agent.simulation.mode_settings import (
    AgentOnlySettings,
    OrchestratedSettings,
    UserAgentSettings,
    render,
)
from tui_agent.simulation.model_caller import ModelCaller, build_caller
from tui_agent.simulation.model_orchestrator import ModelOrchestrator
from tui_agent.simulation.orchestration import Orchestrator, SimpleOrchestrator, ask_for_tree
from tui_agent.simulation.task_tree import TaskNode
from tui_agent.simulation.user import EXIT_MARKS, TO_BOTH, TO_USER, SimulatedUser, UserAction, UserGaveUp
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

TO_AGENT: tuple[Viewer, ...] = ("agent", *OVERSEERS)
MAX_TEST_OUTPUT_CHARS = 20_000
_ENDS: dict[str, TrajectoryEnd] = {
    "part_limit": "part_limit",
    "iteration_limit": "iteration_limit",
    "turn_limit": "turn_limit",
    "cost_limit": "cost_limit",
    "time_limit": "timeout",
    "agent_error": "agent_error",
    "user_error": "agent_error",
    "orchestrator_error": "agent_error",
    "env_error": "env_error",
}
"""Maps a failed run's end to the reason in the event `session.ended`. Other ends are recorded as `unsolved`."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulation to run.

    - `options`: options of the agent's session. The agent works in a copy of the case's files.
    - `report`: called with each new message.
    - `on_start`: called with the settings of the agent's session.
    """

    case: Case
    options: SessionOptions
    jobs: Path
    profile_name: str = "default"
    profile: str = ""
    user_model: str = ""
    report: Callable[[SimulationMessage], None] = lambda message: None
    on_start: Callable[[SessionSettings], None] = lambda settings: None


async def run_agent_only(simulation: Simulation, settings: AgentOnlySettings) -> "FinishedRun":
    """Give the agent the whole task; nobody answers its questions."""
    run = _Run(simulation, "agent-only", settings)
    prompt = render(settings.agent.prompt_template, "prompt_template", task=simulation.case.prompt)
    return await run.play(None, partial(run.send_task, prompt))


async def run_user_agent(simulation: Simulation, settings: UserAgentSettings) -> "FinishedRun":
    """Let a simulated user, who knows the whole task, work with the agent."""
    run = _Run(simulation, "user-agent", settings)
    caller = run.build_caller(simulation.user_model or settings.user.model)
    return await run.play_user(settings, caller, Orchestrator(simulation.case.prompt))


async def run_orchestrated(
    simulation: Simulation, settings: OrchestratedSettings, tree: TaskNode | None = None
) -> "FinishedRun":
    """Let a simulated user work with the agent, and learn the parts of the task one after another.

    If `tree` is None, a model divides the case's prompt into a task tree.
    """
    orchestrator = settings.orchestrator
    run = _Run(simulation, f"orchestrated-{orchestrator.kind}", settings)
    caller = run.build_caller(simulation.user_model or settings.user.model)
    overseer = run.build_caller(orchestrator.model) if orchestrator.model else caller
    try:
        if tree is None:
            tree = await ask_for_tree(overseer, simulation.case.prompt, orchestrator.tree_template)
        user: Orchestrator
        if orchestrator.kind == "default":
            max_turns = settings.limits.max_turns
            user = ModelOrchestrator(
                simulation.case.prompt, tree, orchestrator, overseer, simulation.profile, max_turns
            )
        else:
            tokens = Tokens(load_bundled_vocabulary)
            await to_thread.run_sync(tokens.load)
            user = SimpleOrchestrator(simulation.case.prompt, tree, orchestrator, tokens.count)
        return await run.play_user(settings, caller, user)
    finally:
        if overseer is not caller:
            await overseer.aclose()


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended, with its output folder and its result."""

    folder: JobFolder
    result: SimulationResult


class _Run:
    """The state of one simulation while it runs."""

    def __init__(self, simulation: Simulation, mode: str, settings: AgentOnlySettings) -> None:
        self._simulation = simulation
        self._mode = mode
        case, options = simulation.case, simulation.options
        limits: dict[str, Any] = {
            name: value
            for name, value in case.budgets.model_dump(exclude_none=True).items()
            # The command line's limits win over those of the case.
            if getattr(options, name) is None
        }
        self._options = replace(
            options,
            client="sim",
            policy=options.policy or settings.agent.policy,
            interactive=mode != "agent-only",
            **limits,
        )
        self._history = SimulationHistory()
        self._started = time.monotonic()
        self._counts = {"turns": 0, "requests": 0, "commands": 0}
        self._checks = CheckResults()
        self._agent: AgentSession | None = None
        self._agent_model = ""
        self._user: SimulatedUser | None = None
        self._tree: TaskNode | None = None
        self._folder: JobFolder

    def build_caller(self, model: str) -> ModelCaller:
        """Return a caller of a model."""
        return build_caller(self._options, model)

    async def play_user(
        self, settings: UserAgentSettings, caller: ModelCaller, orchestrator: Orchestrator
    ) -> FinishedRun:
        self._tree = orchestrator.tree
        self._user = SimulatedUser(
            caller, settings, self._simulation.profile, orchestrator, self._history, self._record
        )
        act = partial(self._let_user_act, self._user, orchestrator, settings.limits.max_turns)
        try:
            return await self.play(self._user, act)
        finally:
            await caller.aclose()

    async def play(self, user: SimulatedUser | None, act: "Callable[[], Any]") -> FinishedRun:
        """Run a whole simulation: open the agent's session, call `act`, check the workspace, and store the result.

        `act` sends the requests and commands to the agent. `user`: answers the agent's questions (None: nobody does).
        """
        self._folder = JobFolder(self._simulation.jobs, self._simulation.case.id, self._mode)
        end, detail = "interrupted", ""
        try:
            create_workspace(self._simulation.case, self._folder.workspace)
            workspace = self._folder.workspace
            options = replace(self._options, cwd=workspace, trusted_once=current_trust_keys(workspace))
            base = load_startup_context(options)
            functions = load_case_functions(base, self._simulation.case)
            problems: list[TuiAgentError] = []
            async with open_session(options, base, problems.append) as session:
                self._agent = AgentSession(
                    session, user, self._record_calls, self._record_failed_call, problems
                )
                if session.settings is not None:
                    self._agent_model = session.settings.model.profile
                    self._simulation.on_start(session.settings)
                self._save_history()
                end, detail = await self._end_of(act)
                checker = Checker(base, self._simulation.case, self._folder.path, functions)
                self._checks = await checker.check(
                    workspace, base.store.folder(session.id), self._agent.conduct.used_tools
                )
                self._record_results(session, end)
                self._agent.close()
        except ConfigError:
            # The run could not begin, so its empty folder would only look like a result.
            if not self._history.messages:
                shutil.rmtree(self._folder.path, ignore_errors=True)
            raise
        except TuiAgentError as error:
            end, detail = "env_error", error.message
        finally:
            if self._folder.path.exists():
                result = self._result(end, detail)
                self._folder.save_tree(self._tree)
                self._folder.save_result(result)
        return FinishedRun(self._folder, result)

    async def _end_of(self, act: "Callable[[], Any]") -> tuple[str, str]:
        """Run `act`. Return how the run ended (such as `user_exit` or `user_error`), with a detail that can be empty."""
        try:
            end, detail = await act()
        except UserGaveUp as error:
            return "user_error", str(error)
        except ModelError as error:
            return "orchestrator_error", str(error)
        except BudgetExceeded as error:
            return "turn_limit", str(error)
        return end, detail

    async def send_task(self, prompt: str) -> tuple[str, str]:
        """Send the whole task. Return the run's end and a detail, which can be empty."""
        self._say("user", TO_BOTH, response=prompt)
        self._counts["turns"] += 1
        turn = await self._request(prompt)
        self._say("agent", TO_BOTH, response=turn.text)
        return _agent_end(turn) or ("agent_exit", "")

    async def _let_user_act(
        self, user: SimulatedUser, orchestrator: Orchestrator, max_turns: int
    ) -> tuple[str, str]:
        for turn in range(1, max_turns + 1):
            self._say("orchestrator", TO_USER, response=await orchestrator.next_thoughts(turn))
            action = await user.act()
            self._counts["turns"] += 1
            event, end = await self._carry_out(action, orchestrator)
            await orchestrator.end_turn(event)
            self._folder.save_tree(orchestrator.tree)
            if end is not None:
                return end
            if action.kind == "exit" and orchestrator.is_traversed:
                return "user_exit", ""
            if action.kind == "exit":
                self._say("orchestrator", TO_USER, response=orchestrator.early_exit_note)
        return "turn_limit", f"The simulated user did not stop within {max_turns} turns."

    async def _carry_out(
        self, action: UserAction, orchestrator: Orchestrator
    ) -> tuple[str, tuple[str, str] | None]:
        """Carry out an action of the simulated user.

        Return a description of the action and its result, and how the run ended (None if the run continues).
        """
        assert self._agent is not None
        match action.kind:
            case "exit":
                self._say("user", TO_USER, reasoning=action.reasoning, response=EXIT_MARKS[0])
                return "You wanted to stop.", None
            case "execute":
                self._counts["commands"] += 1
                self._say("user", TO_USER, reasoning=action.reasoning, action=action.text)
                output = await self._agent.execute(action.text)
                perceived = await orchestrator.perceive("terminal", output)
                self._say("environment", TO_USER, response=perceived)
                return f"You ran: {action.text}\n{perceived}", None
            case "request":
                self._say("user", TO_BOTH, reasoning=action.reasoning, response=action.text)
                turn = await self._request(action.text)
                perceived = await orchestrator.perceive("agent", turn.text)
                seen_whole = perceived == turn.text
                self._say("agent", TO_BOTH if seen_whole else TO_AGENT, response=turn.text)
                if not seen_whole:
                    self._say("system", TO_USER, response=perceived)
                return f"You asked: {action.text}\nThe agent: {perceived}", _agent_end(turn)

    async def _request(self, text: str) -> AgentTurn:
        assert self._agent is not None
        self._counts["requests"] += 1
        return await self._agent.request(text)

    def _record_calls(self, answer: AgentAnswer) -> None:
        """If the agent's answer has tool calls, add the answer to the history, but hide it from the simulated user."""
        if answer.calls:
            reasoning, calls, words = answer
            self._say("agent", TO_AGENT, reasoning=reasoning, action=calls, response=words)

    def _record_failed_call(self, ended: str) -> None:
        """Add the line about the agent's failed tool call to the history, but hide it from the simulated user."""
        self._say("environment", TO_AGENT, response=ended)

    def _say(
        self,
        role: SimulationRole,
        visible_to: tuple[Viewer, ...],
        *,
        reasoning: str = "",
        action: str = "",
        response: str = "",
    ) -> None:
        message = SimulationMessage(
            role=role, visible_to=visible_to, reasoning=reasoning, action=action, response=response
        )
        if reasoning or action or response:
            self._record(message)

    def _record(self, message: SimulationMessage) -> None:
        """Add a message to the history, the session's log and the history's file."""
        self._history.append(message)
        if self._agent is not None:
            self._agent.record(message)
        self._save_history()
        self._simulation.report(message)

    def _save_history(self) -> None:
        self._folder.save_history(self._history.messages)

    def _record_results(self, session: Session, end: str) -> None:
        checks = self._checks
        reason: TrajectoryEnd = "solved" if checks.passed else _ENDS.get(end, "unsolved")
        if checks.fault:
            reason = "env_error"
        for result in (*checks.tests, checks.verifier, SessionEnded(reason=reason)):
            if result is not None:
                session.submit(RecordResult(result=result))

    def _result(self, end: str, detail: str) -> SimulationResult:
        checks, user, simulation = self._checks, self._user, self._simulation
        verifier = checks.verifier
        output = "".join(failure for test in checks.tests for failure in test.failures)
        if verifier is not None and isinstance(verifier.output, str) and not output:
            output = verifier.output
        session = self._agent.id if self._agent is not None else ""
        caller = user.caller if user is not None else None
        agent_usage = self._agent.metrics.usage if self._agent is not None else NO_USAGE
        user_usage = caller.usage if caller is not None else NO_USAGE
        is_checked = bool(checks.tests) or verifier is not None
        return SimulationResult(
            task=simulation.case.id,
            mode=self._mode,
            profile=simulation.profile_name if user is not None else "",
            end=end,
            detail=detail or checks.fault,
            success=int(is_checked and checks.passed),
            test_output=output[-MAX_TEST_OUTPUT_CHARS:],
            returncode=checks.returncode,
            verify={} if verifier is None else {"reward": verifier.reward, "fault": verifier.fault},
            agent_model=self._agent_model,
            user_model=caller.model if caller is not None else "",
            **self._counts,
            **(user.counts if user is not None else {}),
            agent_tokens=agent_usage.tokens,
            user_tokens=user_usage.tokens,
            cost_usd=agent_usage.with_totals(user_usage).cost_usd,
            seconds=round(time.monotonic() - self._started, 2),
            session=session,
            open_with=open_commands(session, simulation.options.data_dir) if session else (),
        )


def _agent_end(turn: AgentTurn) -> tuple[str, str] | None:
    """Return (reason, detail) if the agent's turn ends the run; None if the user can continue."""
    reason = turn.ended.reason
    if reason in ("model_error", "error"):
        return "agent_error", turn.ended.detail
    return (reason, turn.ended.detail) if reason.endswith("_limit") else None
