"""The protocol between the app and the engine process: one JSON object per line.

Lines of the app:

- First `{"options": …}`.
- Then `{"command": …}` and `{"complete": …}`.

Lines of the engine:

- First a `LockedNote`, then an `OpenedNote` or a `FailedNote`.
- Then records as in the log but without `crc`, a `StorageFaultNote` for each storage error, and a
  `CompletionsNote` for each `complete`.
- Last a `ClosedNote`, or a `FailedNote` if a plugin blocks the engine for good.

A note is an object whose only key is the note's class: `{"LockedNote": {…}}`.

Invariant: a reader skips lines that it does not understand.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from tui_agent.errors import (
    ConfigError,
    SessionLocked,
    SessionNotFound,
    SessionVersionError,
    StoreError,
    StoreUnusable,
    TuiAgentError,
)
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.ports.session import LockedNote, OpenedNote, StorageFaultNote
from tui_agent.protocol.commands import Command
from tui_agent.protocol.envelope import Envelope, Record, UnknownEvent

_COMMAND: TypeAdapter[Command] = TypeAdapter(Command)
# Classes that a client tells apart. Any other error arrives as a `TuiAgentError`.
_ERRORS: dict[str, type[TuiAgentError]] = {
    error.__name__: error
    for error in (ConfigError, SessionLocked, SessionNotFound, SessionVersionError, StoreError, StoreUnusable)
}
LINE_LIMIT = 1 << 24
"""Maximum bytes of a line."""


@dataclass(frozen=True, slots=True)
class FailedNote:
    """Tells the app which error ended the engine, or kept it from opening the session."""

    error: str
    message: str
    hint: str

    @classmethod
    def from_exception(cls, error: TuiAgentError) -> "FailedNote":
        """Return the note that contains an error."""
        return cls(type(error).__name__, error.message, error.hint)

    def exception(self) -> TuiAgentError:
        """Return the exception that the engine process raised."""
        return _ERRORS.get(self.error, TuiAgentError)(self.message, hint=self.hint)


@dataclass(frozen=True, slots=True)
class ClosedNote:
    """Tells the app that the engine has released the session."""

    reason: str


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for completions of a slash command's arguments. Its `CompletionsNote` has the same `id`."""

    id: int
    command: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CompletionsNote:
    """A note to the app with completions of a slash command's arguments."""

    id: int
    texts: Sequence[str]


Note: TypeAlias = LockedNote | OpenedNote | FailedNote | StorageFaultNote | CompletionsNote | ClosedNote
Request: TypeAlias = Command | CompletionRequest
FromEngine: TypeAlias = Note | Envelope | UnknownEvent


def request_line(request: Request) -> bytes:
    """Encode a command or a request for completions as a line for the engine."""
    if isinstance(request, CompletionRequest):
        return json.dumps({"complete": asdict(request)}).encode() + b"\n"
    return b'{"command":' + request.model_dump_json().encode() + b"}\n"


def read_request(line: bytes) -> Request | None:
    """Return the command or request in a line, or None."""
    try:
        data = parse_json(line)
        if "complete" in data:
            return CompletionRequest(**data["complete"])
        return _COMMAND.validate_python(data["command"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return None


def record_line(record: Record) -> bytes:
    """Encode a record as a line for the app."""
    if isinstance(record, Envelope):
        return record.model_dump_json().encode() + b"\n"
    return json.dumps(record.raw).encode() + b"\n"


def note_line(note: Note) -> bytes:
    """Encode a note as a line for the app."""
    fields = {name: getattr(note, name) for name in note.__slots__}
    return json.dumps({type(note).__name__: fields}).encode() + b"\n"


_NOTES: dict[str, type[Note]] = {note.__name__: note for note in get_args(Note)}


def read_line(line: bytes) -> FromEngine | None:
    """Return the note or record in a line from the engine, or None for an unknown line."""
    if line.startswith(b'{"v":'):  # the first field of an event; a note has its class name there
        return _read_record(line)
    try:
        data = parse_json(line)
        ((name, fields),) = data.items()
        return _NOTES[name](**fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read_record(line: bytes) -> Envelope | UnknownEvent | None:
    try:
        return Envelope.model_validate_json(line, extra="ignore")
    except ValidationError:
        pass
    try:
        raw = parse_json(line)
        return UnknownEvent(
            seq=raw["seq"],
            time=raw["time"],
            agent=raw["agent"],
            parent=raw["parent"],
            kind=raw["payload"]["kind"],
            raw=raw,
        )
    except (ValueError, KeyError, TypeError):
        return None
