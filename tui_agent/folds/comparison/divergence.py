"""Two recordings of the same turns, compared event by event, without what differs from run to run.

Invariant: pure. Ids, times, digests, and what depends on the machine are left out; live pieces (deltas, progress) and
checkpoints are no part of the comparison, their whole is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from tui_agent.folds.base import branch
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelRetried
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT

VOLATILE: Final = frozenset(
    (
        "request_id",
        "question_id",
        "queue_id",
        "run_id",
        "digest",
        "preview",
        "time_limit_s",
        "deeds",
        "estimated_tokens",
        "source",
    )
)
ASIDE: Final = ("checkpoint.", "run.", "env.", "plugin.loaded", "plugin.failed", "repomap.", "log.")


@dataclass(frozen=True, slots=True)
class Turn:
    """The events from what began it to its end; `before` came since the end of the turn before."""

    before: tuple[Envelope, ...]
    events: tuple[Envelope, ...]

    @property
    def message(self) -> UserMessageReceived | None:
        """What began it; None where the agent went on without a message."""
        first = self.events[0].payload
        return first if isinstance(first, UserMessageReceived) else None

    @property
    def why_not(self) -> str:
        """Why it cannot be run again from its recording alone, or an empty string."""
        payloads = [event.payload for event in self.events]
        end = payloads[-1]
        if not isinstance(end, TurnFinished):
            return "it did not end"
        if end.reason == "interrupted":
            return "it was stopped"
        if self.message is not None and self.message.attachments:
            return "its message carries a picture"
        reasons = (
            (UserSteered, "it was steered while it ran"),
            (ModelFailed, "the model failed in it"),
            (ModelRetried, "the model failed in it"),
            (ContextCompacted, "its context was compacted"),
            (AgentSpawned, "a delegate worked in it"),
        )
        return next((why for kind, why in reasons if any(isinstance(one, kind) for one in payloads)), "")


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that is another one: `seq` in the recording; `where` names the field that differs first."""

    seq: int
    recorded: str
    again: str
    where: str
    was: JsonValue = None
    now: JsonValue = None


def turns(records: Sequence[Record]) -> tuple[list[Turn], tuple[Envelope, ...]]:
    """The turns of the present branch, and what came after the last of them."""
    found: list[Turn] = []
    before: list[Envelope] = []
    events: list[Envelope] = []
    for record in branch(records):
        if not isinstance(record, Envelope):
            continue
        begins = record.agent == MAIN_AGENT and _begins(record.payload)
        if events and begins:  # a crash left the one before without an end
            found.append(Turn(tuple(before), tuple(events)))
            before, events = [], []
        if events or begins:
            events.append(record)
        else:
            before.append(record)
        if events and isinstance(record.payload, TurnFinished):
            found.append(Turn(tuple(before), tuple(events)))
            before, events = [], []
    return found, (*before, *events)


def _begins(payload: Payload) -> bool:
    return isinstance(payload, UserMessageReceived) or (isinstance(payload, TurnStarted) and payload.goes_on)


def first_difference(recorded: Iterable[Envelope], again: Iterable[Envelope]) -> Divergence | None:
    """Where two recordings of a turn part; None where they tell the same."""
    olds = [event for event in recorded if _counts(event)]
    news = [event for event in again if _counts(event)]
    for old, new in zip(olds, news, strict=False):
        was, now = plain(old), plain(new)
        if was != now:
            where, one, other = _where(was, now)
            return Divergence(old.seq, old.payload.kind, new.payload.kind, where, one, other)
    if len(olds) > len(news):
        missing = olds[len(news)]
        return Divergence(missing.seq, missing.payload.kind, "nothing more", "kind")
    if len(news) > len(olds):
        last = olds[-1].seq if olds else -1
        return Divergence(last, "nothing more", news[len(olds)].payload.kind, "kind")
    return None


def compared(events: Iterable[Envelope]) -> int:
    """How many events of a turn take part."""
    return sum(map(_counts, events))


def _counts(event: Envelope) -> bool:
    return not isinstance(event.payload, ModelDelta | ToolProgress) and not event.payload.kind.startswith(
        ASIDE
    )


def plain(event: Envelope) -> JsonMap:
    """An event's agent and payload without what differs from run to run."""
    payload = event.payload
    if isinstance(
        payload, ContextPacked
    ):  # what was packed depends on the machine and its files; that it was, does not
        return {
            "agent": event.agent,
            "kind": payload.kind,
            "sections": [item.name for item in payload.sections],
        }
    return {"agent": event.agent, **_stripped(payload.model_dump(mode="json"))}


def _stripped(data: JsonMap) -> JsonMap:
    return {
        name: _value(value)
        for name, value in data.items()
        if name not in VOLATILE and not name.endswith("_ms")
    }


def _value(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _stripped(value)
    return [_value(one) for one in value] if isinstance(value, list) else value


def _where(was: JsonValue, now: JsonValue, path: str = "") -> tuple[str, JsonValue, JsonValue]:
    """The first place in which two values differ, and what stands there."""
    if isinstance(was, dict) and isinstance(now, dict):
        if was.get("kind") != now.get("kind"):
            return f"{path}kind", was.get("kind"), now.get("kind")
        for name in [*was, *(name for name in now if name not in was)]:
            if was.get(name) != now.get(name):
                return _where(was.get(name), now.get(name), f"{path}{name}.")
    if isinstance(was, list) and isinstance(now, list):
        for at, (one, other) in enumerate(zip(was, now, strict=False)):
            if one != other:
                return _where(one, other, f"{path}{at}.")
        return path.rstrip("."), len(was), len(now)
    return path.rstrip("."), was, now
