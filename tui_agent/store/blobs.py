"""Content-addressed blobs of a session, one file each, named by the hex SHA-256 of its bytes.

Invariant: a blob is whole under its name before an event can name it; `sync` makes it durable before the log is.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

from pydantic import JsonValue
from pydantic_core import from_json

from tui_agent.errors import BlobMissing, StoreError, StoreFull
from tui_agent.ports.log import StoredFile
from tui_agent.protocol.base import BlobText, JsonMap, LongText
from tui_agent.store.files import FileOps, SystemFiles, advice, make_folder, sync_path, write_file

TEXT_LIMIT = 8 * 1024
"""Bytes of UTF-8 up to which a text stands in its event."""
PREVIEW_LENGTH = 1_024

TEXT_MARKER = frozenset(("blob_sha256", "size", "preview"))
"""The fields of a JSON object that stands for a long string."""
CONTAINER_MARKER = frozenset(("blob_json", "size", "preview"))
"""The fields of a JSON object that stands for a large object or list."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Redacting(Protocol):
    """What takes secrets out before anything is stored: `redaction.redactor`. Who only reads blobs needs none of it."""

    def text(self, text: str) -> str: ...
    def content(self, data: bytes) -> bytes: ...


class BlobStore:
    """The blobs of one session's folder. Readers and the one writer may use it from several threads.

    `elders` names the folders in which a fork's parents keep theirs; it is asked when a blob is not in the own one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        redactor: Redacting | None = None,
        ops: FileOps | None = None,
        elders: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        self._folder = folder
        self._elders = elders
        self._redactor = redactor
        self._ops: FileOps = ops or SystemFiles()
        self._known: set[str] = set()
        self._unsynced: set[str] = set()
        self._guard = Lock()

    def put(self, data: bytes) -> str:
        """Store bytes as they are and return their digest. Raises `StoreFull`."""
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._known:
            return digest
        with self._guard:  # two threads that keep the same text must not share a draft
            if digest not in self._known:
                self._store(self._folder / digest, data)
                self._known.add(digest)
                self._unsynced.add(digest)
        return digest

    def put_file(self, data: bytes) -> StoredFile:
        """Store what a file holds, without its secrets. Raises `StoreFull`."""
        kept = data if self._redactor is None else self._redactor.content(data)
        blob = self.put(kept)
        return StoredFile(blob, blob if kept is data else hashlib.sha256(data).hexdigest())

    def _store(self, path: Path, data: bytes) -> None:
        try:
            if self._read(path) != data:
                make_folder(self._folder)
                write_file(self._ops, path, data, sync=False)
        except OSError as fault:
            raise StoreFull(
                f"A text of {len(data)} bytes could not be stored in {self._folder}: {fault.strerror or fault}.",
                hint=f"{advice(fault)}; what stands in the log is kept.",
            ) from fault

    def keep(self, text: str) -> LongText:
        """The text, redacted: itself when it is short, else as a stored `BlobText`."""
        text = whole_characters(text if self._redactor is None else self._redactor.text(text))
        return text if fits(text, TEXT_LIMIT) else self.keep_long(text)

    def keep_long(self, text: str) -> BlobText:
        """Store a text, whatever its length, that has been redacted already."""
        data = text.encode()
        return BlobText(blob_sha256=self.put(data), size=len(data), preview=text[:PREVIEW_LENGTH])

    def read(self, blob_sha256: str) -> bytes:
        """The bytes of a blob. Raises `BlobMissing` where it is absent or not what its name says."""
        data = self.find(blob_sha256)
        if data is None:
            raise BlobMissing(
                f"The stored text {blob_sha256[:12]} is missing or damaged in {self._folder}.",
                hint="The log itself is whole; only this text cannot be shown.",
            )
        return data

    def find(self, blob_sha256: str) -> bytes | None:
        """The bytes of a blob, or None where it is absent or damaged."""
        if not _DIGEST.fullmatch(blob_sha256):
            return None
        data = self._whole(self._folder, blob_sha256)
        if data is not None:
            return data
        found = (self._whole(folder, blob_sha256) for folder in self._elders())
        return next((data for data in found if data is not None), None)

    def _whole(self, folder: Path, blob_sha256: str) -> bytes | None:
        try:
            data = self._read(folder / blob_sha256)
        except OSError:
            return None
        return data if data is not None and hashlib.sha256(data).hexdigest() == blob_sha256 else None

    def text(self, text: LongText) -> str:
        """The whole of a text, wherever it is kept."""
        return text if isinstance(text, str) else self.read(text.blob_sha256).decode("utf-8", "replace")

    def resolve(self, data: JsonMap) -> JsonMap:
        """JSON with every marker replaced by the string, object or list that it stands for."""
        whole = self._resolved(data)
        if not isinstance(whole, dict):
            raise BlobMissing(
                "A stored JSON object is not an object.", hint="Its event cannot be shown whole."
            )
        return whole

    def _resolved(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == TEXT_MARKER:
            return self.read(str(value["blob_sha256"])).decode("utf-8", "replace")
        if value.keys() == CONTAINER_MARKER:
            stored: JsonValue = from_json(self.read(str(value["blob_json"])))
            return stored
        return {key: self._resolved(item) for key, item in value.items()}

    def forget(self) -> None:
        """Something may have been removed: look again, from now on, whether a text is there."""
        with self._guard:
            self._known.clear()
            self._unsynced = {digest for digest in self._unsynced if (self._folder / digest).exists()}

    def sync(self) -> None:
        """Bring every blob put since the last call to stable storage. Raises `StoreError`.

        A failed sync is never tried again on the same file: the content is written to a new one.
        """
        with self._guard:
            waiting = sorted(self._unsynced)
        if not waiting:
            return
        try:
            for digest in waiting:
                self._sync_one(digest)
            sync_path(self._ops, self._folder)
        except OSError as fault:
            self.forget()
            raise StoreError(
                f"Stored texts in {self._folder} could not be made durable: {fault.strerror or fault}.",
                hint="Check the disk.",
            ) from fault
        with self._guard:
            self._unsynced.difference_update(waiting)

    def _sync_one(self, digest: str) -> None:
        path = self._folder / digest
        try:
            sync_path(self._ops, path)
        except OSError:
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


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` bytes of UTF-8."""
    if len(text) * 4 <= limit:
        return True
    return len(text) <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit


def whole_characters(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
