"""The envelope around the payload of every event. Only the store writes it."""

from typing import TypeAlias

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import AgentId, CommandId, FrozenModel, SessionId
from tui_agent.protocol.events.union import CorePayload

SCHEMA_VERSION = 2


class Envelope(FrozenModel):
    """One event as the log stores it: a payload with its number, time and origin.

    On disk, an event is one JSON line with these fields in this order, followed by `crc`. `seq` counts from 0 without
    gaps. `time` is seconds since the epoch (UTC). `parent` is the seq of the previous event on the branch, of any agent
    (None for the first event). `cause` is the id of the command that led to the event; None if there was none.
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
    """An intact line of the log (its checksum is right) with a kind or version that this release does not know.

    The line has no effect on the state. `raw` is its JSON object.
    """

    seq: int
    time: float
    agent: AgentId
    parent: int | None
    kind: str
    raw: dict[str, JsonValue]

    @property
    def is_other_version(self) -> bool:
        """True if the line has another version of the log format. False if only its kind is unknown."""
        version = self.raw.get("v")
        return isinstance(version, int) and version != SCHEMA_VERSION


Record: TypeAlias = Envelope | UnknownEvent
