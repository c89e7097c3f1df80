"""One question to a model: context packed, middlewares around, streamed, retried, recorded.

Invariant: every `model.requested` is followed by exactly one `model.responded` or `model.failed`, whatever happens.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio
from anyio import to_thread

from tui_agent.context.assembly import Assembly, Packed, Wanted
from tui_agent.context.budgets import LEAST_ANSWER, Room
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.compaction.compactor import Compacting
from tui_agent.engine.compaction.limit_watch import ContextWatch
from tui_agent.engine.components import EngineParts
from tui_agent.engine.model.delta_merge import HeldCalls, Ticker
from tui_agent.engine.model.request import RequestBuilder
from tui_agent.errors import BlobMissing, ContextOverflow, ModelError
from tui_agent.folds.context.window_limits import NOTHING, LearntWindow
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.models.assembler import Assembler
from tui_agent.models.backoff import wait
from tui_agent.models.faults import transient
from tui_agent.models.pricing import cost
from tui_agent.ports.agent import Ask
from tui_agent.ports.middleware import Fragment, Middleware
from tui_agent.ports.model import (
    ModelFault,
    ModelNext,
    ModelReply,
    ModelRequest,
)
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.events.context import ContextLearnt, ContextPacked
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage
from tui_agent.protocol.parts import ToolCallPart, Usage
from tui_agent.protocol.settings import AgentState, SessionSettings

DEFAULT_MAX_OUTPUT = 8192
ANSWER_SHARE = 4
"""An answer may take this part of the window where nobody said how long one may be."""
MOST_REFUSED = 5
"""So often a request is made smaller after a provider found it too long."""
UNSENT = RequestId("")
"""The id of a request that is measured and not sent."""
COUNTED_AT_ONCE = 20
"""So many new messages are counted on the loop; more of them, as when a session is opened again, in a thread."""
_Block = tuple[Literal["text", "reasoning", "tool_call"], int, str]
"""(part kind, block number, tool name)"""


class ModelCaller:
    """Asks models for one agent."""

    def __init__(
        self,
        parts: EngineParts,
        ticker: Ticker,
        states: StateKeeper,
        agent: AgentId,
        used: set[CallId],
        of: AgentId | None = None,
    ) -> None:
        """`used` are the call ids of the session so far, shared by the callers of all its agents. `of` is the agent whose
        history is summarised; without one, requests are the agent's own, and its history is kept within the window."""
        self._parts = parts
        self._ticker = ticker
        self._states = states
        self._agent = agent
        self._builder = RequestBuilder(parts.blobs)
        self._assembly = Assembly(parts.tokens)
        self._counted = 0
        """Messages of the newest request, or of those that were counted before one."""
        self._counting = anyio.Lock(fast_acquire=True)
        self._watch = ContextWatch(parts.recorder)
        self._used = used
        self._of = agent if of is None else of
        self._newest = Ask()
        """What the agent asked last."""
        self._sent: Packed | None = None
        """The newest request."""
        self.room: Compacting | None = None
        """Keeps the history within the window."""
        if of is not None:
            return
        summariser = ModelCaller(parts, ticker, states, COMPACTION_AGENT, used, of=agent)
        self.room = Compacting(parts, states, agent, summariser.ask, self.measure)
        self._used |= {
            part.call_id
            for message in parts.recorder.messages(agent)
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, ToolCallPart)
        }

    async def ask(self, ask: Ask) -> ModelReply:
        """Run the middlewares' chain around one model call. Raises `ModelError` once a fault is final.

        A history that comes near the window is made smaller first, and once more where the provider finds it too long.
        """
        room = self.room if ask.messages is None else None
        made = smaller = False
        for last in (*(False,) * MOST_REFUSED, True):
            try:
                reply = await self._asked(ask, None if made else room)
            except ContextOverflow as error:
                if room is None:
                    raise
                sent = self._sent
                assert sent is not None
                if last:
                    raise room.explained(error, sent) from error
                made, smaller = not smaller and await room.overflowed(sent), True
            else:
                if smaller:
                    self._tell_learnt()
                return reply
        raise AssertionError

    def _limit(self) -> LearntWindow:
        """What the provider of the agent's model took and refused."""
        recorder = self._parts.recorder
        return recorder.windows.of(_settings(recorder.state_of(self._of).settings).model)

    def _tell_learnt(self) -> None:
        """Record what counts as the model's window from now on, where that is news."""
        recorder, limit = self._parts.recorder, self._limit()
        model = _settings(recorder.state_of(self._of).settings).model
        if recorder.windows.news(model):
            window, told = limit.least(model.window), bool(limit.window)
            event = ContextLearnt(profile=model.profile, window=window, refused=limit.refused, told=told)
            recorder.append(event, agent=self._agent)

    async def warm(self) -> None:
        """Count what a session that is taken up holds before it is asked with. A text that is missing is told by the first
        request, which needs it."""
        history = self._parts.recorder.messages(self._agent)
        if not any(isinstance(message, AssistantMessage | SummaryMessage) for message in history):
            return
        try:
            messages = self._builder.messages(history)
        except BlobMissing:
            return
        wanted = self._wanted(self._newest, messages, UNSENT)
        async with self._counting:
            await to_thread.run_sync(self._assembly.prepare, wanted)
            self._counted = max(self._counted, len(messages))

    async def measure(self, history: Sequence[Message], *, whole: bool = False) -> Packed:
        """What the agent's next request would hold with this history; `whole`: before anything is shortened to fit."""
        async with self._counting:
            if not self._parts.tokens.ready:
                await to_thread.run_sync(self._assembly.begin_counting)
        messages = RequestBuilder(self._parts.blobs).messages(history)
        wanted = self._wanted(self._newest, messages, UNSENT)
        if whole:
            wanted = replace(wanted, model=wanted.model.model_copy(update={"window": 0}), learnt=NOTHING)
        return await to_thread.run_sync(self._assembly.measure, wanted)

    def _wanted(self, ask: Ask, messages: Sequence[Message], request_id: RequestId) -> Wanted:
        state = self._parts.recorder.state_of(self._of)
        settings, limit = _settings(state.settings), self._limit()
        window = limit.least(settings.model.window)
        return Wanted(
            request_id,
            settings.model,
            self._fragments(ask, state),
            messages,
            self._parts.tools.schemas(ask.tools),
            answer=ask.max_tokens or settings.model.max_output or _answer(window),
            mode=settings.context_mode,
            session_context=state.session_context,
            learnt=limit,
            pinned=frozenset(self._parts.recorder.history(self._of).forgotten.pinned),
        )

    async def _asked(self, ask: Ask, room: Compacting | None) -> ModelReply:
        recorder = self._parts.recorder
        self._newest = ask if ask.messages is None else self._newest
        history = recorder.messages(self._agent) if ask.messages is None else ask.messages
        wanted = self._wanted(ask, self._builder.messages(history), self._parts.ids.request())
        packed = await self._packed(wanted)
        if room is not None and await room.make(packed, wanted.answer):
            smaller = self._builder.messages(recorder.messages(self._agent))
            packed = await self._packed(replace(wanted, messages=smaller))
        self._sent = packed
        if self.room is not None and packed.cuts:
            await self.room.tell(packed.cuts)
        own = recorder.history(self._agent) if ask.messages is None else None
        request = ModelRequest(
            request_id=wanted.request_id,
            model=wanted.model,
            system=packed.system if ask.system is None else ask.system,
            messages=packed.messages,
            tools=tuple(wanted.tools),
            max_tokens=_left_for(wanted, packed),
            images=self._builder.images(packed.messages),
            purpose="answer" if self._of == self._agent else "compaction",
            answers=None if own is None else own.answers,
            opening="" if own is None else text_preview(own.opening),
        )
        chain: ModelNext = partial(self._call, packed.manifest)
        for middleware in reversed(self._parts.middlewares):
            chain = partial(_wrapped, middleware, chain)
        return await chain(request)

    def _fragments(self, ask: Ask, state: SessionStateView) -> list[Fragment]:
        """What the middlewares add; a request for a summary is what it says and nothing else."""
        if self._of != self._agent:
            return [Fragment(id="compact", text=ask.system or "")]
        return [each for middleware in self._parts.middlewares for each in middleware.contribute(state)]

    async def _packed(self, wanted: Wanted) -> Packed:
        """The request put together: in a thread where much is to be counted first."""
        new = len(wanted.messages) - self._counted
        # The very first question of a session goes out by an estimate of characters: it waits for nothing.
        begun = any(isinstance(message, AssistantMessage | SummaryMessage) for message in wanted.messages)
        async with self._counting:
            if begun and not self._parts.tokens.ready:
                await to_thread.run_sync(self._assembly.begin_counting)
                new = len(wanted.messages)
            if new < COUNTED_AT_ONCE:
                packed = self._assembly.pack(wanted)
            else:
                packed = await to_thread.run_sync(self._assembly.pack, wanted)
            self._counted = len(wanted.messages)
            return packed

    async def _call(self, manifest: ContextPacked, request: ModelRequest) -> ModelReply:
        parts, recorder = self._parts, self._parts.recorder
        recorder.append(manifest, agent=self._agent)
        state = recorder.state_of(self._of)
        recorder.append(
            ModelRequested(
                request_id=request.request_id,
                iteration=state.own_iteration,
                local_iteration=state.local_iteration,
                model=request.model,
                tools=tuple(tool.name for tool in request.tools),
                messages=len(request.messages),
                max_tokens=request.max_tokens,
                estimated_tokens=manifest.total_tokens,
                purpose=request.purpose,
                summarises=None if self._of == self._agent else self._of,
            ),
            agent=self._agent,
        )
        call = _Call(parts, self._ticker, self._agent, request)
        attempt = 1
        while True:
            try:
                fault = await call.attempt()
            except anyio.get_cancelled_exc_class():
                call.failed(ModelFault("cut", "stopped"), attempt, cancelled=True)
                raise
            if fault is None:
                return self._respond(call, manifest)
            wait = self._wait_for(fault, attempt)
            if wait is None:
                call.failed(fault, attempt)
                final = ContextOverflow if fault.kind == "overflow" else ModelError
                raise final(fault.message, hint=fault.hint)
            await self._throttle(call, fault, attempt, wait)
            attempt += 1

    def _wait_for(self, fault: ModelFault, attempt: int) -> float | None:
        """Seconds until the next try, or None when there is none."""
        allowed = 1 if fault.kind == "empty" else self._parts.max_retries
        if not transient(fault.kind) or attempt > allowed:
            return None
        return wait(attempt, fault.retry_after, self._parts.jitter())

    async def _throttle(self, call: "_Call", fault: ModelFault, attempt: int, wait: float) -> None:
        self._parts.recorder.append(
            ModelRetried(
                request_id=call.request.request_id,
                attempt=attempt,
                fault=fault.kind,
                message=fault.message,
                wait_s=round(wait, 3),
                status=fault.status,
            ),
            agent=self._agent,
        )
        self._states.set(AgentState.THROTTLED, f"{fault.kind}, try {attempt + 1}", agent=self._agent)
        try:
            await self._parts.clock.sleep(wait)
        except anyio.get_cancelled_exc_class():
            call.failed(fault, attempt, cancelled=True)
            raise
        self._states.set(AgentState.RUNNING, agent=self._agent)

    def _respond(self, call: "_Call", manifest: ContextPacked) -> ModelReply:
        recorder = self._parts.recorder
        reply = call.reply(recorder.state.parts, manifest.total_tokens, self._used)
        self._used |= {part.call_id for part in reply.parts if isinstance(part, ToolCallPart)}
        recorder.append(
            ModelResponded(
                request_id=call.request.request_id,
                first_part=reply.first_part,
                parts=reply.parts,
                finish=reply.finish,
                usage=reply.usage,
                cost_usd=reply.cost_usd,
                duration_ms=reply.duration_ms,
                first_token_ms=reply.first_token_ms,
                provider_id=reply.provider_id,
            ),
            agent=self._agent,
        )
        if self._agent == MAIN_AGENT:
            self._watch.look()
        return reply


class _Call:
    """One request on its way, over all its attempts."""

    def __init__(self, parts: EngineParts, ticker: Ticker, agent: AgentId, request: ModelRequest) -> None:
        self._parts = parts
        self._ticker = ticker
        self._agent = agent
        self.request = request
        self._assembler = Assembler()
        self._started = parts.clock.monotonic()
        self._first_token: float | None = None

    async def attempt(self) -> ModelFault | None:
        """Stream once; None when a whole answer came."""
        self._assembler = assembler = Assembler([tool.name for tool in self.request.tools])
        client = self._parts.client(self.request.model)
        clock = self._parts.clock
        calls = HeldCalls()
        with self._ticker.merging(clock, self._emit) as merger:
            async with client.stream(self.request) as chunks:
                async for chunk in chunks:
                    delta = assembler.feed(chunk)
                    if delta is None:
                        continue
                    if self._first_token is None:
                        self._first_token = clock.monotonic()
                    if delta.part == "tool_call":
                        calls.add(delta.block, delta.name, delta.text)
                    else:
                        merger.add((delta.part, delta.block, delta.name), delta.text)
        fault = assembler.settle()
        if fault is None:
            for number, name, text in calls.texts():
                self._emit(("tool_call", number, name), text)
        return fault

    def _emit(self, block: _Block, text: str) -> None:
        kind, number, name = block
        self._parts.recorder.append(
            ModelDelta(
                request_id=self.request.request_id,
                part=kind,
                block=number,
                text=text,
                name=name,
            ),
            agent=self._agent,
        )

    def failed(self, fault: ModelFault, attempts: int, *, cancelled: bool = False) -> None:
        """Record the end of a request that gave no answer."""
        self._parts.recorder.append(
            ModelFailed(
                request_id=self.request.request_id,
                fault="cancelled" if cancelled else fault.kind,
                message=fault.message,
                hint=fault.hint,
                status=fault.status,
                window=fault.window,
                attempts=attempts,
                partial=self._assembler.partial,
            ),
            agent=self._agent,
        )

    def reply(self, first_part: int, estimated_input: int, used: Collection[str]) -> ModelReply:
        """The whole answer, its parts numbered from `first_part`; call ids in `used` are not used again."""
        now = self._parts.clock.monotonic()
        assembler = self._assembler
        usage = assembler.usage
        if not usage.input_tokens and not usage.output_tokens:
            output = len(assembler.text) // 4
            usage = Usage(input_tokens=estimated_input, output_tokens=output, estimated=True)
        first = self._first_token
        return ModelReply(
            parts=assembler.parts(self._parts.ids, used),
            finish=assembler.finish,
            usage=usage,
            cost_usd=assembler.cost_usd
            if assembler.cost_usd is not None
            else cost(self.request.model, usage),
            first_part=first_part,
            duration_ms=round((now - self._started) * 1000, 1),
            first_token_ms=None if first is None else round((first - self._started) * 1000, 1),
            provider_id=assembler.finished.provider_id if assembler.finished is not None else "",
            request_id=self.request.request_id,
        )


def _answer(window: int) -> int:
    """Tokens of an answer where the model's own limit is not known."""
    return (
        min(DEFAULT_MAX_OUTPUT, max(LEAST_ANSWER, window // ANSWER_SHARE)) if window else DEFAULT_MAX_OUTPUT
    )


def _left_for(wanted: Wanted, packed: Packed) -> int:
    """Tokens that the answer may take: fewer than wished where a person's words need the room."""
    said = wanted.learnt.said(wanted.model.window)
    last = Room.of(said, 0).last
    if last is None:
        return wanted.answer
    return min(wanted.answer, max(LEAST_ANSWER, last - packed.manifest.total_tokens))


async def _wrapped(middleware: Middleware, nxt: ModelNext, request: ModelRequest) -> ModelReply:
    return await middleware.wrap_model(request, nxt)


def _settings(settings: SessionSettings | None) -> SessionSettings:
    if settings is None:
        raise ModelError("The session has no model.", hint="/model chooses one.")
    return settings
