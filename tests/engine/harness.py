"""An engine over a real log in a folder, with doubles for model, policy and tools."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import anyio
from pydantic import BaseModel

from tests.stubs.clock import SequentialIds
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.context.token_counter import Tokens
from tui_agent.engine.components import ChangedExtensions, CurrentExtensions, EngineParts, Extensions
from tui_agent.engine.engine import Engine
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.turns.engine_agents import ModelAgent
from tui_agent.errors import ConfigError, TuiAgentError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.ports.agent import Agent
from tui_agent.ports.checkpoint import Checkpoints
from tui_agent.ports.delegate import DelegationRules
from tui_agent.ports.environment import Environment
from tui_agent.ports.hook import Hook
from tui_agent.ports.log import OtherChange
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.model import FinishChunk, ModelChunk, ModelClient, ModelRequest, TextChunk, ToolCallChunk
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.repomap import RepoMaps
from tui_agent.ports.slash_command import SlashCommand
from tui_agent.ports.symbols_and_skills import Knowledge
from tui_agent.ports.tool import Preview, ToolContext, ToolResult, ToolServers, ToolSpec
from tui_agent.protocol.commands import Command
from tui_agent.protocol.effects import Effect, InternalEffect, WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import RunStarted
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RunId
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import Budgets, ModelInfo, PolicyName, SessionSettings
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.session.clock import SystemClock
from tui_agent.session.resume import UnfinishedHistory, record_new_session, resume_session
from tui_agent.store.event_search import find_changes_by_others
from tui_agent.store.file_ops import FileOps
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.local.environment import LocalEnvironment

MODEL = ModelInfo(profile="fake", provider="fake", model="fake", window=10_000, max_output=1000)
RUN = RunStarted(run_id=RunId("run_0"), pid=1, client="headless", product="test", model=MODEL)
PayloadT = TypeVar("PayloadT", bound=Payload)
PolicyAnswer = Callable[[str, Sequence[Effect], PolicyFacts], Decision]


def say(text: str) -> list[ModelChunk]:
    return [TextChunk(text), FinishChunk("stop")]


def call(*calls: tuple[str, str], text: str = "") -> list[ModelChunk]:
    """An answer that calls tools: (name, JSON arguments) each."""
    chunks: list[ModelChunk] = [TextChunk(text)] if text else []
    chunks += [
        ToolCallChunk(index, f"c{id(calls)}_{index}", name, arguments)
        for index, (name, arguments) in enumerate(calls)
    ]
    return [*chunks, FinishChunk("tool_calls")]


class FakeModel:
    """Answers in order; an entry may be a callable that is awaited while the stream is open."""

    def __init__(self, answers: Sequence[object]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        self.requests.append(request)
        yield self._chunks(self.answers.pop(0) if self.answers else say("nothing more"))

    async def _chunks(self, answer: object) -> AsyncIterator[ModelChunk]:
        assert isinstance(answer, list)
        for chunk in answer:
            if callable(chunk):
                await chunk()
            else:
                yield chunk

    async def aclose(self) -> None:
        return


class QuickClock(SystemClock):
    """The real clock, but nothing is waited for."""

    async def sleep(self, seconds: float) -> None:
        await anyio.lowlevel.checkpoint()


class Words(BaseModel):
    words: str = ""


class EchoTool:
    """Gives its words back; can wait, fail, and claim to write."""

    def __init__(
        self,
        name: str = "echo",
        *,
        safe: bool = True,
        writes: bool = False,
        before: Callable[[str], object] | None = None,
        timeout: float | None = 30.0,
    ) -> None:
        self.spec = ToolSpec(
            name, "Gives the words back.", Words, "echo", timeout=timeout, parallel_safe=safe
        )
        self.writes = writes
        self.before = before
        self.ran: list[str] = []

    spec: ClassVar[ToolSpec]  # type: ignore[misc]

    def target(self, args: Words) -> str:
        return args.words

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (WriteEffect(path="x"),) if self.writes else (InternalEffect(subject="echo"),)

    async def preview(self, args: Words, env: Environment) -> Preview:
        return Preview((), content=args.words)

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        self.ran.append(args.words)
        if self.before is not None:
            waited = self.before(args.words)
            if hasattr(waited, "__await__"):
                await waited  # type: ignore[misc]
        ctx.progress(args.words)
        return ToolResult(ok=True, content=(TextContent(text=f"echo: {args.words}"),), summary="done")


class HeldTool(EchoTool):
    """Sets `started` once it runs, and waits for `go`."""

    def __init__(self, name: str = "echo", **options: Any) -> None:
        self.started, self.go = anyio.Event(), anyio.Event()
        super().__init__(name, before=self._hold, **options)

    async def _hold(self, words: str) -> None:
        self.started.set()
        await self.go.wait()


def allow(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return Decision("allow", "test.allow", "the test allows it")


def ask(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    if f"allow tool {tool}" in facts.session_rules:
        return Decision("allow", "granted", "allowed for this session")
    return Decision("ask", "test.ask", "the test asks")


class FakePolicy(RulePolicy):
    """Decides as it is told, and reads command lines as the product does."""

    def __init__(self, answer: PolicyAnswer = allow) -> None:
        super().__init__()
        self.answer = answer

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        return self.answer(tool, effects, facts)


@dataclass
class Bench:
    """A running engine and what it recorded."""

    engine: Engine
    recorder: Recorder
    model: FakeModel
    events: list[Envelope]
    use: Callable[[ModelClient], None]
    """Another client from the next request on."""
    troubles: list[TuiAgentError] = field(default_factory=list)

    def submit(self, command: Command) -> None:
        self.engine.submit(command)

    def kinds(self) -> list[str]:
        return [event.payload.kind for event in self.events]

    def of(self, kind: type[PayloadT]) -> list[PayloadT]:
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    def results(self) -> list[ToolFinished]:
        """What the calls ended with, in the order of the calls: those that run at once end in any order."""
        ended = {one.call_id: one for one in self.of(ToolFinished)}
        called = (one.call_id for one in self.of(ToolCalled))
        return [ended[call_id] for call_id in called if call_id in ended]

    async def until(self, kind: str, count: int = 1) -> Envelope:
        """Wait until `count` events of the kind are recorded; the newest of them."""
        with anyio.fail_after(60):
            while True:
                found = [event for event in self.events if event.payload.kind == kind]
                if len(found) >= count:
                    return found[count - 1]
                await self._news.wait()

    async def until_payload(self, kind: type[PayloadT], count: int = 1) -> PayloadT:
        """Wait until `count` events with such a payload are recorded; the newest of these payloads."""
        await self.until_so(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    _news: anyio.Event = field(default_factory=anyio.Event)

    def trouble(self, error: TuiAgentError) -> None:
        self.troubles.append(error)
        self._tell()

    async def until_so(self, done: Callable[[], object]) -> None:
        """Wait until something that was recorded or went wrong makes it so."""
        with anyio.fail_after(60):
            while not done():
                await self._news.wait()

    async def until_trouble(self) -> TuiAgentError:
        """Wait until the engine could not store something."""
        await self.until_so(lambda: self.troubles)
        return self.troubles[0]

    on_event: Callable[[Envelope], None] | None = None

    def seen(self, event: Envelope) -> None:
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)
        self._tell()

    def _tell(self) -> None:
        """Wake all who wait; who waits from now on waits for the next news."""
        news, self._news = self._news, anyio.Event()
        news.set()


@dataclass(frozen=True, kw_only=True)
class EngineSetup:
    """What a test may set of an engine and its session. `env` makes the environment of a workspace."""

    policy: PolicyAnswer = allow
    budgets: Budgets | None = None
    middlewares: Sequence[Middleware | Callable[[Recorder], Middleware]] = ()
    agents: dict[str, Callable[[], Agent]] | None = None
    interactive: bool = True
    policy_name: PolicyName = "ask"
    session: str = "ses_test"
    serve: bool = True
    remember: Callable[[str, str], None] | None = None
    remember_readable: Callable[[Sequence[str]], None] | None = None
    ops: FileOps | None = None
    checkpoints: bool | Checkpoints = False
    workspace: Path | None = None
    ids: SequentialIds | None = None
    on_event: Callable[[Envelope], None] | None = None
    hooks: Sequence[Hook] = ()
    facts: JsonMap | None = None
    env: Callable[[Path], Environment] = LocalEnvironment
    shrinking: CompactionSettings | None = None
    delegation: DelegationRules | None = None
    knowledge: Knowledge | None = None
    repomap: RepoMaps | None = None
    clock: SystemClock | None = None
    tokens: Tokens | None = None
    try_confined: bool = False
    turn_seconds: float | None = None
    load_changed: Callable[[bool], ChangedExtensions | None] | None = None
    commands: Mapping[str, SlashCommand] | None = None
    unusable_commands: Mapping[str, str] = field(default_factory=dict)
    servers: ToolServers | None = None
    find_changes_by_others: Callable[[str, float], Iterable[OtherChange]] | None = None

    def parts(
        self,
        log: SessionLog,
        recorder: Recorder,
        clients: list[ModelClient],
        workspace: Path,
        clock: SystemClock,
        tools: Sequence[object],
    ) -> EngineParts:
        """Return an engine's parts over a log. The last of the clients answers."""
        return EngineParts(
            recorder=recorder,
            try_confined=self.try_confined,
            turn_seconds=self.turn_seconds,
            blobs=log.blobs,
            env=self.env(workspace),
            extensions=CurrentExtensions(
                Extensions(
                    _registry(tools),
                    [make(recorder) if callable(make) else make for make in self.middlewares],
                    self.agents or {"default": ModelAgent},
                    self.hooks,
                    recorder.listeners,
                    self.commands or {},
                    self.unusable_commands,
                )
            ),
            policy=FakePolicy(self.policy),
            client_for=lambda info: clients[-1],
            resolve_model=_resolve,
            tokens=self.tokens or Tokens(calibration=recorder.calibration),
            repomap=self.repomap,
            tool_servers=self.servers,
            jitter=lambda: 0.0,
            clock=clock,
            ids=self.ids or SequentialIds(),
            interactive=self.interactive,
            missing_services=() if self.interactive else ("ask",),
            remember_rule=self.remember,
            remember_readable=self.remember_readable,
            checkpoints=_store(self.checkpoints, workspace, log.folder),
            hook_facts=self.facts or {},
            compaction_limits=self.shrinking or CompactionSettings(),
            delegation=self.delegation or DelegationRules(),
            knowledge=self.knowledge or Knowledge(),
            load_changed=self.load_changed,
            find_changes_by_others=self.find_changes_by_others
            or partial(
                find_changes_by_others, SessionStore(log.folder.parent, clock, Redactor()), log.folder.name
            ),
        )


@asynccontextmanager
async def running(
    tmp_path: Path, answers: Sequence[object], tools: Sequence[object] = (), **options: Any
) -> AsyncIterator[Bench]:
    """Serve an engine until the block ends. The options are those of `EngineSetup`."""
    setup = EngineSetup(**options)
    clock = setup.clock or QuickClock()
    redactor = Redactor(is_secret_file=may_hold_secrets)
    log = _log(SessionStore(tmp_path / "sessions", clock, redactor, ops=setup.ops), setup.session)
    history, past = log.read(), UnfinishedHistory()
    bench: list[Bench] = []
    recorder = Recorder(log, past.track(history), (lambda event: bench[0].seen(event),))
    model = FakeModel(answers)
    clients: list[ModelClient] = [model]
    workspace = setup.workspace or tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    parts = setup.parts(log, recorder, clients, workspace, clock, tools)
    engine = Engine(parts, lambda error: bench[0].trouble(error))
    bench.append(Bench(engine, recorder, model, [], clients.append, on_event=setup.on_event))
    if history:
        resume_session(recorder, RUN, past.records, log.repair, log.blobs if setup.interactive else None)
    else:
        budgets = setup.budgets or Budgets()
        settings = SessionSettings(model=MODEL, policy=setup.policy_name, budgets=budgets)
        record_new_session(recorder, RUN, workspace=str(workspace), settings=settings)
    try:
        async with _serving(engine) if setup.serve else nullcontext():
            yield bench[0]
        assert setup.ops is not None or not bench[0].troubles, bench[0].troubles
    finally:
        await parts.env.aclose()
        log.close()


@asynccontextmanager
async def _serving(engine: Engine) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(engine.serve)
        yield
        group.cancel_scope.cancel()


def _log(store: SessionStore, session: str) -> SessionLog:
    """The log of a session; a new one where there is none."""
    return store.open(session) if (store.root / session).exists() else store.create(session)


def _registry(tools: Sequence[object]) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.add("test", tool)  # type: ignore[arg-type]
    return registry


def _store(wanted: bool | Checkpoints, workspace: Path, folder: Path) -> Checkpoints | None:
    if isinstance(wanted, bool):
        return GitCheckpoints(workspace, folder / "checkpoints.git") if wanted else None
    return wanted


def _resolve(name: str, base_url: str, effort: object) -> ModelInfo:
    if name == "unknown":
        raise ConfigError("There is no model 'unknown'.", hint="/models lists them.")
    return MODEL.model_copy(update={"profile": name, "model": name})
