"""A session's checkpoints in order: where each was taken, who had changed what since the one before.

Invariant: folds every record of the log, on the branch or not; each says whether it is on the present one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tui_agent.folds.session.branches import Branches, on_branch, stretches
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import Author, CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted


@dataclass(frozen=True, slots=True)
class PathChange:
    """What was done to one path since the checkpoint before: contents as blob digests, None where there was no file."""

    path: str
    author: Author
    added: int = 0
    removed: int = 0
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint. `part` is -1 for the files as they were found; `restored`: files were put back there.

    `more` counts changed paths that the log does not name; `skipped` says what is not in it.
    """

    seq: int
    at: float
    turn: int
    part: int
    author: Author
    commit: str
    files: tuple[PathChange, ...] = ()
    more: int = 0
    skipped: tuple[str, ...] = ()
    restored: bool = False
    on_branch: bool = True


class Checkpoints:
    """Folds `checkpoint.taken`, `checkpoint.restored` and what changed between them."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._changed: dict[str, PathChange] = {}
        self._found: list[Checkpoint] = []
        self._turn = 0
        self._part = -1
        self._last = -1

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if there is another checkpoint, or the branch is another one."""
        self._last = ev.seq
        moved = self._branches.apply(ev)
        match ev.payload:
            case TurnStarted(turn=turn):
                self._turn = turn
            case SessionHeadMoved():
                self._changed = {}
            case FileChanged():
                self._change(ev.payload)
            case CheckpointTaken():
                self._taken(ev, ev.payload)
                return True
            case CheckpointRestored():
                self._restored(ev, ev.payload)
                return True
            case _:
                pass
        return moved

    def _change(self, change: FileChanged) -> None:
        known = self._changed.get(change.path)
        if known is None:
            self._changed[change.path] = PathChange(
                change.path, change.author, change.added, change.removed, change.before, change.after
            )
            return
        self._changed[change.path] = replace(
            known,
            author=change.author,
            added=known.added + change.added,
            removed=known.removed + change.removed,
            after=change.after,
        )

    def _taken(self, ev: Envelope, payload: CheckpointTaken) -> None:
        self._part = payload.part
        named = [self._changed.get(path, PathChange(path, payload.author)) for path in payload.paths]
        new = Checkpoint(ev.seq, ev.at, self._turn, payload.part, payload.author, payload.commit)
        self._add(replace(new, files=tuple(named), more=payload.more, skipped=payload.skipped))

    def _restored(self, ev: Envelope, payload: CheckpointRestored) -> None:
        named = [self._changed.get(path, PathChange(path, "human")) for path in payload.paths]
        new = Checkpoint(ev.seq, ev.at, self._turn, self._part, "human", payload.commit)
        self._add(replace(new, files=tuple(named), more=payload.more, restored=True))

    def _add(self, new: Checkpoint) -> None:
        self._changed = {}
        self._found.append(new)

    def view(self) -> tuple[Checkpoint, ...]:
        """All of them, the oldest first. Costs one pass."""
        kept = stretches(self._branches.view().moves, self._last)
        return tuple(replace(one, on_branch=on_branch(one.seq, kept)) for one in self._found)


def checkpoints(records: Iterable[Record]) -> tuple[Checkpoint, ...]:
    """The checkpoints of a log."""
    fold = Checkpoints()
    for record in records:
        if isinstance(record, Envelope):
            fold.apply(record)
    return fold.view()
