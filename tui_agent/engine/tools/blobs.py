"""The blobs as a tool sees them: a text that cannot be stored is cut, and the call goes on.

Invariant: `keep` never fails for want of space; what was cut says so in its last line, and `faults` holds why. Used
from several threads: nothing is recorded here.
"""

from tui_agent.errors import EnvironmentFault, StoreFull
from tui_agent.ports.log import Blobs, StoredFile
from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import TextContent

ROOM = 2_000
"""Characters that a line of the log holds whatever their encoding."""


class KeptOrCut:
    """Blobs that fall back to what a log line can hold."""

    def __init__(self, inner: Blobs) -> None:
        self._inner = inner
        self.faults: list[StoreFull] = []

    def put(self, data: bytes) -> str:
        """Store bytes. Raises `EnvironmentFault` where they cannot be stored: the call fails, the turn goes on."""
        try:
            return self._inner.put(data)
        except StoreFull as fault:
            self.faults.append(fault)
            raise EnvironmentFault(fault.message, hint=fault.hint) from fault

    def put_file(self, data: bytes) -> StoredFile:
        """Store what a file holds. Raises `EnvironmentFault`, as `put`."""
        try:
            return self._inner.put_file(data)
        except StoreFull as fault:
            self.faults.append(fault)
            raise EnvironmentFault(fault.message, hint=fault.hint) from fault

    def keep(self, text: str) -> LongText:
        """The text, or its beginning where the whole cannot be stored."""
        try:
            return self._inner.keep(text)
        except StoreFull as fault:
            self.faults.append(fault)
            return _cut(text)

    def read(self, blob_sha256: str) -> bytes:
        """A blob's bytes. Raises `BlobMissing`."""
        return self._inner.read(blob_sha256)

    def text(self, text: LongText) -> str:
        """A text, whole. Raises `BlobMissing`."""
        return self._inner.text(text)

    def resolve(self, data: JsonMap) -> JsonMap:
        """JSON with its long strings whole. Raises `BlobMissing`."""
        return self._inner.resolve(data)


def cut_to_line(end: ToolFinished) -> ToolFinished:
    """A result that needs no blob: the beginning of each text for the model, and nothing to show beside it."""
    content = tuple(
        TextContent(text=_cut(piece.text))
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


def _cut(text: str) -> str:
    if len(text) <= ROOM:
        return text
    return f"{text[:ROOM]}\n[… of {len(text):,} characters; the rest could not be stored]"
