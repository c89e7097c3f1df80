"""A session's log and blobs as they leave this machine: redacted once more, and whole.

Invariant: a line or text in which nothing was found is given byte for byte as it is kept; any other one has the
checksum and the name of what it then is, and whatever names it names that.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tui_agent.store.blobs import CONTAINER_MARKER, TEXT_MARKER, BlobStore
from tui_agent.store.forks import named_in
from tui_agent.store.line import seal
from tui_agent.store.lineage import blobs_of
from tui_agent.store.reader import read_records, stored_lines
from tui_agent.store.redaction.redactor import Redactor


@dataclass(slots=True)
class Renamed:
    """Blobs that another text stands for now: their new names and sizes by the old names."""

    names: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def json(self, value: JsonValue) -> JsonValue:
        """A JSON value that names the new ones."""
        if isinstance(value, str):
            return self.names.get(value, value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: self.json(item) for key, item in value.items()}
        if value.keys() in (TEXT_MARKER, CONTAINER_MARKER):
            old = value.get("blob_sha256") or value.get("blob_json")
            made["size"] = self.sizes.get(str(old), made["size"]) if isinstance(old, str) else made["size"]
        return made


class Outgoing:
    """The log and the blobs of one session, redacted. A fork is told with what it takes from its parents."""

    def __init__(self, folder: Path, redactor: Redactor, *, branch: bool = False) -> None:
        self._folder = folder
        self._redactor = redactor
        self._wanted = {record.seq for record in read_records(folder, branch=True)} if branch else None
        self._blobs: BlobStore = blobs_of(folder)
        self._renamed = Renamed()
        self._changed: dict[str, bytes] = {}

    def lines(self) -> Iterator[bytes]:
        """The lines of the log, each with its newline."""
        for seq, line in stored_lines(self._folder):
            if self._wanted is None or seq in self._wanted:
                yield self._line(line.encode())

    def _line(self, line: bytes) -> bytes:
        known = any(name.encode() in line for name in self._renamed.names)
        if not known and not self._redactor.suspects(line):
            return line + b"\n"
        raw = from_json(line)
        made = self._renamed.json(self._redactor.json(raw))
        if made == raw or not isinstance(made, dict):
            return line + b"\n"
        made.pop("crc", None)
        return seal(to_json(made)[:-1])

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Every blob that the log names, by its name. To be read to its end before `lines`."""
        names = sorted(named_in((line.encode() for _, line in stored_lines(self._folder)), self._folder))
        for name in names:
            self._rename(name, self._redacted)
        if self._changed:  # what names others, now that these have their names
            for name in names:
                self._rename(name, self._naming)
        given: set[str] = set()
        for name in names:
            data = self._now(name)
            called = self._renamed.names.get(name, name)
            if data is not None and called not in given:
                given.add(called)
                yield called, data

    def _now(self, name: str) -> bytes | None:
        return self._changed[name] if name in self._changed else self._blobs.find(name)

    def _rename(self, name: str, change: Callable[[bytes], bytes]) -> None:
        old = self._now(name)
        new = None if old is None else change(old)
        if new is not None and new != old:
            self._changed[name] = new
            self._renamed.names[name] = hashlib.sha256(new).hexdigest()
            self._renamed.sizes[name] = len(new)

    def _redacted(self, data: bytes) -> bytes:
        if not self._redactor.suspects(data):
            return data
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        made = self._redactor.text(text)
        structure = _structure(data)
        if structure is None:
            return made.encode()
        redacted = self._redactor.json(structure)
        return made.encode() if _structure(made.encode()) == redacted else to_json(redacted)

    def _naming(self, data: bytes) -> bytes:
        if not any(name.encode() in data for name in self._renamed.names):
            return data
        structure = _structure(data)
        return data if structure is None else to_json(self._renamed.json(structure))


def _structure(data: bytes) -> JsonValue | None:
    """The object or list that a blob holds as JSON; None for a text."""
    if data[:1] not in (b"{", b"["):
        return None
    try:
        found: JsonValue = from_json(data)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None
