"""Messages between the app and the child process of the panes: one JSON object per line.

The app sends a `PaneRequest`. The child answers with `PaneProgress` messages, then a `PaneBlocks`, `PaneUnchanged` or
`PaneFault`. Any other line belongs to the traceback of a plugin that took too long.

Invariant: at most one request is under way.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.frozen_model import FrozenModel

MAX_BYTES: Final = 64_000
"""Maximum size of a pane's blocks as JSON."""
PROCESSOR_LIMIT_S: Final = 1.0
"""Maximum processor time of a fold or pane, in seconds; then the plugin is stopped."""
WAIT_LIMIT_S: Final = 5.0
"""Maximum elapsed time of a fold or pane, in seconds. This limit also stops a pane that only waits."""
IMPORT_LIMIT_S: Final = 5.0
"""Maximum processor time for the import of `folds.py`, in seconds."""


class PaneRequest(FrozenModel):
    """Requests the state of a pane after an event.

    `log`: the folder of the log.
    `seq`: the event's number.
    """

    pane: str
    plugin: str
    folder: str
    """The plugin's folder."""
    log: str
    seq: int


class PaneProgress(FrozenModel):
    """Reports that the pane's fold has applied the events up to `seq`."""

    kind: Literal["progress"] = "progress"
    seq: int


class PaneBlocks(FrozenModel):
    """The pane's display blocks after the event `seq`.

    If the log ends before the requested event, `seq` is the last event of the log.
    """

    kind: Literal["blocks"] = "blocks"
    seq: int
    blocks: tuple[DisplayBlock, ...]


class PaneUnchanged(FrozenModel):
    """Answers that the pane has not changed since the last answer."""

    kind: Literal["unchanged"] = "unchanged"
    seq: int


class PaneFault(FrozenModel):
    """Answers that the pane cannot be shown.

    `message`: the reason.
    `stopped`: True if the plugin did not return in time and must not be asked again.
    """

    kind: Literal["fault"] = "fault"
    message: str
    stopped: bool = False


BLOCKS: Final[TypeAdapter[tuple[DisplayBlock, ...]]] = TypeAdapter(tuple[DisplayBlock, ...])
PaneAnswer: TypeAlias = PaneBlocks | PaneUnchanged | PaneFault
_FROM_CHILD: TypeAdapter[PaneProgress | PaneAnswer] = TypeAdapter(
    Annotated[PaneProgress | PaneBlocks | PaneUnchanged | PaneFault, Field(discriminator="kind")]
)


def read_message(line: bytes) -> PaneProgress | PaneAnswer | None:
    """Return the child's message in a line; None if the line is not a message."""
    try:
        return _FROM_CHILD.validate_json(line)
    except ValidationError:
        return None
