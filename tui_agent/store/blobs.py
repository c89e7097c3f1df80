"""Content-addressed blobs of a session, one file each, named by the hex SHA-256 of their bytes.

Invariant: a blob is complete under its name before an event can refer to the blob.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import JsonValue
from pydantic_core import from_json

from tui_agent.errors import BlobNotFound, StoreError, StoreFull
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT, list_placeholder_lines
from tui_agent.ports.log import StoredFile
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText
from tui_agent.store.file_ops import FileOps, advice_for, make_folder, sync_path, write_file
from tui_agent.units import format_bytes

if TYPE_CHECKING:  # only the writer needs a redactor, and it is slow to load
    from tui_agent.store.redaction.redactor import Redactor

MAX_INLINE_TEXT_BYTES = 8 * 1024
"""Maximum length of a text stored inside its event, in bytes of UTF-8."""
PREVIEW_CHARS = 1_024

TEXT_MARKER = frozenset(("blob_sha256", "size", "preview"))
"""If a string in an event is long, a JSON object with exactly these fields takes its place."""
CONTAINER_MARKER = frozenset(("blob_json", "size", "preview"))
"""If an object or list in an event is large, a JSON object with exactly these fields takes its place."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobStore:
    """The blobs of one session. Several threads can use the store.

    `parent_folders`: function that returns the blob folders of a fork's parents. These folders are searched if the
    session lacks a blob.
    """

    def __init__(
        self,
        folder: Path,
        *,
        redactor: "Redactor | None" = None,
        ops: FileOps | None = None,
        parent_folders: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        self._folder = folder
        self._parent_folders = parent_folders
        self._redactor = redactor
        self._ops = ops or FileOps()
        self._known: set[str] = set()
        """Digests of blobs that are certainly stored."""
        self._unsynced: set[str] = set()
        """Digests of stored blobs that a power failure could still lose."""
        self._guard = Lock()

    def put_bytes(self, data: bytes) -> str:
        """Store bytes unchanged and return their digest. Raise `StoreFull` if the disk is full or failing."""
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._known:
            return digest
        with self._guard:  # two threads storing the same text must not share a draft file
            if digest not in self._known:
                self._store(self._folder / digest, data)
                self._known.add(digest)
                self._unsynced.add(digest)
        return digest

    def put_file(self, path: str, data: bytes) -> StoredFile:
        """Store a file's content with its secrets removed. Raise `StoreFull` if the disk is full or failing.

        If `path` is the path of a secret file, such as `.env`, store `SECRET_FILE_CONTENT` instead of the content.
        """
        if self._redactor is not None and self._redactor.is_secret_file(path):
            return StoredFile(self.put_bytes(SECRET_FILE_CONTENT), hashlib.sha256(data).hexdigest())
        redacted = data if self._redactor is None else self._redactor.redact_content(data)
        blob = self.put_bytes(redacted)
        hidden = {} if self._redactor is None or redacted is data else self._redactor.hidden_values(data)
        sha256 = blob if redacted is data else hashlib.sha256(data).hexdigest()
        return StoredFile(blob, sha256, list_placeholder_lines(redacted, hidden))

    def _store(self, path: Path, data: bytes) -> None:
        try:
            # A power failure can leave a torn file of this name, because blobs are written without a sync.
            if self._read(path) != data:
                make_folder(self._folder)
                write_file(self._ops, path, data, sync=False)
        except OSError as fault:
            raise StoreFull(
                f"A text of {format_bytes(len(data))} could not be stored in {self._folder}: {fault.strerror or fault}.",
                hint=f"{advice_for(fault)}; everything in the log is kept.",
            ) from fault

    def put_text(self, text: str) -> LongText:
        """Redact a text for an event. Return a short text directly.

        Store a long text as a blob, and return its `BlobText`.
        """
        text = replace_lone_surrogates(text if self._redactor is None else self._redactor.redact_text(text))
        return text if fits_bytes(text, MAX_INLINE_TEXT_BYTES) else self.put_long_text(text)

    def put_long_text(self, text: str) -> BlobText:
        """Store a redacted text of any length."""
        data = text.encode()
        return BlobText(blob_sha256=self.put_bytes(data), size=len(data), preview=text[:PREVIEW_CHARS])

    def read(self, blob_sha256: str) -> bytes:
        """Return the bytes of a blob.

        Raise `BlobNotFound` if the blob is missing or its content does not match the digest.
        """
        data = self.find(blob_sha256)
        if data is None:
            raise BlobNotFound(
                f"The stored text {blob_sha256[:12]} is missing or damaged in {self._folder}.",
                hint="The log itself is complete; only this text cannot be shown.",
            )
        return data

    def find(self, blob_sha256: str) -> bytes | None:
        """Return the bytes of a blob; None if it is missing or damaged."""
        if not _DIGEST.fullmatch(blob_sha256):  # a damaged log could name another file, such as `../x`
            return None
        data = self._read_intact(self._folder, blob_sha256)
        if data is not None:
            return data
        candidates = (self._read_intact(folder, blob_sha256) for folder in self._parent_folders())
        return next((data for data in candidates if data is not None), None)

    def _read_intact(self, folder: Path, blob_sha256: str) -> bytes | None:
        try:
            data = self._read(folder / blob_sha256)
        except OSError:
            return None
        return data if data is not None and hashlib.sha256(data).hexdigest() == blob_sha256 else None

    def read_text(self, text: LongText) -> str:
        """Return the full text, from its blob if necessary. Raise `BlobNotFound` if the blob is missing."""
        return text if isinstance(text, str) else self.read(text.blob_sha256).decode("utf-8", "replace")

    def resolve(self, data: JsonMap) -> JsonMap:
        """Return an event's JSON with each blob reference replaced by the blob's value."""
        resolved = self._resolve_value(data)
        if not isinstance(resolved, dict):
            raise BlobNotFound(
                "A stored JSON value is not an object.",
                hint="The event that contains it cannot be shown completely.",
            )
        return resolved

    def _resolve_value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._resolve_value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == TEXT_MARKER:
            return self.read(str(value["blob_sha256"])).decode("utf-8", "replace")
        if value.keys() == CONTAINER_MARKER:
            stored: JsonValue = from_json(self.read(str(value["blob_json"])))
            return stored
        return {key: self._resolve_value(item) for key, item in value.items()}

    def forget_known(self) -> None:
        """Clear the cache of existing blobs, because some could have been removed."""
        with self._guard:
            self._known.clear()
            self._unsynced = {digest for digest in self._unsynced if (self._folder / digest).exists()}

    def sync(self) -> None:
        """Bring every blob stored since the last call to stable storage. Raise `StoreError` if that fails."""
        # The guard is not held during the slow sync, so that the engine can store other blobs meanwhile.
        with self._guard:
            pending = sorted(self._unsynced)
        if not pending:
            return
        try:
            for digest in pending:
                self._sync_blob(digest)
            sync_path(self._ops, self._folder)
        except OSError as fault:
            self.forget_known()
            raise StoreError(
                f"Stored texts in {self._folder} could not be synced to disk: {fault.strerror or fault}.",
                hint="Check the disk.",
            ) from fault
        with self._guard:
            self._unsynced.difference_update(pending)

    def _sync_blob(self, digest: str) -> None:
        path = self._folder / digest
        try:
            sync_path(self._ops, path)
        except OSError:
            # The file may have been removed with the session's folder. A parent session can have the same blob.
            data = self.find(digest)
            if data is None:
                raise
            write_file(self._ops, path, data, sync=True)

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def fits_bytes(text: str, limit: int) -> bool:
    """Return True if a text has at most `limit` bytes of UTF-8."""
    # Each character has at most four bytes, so most texts need not be encoded.
    if len(text) * 4 <= limit:
        return True
    return len(text) <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit


def replace_lone_surrogates(text: str) -> str:
    """Replace every lone surrogate in a text so that it can be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
