"""Short ways to a session store and to simple events."""

from pathlib import Path

from tests.stubs.clock import FakeClock
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.store.file_ops import FileOps
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore


def store(root: Path, ops: FileOps | None = None, redactor: Redactor | None = None) -> SessionStore:
    """A store below `root`, with a clock that ticks by a second an event."""
    return SessionStore(root / "sessions", FakeClock(tick=1.0), redactor or Redactor(), ops=ops)


def said(text: str) -> UserMessageReceived:
    """The simplest event."""
    return UserMessageReceived(text=text)


def write_log(root: Path, session: str, texts: list[str]) -> Path:
    """A closed session with these messages; returns the path of its log."""
    log = store(root).create(session)
    for text in texts:
        log.append(said(text))
    log.close()
    return log.folder / "events.jsonl"
