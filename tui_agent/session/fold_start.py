"""The starting point of an engine's folds when it resumes a session: a cached fold, or the whole branch.

Invariant: the cached fold plus the records after it give the same state as the whole log.
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
    """Return the cached fold of a log and its last event, if that event's history is the beginning of the branch `on`."""
    cached = kept(log.folder, FORMAT)
    standing = loaded(cached[1]) if cached is not None else None
    if cached is None or standing is None or not on_branch(cached[0].seq, on):
        return None
    seq = cached[0].seq
    return (standing, seq) if cut(on, seq) == stretches(standing.branches.moves, seq) else None


@dataclass(frozen=True, slots=True)
class Past:
    """The history before this run: a cached fold (`kept`) and the records after it, or all records of the branch."""

    history: Iterable[Record] = ()
    kept: Standing | None = None

    @classmethod
    def of(cls, log: SessionLog) -> "Past":
        """Return the history of a log that was just opened. Raises OSError."""
        cached = kept(log.folder, FORMAT)
        if cached is not None and (standing := loaded(cached[1])) is not None:
            history = rest(log.folder, cached[0], (log.folder / EVENTS).stat().st_size)
            if history is not None:
                return cls(history, standing)
        return cls(iterate_records(log.folder, branch=True))
