"""The files that differ from their state before the session, across all undos and redos.

Invariant: files are followed in time order, not along the branch: reverting only the conversation leaves them
as they are.
"""

from bisect import bisect_right
from typing import NamedTuple

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved


class Stand(NamedTuple):
    """The state of a file from an event on. `bits` is True if only its permissions differ from the original."""

    seq: int
    holds: str | None
    bits: bool


class StandingFiles:
    """A fold of `file.changed`, and of restores, which write no such events."""

    def __init__(self) -> None:
        self._originals: dict[str, str | None] = {}
        self._history: dict[str, list[Stand]] = {}
        self._to_seq = -1
        """The event whose files are being restored."""

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if it changed the state of a file."""
        match ev.payload:
            case FileChanged() as change:
                self._originals.setdefault(change.path, change.held)
                states = self._history.setdefault(change.path, [])
                only_bits = change.held is not None and change.held == change.holds
                bits = only_bits or bool(states and states[-1].bits and change.holds is not None)
                states.append(Stand(ev.seq, change.holds, bits))
            case SessionHeadMoved(to_seq=to_seq, files=True):
                self._to_seq = to_seq
                return False
            case CheckpointRestored() as restored if self._to_seq >= 0:
                self._restore(restored, ev.seq)
            case _:
                return False
        return True

    def _restore(self, restored: CheckpointRestored, seq: int) -> None:
        """Add the restored states. (A restore without a head move writes a `file.changed` for each file instead.)"""
        to_seq, self._to_seq = self._to_seq, -1
        restored_paths = set(self._history) - set(restored.kept) if restored.more else set(restored.paths)
        for path in restored_paths & self._history.keys():
            states = self._history[path]
            index = bisect_right(states, to_seq, key=lambda state: state.seq) - 1
            past_state = states[index] if index >= 0 else Stand(seq, self._originals[path], bits=False)
            states.append(past_state._replace(seq=seq))

    def view(self) -> tuple[str, ...]:
        """Return the paths in the order of their first change."""
        return tuple(path for path, states in self._history.items() if self._differs(path, states[-1]))

    def _differs(self, path: str, state: Stand) -> bool:
        return state.holds != self._originals[path] or (state.bits and state.holds is not None)
