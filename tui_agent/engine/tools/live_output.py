"""The output that running calls have printed so far. If a call is stopped, this output becomes its result.

Invariant: only the beginning and the newest part of each call's output are in memory.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.protocol.base import CallId
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.units import format_number

HEAD_CHARS = 6_000
"""Maximum length of the stored beginning of an output, in characters."""
TAIL_CHARS = 10_000
"""Maximum length of the stored end of an output, in characters."""

MAX_UNSAMPLED_CHARS = 64_000
"""Number of characters of a live output that are recorded completely. After that, only samples are recorded."""
MAX_RECORDED_CHARS = 2_000_000
"""Maximum length of a call's live output in the log, in characters."""
NOT_RECORDED = "\n[… The call printed more than 2 MB; the rest of its live output is not recorded …]\n"
SAMPLES = ((1_000_000, 2_000, 1.0), (1 << 62, 500, 10.0))
"""Sampling rates as (N, M, S): until N characters are recorded, record M characters every S seconds."""


@dataclass(slots=True)
class Output:
    """The beginning and the newest part of a running program's output."""

    head: str = ""
    tail: str = ""
    omitted_chars: int = 0

    def add(self, text: str) -> None:
        """Add new output, and drop the middle of a long output."""
        room = max(0, HEAD_CHARS - len(self.head))
        self.head += text[:room]
        self.tail += text[room:]
        if len(self.tail) > 2 * TAIL_CHARS:
            self._trim_tail()

    def _trim_tail(self) -> None:
        excess = max(0, len(self.tail) - TAIL_CHARS)
        self.omitted_chars += excess
        self.tail = self.tail[excess:]

    def text(self) -> str:
        """Return the beginning and the newest part of the output, with a note about the omitted part."""
        self._trim_tail()
        note = (
            f"\n[… {format_number(self.omitted_chars)} characters left out …]\n" if self.omitted_chars else ""
        )
        return f"{self.head}{note}{self.tail}".strip("\n")


class OutputSampler:
    """Decodes a running command's output and selects the text to record."""

    def __init__(self, now: float) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._recorded = 0
        self._sampled_at = now

    def add(self, data: bytes, now: float) -> str:
        """Decode new output. Return the text to record, or an empty string until the next sample is due."""
        text = self._decode.decode(data)
        if self._recorded + len(text) > MAX_UNSAMPLED_CHARS:
            size, interval = next(
                (size, interval) for limit, size, interval in SAMPLES if self._recorded < limit
            )
            if self._recorded < MAX_UNSAMPLED_CHARS:
                self._recorded = MAX_UNSAMPLED_CHARS
            elif now - self._sampled_at < interval:
                return ""
            self._sampled_at, text = now, text[-size:]
        self._recorded += len(text)
        return text


class LiveOutputs:
    """The output of each running call."""

    def __init__(self) -> None:
        self._calls: dict[CallId, Output] = {}
        self._recorded: dict[CallId, int] = {}

    def text_to_record(self, call_id: CallId, text: str) -> str:
        """Return the text to record when a call has printed `text`.

        When the output exceeds `MAX_RECORDED_CHARS`, return a note once, and then empty strings.
        """
        before = self._recorded.get(call_id, 0)
        self._recorded[call_id] = before + len(text)
        if before + len(text) <= MAX_RECORDED_CHARS:
            return text
        return NOT_RECORDED if before <= MAX_RECORDED_CHARS else ""

    @classmethod
    def from_history(cls, history: Sequence[Record]) -> "LiveOutputs":
        """Return the recorded output of the calls that have no result in `history`."""
        printed = cls()
        for record in history:
            match record.payload:
                case ToolProgress(call_id=call_id, text=text, stream="output"):
                    printed.add(call_id, text)
                case ToolFinished(call_id=call_id):
                    printed.pop(call_id)
        return printed

    def add(self, call_id: CallId, text: str) -> None:
        """Add new output of a call."""
        self._calls.setdefault(call_id, Output()).add(text)

    def pop(self, call_id: CallId) -> str:
        """Remove and return a call's output; empty if there was none."""
        self._recorded.pop(call_id, None)
        output = self._calls.pop(call_id, None)
        return "" if output is None else output.text()
