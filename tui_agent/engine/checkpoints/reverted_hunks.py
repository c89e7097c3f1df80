"""Hunks that the user reverted, and the effect of an undo on them.

Invariant: a reverted hunk counts as a change by the user until the change with this hunk is undone.
"""

from collections.abc import Iterable

from anyio import to_thread

from tui_agent.engine.recorder import Recorder
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import is_on_branch, last_shared, stretches
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved


@dataclass(frozen=True, slots=True)
class RevertedPaths:
    """Files with hunks that the user reverted after the target event of an undo.

    - `kept_paths`: files in which the undo would bring a reverted hunk back. The user is asked first.
    - `restored_paths`: files in which the undo reverses nothing but the user's revert. The user is not asked.
    """

    kept_paths: frozenset[str] = frozenset()
    restored_paths: tuple[str, ...] = ()


async def find_reverted_paths(recorder: Recorder, to_seq: int) -> RevertedPaths:
    """Return the files with hunks reverted on the current branch after the event `to_seq`."""
    moves = recorder.branches.moves
    current, target = stretches(moves, recorder.state.seq), stretches(moves, to_seq)
    if not any(
        move.reason == "hunk" and is_on_branch(move.seq, current) and not is_on_branch(move.seq, target)
        for move in moves
    ):
        return RevertedPaths()
    after = last_shared(current, target)
    return await to_thread.run_sync(lambda: _sort_paths(recorder.records_after(after), to_seq))


def _sort_paths(records: Iterable[Record], to_seq: int) -> RevertedPaths:
    changed_versions: set[tuple[str, str | None]] = set()
    kept, restored = set[str](), dict[str, None]()
    for record in records:
        match record.payload:
            case FileChanged(path=path, before=before, author="agent" | "command"):
                changed_versions.add((path, before))
            case SessionHeadMoved(from_seq=from_seq, reason="hunk", hunk=hunk) if hunk:
                if from_seq == to_seq:
                    restored[hunk.path] = None
                elif (hunk.path, hunk.before) not in changed_versions:
                    kept.add(hunk.path)
    return RevertedPaths(frozenset(kept), tuple(restored))
