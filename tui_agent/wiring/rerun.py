"""Rerun of a session's turns with the recorded answers and tool results, and comparison of the events.

Invariant: no model is called, no tool runs, and only a temporary folder is written.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from tui_agent.context.token_counter import Tokens
from tui_agent.engine.components import CurrentExtensions, EngineParts, Extensions
from tui_agent.engine.engine import Engine
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.engine.middleware.prompt_sections import PromptTexts, prompt_sections
from tui_agent.engine.middleware.repetition_note import StuckNotice
from tui_agent.engine.middleware.repomap import RepoMapSection
from tui_agent.engine.plugins.wrappers import GuardedMiddleware
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.folds.comparison.divergence import (
    Divergence,
    Turn,
    count_compared,
    first_difference,
    split_turns,
)
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.ports.environment import Sandbox
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.tool import Service, ToolSpec
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Close,
    Command,
    ContinueTurn,
    DecidePermission,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope, Record, find_payload
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import RunStarted, SessionStarted
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.stored_text import text_preview
from tui_agent.session.rerun_stand_ins import (
    ReadOnlyEnvironment,
    RecordedResults,
    RecordedTurn,
    recorded_tools,
)
from tui_agent.session.resume import record_new_session
from tui_agent.store.lineage import load_lineage, open_blobs
from tui_agent.store.session_store import SessionStore
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.plugins import agent_factories, plugin_host
from tui_agent.wiring.policy import build_policy
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment

PATIENCE_S = 60.0
"""Time limit for one turn, in seconds; nothing in a rerun takes that long."""
_OURS = ("run.", "env.", "session.started", "session.head_moved", "log.", "plugin.loaded")
"""Beginnings of the kinds of events that are not copied to the new log: the rerun has its own, or needs none."""


def rerun(base: StartupContext, folder: Path, records: Sequence[Record]) -> "RerunResult":
    """Rerun the turns of a recorded session, up to the first difference.

    - `folder`: the session's folder
    - `records`: the session's log
    """
    with tempfile.TemporaryDirectory(prefix="tui-agent-rerun-") as temporary:
        return anyio.run(partial(_rerun, base, folder, records, Path(temporary)))


class RerunResult:
    """Result of a rerun: the numbers of equal turns and events, the copied turns, and the first difference."""

    def __init__(self) -> None:
        self.turns = 0
        self.events = 0
        self.skipped: list[tuple[int, str]] = []
        self.divergence: Divergence | None = None
        self.turn = 0


async def _rerun(
    base: StartupContext, folder: Path, records: Sequence[Record], temporary: Path
) -> RerunResult:
    recorded_turns, _ = split_turns(records)
    started = find_payload(records, SessionStarted)
    if started is None:
        raise UsageError(
            f"The log of {folder.name} lacks its first events.", hint="The session cannot be run again."
        )
    bench = RerunBench(base, folder, records, temporary, started)
    result = RerunResult()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.engine.serve)
        for number, turn in enumerate(recorded_turns, 1):
            bench.copy_events(turn.before)
            if turn.no_replay_reason:
                bench.copy_events(turn.events)
                result.skipped.append((number, turn.no_replay_reason))
                continue
            result.turn = number
            result.divergence = first_difference(turn.events, await bench.replay_turn(turn))
            if result.divergence is not None:
                break
            result.turns += 1
            result.events += count_compared(turn.events)
        bench.submit(Close(reason="done"))
    bench.log.close()
    return result


class RerunBench:
    """An engine that repeats a recorded session and writes a new log.

    Prompts, decisions, answers and tool results come from the recorded log.
    """

    def __init__(
        self,
        base: StartupContext,
        folder: Path,
        records: Sequence[Record],
        temporary: Path,
        started: SessionStarted,
    ) -> None:
        loaded = plugin_host(base).load()
        store = SessionStore(temporary / "sessions", base.clock, base.redactor)
        self.log = store.create(base.ids.session())
        _copy_blobs(folder, self.log.folder)
        self._events: list[Envelope] = []
        self._results = RecordedResults(records)
        self._news = anyio.Event()
        self._recorder = Recorder(self.log, (), (self._on_event,))
        self._base = base
        recorded = payloads(records)
        self._decisions = {
            payload.call_id: payload
            for payload in recorded
            if isinstance(payload, PermissionDecided) and payload.decided_by == "user"
        }
        self._answers = [payload for payload in recorded if isinstance(payload, QuestionAnswered)]
        # If no question was asked, the session runs in the same way with or without a user.
        alone = not any(isinstance(payload, PermissionRequested | QuestionAsked) for payload in recorded)
        self._failures: list[TuiAgentError] = []
        settings = started.settings
        record_new_session(
            self._recorder,
            RunStarted(
                run_id=base.ids.run(),
                pid=os.getpid(),
                client="headless",
                product=started.product,
                model=settings.model,
            ),
            workspace=started.workspace,
            settings=settings,
            allowed_tools=started.allowed_tools,
            without=started.without,
        )
        self._env = LocalEnvironment(Path(started.workspace))
        self._sandbox = Sandbox(
            next((payload.workspace_sandbox for payload in recorded if isinstance(payload, EnvStarted)), "")
        )
        self._recorded_turn = RecordedTurn(folder.name, open_blobs(folder))
        self._tools = [offered.tool.spec for offered in loaded.tools]
        self._missing_services: set[Service] = set()
        self.engine = Engine(self._build_parts(loaded, alone), self._fail)

    def _build_parts(self, loaded: LoadedPlugins, alone: bool) -> EngineParts:
        base, recorder = self._base, self._recorder
        texts = PromptTexts((base.config.paths.config_dir / "prompts",))
        memory = WorkingMemory(lambda: recorder.state, base.redactor.redact_text)
        leaves_out = Ablation(recorder.state.without).leaves_out
        offered_tools = [
            offered for offered in loaded.tools if not leaves_out("tool", offered.tool.spec.name)
        ]
        tools = recorded_tools(offered_tools, self._results)
        prompts = prompt_sections(texts, "", tools.names())
        sections = [StuckNotice(lambda: recorder.state), memory, RepoMapSection(self._recorded_turn)]
        middlewares: list[Middleware] = [
            *(prompt for prompt in prompts if not leaves_out("prompt", prompt.name)),
            *(section for section in sections if not leaves_out("section", section.name)),
            *(
                GuardedMiddleware(offered.owner, offered.middleware, recorder.append)
                for offered in loaded.middlewares
            ),
        ]
        return EngineParts(
            recorder=recorder,
            blobs=self.log.blobs,
            env=ReadOnlyEnvironment(self._env, self._sandbox),
            extensions=CurrentExtensions(Extensions(tools, middlewares, agent_factories(loaded))),
            policy=build_policy(base, loaded.policy_tables)[0],
            client_for=lambda _: self._recorded_turn,
            resolve_model=lambda name, url, effort: recorder.state.settings.model,  # type: ignore[union-attr]
            tokens=Tokens(calibration=recorder.calibration),
            repomap=self._recorded_turn,
            jitter=lambda: 0.0,
            clock=base.clock,
            ids=base.ids,
            interactive=not alone,
            missing_services=self._missing_services,
            max_retries=0,
        )

    def submit(self, command: Command) -> None:
        """Send a command to the engine."""
        self.engine.submit(command.model_copy(update={"id": self._base.ids.command()}))

    def copy_events(self, events: Sequence[Envelope]) -> None:
        """Copy recorded events to the new log. Skip events that the new engine has already recorded."""
        for event in events:
            if not event.payload.kind.startswith(_OURS):
                self._recorder.append(event.payload, agent=event.agent)
        self._events.clear()

    async def replay_turn(self, turn: Turn) -> list[Envelope]:
        """Send the turn's message and the user's answers again; return the new events of the turn."""
        self._events.clear()
        self._recorded_turn.begin(turn.events)
        # Turns of one session can have run with and without a user.
        # Changed in place: the engine holds the same set.
        self._missing_services.clear()
        self._missing_services |= unoffered_services(self._tools, payloads(turn.events))
        self.submit(self._start_command(turn))
        index = 0
        with anyio.move_on_after(PATIENCE_S):
            while not (index and isinstance(self._events[index - 1].payload, TurnFinished)):
                while index == len(self._events) and not self._failures:
                    self._news = anyio.Event()
                    await self._news.wait()
                if self._failures:
                    raise self._failures[0]
                self._answer(self._events[index])
                index += 1
        first = turn.events[0].payload.kind
        starts = (position for position, event in enumerate(self._events) if event.payload.kind == first)
        return self._events[next(starts, 0) : index]

    def _start_command(self, turn: Turn) -> Command:
        if turn.message is None:
            return ContinueTurn()
        return SubmitPrompt(text=self.log.blobs.read_text(turn.message.text))

    def _answer(self, event: Envelope) -> None:
        payload = event.payload
        if isinstance(payload, PermissionRequested):
            decision = self._decisions.get(payload.call_id)
            self.submit(
                DecidePermission(
                    request_id=payload.request_id,
                    decision="deny" if decision is None else decision.decision,
                    reach="once" if decision is None else decision.reach,
                    rule="" if decision is None else decision.rule,
                    message="" if decision is None else text_preview(decision.message),
                )
            )
        elif isinstance(payload, QuestionAsked) and payload.form == "stuck":
            recorded = self._answers.pop(0) if self._answers else None
            text, choice = (
                (text_preview(recorded.answer), recorded.choice) if recorded is not None else ("", None)
            )
            self.submit(AnswerQuestion(question_id=payload.question_id, answer=text, choice=choice))

    def _on_event(self, event: Envelope) -> None:
        self._events.append(event)
        self._results.note_event(event)
        self._news.set()

    def _fail(self, fault: TuiAgentError) -> None:
        self._failures.append(fault)
        self._news.set()


def payloads(records: Sequence[Record]) -> list[Payload]:
    """Return the payloads of the records, except events of unknown kinds."""
    return [record.payload for record in records if isinstance(record, Envelope)]


def unoffered_services(tools: Sequence[ToolSpec], recorded: Sequence[Payload]) -> set[Service]:
    """Return the services, such as `ask`, that `tools` need but the recorded session did not have."""
    requests = [payload for payload in recorded if isinstance(payload, ModelRequested)]
    offered = {name for request in requests for name in request.tools}
    used = {service for spec in tools if spec.name in offered for service in spec.needs}
    return {service for spec in tools for service in spec.needs} - used


def _copy_blobs(folder: Path, target: Path) -> None:
    for strand in load_lineage(folder).parts:
        blobs = strand.folder / "blobs"
        if blobs.is_dir():
            shutil.copytree(blobs, target / "blobs", dirs_exist_ok=True)
