"""The commits of a log's checkpoints, and the one that holds the files at a given event.

Invariant: folds every record, on the branch or not; stores only a seq and a commit per checkpoint.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken


@dataclass(frozen=True, slots=True)
class CommitsState:
    """The complete state of the fold, for a snapshot."""

    seqs: tuple[int, ...]
    commits: tuple[str, ...]


class Commits:
    """A fold of `checkpoint.taken` and `checkpoint.restored`."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._commits: list[str] = []

    def dump_state(self) -> CommitsState:
        """Return the state for `from_state`."""
        return CommitsState(tuple(self._seqs), tuple(self._commits))

    @classmethod
    def from_state(cls, kept: CommitsState) -> "Commits":
        """Return a fold that continues from a state."""
        commits = cls()
        commits._seqs, commits._commits = list(kept.seqs), list(kept.commits)
        return commits

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it is a checkpoint."""
        if not isinstance(ev.payload, CheckpointTaken | CheckpointRestored):
            return False
        self._seqs.append(ev.seq)
        self._commits.append(ev.payload.commit)
        return True

    def view(self) -> tuple[str, ...]:
        """Return all commits, oldest first."""
        return tuple(self._commits)

    def commit_on(self, branch: Sequence[Stretch]) -> str:
        """Return the newest commit on a branch, which may end anywhere.

        If there is none, return the session's first commit, which holds the files before its first change;
        empty without any commit.
        """
        for stretch in reversed(branch):
            index = bisect_right(self._seqs, stretch.last) - 1
            if index >= 0 and self._seqs[index] >= stretch.first:
                return self._commits[index]
        return self._commits[0] if self._commits else ""
