"""A session's log lines and blobs for export, redacted again with the current rules.

Invariant: a line or text without secrets, and without digests of contents that are not exported, is exported byte for
byte.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.protocol.envelope import Record, UnknownEvent
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.store.blobs import CONTAINER_MARKER, TEXT_MARKER, BlobStore
from tui_agent.store.forks import find_digests
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_reader import read_records, read_stored_lines
from tui_agent.store.redaction.redactor import Redactor

_DIGEST_FIELDS = frozenset({"digest", "sha256", "before_sha256", "after_sha256"})
"""Fields of events with the digest of a whole file, as it was on the disk."""
_BLOB_FIELDS = frozenset({"before", "after"})
"""Fields of events with the digest of the blob that holds a whole file."""
_EVENTS_WITH_FILES = (FileChanged, FileRead, InstructionsLoaded, UserMessageReceived, UserSteered)
_NAME = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
"""The name of a blob or checkpoint, or the digest of a file."""
_FileFields: TypeAlias = dict[str, str]
"""A file in an event: its `path`, and those of the fields `_DIGEST_FIELDS` and `_BLOB_FIELDS` that it has."""


class RedactedLog:
    """The redacted log and blobs of one session. The log of a fork includes the parent session's events."""

    def __init__(
        self,
        folder: Path,
        redactor: Redactor,
        *,
        branch: bool = False,
        renamed: Mapping[str, str] | None = None,
        hide_digests: bool = True,
    ) -> None:
        """Redact the session in `folder`.

        - `branch`: True to redact only the current branch.
        - `renamed`: maps the commit id of each redacted checkpoint to its new commit id.
        - `hide_digests`: True to replace the digests of files whose content is not among the exported blobs. From such
          a digest, a short secret could be guessed. Equal contents still get equal replacements. Pass False if the
          export contains the files themselves.
        """
        self._folder = folder
        self._redactor = redactor
        self._branch_seqs = (
            {record.seq for record in read_records(folder, current_branch_only=True)} if branch else None
        )
        self._blobs: BlobStore = open_blobs(folder)
        self._changed: dict[str, bytes] = {}
        """Maps the old name of a redacted blob to the blob's new content."""
        self._names = dict(renamed or {})
        """Maps the old name of a redacted blob or checkpoint to the new name."""
        # Forgotten after the export, so nobody can compute the digest of a guessed content.
        self._digest_key = secrets.token_bytes() if hide_digests else None
        self._digests: dict[str, str] = {}
        """Maps the digest of each file content that is not exported to the digest to export instead."""

    def lines(self) -> Iterator[bytes]:
        """Yield the redacted lines of the log, each with its newline.

        Before this call, iterate over all of `blobs()`, which finds the new names of redacted blobs for these lines.
        """
        for seq, line in read_stored_lines(self._folder):
            if self._branch_seqs is None or seq in self._branch_seqs:
                yield self._redact_line(line.encode())

    def _redact_line(self, line: bytes) -> bytes:
        if not self._has_old_name(line) and not self._redactor.suspects(line):
            return line + b"\n"
        raw = from_json(line)
        redacted = self._rename_blobs(self._redactor.json(raw))
        if redacted == raw or not isinstance(redacted, dict):
            return line + b"\n"
        redacted.pop("crc", None)
        return seal_line(to_json(redacted)[:-1])

    def _has_old_name(self, data: bytes) -> bool:
        names = (name.decode() for name in _NAME.findall(data))
        return any(name in self._names or name in self._digests for name in names)

    def _rename_blobs(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._names.get(value, value)
        if isinstance(value, list):
            return [self._rename_blobs(item) for item in value]
        if not isinstance(value, dict):
            return value
        renamed = {
            key: self._digests[item]
            if key in _DIGEST_FIELDS and isinstance(item, str) and item in self._digests
            else self._rename_blobs(item)
            for key, item in value.items()
        }
        if value.get("kind") == FileChanged.model_fields["kind"].default:
            for side in ("before", "after"):
                blob = value.get(side)
                if isinstance(blob, str) and blob in self._changed and not value.get(f"{side}_sha256"):
                    # Without it, two redacted contents would look like no change.
                    renamed[f"{side}_sha256"] = self._digests.get(blob, blob)
        if value.keys() in (TEXT_MARKER, CONTAINER_MARKER):
            old = value.get("blob_sha256") or value.get("blob_json")
            if isinstance(old, str) and old in self._changed:
                renamed["size"] = len(self._changed[old])
        return renamed

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of every blob that the redacted log refers to."""
        names = sorted(
            find_digests((line.encode() for _, line in read_stored_lines(self._folder)), self._folder)
        )
        files = [
            file for record in read_records(self._folder, skip_deltas=True) for file in _find_files(record)
        ]
        for name in self._find_secret_blobs(files):
            self._rename(name, lambda content: SECRET_FILE_CONTENT if content else content)
        for name in names:
            self._rename(name, self._redact_blob)
        self._hide_digests(files)
        if self._changed or self._digests:  # Second pass: redact the blobs that contain old names or digests.
            for name in names:
                self._rename(name, self._update_references)
        yielded: set[str] = set()
        for name in names:
            data = self._current_data(name)
            new_name = self._names.get(name, name)
            if data is not None and new_name not in yielded:
                yielded.add(new_name)
                yield new_name, data

    def _hide_digests(self, files: Sequence[_FileFields]) -> None:
        if self._digest_key is None:
            return
        digests = {value for file in files for field, value in file.items() if field != "path"}
        for digest in digests:
            if digest and (digest in self._changed or self._blobs.find(digest) is None):
                hidden = hmac.new(self._digest_key, digest.encode(), hashlib.sha256)
                self._digests[digest] = hidden.hexdigest()

    def _find_secret_blobs(self, files: Sequence[_FileFields]) -> set[str]:
        """Return the digests of the contents of secret files, which older versions of this program stored."""
        secret_files = (file for file in files if self._redactor.is_secret_file(file["path"]))
        return {file[field] for file in secret_files for field in _BLOB_FIELDS & file.keys()}

    def _current_data(self, name: str) -> bytes | None:
        return self._changed[name] if name in self._changed else self._blobs.find(name)

    def _rename(self, name: str, change: Callable[[bytes], bytes]) -> None:
        old = self._current_data(name)
        new = None if old is None else change(old)
        if new is not None and new != old:
            self._changed[name] = new
            self._names[name] = hashlib.sha256(new).hexdigest()

    def _redact_blob(self, data: bytes) -> bytes:
        if not self._redactor.suspects(data):
            return data
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        redacted = self._redactor.redact_text(text).encode()
        structure = _parse_json(data)
        if structure is None:
            return redacted
        redacted_json = self._redactor.json(structure)
        return redacted if _parse_json(redacted) == redacted_json else to_json(redacted_json)

    def _update_references(self, data: bytes) -> bytes:
        structure = _parse_json(data) if self._has_old_name(data) else None
        return data if structure is None else to_json(self._rename_blobs(structure))


def _find_files(record: Record) -> Iterator[_FileFields]:
    """Yield the files in an event, also if this version of the program does not know the event."""
    payload: JsonValue = None
    if isinstance(record, UnknownEvent):
        payload = record.raw.get("payload")
    elif isinstance(record.payload, _EVENTS_WITH_FILES):
        payload = record.payload.model_dump(mode="json")
    if not isinstance(payload, dict):
        return
    # Mentions and instruction files are in lists.
    lists = (value for value in payload.values() if isinstance(value, list))
    for item in (payload, *(item for values in lists for item in values)):
        if isinstance(item, dict) and isinstance(item.get("path"), str):
            fields = {"path", *_DIGEST_FIELDS, *_BLOB_FIELDS} & item.keys()
            yield {field: value for field in fields if isinstance(value := item[field], str)}


def _parse_json(data: bytes) -> JsonValue | None:
    if data[:1] not in (b"{", b"["):
        return None
    try:
        parsed: JsonValue = from_json(data)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict | list) else None


def to_jsonl(folder: Path, redactor: Redactor, *, everything: bool = False) -> bytes:
    """Return the redacted lines of the current branch or, with `everything`, of the whole log."""
    outgoing = RedactedLog(folder, redactor, branch=not everything)
    for _ in outgoing.blobs():  # Redact the blobs first, because the lines refer to their new names.
        pass
    return b"".join(outgoing.lines())
