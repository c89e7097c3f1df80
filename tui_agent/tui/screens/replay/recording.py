"""What a replay needs of a session, and what can be begun from one of its moments."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.tui.cli_client import Ask

if TYPE_CHECKING:
    from tui_agent.tui.screens.tree.fork import Begin


class Recording(Protocol):
    """A session that is only read."""

    @property
    def id(self) -> str: ...

    async def read_all(self) -> Sequence[Record]:
        """Every event, in order."""
        ...

    async def read_text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept."""
        ...


@dataclass(frozen=True, slots=True)
class Ways:
    """Where one can go from a replay. `revert` goes back to an event in the session that is open, where one is, and calls
    what it is given once the replay is to be left for it.

    `opens` are the words that open another session, before its id.
    """

    ask: Ask
    copy: Callable[[str], bool]
    opens: str
    revert: "Callable[[int, Callable[[], object]], None] | None" = None
    fork: "Begin | None" = None
    """Makes a fork of an event and opens it; without it the fork is made and named."""
    what_if: "Begin | None" = None
    leave: Callable[[], None] | None = None
    """What Esc does; None goes back to what is below."""


def search(records: Sequence[Record], text: str, place: int, *, forward: bool) -> int | None:
    """The next place, or the one before, whose event holds this text, whatever the case; None where there is none."""
    wanted = text.casefold()
    order = range(place + 1, len(records)) if forward else range(place - 1, -1, -1)
    for at in order:
        record = records[at]
        if not isinstance(record, Envelope) or isinstance(record.payload, ModelDelta | ToolProgress):
            continue
        if wanted in json.dumps(record.payload.model_dump(mode="json"), ensure_ascii=False).casefold():
            return at
    return None
