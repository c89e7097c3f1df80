"""The commits of a log's checkpoints, and the commit with the files at a given event.

Invariant: the records of all branches are applied.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken


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
