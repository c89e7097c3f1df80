"""The commits of a log's checkpoints, and which of them holds the files as they were at an event.

Invariant: folds every record, on the branch or not; nothing but a number and a commit is kept of each checkpoint.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken


@dataclass(frozen=True, slots=True)
class CommitsState:
    """All that the fold holds, to be kept and taken up again."""

    seqs: tuple[int, ...]
    commits: tuple[str, ...]


class Commits:
    """Folds `checkpoint.taken` and `checkpoint.restored`."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._commits: list[str] = []

    def kept(self) -> CommitsState:
        """The state, for `taken_up`."""
        return CommitsState(tuple(self._seqs), tuple(self._commits))

    @classmethod
    def taken_up(cls, kept: CommitsState) -> "Commits":
        """A fold that goes on from a state."""
        commits = cls()
        commits._seqs, commits._commits = list(kept.seqs), list(kept.commits)
        return commits

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if it is a checkpoint."""
        if not isinstance(ev.payload, CheckpointTaken | CheckpointRestored):
            return False
        self._seqs.append(ev.seq)
        self._commits.append(ev.payload.commit)
        return True

    def view(self) -> tuple[str, ...]:
        """All of them, the oldest first."""
        return tuple(self._commits)

    def at(self, branch: Sequence[Stretch]) -> str:
        """The newest on a branch, which may end anywhere; else the first of all, which holds the files as they were
        found; empty where there is none."""
        for stretch in reversed(branch):
            place = bisect_right(self._seqs, stretch.last) - 1
            if place >= 0 and self._seqs[place] >= stretch.first:
                return self._commits[place]
        return self._commits[0] if self._commits else ""
