"""The lines between the app and the engine's process: one JSON object a line.

To the engine: `{"options": …}` first, then `{"command": …}`. From it: `{"held": …}`, then one `{"opened": …}` or `{"failed": …}`, then
records as they stand in the log but without `crc`, `{"trouble": …}` for what could not be stored, `{"closed": …}`.
Invariant: a reader that meets a line it does not understand steps over it.
"""

import json
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from tui_agent.errors import (
    ConfigError,
    SessionLocked,
    SessionNotFound,
    SessionTooNew,
    StoreError,
    StoreUnusable,
    TuiAgentError,
)
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent

_COMMAND: TypeAdapter[Command] = TypeAdapter(Command)
_ERRORS: dict[str, type[TuiAgentError]] = {
    error.__name__: error
    for error in (ConfigError, SessionLocked, SessionNotFound, SessionTooNew, StoreError, StoreUnusable)
}
LINE_LIMIT = 1 << 24
"""Bytes of a line at most: a pasted prompt is one line."""


@dataclass(frozen=True, slots=True)
class Held:
    """The engine has the session's lock and begins to fold it; the log's file can be read up to `last_seq`."""

    session: str
    folder: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The engine holds the session, whose events go up to `last_seq`.

    The log's file has them up to `stored` (-1 where it is not there yet); the rest comes through the pipe.
    """

    session: str
    folder: str
    last_seq: int
    stored: int
    pid: int
    new: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine could not open the session."""

    error: str
    message: str
    hint: str

    def exception(self) -> TuiAgentError:
        """As the exception that the engine's process met."""
        return _ERRORS.get(self.error, TuiAgentError)(self.message, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something could not be stored, so it is told beside the log."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The engine has let go of the session."""

    reason: str


FromEngine: TypeAlias = Held | Opened | Failed | Trouble | Closed | Envelope | UnknownEvent


def command_line(command: Command) -> bytes:
    """A command for the engine."""
    return b'{"command":' + command.model_dump_json().encode() + b"}\n"


def read_command(line: bytes) -> Command | None:
    """The command of a line, None where it holds none that is known."""
    try:
        return _COMMAND.validate_python(json.loads(line)["command"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return None


def record_line(record: Record) -> bytes:
    """A record for the app."""
    if isinstance(record, Envelope):
        return record.model_dump_json().encode() + b"\n"
    return json.dumps(record.raw).encode() + b"\n"


def note_line(note: Held | Opened | Failed | Trouble | Closed) -> bytes:
    """Anything else for the app."""
    fields = {name: getattr(note, name) for name in note.__slots__}
    return json.dumps({type(note).__name__.lower(): fields}).encode() + b"\n"


_NOTES: dict[str, type[Held | Opened | Failed | Trouble | Closed]] = {
    "held": Held,
    "opened": Opened,
    "failed": Failed,
    "trouble": Trouble,
    "closed": Closed,
}


def read_line(line: bytes) -> FromEngine | None:
    """What the engine says in a line, None where it is not understood."""
    if line.startswith(b'{"v":'):
        return _record(line)
    try:
        plain = json.loads(line)
        ((name, fields),) = plain.items()
        return _NOTES[name](**fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _record(line: bytes) -> Envelope | UnknownEvent | None:
    try:
        return Envelope.model_validate_json(line, extra="ignore")
    except ValidationError:
        pass
    try:
        raw = json.loads(line)
        return UnknownEvent(
            seq=raw["seq"],
            at=raw["at"],
            agent=raw["agent"],
            parent=raw["parent"],
            kind=raw["payload"]["kind"],
            raw=raw,
        )
    except (ValueError, KeyError, TypeError):
        return None
