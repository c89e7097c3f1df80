"""Keeps an agent's history within the window: old outputs are put away, old turns summarised.

Invariant: what is recorded leaves a legal history; a compaction that fails costs no turn: the summary is then put
together from the record alone, and one that frees too little is not tried again in that turn. An agent that makes
the same calls each time room was made is stopped.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias

from anyio import to_thread

from tui_agent.context.assembly import Packed
from tui_agent.context.budgets import Room
from tui_agent.context.compaction_limits import chars_of, cut_of
from tui_agent.context.memory import failing
from tui_agent.context.rules import RULES
from tui_agent.context.summary import (
    CutText,
    Summary,
    needed_chars,
    summary_of,
    told,
    total_chars,
    transcript_within,
)
from tui_agent.context.summary_facts import Facts
from tui_agent.context.summary_room import (
    FULL,
    LEAST_CHARS,
    LEAST_KEPT,
    WORK,
    Beside,
    SummaryRoom,
    fills,
)
from tui_agent.engine.agent_messages import leave
from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.compaction.circuit_breaker import TIGHT, Breaker
from tui_agent.engine.compaction.cut_size import CutSize
from tui_agent.engine.compaction.offload import PuttingAway
from tui_agent.engine.compaction.summary_check import judged
from tui_agent.engine.components import EngineParts
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.hooks import Heard, Hooks
from tui_agent.engine.tools.large_results import cut_record
from tui_agent.errors import BlobMissing, ConfigError, ContextOverflow, GoesInCircles, ModelError
from tui_agent.folds.context.meter import COMPACT, compacts_at
from tui_agent.folds.context.window_limits import NOTHING, LearntWindow
from tui_agent.folds.session.view import COMPACTING
from tui_agent.ports.agent import Ask, AskModel
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextCut,
    ContextStuck,
    Cut,
    SectionName,
)
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId, RequestId
from tui_agent.protocol.messages import Message, SummaryMessage, UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import AgentState

By: TypeAlias = Literal["limit", "user", "overflow"]
Measure: TypeAlias = Callable[[Sequence[Message]], Awaitable[Packed]]

CHARS_PER_TOKEN: Final = 4.0
LEAST_FREED: Final = 0.10
"""Share that the last way to make room has to free."""
WORTH_BREAKING: Final = 0.25
"""Share of the window below which putting outputs away is not worth a provider's cache, while a summary can come."""
MOST_FAILURES: Final = 2
HISTORY: Final[frozenset[SectionName]] = frozenset(
    ("packed_context", "mentions", "tool_results", "recent_observations")
)
TOO_LONG: Final = 0.20
"""A story that takes so much is none."""
MOST_TRIES: Final = 3
"""So often a summary is made shorter that has more tokens than its characters let expect."""
ANSWER: Final = 4_096
FRAME: Final = 60
"""Tokens of the words around what is to be summarised."""
UNKNOWN_WINDOW: Final = 32_000
"""What is worked with where nobody knows the window."""
NO_WAY_ON: Final = (
    "/compact with other words, a model with a larger window (/model), or /new go on from here."
)
LARGER: Final = "A model with a larger window (/model) or /new go on from here."
IN_A_FILE: Final = "Put a long text into a file and name it with @path; /undo takes the message back."
CIRCLES: Final = "Stopped: each time room was made in the context, the agent made the same calls again."
OUT_OF_CIRCLES: Final = "Your next message goes on from here; say what it should do in another way."


class Compacting:
    """One agent's. `ask` asks the model for a summary under a request of its own; `measure` tells what the agent's next
    request would hold with a history."""

    def __init__(
        self, parts: EngineParts, states: StateKeeper, agent: AgentId, ask: AskModel, measure: Measure
    ) -> None:
        self._parts = parts
        self._measure = measure
        self._states = states
        self._agent = agent
        self._ask = ask
        self._hooks = Hooks(parts)
        self._putting = PuttingAway(parts, agent)
        self._turn = -1
        self._stopped = False
        """Nothing more is tried by itself in this turn."""
        self._failures = 0
        self._breaker = Breaker(parts.recorder, agent)
        self._cut = CutSize()

    async def make(self, packed: Packed, answer: int) -> bool:
        """Make room for a request and its answer, where it needs some; True if the history changed. Raises
        `GoesInCircles`."""
        self._begin()
        self._breaker.request()
        window, limits = self._window() if packed.manifest.room else 0, self._parts.shrinking
        if not window:
            return False
        most = compacts_at(
            window,
            0 if _learnt(self._parts.recorder, self._agent).tokens else answer,
            limits.compact_at or COMPACT,
        )
        if packed.short & HISTORY or packed.needed >= min(most, limits.reduce_at * window or most):
            await self._breaker.take_up(
                packed.last or window, window, _model(self._parts.recorder, self._agent)
            )
        # What must not be lost can need so much room that the next summary would come at once.
        most = max(most, min(packed.last or 0, self._breaker.floor + WORK * window))
        needed = max(packed.needed, round(most) if packed.short & HISTORY else 0)
        per_char = needed / max(1, packed.chars)
        freed = 0
        if limits.reduce_at and needed >= limits.reduce_at * window:
            near = needed >= most
            alone = near and (self._rests() or not limits.compact_at)
            least = LEAST_FREED if alone else WORTH_BREAKING
            freed = self._putting.away(needed, window, per_char, least, readings=near)
        if freed:
            self._look()
        if not limits.compact_at or needed - freed < most or self._rests():
            return freed > 0
        return await self.compact("limit", before=needed - freed, per_char=per_char) or freed > 0

    async def overflowed(self, sent: Packed) -> bool:
        """The provider found this request too long: make it smaller whatever we had counted. False: that is impossible.
        Raises `GoesInCircles`."""
        self._begin()
        await self._breaker.take_up(
            sent.last or self._window(), self._window(), _model(self._parts.recorder, self._agent)
        )
        needed = max(1, sent.needed)
        freed = self._putting.away(needed, self._window(), needed / max(1, sent.chars), all_of_it=True)
        if freed:
            self._look()
        if self._rests():
            return freed > 0
        return await self.compact("overflow") or freed > 0

    def explained(self, error: ContextOverflow, sent: Packed) -> ContextOverflow:
        """What a request that is too long though all was made smaller is told with: what fills the window."""
        history = self._parts.recorder.messages(self._agent)
        longest = max(map(chars_of, history), default=0) / CHARS_PER_TOKEN
        window = self._window()
        made_of = f"Everything was made smaller already, and still it holds: {fills(sent.manifest.sections)}."
        own = sum(one.tokens for one in sent.manifest.sections if one.name == "task_contract")
        if longest < window / 2 or own < sent.manifest.total_tokens / 2:
            return ContextOverflow(error.message, hint=f"{made_of} {LARGER}")
        one = f"One message alone has about {longest:,.0f} tokens, and the model holds {window:,}."
        return ContextOverflow(error.message, hint=f"{made_of} {one} {IN_A_FILE}")

    def _begin(self) -> None:
        turn = self._parts.recorder.state.turn
        if turn != self._turn:
            self._turn, self._stopped, self._failures = turn, False, 0
            self._breaker.begin()

    def _look(self) -> None:
        """Room is made, or was just made, once more."""
        if self._breaker.closed():
            raise GoesInCircles(CIRCLES, hint=OUT_OF_CIRCLES)

    def _rests(self) -> bool:
        """Whether nothing is summarised by itself now."""
        return self._stopped or self._breaker.rests

    def _limit(self) -> object:
        """What does not change but with the model, or by a refusal."""
        settings = self._parts.recorder.state_of(self._agent).settings
        return (
            None
            if settings is None
            else (
                settings.model.model,
                settings.model.window,
                _learnt(self._parts.recorder, self._agent).limit,
            )
        )

    def _window(self, unknown: int = UNKNOWN_WINDOW) -> int:
        settings = self._parts.recorder.state_of(self._agent).settings
        return (
            _learnt(self._parts.recorder, self._agent).least(
                settings.model.window if settings is not None else 0
            )
            or unknown
        )

    def _text(self, text: LongText) -> str:
        try:
            return self._parts.blobs.text(text)
        except BlobMissing:
            return text_preview(text)

    async def compact(
        self, by: By, focus: str = "", *, before: int = 0, per_char: float = 1 / CHARS_PER_TOKEN
    ) -> bool:
        """Let a summary stand for all but the newest messages; True if it does now."""
        self._begin()
        recorder, window = self._parts.recorder, self._window()
        history = recorder.messages(self._agent)
        total = max(1, total_chars(history))
        held = await self._measure(history)
        if not before:
            before = max(1, held.needed)
            per_char = before / max(1, held.chars)
        self._states.set(AgentState.RUNNING, COMPACTING, agent=self._agent)
        try:
            heard = await self._heard(by, focus, before, window)
            if heard.decision == "deny":
                return self._stuck(f"A hook refused the compaction: {heard.reason or 'it gave no reason'}.")
            focus = "\n".join([focus, *(ran.context for ran in heard.ran if isinstance(ran.context, str))])
            keep = await self._kept(held.chars - total, window / per_char)
            if by == "user":
                keep = min(keep, total // 4)
            first = len(recorder.history(self._agent).forgotten.front(history))
            cut = cut_of(history, keep, first)
            if by != "user" and cut and all(map(_stays, history[first:cut])):
                return False  # a person's words are no shorter in a summary
            if not cut or total_chars(history[first:cut]) < LEAST_CHARS:
                return self._nothing_older(held, by)
            if by != "user":
                self._look()
            return await self._summarise(by, focus.strip(), history, cut, first, before, per_char)
        finally:
            if by != "user":
                self._states.set(AgentState.RUNNING, agent=self._agent)

    async def _summarise(
        self,
        by: By,
        focus: str,
        history: Sequence[Message],
        cut: int,
        first: int,
        before: int,
        per_char: float,
    ) -> bool:
        recorder, window = self._parts.recorder, self._window()
        gone, rest = history[:cut], history[cut:]
        through = max(one.seq for one in history[first:cut])
        base, fixed, facts = await self._measure(rest), await self._measure(()), self._facts(through)
        beside = Beside(fixed.chars, fixed.needed, base.chars, base.needed)
        last = base.last or window
        needs, own = await to_thread.run_sync(needed_chars, facts, self._text)
        room = SummaryRoom.of(beside, window, last, per_char, needs, own, self._parts.shrinking.reduce_to)
        if room.cut:
            room = replace(room, room=self._cut.within(room.room, self._limit()))
        too_long = round(TOO_LONG * window / per_char)
        story, request, fault = await self._story(gone, focus, window, per_char, too_long)
        if fault:
            story = await to_thread.run_sync(partial(told, gone, room.story, self._text))
        summary, smaller = await self._fitting(facts, story, room, rest, base)
        after = min(smaller.needed, smaller.manifest.total_tokens)
        turns = sum(map(recorder.history(self._agent).forgotten.own, gone))
        recorder.append(
            ContextCompacted(
                through_seq=through,
                summary=self._parts.blobs.keep(summary.text),
                forgets=tuple(one.seq for one in gone),
                turns=max(1, turns),
                before_tokens=before,
                after_tokens=after,
                by=by,
                focus=focus,
                request_id=request,
                fault=fault,
                sections=smaller.manifest.sections,
                shares=summary.shares,
                cuts=await self._cuts(summary.cuts),
            ),
            agent=self._agent,
        )
        await self._hooks.tell("after_compaction", {"by": by, "tokens": after, "messages": len(rest) + 1})
        if self._breaker.summarised(after, last, window):
            self._tell_tight(smaller, window)
        elif before - after < LEAST_FREED * before:
            self._stuck(f"The summary freed only {before - after:,} of {before:,} tokens.")
        return True

    async def _kept(self, fixed: int, whole: float) -> int:
        """Characters of the newest messages that stay: fewer where what must not be lost needs the room. `fixed` are those
        of all that is no message, `whole` those of the window."""
        seqs = (one.seq for one in self._parts.recorder.messages(self._agent))
        facts = self._facts(max(seqs, default=0))
        needed, _ = await to_thread.run_sync(needed_chars, facts, self._text)
        left = FULL * whole - fixed - needed
        return round(min(self._parts.shrinking.keep * whole, max(LEAST_KEPT * whole, left)))

    async def _fitting(
        self, facts: Facts, story: str, room: SummaryRoom, rest: Sequence[Message], base: Packed
    ) -> tuple[Summary, Packed]:
        """The summary, and what the next request holds with it; dense words have more tokens than their characters let
        expect."""
        chars = room.room
        for _ in range(MOST_TRIES):
            make = partial(summary_of, facts, story, chars, room.wished, self._text)
            summary = await to_thread.run_sync(make)
            stands = SummaryMessage(text=summary.text, seq=facts.through, shares=summary.shares)
            smaller = await self._measure([stands, *rest])
            takes = smaller.needed - base.needed
            if takes <= room.tokens or len(summary.text) > chars * 2:
                break
            chars = round(min(chars, len(summary.text)) * room.tokens / takes)
        return summary, smaller

    async def _cuts(self, cuts: Sequence[CutText]) -> tuple[Cut, ...]:
        """What was cut, each with the artifact that has all of it."""
        return tuple([await to_thread.run_sync(cut_record, one, self._parts.blobs) for one in cuts])

    async def tell(self, cuts: Sequence[CutText]) -> None:
        """Record what of a person's words the window does not hold, once for each."""
        recorder = self._parts.recorder
        left = sum(one.chars for one in cuts if not one.what.startswith(RULES))
        self._cut.told(left, self._limit())
        made = await self._cuts(cuts)
        new = tuple(one for one in made if one.artifact.id not in recorder.state.artifacts)
        if new:
            recorder.append(ContextCut(window=self._window(unknown=0), cuts=new), agent=self._agent)

    def _facts(self, through: int) -> Facts:
        recorder = self._parts.recorder
        fold, state = recorder.history(self._agent), recorder.state
        return Facts(
            originals=fold.originals(),
            spoken=frozenset(fold.forgotten.spoken),
            pinned=frozenset(fold.forgotten.pinned),
            todo=state.todo if self._agent == MAIN_AGENT else (),
            artifacts=tuple(state.artifacts.values()),
            through=through,
            failing=failing(state.memory) if self._agent == MAIN_AGENT else (),
            changed=state.written if self._agent == MAIN_AGENT else (),
        )

    async def _story(
        self, gone: Sequence[Message], focus: str, window: int, per_char: float, room: int
    ) -> tuple[str, RequestId | None, str]:
        """What the model tells of these messages, its request, and what went wrong."""
        prompt = self._parts.shrinking.prompt
        if self._failures >= MOST_FAILURES:
            return "", None, "it failed twice in this turn"
        answer = min(ANSWER, max(256, window // 8))
        left = max(500, round((window * 0.9 - answer) / per_char) - len(prompt) - len(focus) - 400)
        most = (Room.of(window, answer).tokens or left) - self._count(prompt + focus) - FRAME
        make = partial(transcript_within, gone, left, self._text, self._count, most)
        words = await to_thread.run_sync(make)
        dwell = f"\n\nThe user wants the summary to dwell on this:\n{focus}" if focus else ""
        said = f"Summarise this part of the session:\n\n<session>\n{words}\n</session>{dwell}"
        message = UserMessage(content=(TextContent(text=said),))
        try:
            reply = await self._ask(
                Ask(messages=(message,), system=prompt, tools=(), max_tokens=answer),
            )
        except (ModelError, ContextOverflow, ConfigError) as error:
            return self._failed(error.message)
        leave(self._parts.recorder, COMPACTION_AGENT)
        story, fault = judged(reply, room)
        if fault:
            return self._failed(fault)
        self._failures = 0
        return story, reply.request_id, ""

    def _count(self, text: str) -> int:
        """Tokens of a text, as far as we know this model."""
        tokens = self._parts.tokens
        return tokens.scaled(tokens.count(text), _model(self._parts.recorder, self._agent))

    def _failed(self, fault: str) -> tuple[str, None, str]:
        self._failures += 1
        if self._failures == MOST_FAILURES:
            message = (
                "The model failed twice to summarise; in this turn the summaries come from the record alone."
            )
            self._record_stuck(message, "/model chooses another one.", automatic=True)
        return "", None, fault.rstrip(".")

    async def _heard(self, by: By, focus: str, tokens: int, window: int) -> Heard:
        messages = len(self._parts.recorder.messages(self._agent))
        return await self._hooks.tell(
            "before_compaction",
            {"by": by, "focus": focus, "tokens": tokens, "window": window, "messages": messages},
        )

    def _stuck(self, message: str) -> Literal[False]:
        """Say so, and leave it at that in this turn."""
        self._stopped = True
        self._record_stuck(message, NO_WAY_ON, automatic=False)
        return False

    def _nothing_older(self, held: Packed, by: By) -> Literal[False]:
        """Nothing is there to be summarised: what a request goes without least fills it."""
        if by == "user":
            return self._stuck("Nothing older than the newest messages is there to be summarised.")
        self._tell_tight(held, self._window())
        return False

    def _tell_tight(self, held: Packed, window: int) -> None:
        """Say once for a model that little room is left in it, and what fills it."""
        model = _model(self._parts.recorder, self._agent)
        if self._breaker.told_tight != model:
            self._breaker.told_tight = model
            what = fills(held.manifest.sections)
            message = f"Little room is left in the {window:,} tokens that the model holds: {what}."
            self._record_stuck(message, TIGHT, automatic=True)

    def _record_stuck(self, message: str, hint: str, *, automatic: bool) -> None:
        stuck = ContextStuck(message=message, hint=hint, automatic=automatic)
        self._parts.recorder.append(stuck, agent=self._agent)


def _model(recorder: Recorder, agent: AgentId) -> str:
    """The name of an agent's model."""
    settings = recorder.state_of(agent).settings
    return settings.model.model if settings is not None else ""


def _learnt(recorder: Recorder, agent: AgentId) -> LearntWindow:
    """What the provider of an agent's model refused and took."""
    settings = recorder.state_of(agent).settings
    return recorder.windows.of(settings.model) if settings is not None else NOTHING


def _stays(message: Message) -> bool:
    """Whether a summary has all of it."""
    return isinstance(message, UserMessage) and message.kind in ("said", "map", "instructions")
