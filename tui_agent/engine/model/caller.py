"""Model calls: assemble the context, run the middlewares, stream the answer, retry and record.

Invariant: every `model.requested` is followed by exactly one `model.responded` or `model.failed`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import anyio
from anyio import to_thread

from tui_agent.context.budgets import MIN_ANSWER_TOKENS, Room
from tui_agent.context.request_assembly import Assembly, PackedRequest, RequestInput
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.compaction.compactor import Compactor
from tui_agent.engine.components import EngineParts, is_overridden
from tui_agent.engine.delta_merge import FlushTimer
from tui_agent.engine.model.message_loading import RequestBuilder
from tui_agent.engine.model.request_attempts import ModelCall
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.tool_access import offered_tools
from tui_agent.errors import BlobNotFound, ContextOverflow, ModelError
from tui_agent.folds.context.meter import MeterLevel
from tui_agent.folds.context.window_limits import UNKNOWN_WINDOW
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.models.provider_faults import TRANSIENT
from tui_agent.models.retry_waits import next_wait
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.agent import ModelQuery
from tui_agent.ports.middleware import Fragment, Middleware
from tui_agent.ports.model import ModelFault, ModelNext, ModelReply, ModelRequest, ToolSchema
from tui_agent.protocol.events.context import ContextPacked, ContextWarned, ContextWindowInferred
from tui_agent.protocol.events.model import (
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage
from tui_agent.protocol.parts import tool_calls
from tui_agent.protocol.settings import AgentState, SessionSettings
from tui_agent.protocol.stored_text import text_preview

DEFAULT_MAX_OUTPUT = 8192
"""Maximum tokens of an answer if neither the model's limit nor its window is known."""
ANSWER_WINDOW_DIVISOR = 4
"""If a model's output limit is unknown, an answer can have at most window / `ANSWER_WINDOW_DIVISOR` tokens."""
MAX_OVERFLOW_RETRIES = 5
"""Maximum number of attempts to shorten a request after the provider refused it as too long."""
UNSENT = RequestId("")
"""Id of a request that is only measured and not sent."""
MIN_MESSAGES_FOR_THREAD = 20
"""From this number of new messages on, tokens are counted in a thread."""
EXACT_COUNT_TOKENS, EXACT_COUNT_WINDOW_DIVISOR = 16_000, 4
"""The number of tokens from which a request is counted exactly: 16,000, or a quarter of a smaller window.

The tokens of smaller requests are estimated, because loading the tokenizer is slow.
"""
LEVEL_ORDER: Final[dict[MeterLevel, int]] = {"below": 0, "near": 1, "over": 2, "compaction": 3}


class ModelCaller:
    """Calls models for one agent."""

    def __init__(
        self,
        parts: EngineParts,
        ticker: FlushTimer,
        states: StateKeeper,
        agent: AgentId,
        used: set[CallId],
        summarised_agent: AgentId | None = None,
    ) -> None:
        """Create a caller for the agent `agent`.

        - `used`: all call ids of the session so far, shared by all callers.
        - `summarised_agent`: agent whose history the caller summarises. None for requests of `agent` itself.
        """
        self._parts = parts
        self._ticker = ticker
        self._states = states
        self._agent = agent
        self._builder = RequestBuilder(parts.blobs)
        self._assembly = Assembly(parts.tokens)
        self._counted = 0
        """Number of messages in the history that were already counted."""
        self._counting = anyio.Lock(fast_acquire=True)
        """Held while `_assembly` or the tokenizer is used, because both also run in threads."""
        self._watch = LimitWatch(parts.recorder)
        self._used_call_ids = used
        self._history_agent = agent if summarised_agent is None else summarised_agent
        self._newest_query = ModelQuery()
        """The newest request with the agent's own history."""
        self._sent: PackedRequest | None = None
        """The request that was assembled last."""
        self.compactor: Compactor | None = None
        """Compactor that keeps the history within the window, or None if the caller only makes summaries."""
        if summarised_agent is not None:
            return
        summariser = ModelCaller(parts, ticker, states, COMPACTION_AGENT, used, summarised_agent=agent)
        self.compactor = Compactor(parts, states, agent, summariser.ask, self.measure)
        history = parts.recorder.messages(agent)
        answers = (message for message in history if isinstance(message, AssistantMessage))
        self._used_call_ids |= {call.call_id for answer in answers for call in tool_calls(answer.parts)}

    async def ask(self, query: ModelQuery) -> ModelReply:
        """Call the model through the middlewares. Raise `ModelError` if all tries fail.

        A history that is too long for the model's window is compacted.
        """
        compactor = self.compactor if query.messages is None else None
        compacted = False
        refusals = 0
        while True:
            try:
                reply = await self._ask_once(query, None if compacted else compactor)
            except ContextOverflow as error:
                if compactor is None:
                    raise
                sent = self._sent
                assert sent is not None
                refusals += 1
                if refusals > MAX_OVERFLOW_RETRIES:
                    raise compactor.explain_overflow(error, sent) from error
                # Compact once. After that, each refusal reduces the inferred window, and packing shortens the request.
                compacted = refusals == 1 and await compactor.shrink_after_overflow(sent)
            else:
                if refusals:
                    self._record_learnt_window()
                return reply

    def _settings(self) -> SessionSettings:
        settings = self._parts.recorder.state_of(self._history_agent).settings
        if settings is None:
            raise ModelError("The session has no model.", hint="Choose one with /model.")
        return settings

    def _record_learnt_window(self) -> None:
        recorder, model = self._parts.recorder, self._settings().model
        if recorder.windows.has_news(model):
            learnt = recorder.windows.window_of(model)
            event = ContextWindowInferred(
                profile=model.profile,
                window=learnt.effective_window(model.window),
                refused_tokens=learnt.refused,
                stated_by_provider=bool(learnt.window),
            )
            recorder.append(event, agent=self._agent)

    async def count_history(self) -> None:
        """Count the tokens of a resumed session before its first request."""
        history = self._parts.recorder.messages(self._agent)
        if not any(isinstance(message, AssistantMessage | SummaryMessage) for message in history):
            return
        try:
            messages = self._builder.resolve_messages(history)
        except BlobNotFound:
            return
        packing = self._packing_request(self._newest_query, messages, UNSENT)
        async with self._counting:
            await to_thread.run_sync(self._assembly.prepare, packing)
            self._counted = max(self._counted, len(messages))

    async def measure(self, history: Sequence[Message], *, unlimited: bool = False) -> PackedRequest:
        """Assemble the agent's next request from this history. If `unlimited` is True, nothing is shortened."""
        await self._load_tokenizer()
        messages = RequestBuilder(self._parts.blobs).resolve_messages(history)
        packing = self._packing_request(self._newest_query, messages, UNSENT)
        if unlimited:
            packing = replace(
                packing, model=packing.model.model_copy(update={"window": 0}), learnt=UNKNOWN_WINDOW
            )
        return await to_thread.run_sync(self._assembly.measure, packing)

    def _packing_request(
        self, query: ModelQuery, messages: Sequence[Message], request_id: RequestId
    ) -> RequestInput:
        state = self._parts.recorder.state_of(self._history_agent)
        settings = self._settings()
        learnt = self._parts.recorder.windows.window_of(settings.model)
        window = learnt.effective_window(settings.model.window)
        return RequestInput(
            request_id,
            settings.model,
            self._fragments(query, state),
            messages,
            self._offered_tools(query, state, settings),
            answer=query.max_tokens or settings.model.max_output or _default_max_tokens(window),
            mode=settings.context_mode,
            session_context=state.session_context,
            learnt=learnt,
            pinned=frozenset(self._parts.recorder.model_messages(self._history_agent).removed.pinned),
        )

    def _offered_tools(
        self, query: ModelQuery, state: SessionStateView, settings: SessionSettings
    ) -> tuple[ToolSchema, ...]:
        """Return the tools that the model can use now."""
        tools, allowed = query.tools, state.allowed_tools
        if allowed is not None:
            tools = tuple(
                name
                for name in self._parts.tools.names()
                if name in allowed and (tools is None or name in tools)
            )
        return offered_tools(self._parts, state, settings.policy, tools)

    async def _ask_once(self, query: ModelQuery, compactor: Compactor | None) -> ModelReply:
        recorder = self._parts.recorder
        self._newest_query = query if query.messages is None else self._newest_query
        history = recorder.messages(self._agent) if query.messages is None else query.messages
        packing = self._packing_request(
            query, self._builder.resolve_messages(history), self._parts.ids.request()
        )
        packed = await self._pack(packing)
        if compactor is not None and await compactor.make_room(packed, packing.answer):
            smaller = self._builder.resolve_messages(recorder.messages(self._agent))
            packed = await self._pack(replace(packing, messages=smaller))
        self._sent = packed
        if self.compactor is not None and packed.cuts:
            await self.compactor.record_cuts(packed.cuts)
        own_history = recorder.model_messages(self._agent) if query.messages is None else None
        request = ModelRequest(
            request_id=packing.request_id,
            model=packing.model,
            system=packed.system if query.system is None else query.system,
            messages=packed.messages,
            tools=tuple(packing.tools),
            max_tokens=_answer_tokens(packing, packed),
            images=self._builder.load_images(packed.messages),
            purpose="answer" if self._history_agent == self._agent else "compaction",
            answer_count=None if own_history is None else own_history.history.answers,
            opening_text="" if own_history is None else text_preview(own_history.history.opening),
        )
        # Built from the inside, so that the first middleware is the outermost one.
        chain: ModelNext = partial(self._call, packed.manifest)
        for middleware in reversed(self._parts.middlewares):
            if is_overridden(middleware.wrap_model, BaseMiddleware.wrap_model):
                chain = partial(_call_middleware, middleware, chain)
        return await chain(request)

    def _fragments(self, query: ModelQuery, state: SessionStateView) -> list[Fragment]:
        """Return the middlewares' fragments of the prompt. A request for a summary has its own prompt instead."""
        if self._history_agent != self._agent:
            return [Fragment(id="compact", text=query.system or "")]
        return [
            fragment for middleware in self._parts.middlewares for fragment in middleware.contribute(state)
        ]

    async def _load_tokenizer(self) -> None:
        async with self._counting:
            if not self._parts.tokens.ready:
                await to_thread.run_sync(self._parts.tokens.load)

    async def _pack(self, packing: RequestInput) -> PackedRequest:
        """Assemble a request."""
        packed = await self._pack_once(packing)
        # Only a request near a limit needs exact counts. The first request never waits for the tokenizer to load.
        has_history = any(
            isinstance(message, AssistantMessage | SummaryMessage) for message in packing.messages
        )
        is_small = packed.needed < _tokens_to_count_exactly(packing)
        if is_small or self._parts.tokens.ready or not has_history:
            return packed
        await self._load_tokenizer()
        return await self._pack_once(packing)

    async def _pack_once(self, packing: RequestInput) -> PackedRequest:
        """Assemble a request, in a thread if many messages must be counted first."""
        async with self._counting:
            counted = self._counted if self._assembly.counts_are_current else 0
            if len(packing.messages) - counted < MIN_MESSAGES_FOR_THREAD:
                packed = self._assembly.pack(packing)
            else:
                packed = await to_thread.run_sync(self._assembly.pack, packing)
            self._counted = len(packing.messages)
            return packed

    async def _call(self, manifest: ContextPacked, request: ModelRequest) -> ModelReply:
        parts, recorder = self._parts, self._parts.recorder
        recorder.append(manifest, agent=self._agent)
        state = recorder.state_of(self._history_agent)
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
                summarises=None if self._history_agent == self._agent else self._history_agent,
            ),
            agent=self._agent,
        )
        call = ModelCall(parts, self._ticker, self._agent, request, manifest.total_tokens)
        attempt = 1
        while True:
            try:
                fault = await call.attempt()
            except anyio.get_cancelled_exc_class():
                # Every recorded request needs an end, and the provider may charge for this one.
                call.record_failure(ModelFault("cut", "stopped"), attempt, cancelled=True, in_flight=True)
                raise
            if fault is None:
                return self._respond(call)
            wait = self._retry_wait(fault, attempt)
            if wait is None:
                call.record_failure(fault, attempt)
                final = ContextOverflow if fault.kind == "overflow" else ModelError
                raise final(fault.message, hint=fault.hint)
            await self._throttle(call, fault, attempt, wait)
            attempt += 1

    def _retry_wait(self, fault: ModelFault, attempt: int) -> float | None:
        # A model that has answered with nothing twice will hardly do better the third time.
        allowed = 1 if fault.kind == "empty" else self._parts.max_retries
        if fault.kind not in TRANSIENT or attempt > allowed:
            return None
        return next_wait(attempt, fault.retry_after, self._parts.jitter())

    async def _throttle(self, call: ModelCall, fault: ModelFault, attempt: int, wait: float) -> None:
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
        except anyio.get_cancelled_exc_class():  # the user stopped the turn during the wait
            call.record_failure(fault, attempt, cancelled=True)
            raise
        self._states.set(AgentState.RUNNING, agent=self._agent)

    def _respond(self, call: ModelCall) -> ModelReply:
        recorder = self._parts.recorder
        reply = call.reply(recorder.state.parts, self._used_call_ids)
        self._used_call_ids |= {call.call_id for call in tool_calls(reply.parts)}
        recorder.append(ModelResponded.model_validate(reply, from_attributes=True), agent=self._agent)
        if self._agent == MAIN_AGENT:
            self._watch.check()
        return reply


def _default_max_tokens(window: int) -> int:
    share = window // ANSWER_WINDOW_DIVISOR if window else DEFAULT_MAX_OUTPUT
    return min(DEFAULT_MAX_OUTPUT, max(MIN_ANSWER_TOKENS, share))


def _tokens_to_count_exactly(packing: RequestInput) -> int:
    window = packing.learnt.effective_window(packing.model.window)
    return min(EXACT_COUNT_TOKENS, window // EXACT_COUNT_WINDOW_DIVISOR) if window else EXACT_COUNT_TOKENS


def _answer_tokens(packing: RequestInput, packed: PackedRequest) -> int:
    """Return the maximum number of tokens in the answer.

    The maximum is lower than usual if the request leaves too little of the window.
    """
    window = packing.learnt.stated_window(packing.model.window)
    limit = Room.for_window(window, 0).max_tokens
    if limit is None:
        return packing.answer
    return min(packing.answer, max(MIN_ANSWER_TOKENS, limit - packed.manifest.total_tokens))


async def _call_middleware(middleware: Middleware, call_next: ModelNext, request: ModelRequest) -> ModelReply:
    return await middleware.wrap_model(request, call_next)


class LimitWatch:
    """Warns when the context reaches a limit, and reports when the context is below all limits again."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._level: MeterLevel = recorder.meter.level
        self._turn = -1
        self._recorded_levels: set[MeterLevel] = set()

    def check(self) -> None:
        """Record the context's level if it has risen, for example to `over`, or if it is below all limits again.

        Each level is recorded at most once in a turn.
        """
        meter, turn = self._recorder.meter, self._recorder.state.turn
        if turn != self._turn:
            self._turn, self._recorded_levels = turn, set()
        has_risen = LEVEL_ORDER[meter.level] > LEVEL_ORDER[self._level]
        if meter.level == self._level:
            return
        self._level = meter.level
        if (has_risen or meter.level == "below") and meter.level not in self._recorded_levels:
            self._recorded_levels.add(meter.level)
            self._recorder.append(ContextWarned(level=meter.level, fraction=round(meter.fraction, 4)))
