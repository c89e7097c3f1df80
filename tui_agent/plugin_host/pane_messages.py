"""Messages between the app and the child process of the panes: one JSON object per line.

The app sends a `PaneRequest`; the child answers with any number of `PaneProgress`, then a `PaneBlocks`, `PaneUnchanged`
or `PaneFault`. A line that is none of these belongs to the traceback of a plugin that took too long.

Invariant: at most one request is under way, so that a child that does not answer is the fault of that request's pane.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from tui_agent.protocol.base import FrozenModel
from tui_agent.protocol.display import DisplayBlock

MAX_BYTES: Final = 64_000
"""Maximum size of a pane's blocks as JSON."""
PROCESSOR_LIMIT_S: Final = 1.0
"""Seconds of processor time after which a fold or pane that does not return is stopped."""
WAIT_LIMIT_S: Final = 5.0
"""Seconds for which it may wait besides: for a file, or for a processor that others use."""


class PaneRequest(FrozenModel):
    """Asks for a pane as it is after the event `seq` of the log in the folder `log`."""

    pane: str
    plugin: str
    folder: str
    """The plugin's folder."""
    log: str
    seq: int


class PaneProgress(FrozenModel):
    """The pane's fold has applied the events up to `seq`."""

    kind: Literal["progress"] = "progress"
    seq: int


class PaneBlocks(FrozenModel):
    """The pane as it is after the event `seq`, which is earlier than the requested one if the log ends before that."""

    kind: Literal["blocks"] = "blocks"
    seq: int
    blocks: tuple[DisplayBlock, ...]


class PaneUnchanged(FrozenModel):
    """The pane is the same as in the last answer."""

    kind: Literal["unchanged"] = "unchanged"
    seq: int


class PaneFault(FrozenModel):
    """The pane cannot be shown; `message` says why. If `stopped`, the plugin did not return in time: do not ask again."""

    kind: Literal["fault"] = "fault"
    message: str
    stopped: bool = False


BLOCKS: Final[TypeAdapter[tuple[DisplayBlock, ...]]] = TypeAdapter(tuple[DisplayBlock, ...])
PaneAnswer: TypeAlias = PaneBlocks | PaneUnchanged | PaneFault
_FROM_CHILD: TypeAdapter[PaneProgress | PaneAnswer] = TypeAdapter(
    Annotated[PaneProgress | PaneBlocks | PaneUnchanged | PaneFault, Field(discriminator="kind")]
)


def read_message(line: bytes) -> PaneProgress | PaneAnswer | None:
    """Return the child's message in a line, or None if the line is not one."""
    try:
        return _FROM_CHILD.validate_json(line)
    except ValidationError:
        return None
