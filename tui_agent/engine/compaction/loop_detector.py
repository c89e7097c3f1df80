"""Tells when an agent only repeats itself each time its context was made smaller.

Invariant: what was looked at once is not counted again; a person's new words begin the count anew.
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
"""Stretches that each call of the newest one was made in, with the same result and nothing new beside: it is a circle."""
SAME_CALLS: Final = 8
"""The same for calls whatever came of them: a job that is waited for says other things each time."""


class Circles:
    """Of one agent's turn. A stretch is what it called between one making of room and the next."""

    def __init__(self) -> None:
        self.begin(-1)

    def begin(self, seq: int) -> None:
        """A turn begins behind this event."""
        self._looked = seq
        self._calls, self._results = _Seen(), _Seen()

    def closed(self, messages: Iterable[Message], own: Callable[[Message], bool]) -> bool:
        """A stretch ends with these messages, in order and as they were said; True where the agent goes in circles.

        `own` tells a person's own words.
        """
        after = [one for one in messages if one.seq > self._looked]
        results = {one.call_id: one for one in after if isinstance(one, ToolMessage)}
        made = [
            part
            for one in after
            if isinstance(one, AssistantMessage)
            for part in one.parts
            if isinstance(part, ToolCallPart)
        ]
        if not made:
            return False
        self._looked = max(one.seq for one in after)
        told = any(map(own, after))
        calls = self._calls.again({_called(part) for part in made}, anew=told)
        same = self._results.again({_ended(part, results) for part in made}, anew=told)
        return calls >= SAME_CALLS or same >= SAME_RESULTS


class _Seen:
    """What was met so far, and in how many stretches since anything new was."""

    def __init__(self) -> None:
        self._ever: set[str] = set()
        self._counts: Counter[str] = Counter()

    def again(self, stretch: set[str], *, anew: bool) -> int:
        """Take a stretch in; how often everything in it was met by now, the stretch that brought something new too."""
        if anew or not stretch <= self._ever:
            self._counts.clear()
        self._ever |= stretch
        self._counts.update(stretch)
        return min(self._counts[one] for one in stretch)


def _called(call: ToolCallPart) -> str:
    plain = json.dumps([call.name, call.arguments], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _ended(call: ToolCallPart, results: dict[CallId, ToolMessage]) -> str:
    result = results.get(call.call_id)
    return call_digest(call.name, call.arguments, () if result is None else result.content)
