"""Detection of an agent that only repeats itself after each compaction.

Invariant: each message is counted once; a new message of the user resets the counts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from tui_agent.folds.session.view import call_digest
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import ToolCallPart

SAME_RESULTS: Final = 3
"""A loop is this many stretches with the same calls and results, without anything new in between."""
SAME_CALLS: Final = 8
"""The same for equal calls with different results, such as reading the output of a running job."""


class Circles:
    """The loop detector of one agent's turn. A stretch is the set of calls between two compactions."""

    def __init__(self) -> None:
        self.begin(-1)

    def begin(self, seq: int) -> None:
        """Begin a turn after this event."""
        self._last_seq = seq
        self._calls, self._results = _StretchCounter(), _StretchCounter()

    def closed(self, messages: Iterable[Message], own: Callable[[Message], bool]) -> bool:
        """End a stretch with these original messages, in order. Return True if the agent is in a loop.

        `own` returns True for a message of the user.
        """
        new = [message for message in messages if message.seq > self._last_seq]
        results = {message.call_id: message for message in new if isinstance(message, ToolMessage)}
        calls = [
            part
            for message in new
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        if not calls:
            return False
        self._last_seq = max(message.seq for message in new)
        reset = any(map(own, new))
        same_calls = self._calls.add({_call_key(call) for call in calls}, reset=reset)
        same_results = self._results.add({_result_key(call, results) for call in calls}, reset=reset)
        return same_calls >= SAME_CALLS or same_results >= SAME_RESULTS


class _StretchCounter:
    """A counter of the stretches in which each key occurred since the last new key."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._counts: Counter[str] = Counter()

    def add(self, stretch: set[str], *, reset: bool) -> int:
        """Add a stretch. Return in how many stretches all of its keys occurred since the last new key."""
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
