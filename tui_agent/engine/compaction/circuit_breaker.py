"""Protection against useless compaction: delays summaries that would free little, and ends a turn that repeats itself.

Invariant: the state is computed from the log, so a resumed session has the same state.
"""

from collections.abc import Iterable
from typing import Final

from anyio import to_thread

from tui_agent.context.compaction.summary_size import WORK
from tui_agent.engine.compaction.loop_detector import LoopDetector
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked, ContextReduced, ContextStuck
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

MIN_REQUESTS_BETWEEN: Final = 10
"""Minimum number of requests between a summary that left little room and the next summary."""
TIGHT_HINT: Final = (
    "To save requests, tui-agent now compacts less often. Use /model to choose a model with a larger window."
)


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
