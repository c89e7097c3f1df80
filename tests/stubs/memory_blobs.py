"""A double of the blob folder: blobs in a dictionary."""

import hashlib

from tui_agent.errors import BlobNotFound
from tui_agent.ports.log import StoredFile
from tui_agent.protocol.stored_text import BlobText, JsonMap, LongText


class MemoryBlobs:
    """Keeps blobs in memory; texts above `limit` bytes become blobs."""

    def __init__(self, limit: int = 8192) -> None:
        self.kept: dict[str, bytes] = {}
        self.limit = limit

    def put_bytes(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.kept[digest] = data
        return digest

    def put_file(self, path: str, data: bytes) -> StoredFile:
        blob = self.put_bytes(data)
        return StoredFile(blob, blob)

    def put_text(self, text: str) -> LongText:
        data = text.encode()
        if len(data) <= self.limit:
            return text
        return BlobText(blob_sha256=self.put_bytes(data), size=len(data), preview=text[:1024])

    def read(self, blob_sha256: str) -> bytes:
        try:
            return self.kept[blob_sha256]
        except KeyError:
            raise BlobNotFound(f"There is no blob {blob_sha256}.") from None

    def read_text(self, text: LongText) -> str:
        return text if isinstance(text, str) else self.read(text.blob_sha256).decode()

    def resolve(self, data: JsonMap) -> JsonMap:
        return data
