"""L4: keeps an agent's history within the window: old outputs are put away, old turns summarised.

Invariant: what is recorded leaves a legal history; a compaction that fails costs no turn: the summary is then put
together from the record alone, and one that frees too little is not tried again in that turn. An agent that makes
the same calls each time room was made is stopped.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias

from anyio import to_thread

from tui_agent.context.assemble import Packed
from tui_agent.context.budgets import Room, least_of
from tui_agent.context.lasting import Facts
from tui_agent.context.memory import changed, failing
from tui_agent.context.rules import RULES
from tui_agent.context.shrinking import chars_of, cut_of, needed_calls, newest_readings, reducible
from tui_agent.context.summary import (
    CutText,
    Summary,
    needed_chars,
    summary_of,
    told,
    total_chars,
    transcript_within,
)
from tui_agent.engine.bringing import leave
from tui_agent.engine.circles import Circles
from tui_agent.engine.hooks import Heard, Hooks
from tui_agent.engine.judging import judged
from tui_agent.engine.large import as_blob, cut_record, line_count
from tui_agent.engine.learnt_window import CutSize, LearntWindow
from tui_agent.engine.parts import EngineParts
from tui_agent.engine.states import StateKeeper
from tui_agent.errors import BlobMissing, ConfigError, ContextOverflow, GoesInCircles, ModelError
from tui_agent.folds.context_meter import COMPACT, compacts_at
from tui_agent.folds.session_view import COMPACTING
from tui_agent.ports.agent import Ask, AskModel
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, LongText, text_preview
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextCut,
    ContextReduced,
    ContextStuck,
    Cut,
    SectionName,
)
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import ImageContent, TextContent
from tui_agent.protocol.settings import AgentState

By: TypeAlias = Literal["limit", "user", "overflow"]
Measure: TypeAlias = Callable[[Sequence[Message]], Awaitable[Packed]]

CHARS_PER_TOKEN: Final = 4.0
LEAST_FREED: Final = 0.10
"""Share that the last way to make room has to free."""
WORTH_BREAKING: Final = 0.25
"""Share of the window below which putting outputs away is not worth a provider's cache, while a summary can come."""
LEAST_CHARS: Final = 2_000
"""Less than this is not worth a summary."""
MOST_FAILURES: Final = 2
HISTORY: Final[frozenset[SectionName]] = frozenset(
    ("packed_context", "mentions", "tool_results", "recent_observations")
)
FULL: Final = 0.80
"""What of the window a summary may fill, with all that stands beside it, where what must not be lost needs so much."""
NEARLY: Final = 0.97
"""The same of a window that is learnt, which is rather more than was taken for it."""
FULL_WHEN_CUT: Final = 0.60
"""The same where what must not be lost needs more than that all the same."""
WORK: Final = 0.25
"""What of the window there is for work between one summary and the next."""
LEAST_KEPT: Final = 0.05
"""What of the window stays of the newest messages then."""
STORY_SHARE, LEAST_STORY = 0.10, 0.02
"""What of the window the story in a summary may take."""
TOO_LONG: Final = 0.20
"""A story that takes so much is none."""
MOST_TRIES: Final = 3
"""So often a summary is made shorter that has more tokens than its characters let expect."""
ANSWER: Final = 4_096
FRAME: Final = 60
"""Tokens of the words around what is to be summarised."""
UNKNOWN_WINDOW: Final = 32_000
"""What is worked with where nobody knows the window."""
AT_ONCE: Final = 100
"""Outputs that one event puts away."""
NO_WAY_ON: Final = (
    "/compact with other words, a model with a larger window (/model), or /new go on from here."
)
LARGER: Final = "A model with a larger window (/model) or /new go on from here."
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
        self._turn = -1
        self._stopped = False
        """Nothing more is tried by itself in this turn."""
        self._failures = 0
        self._circles = Circles()
        self._floor = 0
        """Tokens that the newest summary left."""
        self.learnt = LearntWindow()
        """What the model's provider refused and took."""
        self._cut = CutSize()

    async def make(self, packed: Packed, answer: int) -> bool:
        """Make room for a request and its answer, where it needs some; True if the history changed. Raises
        `GoesInCircles`."""
        self._begin()
        window, limits = self._window() if packed.manifest.room else 0, self._parts.shrinking
        if not window:
            return False
        most = compacts_at(window, 0 if self.learnt.last else answer, limits.compact_at or COMPACT)
        # What must not be lost can need so much room that the next summary would come at once.
        last = self.learnt.last or Room.of(window, answer).last or 0
        most = max(most, min(last, self._floor + WORK * window))
        needed = max(packed.needed, round(most) if packed.short & HISTORY else 0)
        per_char = needed / max(1, packed.chars)
        freed = 0
        if limits.reduce_at and needed >= limits.reduce_at * window:
            near = needed >= most
            alone = near and (self._stopped or not limits.compact_at)
            least = LEAST_FREED if alone else WORTH_BREAKING
            freed = self._reduce(needed, window, per_char, least, readings=near)
        if not limits.compact_at or needed - freed < most or self._stopped:
            return freed > 0
        return await self.compact("limit", before=needed - freed, per_char=per_char) or freed > 0

    async def overflowed(self, sent: Packed) -> bool:
        """The provider found this request too long: make it smaller whatever we had counted. False: that is impossible.
        Raises `GoesInCircles`."""
        self._begin()
        needed = max(1, sent.needed)
        freed = self._reduce(needed, self._window(), needed / max(1, sent.chars), all_of_it=True)
        if self._stopped:
            return freed > 0
        return await self.compact("overflow") or freed > 0

    def explained(self, error: ContextOverflow) -> ContextOverflow:
        """What a request that is too long though all was made smaller is told with, where one message is the cause."""
        history = self._parts.recorder.messages(self._agent)
        longest = max(map(chars_of, history), default=0) / CHARS_PER_TOKEN
        window = self._window()
        if longest < window / 2:
            return ContextOverflow(error.message, hint=f"Everything was made smaller already. {LARGER}")
        hint = (
            f"One message alone has about {longest:,.0f} tokens, and the model holds {window:,}. Put a long text into a"
            " file and name it with @path; /undo takes the message back."
        )
        return ContextOverflow(error.message, hint=hint)

    def _begin(self) -> None:
        turn = self._parts.recorder.state.turn
        if turn != self._turn:
            self._turn, self._stopped, self._failures = turn, False, 0
            self._circles.begin(self._parts.recorder.state.seq)

    def _look(self) -> None:
        """Room is made, or was just made, once more."""
        history = self._parts.recorder.history(self._agent)
        if self._circles.closed(history.originals(), history.forgotten.own):
            raise GoesInCircles(CIRCLES, hint=OUT_OF_CIRCLES)

    def _window(self, unknown: int = UNKNOWN_WINDOW) -> int:
        settings = self._parts.recorder.state_of(self._agent).settings
        known = settings.model.window if settings is not None else 0
        return least_of(known, self.learnt.learnt) or unknown

    # -- putting outputs away --------------------------------------------------------------------------------------

    def _reduce(
        self,
        needed: int,
        window: int,
        per_char: float,
        least: float = 0.0,
        *,
        readings: bool = False,
        all_of_it: bool = False,
    ) -> int:
        """Put the oldest outputs away, many at once so that a provider's cache breaks seldom; the tokens that it freed.
        None where they free less than this share of the window; `readings`: those of the files that were used last
        too, as far as that share needs them."""
        limits = self._parts.shrinking
        newest, possible = self._possible(round(limits.keep * window / per_char))
        enough = least * window
        wanted = needed if all_of_it else max(needed - limits.reduce_to * window, enough)
        chosen, freed = list[ToolMessage](), 0.0
        for message in possible:
            late = message.call_id in newest
            if freed >= (enough if late else wanted) or (late and not readings):
                break
            chosen.append(message)
            freed += max(0, chars_of(message) - 160) * per_char
        if not chosen or freed < enough:
            return 0
        chosen.sort(key=lambda one: one.seq)
        before = needed
        for at in range(0, len(chosen), AT_ONCE):
            part = chosen[at : at + AT_ONCE]
            less = round(sum(max(0, chars_of(one) - 160) for one in part) * per_char)
            self._put_away(part, before, max(0, before - less))
            before = max(0, before - less)
        self._look()
        return needed - before

    def _possible(self, keep: int) -> tuple[set[CallId], list[ToolMessage]]:
        """The newest readings, and all outputs that may be put away, those last."""
        recorder = self._parts.recorder
        history = recorder.messages(self._agent)
        stay = needed_calls(history, recorder.history(self._agent).forgotten.pinned)
        newest = newest_readings(history)
        return newest, sorted(reducible(history, keep, stay), key=lambda one: one.call_id in newest)

    def _put_away(self, messages: Sequence[ToolMessage], before: int, after: int) -> None:
        self._parts.recorder.append(
            ContextReduced(
                call_ids=tuple(one.call_id for one in messages),
                artifacts=tuple(self._artifact(one) for one in messages),
                forgets=tuple(one.seq for one in messages),
                before_tokens=before,
                after_tokens=after,
            ),
            agent=self._agent,
        )

    def _artifact(self, message: ToolMessage) -> Artifact:
        """The output as an artifact: the one that it was shortened to or read of, else a new one of what was told."""
        held = self._parts.recorder.state.artifacts.get(message.artifact_id)
        if held is not None:
            return held
        blobs = self._parts.blobs
        words = [self._text(one.text) for one in message.content if isinstance(one, TextContent)]
        images = sum(isinstance(one, ImageContent) for one in message.content)
        whole = blobs.keep("\n".join([*words, *(["[an image]"] * images)]))
        text = self._text(whole)
        stored = whole if isinstance(whole, BlobText) else as_blob(text, blobs)
        return Artifact.of(message.name, stored, lines=line_count(text), preview_size=0)

    def _text(self, text: LongText) -> str:
        try:
            return self._parts.blobs.text(text)
        except BlobMissing:
            return text_preview(text)

    # -- summarising -----------------------------------------------------------------------------------------------

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
                return self._stuck("Nothing older than the newest messages is there to be summarised.")
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
        base, whole = await self._measure(rest), window / per_char
        # Where a provider refused a request, the window is a guess on the safe side: words go before it only by what must be.
        full = max(FULL * window, NEARLY * self.learnt.last)
        room, facts = max(LEAST_CHARS, round(full / per_char) - base.chars), self._facts(through)
        wished = round(self._parts.shrinking.reduce_to * whole) - base.chars
        needs = await to_thread.run_sync(needed_chars, facts, self._text)
        if needs > room:  # it is cut in any case: then there is room for work, too
            last = self.learnt.last
            cut = round(FULL * last / per_char if last else FULL_WHEN_CUT * whole) - base.chars
            cut = max(LEAST_CHARS, cut)
            room = self._cut.within(room, cut, window) if last else cut
        left = wished - needs
        most = round(min(STORY_SHARE * whole, max(LEAST_STORY * whole, left)))
        story, request, fault = await self._story(gone, focus, window, per_char, round(TOO_LONG * whole))
        if fault:
            story = await to_thread.run_sync(partial(told, gone, most, self._text))
        summary, smaller = await self._fitting(facts, story, room, max(wished, most), rest, base, full)
        after = self._floor = smaller.needed
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
        if before - after < LEAST_FREED * before:
            self._stuck(f"The summary freed only {before - after:,} of {before:,} tokens.")
        return True

    async def _kept(self, fixed: int, whole: float) -> int:
        """Characters of the newest messages that stay: fewer where what must not be lost needs the room. `fixed` are those
        of all that is no message, `whole` those of the window."""
        seqs = (one.seq for one in self._parts.recorder.messages(self._agent))
        facts = self._facts(max(seqs, default=0))
        needed = await to_thread.run_sync(needed_chars, facts, self._text)
        left = FULL * whole - fixed - needed
        return round(min(self._parts.shrinking.keep * whole, max(LEAST_KEPT * whole, left)))

    async def _fitting(
        self,
        facts: Facts,
        story: str,
        room: int,
        wished: int,
        rest: Sequence[Message],
        base: Packed,
        full: float,
    ) -> tuple[Summary, Packed]:
        """The summary, and what the next request holds with it; dense words have more tokens than their characters let
        expect."""
        most = max(1, round(full) - base.needed)
        for _ in range(MOST_TRIES):
            make = partial(summary_of, facts, story, room, wished, self._text)
            summary = await to_thread.run_sync(make)
            stands = SummaryMessage(text=summary.text, seq=facts.through, shares=summary.shares)
            smaller = await self._measure([stands, *rest])
            takes = smaller.needed - base.needed
            if takes <= most or len(summary.text) > room * 2:
                break
            room = round(min(room, len(summary.text)) * most / takes)
        return summary, smaller

    async def _cuts(self, cuts: Sequence[CutText]) -> tuple[Cut, ...]:
        """What was cut, each with the artifact that has all of it."""
        return tuple([await to_thread.run_sync(cut_record, one, self._parts.blobs) for one in cuts])

    async def tell(self, cuts: Sequence[CutText]) -> None:
        """Record what of a person's words the window does not hold, once for each."""
        recorder = self._parts.recorder
        self._cut.told(sum(one.chars for one in cuts if not one.what.startswith(RULES)), self._window())
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
            changed=changed(state.memory) if self._agent == MAIN_AGENT else (),
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
        settings, tokens = self._parts.recorder.state_of(self._agent).settings, self._parts.tokens
        return tokens.scaled(tokens.count(text), settings.model.model if settings is not None else "")

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

    def _record_stuck(self, message: str, hint: str, *, automatic: bool) -> None:
        stuck = ContextStuck(message=message, hint=hint, automatic=automatic)
        self._parts.recorder.append(stuck, agent=self._agent)


def _stays(message: Message) -> bool:
    """Whether a summary has all of it."""
    return isinstance(message, UserMessage) and message.kind in ("said", "map", "instructions")
