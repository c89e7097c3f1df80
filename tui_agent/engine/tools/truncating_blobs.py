"""A blob store for tools that truncates text when the disk is full, so that the call continues.

Invariant: `put_text` does not raise `StoreFull`; `faults` has the reason for a truncated text.
"""

from tui_agent.errors import EnvironmentFault, StoreFull
from tui_agent.ports.log import Blobs, StoredFile
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import JsonMap, LongText
from tui_agent.units import format_number

MAX_FALLBACK_CHARS = 2_000
"""Maximum length of a truncated text, in characters."""


class TruncatingBlobs:
    """Wraps a blob store. Truncates a text that cannot be stored, so that it fits in a line of the log.

    `faults`: the errors so far.
    """

    def __init__(self, inner: Blobs) -> None:
        self._inner = inner
        self.faults: list[StoreFull] = []

    def put_bytes(self, data: bytes) -> str:
        """Store bytes. Raise `EnvironmentFault` if the disk is full."""
        try:
            return self._inner.put_bytes(data)
        except StoreFull as fault:
            self.faults.append(fault)
            raise EnvironmentFault(fault.message, hint=fault.hint) from fault

    def put_file(self, path: str, data: bytes) -> StoredFile:
        """Store a file's content. Raise `EnvironmentFault` if the disk is full."""
        try:
            return self._inner.put_file(path, data)
        except StoreFull as fault:
            self.faults.append(fault)
            raise EnvironmentFault(fault.message, hint=fault.hint) from fault

    def put_text(self, text: str) -> LongText:
        """Store a text. If the disk is full, return the beginning of the text."""
        try:
            return self._inner.put_text(text)
        except StoreFull as fault:
            self.faults.append(fault)
            return _cut_text(text)

    def read(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raise `BlobNotFound` if the blob is missing."""
        return self._inner.read(blob_sha256)

    def read_text(self, text: LongText) -> str:
        """Return the full text. Raise `BlobNotFound` if its blob is missing."""
        return self._inner.read_text(text)

    def resolve(self, data: JsonMap) -> JsonMap:
        """Return JSON data with its long texts loaded. Raise `BlobNotFound` if a text is missing."""
        return self._inner.resolve(data)


def cut_to_line(end: ToolFinished) -> ToolFinished:
    """Shorten a call's result to the start of its first text, so that the event fits in a line of the log."""
    content = tuple(
        TextContent(text=_cut_text(piece.text))
        if isinstance(piece, TextContent) and isinstance(piece.text, str)
        else piece
        for piece in end.content
    )
    return end.model_copy(
        update={
            "content": content[:1],
            "display": (),
            "data": {},
            "full_output": None,
            "artifact": None,
            "environment": True,
        }
    )


def _cut_text(text: str) -> str:
    if len(text) <= MAX_FALLBACK_CHARS:
        return text
    return f"{text[:MAX_FALLBACK_CHARS]}\n[… the rest of the {format_number(len(text))} characters could not be stored]"
