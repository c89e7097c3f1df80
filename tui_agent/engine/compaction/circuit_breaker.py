"""Protection against useless compaction: detects repeated calls, and delays summaries that would free little.

Invariant: the state is computed from the log, so a resumed session has the same state.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from anyio import to_thread

from tui_agent.context.summary.room import WORK
from tui_agent.engine.recorder import Recorder
from tui_agent.folds.session.state_view import call_digest
from tui_agent.protocol.base import MAIN_AGENT, AgentId, CallId
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked, ContextReduced, ContextStuck
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import ToolCallPart, tool_calls

MIN_REQUESTS_BETWEEN: Final = 10
"""Minimum number of requests between a summary that left little room and the next summary."""
TIGHT_HINT: Final = (
    "To save requests, tui-agent now compacts less often. Use /model to choose a model with a larger window."
)
MAX_SAME_RESULTS: Final = 3
"""Number of *stretches* with the same calls and results that count as a loop.

A *stretch* is the calls between two compactions.
"""
MAX_SAME_CALLS: Final = 8
"""Number of *stretches* with the same calls that count as a loop if the results differ."""


class CompactionBreaker:
    """Decides when an agent's history can be summarised again, and detects loops of the agent."""

    def __init__(self, recorder: Recorder, agent: AgentId) -> None:
        self._recorder = recorder
        self._agent = agent
        self._loops = LoopDetector()
        self._message_seq: int | None = None
        """The seq of the user message where loop detection started, or None."""
        self._is_loaded = False
        self._requests = 0
        self._next_summary_at = 0
        """Number of requests after which a summary is allowed again."""
        self.tokens_after_summary = 0
        """Number of tokens in the context directly after the newest summary."""
        self.warned_model = ""
        """Name of the model for which the user was warned about little room. Empty before the first warning."""

    @property
    def is_waiting(self) -> bool:
        """True if it is too early for the next summary."""
        return self._requests < self._next_summary_at

    def begin_turn(self) -> None:
        """At the start of a turn, restart loop detection if the user has sent a new message."""
        message_seq = max(self._recorder.model_messages(self._agent).removed.user_seqs, default=-1)
        if message_seq != self._message_seq:
            self._message_seq = message_seq
            self._loops.begin(self._recorder.state.seq)

    def count_request(self) -> None:
        """Count a request of the agent to its model."""
        self._requests += 1

    def record_summary(self, after: int, max_tokens: int, window: int) -> bool:
        """Record a summary that left `after` tokens in the context. Return True if little room is left for work.

        - `max_tokens`: maximum tokens of a request.
        - `window`: context window in tokens.
        """
        self.tokens_after_summary = after
        is_tight = max_tokens - after < WORK * window
        if is_tight:
            self._next_summary_at = self._requests + MIN_REQUESTS_BETWEEN
        return is_tight

    def detect_loop(self) -> bool:
        """Record a compaction. Return True if the agent repeated the same calls after the last compactions."""
        history = self._recorder.model_messages(self._agent)
        return self._loops.end_stretch(history.originals(), history.removed.is_user_text)

    async def load_recorded(self, max_tokens: int, window: int, model: str) -> None:
        """Load the compactions of earlier runs. Call this before the first compaction.

        - `max_tokens`: maximum tokens of a request.
        - `window`: context window in tokens.
        - `model`: name of the current model.
        """
        history = self._recorder.model_messages(self._agent)
        forgotten = history.removed
        was_loaded, self._is_loaded = self._is_loaded, True
        if was_loaded or self._agent != MAIN_AGENT or not (forgotten.layers or forgotten.reduced):
            return
        message_seq, summary_seq = max(forgotten.user_seqs, default=-1), forgotten.newest_compaction
        since = message_seq if summary_seq is None else min(message_seq, summary_seq - 1)
        compactions, tokens_after_summary, requests, is_tight = await to_thread.run_sync(
            lambda: _read_compactions(self._recorder.records_after(since), message_seq, summary_seq)
        )
        originals = history.originals()
        self._loops.begin(message_seq)
        for seq in compactions:
            self._loops.end_stretch(
                (message for message in originals if message.seq < seq), forgotten.is_user_text
            )
        self.tokens_after_summary = tokens_after_summary
        if summary_seq is not None and max_tokens - tokens_after_summary < WORK * window:
            self._next_summary_at = self._requests + MIN_REQUESTS_BETWEEN - requests
        self.warned_model = model if is_tight else ""


def _read_compactions(
    records: Iterable[Record], message_seq: int, summary_seq: int | None
) -> tuple[list[int], int, int, bool]:
    """Read the main agent's compactions from the log.

    Return (events of the compactions after the newest user message, tokens after the newest summary, requests since
    this summary, True if the user was warned about little room).

    `message_seq`, `summary_seq`: events of the newest user message and the newest summary (None: no summary).
    """
    compactions, tokens_after, requests, tight = list[int](), 0, 0, False
    for record in records:
        if record.agent != MAIN_AGENT:
            continue
        match record.payload:
            case ContextCompacted(trigger=trigger, after_tokens=after):
                if trigger != "user" and record.seq > message_seq:
                    compactions.append(record.seq)
                if record.seq == summary_seq:
                    tokens_after, requests = after, 0
            case ContextReduced() if record.seq > message_seq:
                compactions.append(record.seq)
            case ContextPacked():
                requests += 1
            case ContextStuck(hint=hint):
                tight = tight or hint == TIGHT_HINT
            case _:
                pass
    return compactions, tokens_after, requests, tight


class LoopDetector:
    """Detects loops in an agent's turn. A *stretch* is the calls between two compactions."""

    def __init__(self) -> None:
        self.begin(-1)

    def begin(self, seq: int) -> None:
        """Restart loop detection: reset all counts, and ignore messages up to the event `seq`."""
        self._last_seq = seq
        self._calls, self._results = _StretchCounter(), _StretchCounter()

    def end_stretch(self, messages: Iterable[Message], is_user_message: Callable[[Message], bool]) -> bool:
        """End a stretch and record its messages. Return True if the agent is in a loop.

        - `messages`: the unshortened messages in order.
        - `is_user_message`: returns True for a user's message.
        """
        new = [message for message in messages if message.seq > self._last_seq]
        results = {message.call_id: message for message in new if isinstance(message, ToolMessage)}
        answers = (message for message in new if isinstance(message, AssistantMessage))
        calls = [call for answer in answers for call in tool_calls(answer.parts)]
        if not calls:
            return False
        self._last_seq = max(message.seq for message in new)
        reset = any(map(is_user_message, new))
        same_calls = self._calls.add({_call_key(call) for call in calls}, reset=reset)
        same_results = self._results.add({_result_key(call, results) for call in calls}, reset=reset)
        return same_calls >= MAX_SAME_CALLS or same_results >= MAX_SAME_RESULTS


class _StretchCounter:
    """Counts for each key the stretches in which it occurred since the newest reset.

    A key is a call, or a call with its result. A key that never occurred before resets all counts, because the agent
    then makes progress.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._counts: Counter[str] = Counter()

    def add(self, stretch: set[str], *, reset: bool) -> int:
        """Add one to the count of each key in `stretch`, and return the smallest of these counts.

        `stretch` must not be empty.
        """
        if reset or not stretch <= self._known:
            self._counts.clear()
        self._known |= stretch
        self._counts.update(stretch)
        return min(self._counts[key] for key in stretch)


def _call_key(call: ToolCallPart) -> str:
    plain = json.dumps([call.name, call.arguments], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _result_key(call: ToolCallPart, results: dict[CallId, ToolMessage]) -> str:
    result = results.get(call.call_id)
    return call_digest(call.name, call.arguments, () if result is None else result.content)
