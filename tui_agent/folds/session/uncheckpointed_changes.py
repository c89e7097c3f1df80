"""Changes to files since the newest checkpoint, and who made them."""

from collections.abc import Mapping
from dataclasses import dataclass

from tui_agent.protocol.events.files import Author, FileChanged


@dataclass(frozen=True, slots=True)
class UncheckpointedChange:
    """The newest known change of one path and its time. `by_session` is True if this or an earlier change is the
    session's."""

    change: FileChanged
    time: float
    by_session: bool


def update_change(
    known: Mapping[str, UncheckpointedChange], change: FileChanged, at: float
) -> UncheckpointedChange:
    """Return the entry for the path of `change`, given the earlier entries."""
    previous = known.get(change.path)
    by_session = change.author != "human" or (previous is not None and previous.by_session)
    return UncheckpointedChange(change, at, by_session)


def author_of(told: Mapping[str, UncheckpointedChange], *, otherwise: Author) -> Author:
    """Return the author of these changes as one word: a command if any of the session's changes was one."""
    authors = {entry.change.author for entry in told.values() if entry.by_session}
    return "agent" if authors == {"agent"} else otherwise
