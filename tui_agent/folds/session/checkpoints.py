"""A session's checkpoints in order, with changed files and authors, and the newest commit on a branch.

Invariant: the records of all branches are applied.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field, replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Branches, Stretch, is_on_branch, stretches
from tui_agent.folds.session.changed_files import ChangedFile, FolderFiles, unchanged_file
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import Author, CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint of the workspace's files.

    - `part`: index of the newest message part before the checkpoint (-1: taken before the session's first change).
    - `files`: changes since the previous checkpoint.
    - `unlisted_count`: number of changed paths that the log does not list.
    - `restored`: True if the checkpoint was taken after an undo, redo or revert restored files.
    - `skipped`: paths that the checkpoint does not include.
    """

    seq: int
    time: float
    turn: int
    part: int
    author: Author
    commit: str
    files: tuple[ChangedFile, ...] = ()
    unlisted_count: int = 0
    skipped: tuple[str, ...] = ()
    restored: bool = False
    on_branch: bool = True
    folders: tuple[FolderFiles, ...] = ()
    """Generated folders with changed files."""


class Checkpoints:
    """Collects the checkpoints from their events, with the changes between them."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._changed: dict[str, ChangedFile] = {}
        self._checkpoints: list[Checkpoint] = []
        self._turn = 0
        self._part = -1
        self._last_seq = -1

    def apply(self, ev: Envelope) -> bool:
        self._last_seq = ev.seq
        moved = self._branches.apply(ev)
        match ev.payload:
            case TurnStarted(turn=turn):
                self._turn = turn
            case SessionHeadMoved():
                self._changed = {}
            case FileChanged() as change:
                known = self._changed.get(change.path) or unchanged_file(change)
                # A checkpoint lists the changes by all authors, so the user's are not told apart.
                self._changed[change.path] = replace(known.with_change(change, ev.seq), user_changes=())
            case CheckpointTaken(author=author) as taken:
                self._part = taken.part
                self._add(ev, taken, author, skipped=taken.skipped)
                return True
            case CheckpointRestored() as restored:
                self._add(ev, restored, "human", restored=True)
                return True
            case _:
                pass
        return moved

    def _add(
        self,
        ev: Envelope,
        payload: CheckpointTaken | CheckpointRestored,
        author: Author,
        skipped: tuple[str, ...] = (),
        *,
        restored: bool = False,
    ) -> None:
        files = tuple(self._changed.get(path) or ChangedFile(path) for path in payload.paths)
        checkpoint = Checkpoint(
            ev.seq,
            ev.time,
            self._turn,
            self._part,
            author,
            payload.commit,
            files,
            payload.unlisted_count,
            skipped,
            restored,
            folders=tuple((folder.path, folder.files) for folder in payload.folders if folder.files),
        )
        self._changed = {}
        self._checkpoints.append(checkpoint)

    def view(self) -> tuple[Checkpoint, ...]:
        """Return all checkpoints, oldest first."""
        current = stretches(self._branches.view().moves, self._last_seq)
        return tuple(
            replace(checkpoint, on_branch=is_on_branch(checkpoint.seq, current))
            for checkpoint in self._checkpoints
        )


@dataclass(slots=True)
class Commits:
    """Collects the seq and the commit of each `checkpoint.taken` and `checkpoint.restored`, oldest first."""

    # The user's changes between two turns are checkpointed late, in the later turn. Such a checkpoint has the seq of
    # the event before that turn (`as_of_seq`), so that an undo of the turn keeps the user's changes.

    seqs: list[int] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)

    def apply(self, ev: Envelope) -> bool:
        match ev.payload:
            case CheckpointTaken(as_of_seq=int(as_of_seq), commit=commit):
                seq = max([as_of_seq, *self.seqs[-1:]])
            case CheckpointTaken(commit=commit) | CheckpointRestored(commit=commit):
                seq = ev.seq
            case _:
                return False
        self.seqs.append(seq)
        self.commits.append(commit)
        return True

    def view(self) -> tuple[str, ...]:
        return tuple(self.commits)

    def commit_on(self, branch: Sequence[Stretch]) -> str:
        """Return the newest commit on a branch. If the branch has none, return the session's first commit.

        Return an empty string if the session has no commits.
        """
        for stretch in reversed(branch):
            index = bisect_right(self.seqs, stretch.last) - 1
            if index >= 0 and self.seqs[index] >= stretch.first:
                return self.commits[index]
        return self.commits[0] if self.commits else ""
