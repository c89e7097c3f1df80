"""Changes to files since the newest checkpoint, and who made them."""

from collections.abc import Mapping
from dataclasses import dataclass

from tui_agent.protocol.events.files import Author, FileChanged


@dataclass(frozen=True, slots=True)
class ToldChange:
    """The newest known change of one path and its time. `session` is True if this or an earlier change is the
    session's."""

    change: FileChanged
    at: float
    session: bool


def told_after(known: Mapping[str, ToldChange], change: FileChanged, at: float) -> ToldChange:
    """Return the entry for the path of `change`, given the earlier entries."""
    previous = known.get(change.path)
    by_session = change.author != "human" or (previous is not None and previous.session)
    return ToldChange(change, at, by_session)


def author_of(told: Mapping[str, ToldChange], *, otherwise: Author) -> Author:
    """Return the author of these changes as one word: a command if any of the session's changes was one."""
    authors = {entry.change.author for entry in told.values() if entry.session}
    return "agent" if authors == {"agent"} else otherwise
