"""Comparison of two recordings of the same turns, event by event.

Invariant: values that differ from run to run, such as ids and times, are ignored.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.projection import current_branch
from tui_agent.protocol.envelope import Envelope, Record, known_events
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelRetried
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.stored_text import JsonMap

VOLATILE_FIELDS: Final = frozenset(
    (
        "request_id",
        "question_id",
        "queue_id",
        "run_id",
        "digest",
        "preview",
        "time_limit_s",
        "commands",
        "estimated_tokens",
        "source",
    )
)
IGNORED_KINDS: Final = ("checkpoint.", "run.", "env.", "plugin.loaded", "plugin.failed", "repomap.", "log.")


@dataclass(frozen=True, slots=True)
class Turn:
    """The events of a turn of the agent. `before`: the events since the previous turn."""

    before: tuple[Envelope, ...]
    events: tuple[Envelope, ...]

    @property
    def message(self) -> UserMessageReceived | None:
        """The message that started the turn; None if the agent continued without a message."""
        first = self.events[0].payload
        return first if isinstance(first, UserMessageReceived) else None

    @property
    def no_replay_reason(self) -> str:
        """The reason why the turn cannot be replayed from its recording alone (empty: it can be replayed)."""
        payloads = [event.payload for event in self.events]
        end = payloads[-1]
        if not isinstance(end, TurnFinished):
            return "it did not end"
        if end.reason == "interrupted":
            return "it was stopped"
        if self.message is not None and self.message.attachments:
            return "its message has a picture"
        reasons = (
            (UserSteered, "you sent a message while it ran"),
            (ModelFailed, "a request to the model failed"),
            (ModelRetried, "a request to the model failed"),
            (ContextCompacted, "its context was compacted"),
            (AgentSpawned, "a delegate worked in it"),
        )
        return next(
            (reason for kind, reason in reasons if any(isinstance(payload, kind) for payload in payloads)), ""
        )


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between two recordings.

    - `seq`: number of the event in the older recording.
    - `recorded`: kind of the event in the older recording.
    - `replayed`: kind of the event in the newer recording.
    - `field`: path of the first field that differs.
    - `old_value`, `new_value`: values of that field.
    """

    seq: int
    recorded: str
    replayed: str
    field: str
    old_value: JsonValue = None
    new_value: JsonValue = None


def split_turns(records: Sequence[Record]) -> tuple[list[Turn], tuple[Envelope, ...]]:
    """Return the turns of the current branch, and the events after the last turn."""
    all_turns: list[Turn] = []
    before: list[Envelope] = []
    events: list[Envelope] = []
    for record in known_events(current_branch(records)):
        starts_turn = record.agent == MAIN_AGENT and _starts_turn(record.payload)
        if events and starts_turn:  # A crash left the previous turn without an end.
            all_turns.append(Turn(tuple(before), tuple(events)))
            before, events = [], []
        if events or starts_turn:
            events.append(record)
        else:
            before.append(record)
        if events and isinstance(record.payload, TurnFinished):
            all_turns.append(Turn(tuple(before), tuple(events)))
            before, events = [], []
    return all_turns, (*before, *events)


def _starts_turn(payload: Payload) -> bool:
    return isinstance(payload, UserMessageReceived) or (
        isinstance(payload, TurnStarted) and payload.is_continuation
    )


def first_difference(recorded: Iterable[Envelope], replayed: Iterable[Envelope]) -> Divergence | None:
    """Return the first difference between two recordings of a turn; None if the recordings are equal."""
    old_events, new_events = (list(filter(_is_compared, events)) for events in (recorded, replayed))
    for old, new in zip(old_events, new_events, strict=False):
        old_json, new_json = comparable_json(old), comparable_json(new)
        if old_json != new_json:
            place = _locate_difference(old_json, new_json)
            return Divergence(old.seq, old.payload.kind, new.payload.kind, *place)
    if len(old_events) > len(new_events):
        missing = old_events[len(new_events)]
        return Divergence(missing.seq, missing.payload.kind, "nothing more", "kind")
    if len(new_events) > len(old_events):
        last = old_events[-1].seq if old_events else -1
        return Divergence(last, "nothing more", new_events[len(old_events)].payload.kind, "kind")
    return None


def count_compared(events: Iterable[Envelope]) -> int:
    """Return the number of events that `first_difference` compares."""
    return sum(map(_is_compared, events))


def _is_compared(event: Envelope) -> bool:
    return not isinstance(event.payload, ModelDelta | ToolProgress) and not event.payload.kind.startswith(
        IGNORED_KINDS
    )


def comparable_json(event: Envelope) -> JsonMap:
    """Return an event's agent and payload without values that differ from run to run.

    For a `context.packed` event, return only the agent, the kind and the names of the sections.
    """
    payload = event.payload
    if isinstance(payload, ContextPacked):
        # The packed content depends on the machine and its files; only the names of sections can be compared.
        return {
            "agent": event.agent,
            "kind": payload.kind,
            "sections": [item.name for item in payload.sections],
        }
    return {"agent": event.agent, **_strip_volatile(payload.model_dump(mode="json"))}


def _strip_volatile(data: JsonMap) -> JsonMap:
    return {
        name: _strip_value(value)
        for name, value in data.items()
        if name not in VOLATILE_FIELDS and not name.endswith("_ms")
    }


def _strip_value(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _strip_volatile(value)
    return [_strip_value(item) for item in value] if isinstance(value, list) else value


def _locate_difference(old: JsonValue, new: JsonValue, path: str = "") -> tuple[str, JsonValue, JsonValue]:
    """Return the path of the first difference inside two JSON values, and the two values at this path."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.get("kind") != new.get("kind"):
            return f"{path}kind", old.get("kind"), new.get("kind")
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                return _locate_difference(old.get(name), new.get(name), f"{path}{name}.")
    if isinstance(old, list) and isinstance(new, list):
        for index, (old_item, new_item) in enumerate(zip(old, new, strict=False)):
            if old_item != new_item:
                return _locate_difference(old_item, new_item, f"{path}{index}.")
        return path.rstrip("."), len(old), len(new)
    return path.rstrip("."), old, new
