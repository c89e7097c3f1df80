"""The base of every event payload."""

from tui_agent.protocol.base import FrozenModel


class Payload(FrozenModel):
    """Base of every event's payload.

    Each subclass narrows `kind` to a Literal. No default value comes from a clock or a uuid.
    """

    kind: str
