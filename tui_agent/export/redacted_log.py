"""A session's log lines and blobs for export, redacted again with the current rules.

Invariant: a line or text without secrets is exported byte for byte.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.protocol.events.files import FileChanged
from tui_agent.store.blobs import CONTAINER_MARKER, TEXT_MARKER, BlobStore
from tui_agent.store.forks import find_digests
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_reader import read_records, read_stored_lines
from tui_agent.store.redaction.redactor import Redactor

_DIGEST_FIELDS = frozenset({"digest", "sha256", "before_sha256", "after_sha256"})
"""Fields of events with the digest of a whole file, as it was on the disk."""


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
        - `hide_digests`: True to replace the digests of files whose content is redacted. From such a digest, a short
          secret could be guessed. Equal contents still get equal replacements. Pass False if the export contains the
          files themselves.
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
        """Maps the digest of each file content that is redacted to the digest to export."""

    def lines(self) -> Iterator[bytes]:
        """Yield the redacted lines of the log, each with its newline.

        Before this call, iterate over all of `blobs()`, which finds the new names of redacted blobs for these lines.
        """
        for seq, line in read_stored_lines(self._folder):
            if self._branch_seqs is None or seq in self._branch_seqs:
                yield self._redact_line(line.encode())

    def _redact_line(self, line: bytes) -> bytes:
        has_renamed = any(name.encode() in line for name in (*self._names, *self._digests))
        if not has_renamed and not self._redactor.suspects(line):
            return line + b"\n"
        raw = from_json(line)
        redacted = self._rename_blobs(self._redactor.json(raw))
        if redacted == raw or not isinstance(redacted, dict):
            return line + b"\n"
        redacted.pop("crc", None)
        return seal_line(to_json(redacted)[:-1])

    def _rename_blobs(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._names.get(value, value)
        if isinstance(value, list):
            return [self._rename_blobs(item) for item in value]
        if not isinstance(value, dict):
            return value
        renamed = {
            key: self._digests.get(item, item)
            if key in _DIGEST_FIELDS and isinstance(item, str)
            else self._rename_blobs(item)
            for key, item in value.items()
        }
        if value.get("kind") == FileChanged.model_fields["kind"].default:
            for side in ("before", "after"):
                blob = value.get(side)
                if isinstance(blob, str) and blob in self._changed and not value.get(f"{side}_sha256"):
                    # Without it, two redacted contents would look like no change.
                    renamed[f"{side}_sha256"] = self._digests[blob]
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
        changes = self._file_changes()
        for name in self._find_secret_blobs(changes):
            self._rename(name, lambda content: SECRET_FILE_CONTENT if content else content)
        for name in names:
            self._rename(name, self._redact_blob)
        if self._changed:  # Second pass: redact the blobs that contain the old names of renamed blobs.
            for name in names:
                self._rename(name, self._update_references)
        self._replace_digests(changes)
        yielded: set[str] = set()
        for name in names:
            data = self._current_data(name)
            new_name = self._names.get(name, name)
            if data is not None and new_name not in yielded:
                yielded.add(new_name)
                yield new_name, data

    def _file_changes(self) -> list[FileChanged]:
        payloads = (record.payload for record in read_records(self._folder))
        return [payload for payload in payloads if isinstance(payload, FileChanged)]

    def _replace_digests(self, changes: Sequence[FileChanged]) -> None:
        for change in changes:
            sides = (change.before, change.before_sha256), (change.after, change.after_sha256)
            for blob, sha256 in sides:
                digest = sha256 or (blob if blob in self._changed else None)
                if digest is not None:
                    self._digests[digest] = self._hide_digest(digest)

    def _hide_digest(self, digest: str) -> str:
        if self._digest_key is None:
            return digest
        return hmac.new(self._digest_key, digest.encode(), hashlib.sha256).hexdigest()

    def _find_secret_blobs(self, changes: Sequence[FileChanged]) -> set[str]:
        """Return the digests of the contents of secret files, which older versions of this program stored."""
        secret_changes = (change for change in changes if self._redactor.is_secret_file(change.path))
        return {digest for change in secret_changes for digest in (change.before, change.after) if digest}

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
        if not any(name.encode() in data for name in self._names):
            return data
        structure = _parse_json(data)
        return data if structure is None else to_json(self._rename_blobs(structure))


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
