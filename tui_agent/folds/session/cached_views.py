"""Views restored from a snapshot and the newest records, shown while the rest of the log is folded.

Invariant: state, meter, branches and todo are those of the whole log. Transcript, trace, files, agents and
metrics cover the newest records only; their entries have the same ids as in a fold of the whole log.
"""

from collections.abc import Sequence

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.snapshot import SnapshotOutline
from tui_agent.folds.views import Views
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved


def restore_views(outline: SnapshotOutline, seq: int, tail: Sequence[Record]) -> Views | None:
    """Return views as of the last record of `tail`, continued from the snapshot `outline` of event `seq`.

    `outline` cannot be used again. Returns None if records between the two are missing, or if the head has moved
    since.
    """
    newer = [record for record in tail if record.seq > seq]
    if not tail or tail[0].seq > seq + 1 or any(map(_is_head_move, newer)):
        return None
    views = Views()
    views.branches = Branches(outline.branches)
    views.resume_from(SessionState(outline.state), ContextMeter(outline.meter))
    branch = stretches(outline.branches.moves, seq)
    for record in tail:
        if record.seq > seq:
            views.apply(record)
        elif is_on_branch(record.seq, branch):
            views.replay_old(record)
    views.head_moved = False
    return views


def _is_head_move(record: Record) -> bool:
    return isinstance(record, Envelope) and isinstance(record.payload, SessionHeadMoved)
