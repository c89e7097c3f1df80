"""Where an engine begins to fold when it takes a session up.

Invariant: what is kept, with the history behind it, folds to the same as the whole log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui_agent.folds.session.branches import Stretch, on_branch, stretches
from tui_agent.folds.session.snapshot import FORMAT, Standing, loaded
from tui_agent.protocol.envelope import Record
from tui_agent.store.fold_cache import kept, rest
from tui_agent.store.lineage import cut
from tui_agent.store.log import SessionLog
from tui_agent.store.reader import iterate_records
from tui_agent.store.repair import EVENTS


def earlier_fold(log: SessionLog, on: Sequence[Stretch]) -> tuple[Standing, int] | None:
    """The fold that was kept beside a log, and its event, where what it was folded from is the beginning of a branch."""
    found = kept(log.folder, FORMAT)
    standing = loaded(found[1]) if found is not None else None
    if found is None or standing is None or not on_branch(found[0].seq, on):
        return None
    seq = found[0].seq
    return (standing, seq) if cut(on, seq) == stretches(standing.branches.moves, seq) else None


@dataclass(frozen=True, slots=True)
class Past:
    """What came before this run: a fold that was kept, and the records since; or without one all of the branch."""

    history: Iterable[Record] = ()
    kept: Standing | None = None

    @classmethod
    def of(cls, log: SessionLog) -> "Past":
        """The past of a log that was just opened. Raises OSError."""
        found = kept(log.folder, FORMAT)
        if found is not None and (standing := loaded(found[1])) is not None:
            history = rest(log.folder, found[0], (log.folder / EVENTS).stat().st_size)
            if history is not None:
                return cls(history, standing)
        return cls(iterate_records(log.folder, branch=True))
