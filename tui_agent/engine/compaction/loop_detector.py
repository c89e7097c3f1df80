"""Detection of an agent that repeats the same calls."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from tui_agent.folds.session.state_view import call_digest
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import ToolCallPart, tool_calls

MAX_SAME_RESULTS: Final = 3
"""Number of *stretches* with the same calls and results that count as a loop.

A *stretch* is the calls between two compactions.
"""
MAX_SAME_CALLS: Final = 8
"""Number of *stretches* with the same calls that count as a loop if the results differ."""


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
