"""The envelope around the payload of every event."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.union import CorePayload
from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.ids import AgentId, CommandId, SessionId

SCHEMA_VERSION = 2
PayloadT = TypeVar("PayloadT", bound=Payload)


class Envelope(FrozenModel):
    """One event as the log stores it: a payload with its number, time and origin.

    In the log, an event is one JSON line with these fields in this order, followed by `crc`. `seq`: number of the
    event, from 0 without gaps. `time`: seconds since the epoch (UTC). `parent`: seq of the previous event on the branch
    (null: the first event). `cause`: id of the command behind the event (null: no command).
    """

    v: int
    seq: int
    time: float
    session: SessionId
    agent: AgentId
    parent: int | None
    cause: CommandId | None
    payload: CorePayload


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """A valid line of the log with an unknown kind or version.

    The line has no effect on the state. `raw`: its JSON object.
    """

    seq: int
    time: float
    agent: AgentId
    parent: int | None
    kind: str
    raw: dict[str, JsonValue]

    @property
    def payload(self) -> None:
        """Always None. Code can therefore read `record.payload` of every record."""
        return None

    @property
    def is_other_version(self) -> bool:
        """True if the line has another version of the log format."""
        version = self.raw.get("v")
        return isinstance(version, int) and version != SCHEMA_VERSION


Record: TypeAlias = Envelope | UnknownEvent


def known_events(records: Iterable[Record]) -> Iterator[Envelope]:
    """Return the records whose kind and version are known to this release."""
    return (record for record in records if isinstance(record, Envelope))


def find_payload(records: Iterable[Record], payload_class: type[PayloadT]) -> PayloadT | None:
    """Return the first payload of the class `payload_class` in `records`, or None."""
    return next((record.payload for record in records if isinstance(record.payload, payload_class)), None)
