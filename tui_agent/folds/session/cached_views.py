"""Views of a session from a fold that was kept and the newest records, to begin with while the rest is folded.

Invariant: state, meter, branches and todo are those of the whole log. Transcript, trace, files, agents and figures tell
of the newest records only; the entries that they have in common with those of the whole log have the same ids.
"""

from collections.abc import Sequence

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session.branches import Branches, on_branch, stretches
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.snapshot import Outline
from tui_agent.folds.views import Views
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved


def begun(kept: Outline, seq: int, tail: Sequence[Record]) -> Views | None:
    """Views as of the last record of `tail`, where the fold was kept after the event `seq`; `kept` is used up.

    None where the two do not meet, or where the head was moved since.
    """
    newer = [record for record in tail if record.seq > seq]
    if not tail or tail[0].seq > seq + 1 or any(map(_moves, newer)):
        return None
    views = Views()
    views.branches = Branches.taken_up(kept.branches)
    views.take_up(SessionState.taken_up(kept.state), ContextMeter.taken_up(kept.meter))
    branch = stretches(kept.branches.moves, seq)
    for record in tail:
        if record.seq > seq:
            views.apply(record)
        elif on_branch(record.seq, branch):
            views.recall(record)
    views.moved = False
    return views


def _moves(record: Record) -> bool:
    return isinstance(record, Envelope) and isinstance(record.payload, SessionHeadMoved)
