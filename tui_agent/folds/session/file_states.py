"""Which files do not stand as they stood before the session, wherever it went back to and came forward again.

Invariant: files stand as time went, not as the branch goes: a conversation that goes back alone leaves them.
"""

from bisect import bisect_right
from typing import NamedTuple

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved


class Stand(NamedTuple):
    """What a file holds from an event on; `bits`: only its permissions were changed since it was as found."""

    seq: int
    holds: str | None
    bits: bool


class StandingFiles:
    """Folds `file.changed`, and what going back put back without one."""

    def __init__(self) -> None:
        self._held: dict[str, str | None] = {}
        self._stands: dict[str, list[Stand]] = {}
        self._to_seq = -1
        """The event whose files are being put back."""

    def apply(self, ev: Envelope) -> bool:
        """Take one event in; True if a file stands otherwise by it."""
        match ev.payload:
            case FileChanged() as change:
                self._held.setdefault(change.path, change.held)
                known = self._stands.setdefault(change.path, [])
                only_bits = change.held is not None and change.held == change.holds
                bits = only_bits or bool(known and known[-1].bits and change.holds is not None)
                known.append(Stand(ev.seq, change.holds, bits))
            case SessionHeadMoved(to_seq=to_seq, files=True):
                self._to_seq = to_seq
                return False
            case CheckpointRestored() as restored if self._to_seq >= 0:
                self._restore(restored, ev.seq)
            case _:
                return False
        return True

    def _restore(self, restored: CheckpointRestored, seq: int) -> None:
        """Without a move before it each file that was put back has an event of its own."""
        to_seq, self._to_seq = self._to_seq, -1
        back = set(self._stands) - set(restored.kept) if restored.more else set(restored.paths)
        for path in back & self._stands.keys():
            stands = self._stands[path]
            at = bisect_right(stands, to_seq, key=lambda one: one.seq) - 1
            then = stands[at] if at >= 0 else Stand(seq, self._held[path], bits=False)
            stands.append(then._replace(seq=seq))

    def view(self) -> tuple[str, ...]:
        """The paths, in the order in which they were first changed."""
        return tuple(path for path, stands in self._stands.items() if self._differs(path, stands[-1]))

    def _differs(self, path: str, now: Stand) -> bool:
        return now.holds != self._held[path] or (now.bits and now.holds is not None)
