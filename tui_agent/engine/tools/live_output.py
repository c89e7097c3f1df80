"""What running calls have printed so far, for the result of one that is stopped.

Invariant: bounded for each call, however much it prints: its beginning and its newest output are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.protocol.ids import CallId

HEAD = 6_000
TAIL = 10_000
"""Characters."""


@dataclass(slots=True)
class Output:
    """The beginning and the newest end of one program's output."""

    head: str = ""
    tail: str = ""
    left_out: int = 0

    def add(self, text: str) -> None:
        """The next output."""
        room = max(0, HEAD - len(self.head))
        self.head += text[:room]
        self.tail += text[room:]
        if len(self.tail) > 2 * TAIL:
            self._cut()

    def _cut(self) -> None:
        more = max(0, len(self.tail) - TAIL)
        self.left_out += more
        self.tail = self.tail[more:]

    def text(self) -> str:
        """What is kept, with a note of what is left out."""
        self._cut()
        note = f"\n[… {self.left_out:,} characters left out …]\n" if self.left_out else ""
        return f"{self.head}{note}{self.tail}".strip("\n")


class Printed:
    """Output by call."""

    def __init__(self) -> None:
        self._calls: dict[CallId, Output] = {}

    @classmethod
    def recorded(cls, history: Sequence[Record]) -> "Printed":
        """What the log tells of calls that have no result."""
        printed = cls()
        for record in history:
            match record.payload if isinstance(record, Envelope) else None:
                case ToolProgress(call_id=call_id, text=text, stream="output"):
                    printed.add(call_id, text)
                case ToolFinished(call_id=call_id):
                    printed.take(call_id)
        return printed

    def add(self, call_id: CallId, text: str) -> None:
        """The next output of a call."""
        self._calls.setdefault(call_id, Output()).add(text)

    def take(self, call_id: CallId) -> str:
        """All that is kept of a call's output, once; empty where it printed nothing."""
        output = self._calls.pop(call_id, None)
        return "" if output is None else output.text()
