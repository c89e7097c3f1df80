"""The envelope around every payload, stamped by the store only."""

from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.base import Frozen
from tui_agent.protocol.events.union import CorePayload
from tui_agent.protocol.ids import AgentId, CommandId, SessionId

SCHEMA_VERSION = 1


class Envelope(Frozen):
    """One record of a log; on disk one JSON line of these fields in this order, followed by `crc`.

    `seq` counts from 0 without holes. `at` is seconds since the epoch (UTC). `parent` is the seq of the branch's
    previous event, whichever agent's (None for the first). `cause` is the command that led to it, if one did.
    """

    v: int
    seq: int
    at: float
    session: SessionId
    agent: AgentId
    parent: int | None
    cause: CommandId | None
    payload: CorePayload


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """A line that is whole (its checksum fits) but of a kind or version that this product does not know.

    It folds to nothing and is kept as `raw`.
    """

    seq: int
    at: float
    agent: AgentId
    parent: int | None
    kind: str
    raw: dict[str, JsonValue]

    @property
    def newer(self) -> bool:
        """Whether its line is of a later version of the log, not only of a kind that came since."""
        version = self.raw.get("v")
        return isinstance(version, int) and version > SCHEMA_VERSION


Record: TypeAlias = Envelope | UnknownEvent
