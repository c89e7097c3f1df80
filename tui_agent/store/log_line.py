"""Encoding and decoding of one event as one line of the log.

A line ends in `,"crc":"xxxxxxxx"}` and a newline. The eight hex digits are the CRC-32 of all bytes before this field.

Invariant: bytes that do not match their checksum are never decoded as an event.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record, UnknownEvent
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId
from tui_agent.store.blobs import BlobStore

MAX_LINE_BYTES = 64 * 1024
"""Maximum length of a line of the log, in bytes, including its newline."""

_CRC_LENGTH = len(b',"crc":"00000000"}')
_LINE_START = b'{"v":'
_VERSION = re.compile(rb'\{"v":(\d{1,9}),')
_LINE_END = re.compile(rb',"crc":"[0-9a-f]{8}"\}')
_SALVAGE_TRIES = 64


@cache
def _adapter() -> TypeAdapter[Envelope]:
    return TypeAdapter(Envelope)


def encode_body(
    seq: int, time: float, session: bytes, agent: bytes, parent: int | None, cause: bytes, payload: bytes
) -> bytes:
    """Return an event as JSON without the closing brace. `seal_line` adds the checksum and the brace.

    Arguments of the type bytes must be JSON already.
    """
    return b'{"v":%d,"seq":%d,"time":%b,"session":%b,"agent":%b,"parent":%b,"cause":%b,"payload":%b' % (
        SCHEMA_VERSION,
        seq,
        repr(float(time)).encode(),
        session,
        agent,
        b"null" if parent is None else b"%d" % parent,
        cause,
        payload,
    )


def seal_line(unsealed: bytes) -> bytes:
    """Add the checksum, the closing brace and the newline to an event's JSON."""
    return b'%b,"crc":"%08x"}\n' % (unsealed, zlib.crc32(unsealed))


def payload_mark(payload_class: type[Payload]) -> bytes:
    """Return bytes that every log line with this payload class contains, to find the lines without parsing."""
    return b'"payload":{"kind":"%b"' % payload_class.model_fields["kind"].default.encode()


def is_intact(line: bytes) -> bool:
    """Return True if a line of the log (without its newline) matches its checksum."""
    body, crc = line[:-_CRC_LENGTH], line[-_CRC_LENGTH:]
    return crc == b',"crc":"%08x"}' % zlib.crc32(body)


def parse_event(line: bytes) -> Envelope:
    """Parse a line of the log without checking the checksum. Raise pydantic's `ValidationError` if that fails."""
    return _adapter().validate_json(line, extra="ignore")


def decode_line(line: bytes, blobs: BlobStore | None = None) -> Record | None:
    """Return the record in a line of the log without its newline. Return None if the line is damaged.

    An unknown kind or another version gives an `UnknownEvent`. Very long payloads are read from `blobs`.
    """
    if not is_intact(line):
        return None
    try:
        event = parse_event(line)
    except ValidationError:
        return _load_payload_blob(line, blobs) or _unknown_event(line)
    return event if event.v == SCHEMA_VERSION else _unknown_event(line)


def decode_payload(line: bytes, blobs: BlobStore | None = None) -> Payload | None:
    """Return the payload of a log line. Return None for a damaged line or an unknown kind."""
    record = decode_line(line, blobs)
    return None if record is None else record.payload


def line_version(line: bytes) -> int:
    """Return the log format version of an intact line (default: the current version)."""
    match = _VERSION.match(line)
    if match:
        return int(match.group(1))
    version = (_json_object(line) or {}).get("v")
    return version if isinstance(version, int) else SCHEMA_VERSION


def pick_foreign_version(versions: Iterable[int]) -> int:
    """Return the highest of these log versions, without the current version.

    If there is no other version, return the current version.
    """
    return max((version for version in versions if version != SCHEMA_VERSION), default=SCHEMA_VERSION)


def _unknown_event(line: bytes) -> UnknownEvent | None:
    raw = _json_object(line)
    if raw is None:
        return None
    seq, time, parent, payload = raw.get("seq"), raw.get("time"), raw.get("parent"), raw.get("payload")
    if not isinstance(seq, int) or not (parent is None or isinstance(parent, int)):
        return None
    return UnknownEvent(
        seq=seq,
        time=float(time) if isinstance(time, int | float) else 0.0,
        agent=AgentId(str(raw.get("agent", ""))),
        parent=parent,
        kind=str(payload.get("kind", "")) if isinstance(payload, dict) else "",
        raw=raw,
    )


def _json_object(line: bytes) -> dict[str, JsonValue] | None:
    try:
        raw = from_json(line)
    except ValueError:
        return None
    return raw if isinstance(raw, dict) else None


def _load_payload_blob(line: bytes, blobs: BlobStore | None) -> Envelope | None:
    """Read a line's payload from its blob and return the whole event. Return None if the payload cannot be loaded."""
    raw = _json_object(line)
    payload = None if raw is None else raw.get("payload")
    if raw is None or blobs is None or not isinstance(payload, dict):
        return None
    digest = payload.get("payload_blob")
    data = blobs.find(digest) if isinstance(digest, str) else None
    if data is None:
        return None
    try:
        return _adapter().validate_python({**raw, "payload": from_json(data)}, extra="ignore")
    except ValueError:
        return None


def intact_lines(line: bytes) -> Iterator[bytes]:
    """Yield the line itself if it is intact, otherwise the intact lines inside it."""
    if is_intact(line):
        yield line
    else:
        yield from salvage_lines(line)


def salvage_lines(line: bytes) -> Iterator[bytes]:
    """Yield the intact lines inside a damaged line of the log.

    An intact line can follow NUL bytes. Lines can also be joined because the newline between them was overwritten.
    """
    # At most `_SALVAGE_TRIES` positions are tried, so that a malicious line takes bounded time.
    position, tries = 0, 0
    while tries < _SALVAGE_TRIES:
        end = _LINE_END.search(line, position)
        if end is None:
            return
        start = line.rfind(_LINE_START, position, end.start())
        while start >= 0 and tries < _SALVAGE_TRIES:
            tries += 1
            if is_intact(line[start : end.end()]):
                yield line[start : end.end()]
                break
            start = line.rfind(_LINE_START, position, start)
        position = end.end()
