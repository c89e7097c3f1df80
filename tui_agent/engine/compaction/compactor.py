"""Compaction: keeps an agent's history within the window by offloading old outputs and summarising old turns.

Invariant: the history stays valid, even if a summary request fails.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias

from anyio import to_thread

from tui_agent.context.compaction.summarised_messages import chars_of, summary_cut
from tui_agent.context.compaction.summary_facts import Facts
from tui_agent.context.compaction.summary_size import (
    FULL,
    MIN_CHARS,
    MIN_KEPT,
    WORK,
    FixedContent,
    SummaryRoom,
    describe_sections,
)
from tui_agent.context.compaction.summary_text import (
    CutText,
    Summary,
    build_summary,
    needed_chars,
    story_from_record,
    total_chars,
)
from tui_agent.context.instructions import RULES_LABEL
from tui_agent.context.request_assembly import PackedRequest
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.compaction.circuit_breaker import TIGHT_HINT, CompactionBreaker
from tui_agent.engine.compaction.offload import OutputOffloader, available_text
from tui_agent.engine.compaction.pins_and_restores import Measure
from tui_agent.engine.compaction.summariser import MAX_SUMMARY_TOKENS, SUMMARY_REQUEST_FRACTION, Summariser
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import Hooks
from tui_agent.engine.tools.large_results import cut_record
from tui_agent.errors import AgentLoopDetected, ContextOverflow
from tui_agent.folds.context.memory import block_items
from tui_agent.folds.context.meter import COMPACT_FRACTION, compaction_threshold
from tui_agent.folds.context.window_limits import UNKNOWN_WINDOW, InferredWindow
from tui_agent.folds.session.state_view import COMPACTING_REASON
from tui_agent.ports.agent import AskModel
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextStuck,
    ContextTruncated,
    SectionName,
    Truncation,
)
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.messages import Message, SummaryMessage, UserMessage
from tui_agent.protocol.settings import AgentState, ModelInfo
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_percent, format_tokens

CompactionCause: TypeAlias = Literal["limit", "user", "overflow"]

CHARS_PER_TOKEN: Final = 4.0
MIN_FREED_FRACTION: Final = 0.10
"""Minimum fraction of the context's tokens that a compaction must free to be successful."""
MIN_OFFLOAD_FRACTION: Final = 0.25
"""Minimum fraction of the window that offloading must free. If it frees less, a summary is made instead.

A smaller gain is not worth the loss of the provider's cache.
"""
HISTORY_SECTIONS: Final[frozenset[SectionName]] = frozenset(
    ("packed_context", "mentions", "tool_results", "recent_observations")
)
MAX_TRIES: Final = 3
"""Maximum number of tries for a summary that fits. Each try is shorter than the last."""
ASSUMED_WINDOW: Final = 32_000
"""If the model's window is unknown, it is assumed to have at least this many tokens."""
GIVE_UP_HINT: Final = "Tell /compact what to focus on, choose a model with a larger window (/model), or start a new session (/new)."
LARGER_WINDOW_HINT: Final = "Choose a model with a larger window (/model), or start a new session with /new."
LONG_TEXT_HINT: Final = "Put a long text into a file and mention it with @path. /undo removes the message."
LOOP_MESSAGE: Final = "Stopped: the agent repeated the same calls after each compaction."
LOOP_HINT: Final = "Tell the agent what to do differently."


class Compactor:
    """Compacts one agent's history.

    - `ask`: asks the model for a summary.
    - `measure`: counts the next request's tokens.
    """

    def __init__(
        self, parts: EngineParts, states: StateKeeper, agent: AgentId, ask: AskModel, measure: Measure
    ) -> None:
        self._parts = parts
        self._measure = measure
        self._states = states
        self._agent = agent
        self._hooks = Hooks(parts)
        self._offload = OutputOffloader(parts, agent)
        self._turn_number = -1
        self._gave_up = False
        """True if this turn makes no further attempt at automatic compaction."""
        self._breaker = CompactionBreaker(parts.recorder, agent)
        self._cut_size = CutLength()
        self._resolve_text = partial(available_text, parts.blobs)
        self._summariser = Summariser(parts, ask, self._resolve_text, self._report_failures)

    async def make_room(self, packed: PackedRequest, answer: int) -> bool:
        """Compact the history if the next request does not fit in the window. Return True if the history changed.

        `answer`: number of tokens to reserve for the answer.

        Raise `AgentLoopDetected` if the agent repeats the same calls after each compaction.
        """
        self._begin_turn()
        self._breaker.count_request()
        window, limits = self._window() if packed.manifest.input_budget else 0, self._parts.compaction_limits
        if not window:
            return False
        # A window that was learnt from refusals is a limit of the request alone, without the answer.
        compact_from = compaction_threshold(
            window, 0 if self._learnt_window.tokens else answer, limits.compact_at or COMPACT_FRACTION
        )
        if packed.short & HISTORY_SECTIONS or packed.needed >= min(
            compact_from, limits.reduce_at * window or compact_from
        ):
            await self._breaker.load_recorded(packed.last or window, window, self._model_name)
        # A summary can contain so many facts that it would trigger the next compaction at once.
        compact_from = max(
            compact_from, min(packed.last or 0, self._breaker.tokens_after_summary + WORK * window)
        )
        needed = max(packed.needed, round(compact_from) if packed.short & HISTORY_SECTIONS else 0)
        per_char = needed / max(1, packed.chars)
        freed = 0
        if limits.reduce_at and needed >= limits.reduce_at * window:
            is_near = needed >= compact_from
            is_last_way = is_near and (self._summaries_are_suspended() or not limits.compact_at)
            # Without a summary afterwards, even little room is worth the loss of the provider's cache.
            least = MIN_FREED_FRACTION if is_last_way else MIN_OFFLOAD_FRACTION
            freed = self._offload.offload(needed, window, per_char, least, include_newest_reads=is_near)
        if freed:
            self._check_loop()
        if not limits.compact_at or needed - freed < compact_from or self._summaries_are_suspended():
            return freed > 0
        return await self.compact("limit", before=needed - freed, per_char=per_char) or freed > 0

    async def shrink_after_overflow(self, sent: PackedRequest) -> bool:
        """Compact the history after the provider refused a request as too long. Return True if tokens were freed.

        Raise `AgentLoopDetected` if the agent repeats the same calls after each compaction.
        """
        self._begin_turn()
        window = self._window()
        await self._breaker.load_recorded(sent.last or window, window, self._model_name)
        needed = max(1, sent.needed)
        freed = self._offload.offload(needed, window, needed / max(1, sent.chars), unlimited=True)
        if freed:
            self._check_loop()
        if self._summaries_are_suspended():
            return freed > 0
        return await self.compact("overflow") or freed > 0

    def explain_overflow(self, error: ContextOverflow, sent: PackedRequest) -> ContextOverflow:
        """Return the error for a request that is too long even after compaction."""
        history = self._parts.recorder.messages(self._agent)
        longest = max(map(chars_of, history), default=0) / CHARS_PER_TOKEN
        window = self._window()
        content = f"After compaction the request still contains: {describe_sections(sent.manifest.sections)}."
        message_tokens = sum(
            section.tokens for section in sent.manifest.sections if section.name == "task_contract"
        )
        if longest < window / 2 or message_tokens < sent.manifest.total_tokens / 2:
            return ContextOverflow(error.message, hint=f"{content} {LARGER_WINDOW_HINT}")
        message = f"One message alone has about {format_tokens(longest)} tokens; the model's window is {format_tokens(window)}."
        return ContextOverflow(error.message, hint=f"{content} {message} {LONG_TEXT_HINT}")

    def _begin_turn(self) -> None:
        turn = self._parts.recorder.state.turn
        if turn != self._turn_number:
            self._turn_number, self._gave_up = turn, False
            self._summariser.begin_turn()
            self._breaker.begin_turn()

    def _check_loop(self) -> None:
        if self._breaker.detect_loop():
            raise AgentLoopDetected(LOOP_MESSAGE, hint=LOOP_HINT)

    def _summaries_are_suspended(self) -> bool:
        return self._gave_up or self._breaker.is_waiting

    def _cut_limit(self) -> object:
        """Return a value that changes whenever the maximum size of a request may have changed.

        The size may change when the model changes, or when the provider refuses a request as too long.
        """
        model = self._model
        return model and (model.model, model.window, self._learnt_window.refusal_state)

    @property
    def _model(self) -> ModelInfo | None:
        settings = self._parts.recorder.state_of(self._agent).settings
        return None if settings is None else settings.model

    @property
    def _model_name(self) -> str:
        return "" if self._model is None else self._model.model

    @property
    def _learnt_window(self) -> InferredWindow:
        return UNKNOWN_WINDOW if self._model is None else self._parts.recorder.windows.window_of(self._model)

    def _window(self, *, known: bool = False) -> int:
        """Return the model's window, or an assumed size if the window is unknown.

        `known`: if True, return 0 for an unknown window instead.
        """
        learnt = self._learnt_window
        window = learnt.effective_window(0 if self._model is None else self._model.window)
        accepted = (learnt.accepted + MAX_SUMMARY_TOKENS) / SUMMARY_REQUEST_FRACTION
        return window if window or known else max(ASSUMED_WINDOW, round(accepted))

    async def compact(
        self,
        trigger: CompactionCause,
        focus: str = "",
        *,
        before: int = 0,
        per_char: float = 1 / CHARS_PER_TOKEN,
    ) -> bool:
        """Replace all but the newest messages with a summary. Return True if the history changed.

        - `focus`: what the summary should focus on (empty: nothing special).
        - `before`: tokens of the next request without the compaction (0: count them now).
        - `per_char`: tokens per character of this request. Ignored if `before` is 0.

        Raise `AgentLoopDetected` if the agent repeats the same calls after each compaction.
        """
        self._begin_turn()
        recorder, window = self._parts.recorder, self._window()
        history = recorder.messages(self._agent)
        total = max(1, total_chars(history))
        packed = await self._measure(history)
        if not before:
            before = max(1, packed.needed)
            per_char = before / max(1, packed.chars)
        self._states.set(AgentState.RUNNING, COMPACTING_REASON, agent=self._agent)
        try:
            facts: JsonMap = {
                "trigger": trigger,
                "focus": focus,
                "tokens": before,
                "window": window,
                "messages": len(history),
            }
            verdict = await self._hooks.run_hooks("before_compaction", facts)
            if verdict.decision == "deny":
                return self._give_up(
                    f"A hook refused the compaction: {verdict.reason or 'it gave no reason'}."
                )
            contexts = [ran.context for ran in verdict.outcomes if isinstance(ran.context, str)]
            focus = "\n".join([focus, *contexts])
            first = len(recorder.model_messages(self._agent).removed.leading_summary(history))
            keep = await self._chars_to_keep(packed.chars - total, window / per_char)
            if trigger == "user":  # the user wants a summary now, even if the messages would still fit
                keep = min(keep, total_chars(history[first:]) // 4)
            cut = summary_cut(history, keep, first)
            if trigger != "user" and cut and all(map(_is_kept_whole, history[first:cut])):
                return False  # a summary copies the user's own messages, so it would not be shorter
            if not cut or total_chars(history[first:cut]) < MIN_CHARS:
                return self._report_too_little(packed, trigger)
            if trigger != "user":
                self._check_loop()
            return await self._summarise(trigger, focus.strip(), history, cut, first, before, per_char)
        finally:
            if trigger != "user":  # otherwise the engine sets the next state
                self._states.set(AgentState.RUNNING, agent=self._agent)

    async def _summarise(
        self,
        trigger: CompactionCause,
        focus: str,
        history: Sequence[Message],
        cut: int,
        first: int,
        before: int,
        per_char: float,
    ) -> bool:
        recorder, window = self._parts.recorder, self._window()
        old_messages, kept_messages = history[:cut], history[cut:]
        through = max(message.seq for message in history[first:cut])
        base, fixed, facts = await self._measure(kept_messages), await self._measure(()), self._facts(through)
        beside = FixedContent(fixed.chars, fixed.needed, base.chars, base.needed)
        last = base.last or window
        needs, own = await to_thread.run_sync(needed_chars, facts, self._resolve_text)
        room = SummaryRoom.compute(
            beside, window, last, per_char, needs, own, self._parts.compaction_limits.reduce_to
        )
        if room.cut:
            room = replace(room, room=self._cut_size.limit_chars(room.room, self._cut_limit()))
        story, request, fault = await self._summariser.ask(
            old_messages, focus, window, per_char, self._model_name
        )
        if fault:
            story = await to_thread.run_sync(
                partial(story_from_record, old_messages, room.story, self._resolve_text)
            )
        summary, smaller = await self._fit_summary(facts, story, room, kept_messages, base)
        after = smaller.manifest.total_tokens
        if after >= before:
            return self._give_up("A summary would free no space, so the messages stay in the context.")
        turns = sum(map(recorder.model_messages(self._agent).removed.starts_turn, old_messages))
        recorder.append(
            ContextCompacted(
                through_seq=through,
                summary=self._parts.blobs.put_text(summary.text),
                removed_seqs=tuple(message.seq for message in old_messages),
                turns=max(1, turns),
                before_tokens=before,
                after_tokens=after,
                trigger=trigger,
                focus=focus,
                request_id=request,
                fault=fault,
                sections=smaller.manifest.sections,
                shares=summary.shares,
                truncations=await self._cut_records(summary.cuts),
            ),
            agent=self._agent,
        )
        await self._hooks.run_hooks(
            "after_compaction", {"trigger": trigger, "tokens": after, "messages": len(kept_messages) + 1}
        )
        if self._breaker.record_summary(after, last, window):
            self._warn_tight(smaller, window)
        elif before - after < MIN_FREED_FRACTION * before:
            self._give_up(f"The summary freed only {format_percent(1 - after / before)} of the context.")
        return True

    async def _chars_to_keep(self, fixed: int, window_chars: float) -> int:
        """Return how many characters of the newest messages remain in the context, after the summary.

        - `fixed`: characters of everything except messages.
        - `window_chars`: characters that fit in the window.
        """
        seqs = (message.seq for message in self._parts.recorder.messages(self._agent))
        facts = self._facts(max(seqs, default=0))
        needed, _ = await to_thread.run_sync(needed_chars, facts, self._resolve_text)
        available = FULL * window_chars - fixed - needed
        return round(
            min(self._parts.compaction_limits.keep * window_chars, max(MIN_KEPT * window_chars, available))
        )

    async def _fit_summary(
        self, facts: Facts, story: str, room: SummaryRoom, rest: Sequence[Message], base: PackedRequest
    ) -> tuple[Summary, PackedRequest]:
        """Return a summary that fits, and the next request with that summary.

        - `story`: text by the model, or made from the log, about what happened.
        - `rest`: the messages that stay after the summary.
        - `base`: the next request without any summary.

        After `MAX_TRIES`, the summary is returned even if it is still too long.
        """
        chars = room.room
        for _ in range(MAX_TRIES):
            make = partial(build_summary, facts, story, chars, room.preferred, self._resolve_text)
            summary = await to_thread.run_sync(make)
            message = SummaryMessage(text=summary.text, seq=facts.through, shares=summary.shares)
            smaller = await self._measure([message, *rest])
            used_tokens = smaller.needed - base.needed
            # A summary far above its limit consists of facts that cannot be shortened: another try is useless.
            if used_tokens <= room.tokens or len(summary.text) > chars * 2:
                break
            chars = round(min(chars, len(summary.text)) * room.tokens / used_tokens)
        return summary, smaller

    async def _cut_records(self, cuts: Sequence[CutText]) -> tuple[Truncation, ...]:
        return tuple([await to_thread.run_sync(cut_record, cut, self._parts.blobs) for cut in cuts])

    async def record_cuts(self, cuts: Sequence[CutText]) -> None:
        """Record the texts that were cut to fit in the window. Skip texts that were recorded before."""
        recorder = self._parts.recorder
        chars = sum(cut.chars for cut in cuts if not cut.label.startswith(RULES_LABEL))
        self._cut_size.record(chars, self._cut_limit())
        records = await self._cut_records(cuts)
        new = tuple(record for record in records if record.artifact.id not in recorder.state.artifacts)
        if new:
            recorder.append(
                ContextTruncated(window=self._window(known=True), truncations=new), agent=self._agent
            )

    def _facts(self, through: int) -> Facts:
        recorder = self._parts.recorder
        fold, state = recorder.model_messages(self._agent), recorder.state
        return Facts(
            originals=fold.originals(),
            spoken=dict(fold.removed.user_seqs),
            pinned=frozenset(fold.removed.pinned),
            todo=state.todo if self._agent == MAIN_AGENT else (),
            artifacts=tuple(state.artifacts.values()),
            through=through,
            failing=block_items(state.memory, "failing_tests") if self._agent == MAIN_AGENT else (),
            stale_tests=state.later_changes.description,
            replies=tuple(fold.removed.replies),
            plan=fold.removed.plan,
            changed=state.written_paths if self._agent == MAIN_AGENT else (),
            removed=state.removed_paths,
        )

    def _report_failures(self) -> None:
        message = "The model failed twice to summarise. Until this turn ends, summaries are made from the log without the model."
        self._record_stuck(message, "Choose another model with /model.", automatic=True)

    def _give_up(self, message: str, hint: str = GIVE_UP_HINT) -> Literal[False]:
        """Record `message` as the reason for giving up, and prevent automatic compaction until the turn ends."""
        self._gave_up = True
        self._record_stuck(message, hint, automatic=False)
        return False

    def _report_too_little(self, packed: PackedRequest, trigger: CompactionCause) -> Literal[False]:
        if trigger == "user":
            return self._give_up("There is too little to summarise yet.", hint="")
        self._warn_tight(packed, self._window())
        return False

    def _warn_tight(self, packed: PackedRequest, window: int) -> None:
        """Warn once per model that little room is left."""
        model = self._model_name
        if self._breaker.warned_model != model:
            self._breaker.warned_model = model
            content = describe_sections(packed.manifest.sections)
            message = (
                f"Little room is left in the window of {format_tokens(window)} tokens. It holds: {content}."
            )
            self._record_stuck(message, TIGHT_HINT, automatic=True)

    def _record_stuck(self, message: str, hint: str, *, automatic: bool) -> None:
        stuck = ContextStuck(message=message, hint=hint, automatic=automatic)
        self._parts.recorder.append(stuck, agent=self._agent)


def _is_kept_whole(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin in ("prompt", "map", "instructions", "hook")


class CutLength:
    """Remembers the length of the user's messages in the newest shortened request, in characters."""

    def __init__(self) -> None:
        self._chars = 0
        self._limit: object = None

    def record(self, chars: int, limit: object) -> None:
        """Record that a request had `chars` characters of the user's messages.

        `limit`: the value of `_cut_limit` for this request.
        """
        if limit != self._limit or chars < self._chars:
            self._chars, self._limit = chars, limit

    def limit_chars(self, room: int, limit: object) -> int:
        """Return the smaller of `room` and the length recorded for the same `limit`. Record the result."""
        chars = min(self._chars, room) if limit == self._limit and self._chars else room
        self._chars, self._limit = chars, limit
        return chars
