"""The result of one user message: metrics, files, the answer and the outcome.

Invariant: derived only from the records between a message and the next one on the same branch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.text.labels import TURN_ENDS
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import TurnEnd

Stand: TypeAlias = Literal["done", "failed", "stopped", "open", "empty"]
"""State of a turn: `open` has not ended, `empty` never started."""
FAILED: Final[frozenset[TurnEnd]] = frozenset(("rejected", "stuck", "model_error", "error"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A state and its label: `done, 32 tests pass`."""

    state: Stand = "empty"
    words: str = "no messages"


@dataclass(frozen=True, slots=True)
class Said:
    """One message and its result. `text` is empty if a turn continued without a new message.

    `seq` is the message, `last_seq` the last record before the next message. `files` are (path, added,
    removed).
    """

    seq: int
    last_seq: int
    at: float
    text: str
    outcome: Outcome
    answer: str = ""
    files: tuple[tuple[str, int, int], ...] = ()
    tools: Mapping[str, int] | None = None
    duration_s: float = 0.0
    cost_usd: float | None = None
    iterations: int = 0
    tests_passed: int | None = None
    tests_failed: int | None = None


def outcome_of(figures: MetricsView) -> Outcome:
    """Return the outcome of the newest turn in these metrics; failing tests override the agent's own report."""
    if not figures.turns:
        return Outcome("empty", "not answered")
    end = figures.last_turn_end
    if not end:
        return Outcome("open", "not finished")
    label = TURN_ENDS[end]  # type: ignore[index]  # the fold keeps the event's own word
    state: Stand = "done" if end == "finished" else "failed" if end in FAILED else "stopped"
    if figures.tests_failed:
        tests = "1 test fails" if figures.tests_failed == 1 else f"{figures.tests_failed} tests fail"
        return Outcome("failed", f"{tests}, agent says done" if state == "done" else f"{label}, {tests}")
    if figures.tests_passed and state == "done":
        tests = "1 test passes" if figures.tests_passed == 1 else f"{figures.tests_passed} tests pass"
        return Outcome("done", f"{label}, {tests}")
    return Outcome(state, label)


class Deed:
    """A fold of the events from one message up to the next."""

    def __init__(self, seq: int, at: float, text: LongText) -> None:
        self._seq, self._at, self._text = seq, at, text_preview(text)
        self._last_seq, self._last_at = seq, at
        self._metrics, self._files = Metrics(), FilesChanged()
        self._turns = 0

    @property
    def begun(self) -> bool:
        """True if a turn has started with it."""
        return self._turns > 0

    def apply(self, ev: Envelope) -> None:
        """Fold one event."""
        self._metrics.apply(ev)
        self._files.apply(ev)
        self._turns += ev.payload.kind == "turn.started"
        self._last_seq = ev.seq
        if ev.payload.kind in ("turn.finished", "model.responded", "tool.finished"):
            self._last_at = ev.at

    def said(self) -> Said:
        """Return the result as of the last record."""
        figures = self._metrics.view()
        return Said(
            seq=self._seq,
            last_seq=self._last_seq,
            at=self._at,
            text=self._text,
            outcome=outcome_of(figures),
            answer=figures.final_answer,
            files=tuple((file.path, file.added, file.removed) for file in self._files.view().files),
            tools=dict(figures.tools),
            duration_s=max(0.0, self._last_at - self._at),
            cost_usd=figures.cost_usd,
            iterations=figures.iterations,
            tests_passed=figures.tests_passed,
            tests_failed=figures.tests_failed,
        )
