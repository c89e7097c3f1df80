"""What was told of files since the newest checkpoint: whose it is though no checkpoint says so yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from tui_agent.protocol.events.files import Author, FileChanged


@dataclass(frozen=True, slots=True)
class ToldChange:
    """The newest that was told of one path, and when. `session`: a call changed it, then or before."""

    change: FileChanged
    at: float
    session: bool


def told_after(known: Mapping[str, ToldChange], change: FileChanged, at: float) -> ToldChange:
    """What is told of the path of a change from then on."""
    before = known.get(change.path)
    mine = change.author != "human" or (before is not None and before.session)
    return ToldChange(change, at, mine)


def author_of(told: Mapping[str, ToldChange], *, otherwise: Author) -> Author:
    """Who changed these paths, as one word: a command where any call was one."""
    authors = {one.change.author for one in told.values() if one.session}
    return "agent" if authors == {"agent"} else otherwise
