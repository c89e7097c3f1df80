"""A program's output: live, whole, and as the model is shown it.

Invariant: what is held for the live row and what the model gets is bounded, however much the program writes.
"""

import codecs
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.plugin_api import BlobText, LongText

HEAD_CHARS = 6_000
TAIL_CHARS = 10_000
SHOWN_LINES = 400
LIVE_CHARS = 64_000
LIVE_PIECE = 2_000
LIVE_PAUSE_S = 0.5
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_a-z]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)


class Live:
    """Decodes output as it comes and passes it on: all of it at first, then samples of what is newest."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._room = LIVE_CHARS
        self._shown_at = 0.0
        self._skipped = 0

    def take(self, data: bytes) -> None:
        """The next bytes; called on the event loop."""
        text = self._decode.decode(data)
        if not text:
            return
        if len(text) <= self._room:
            self._room -= len(text)
            self._progress(text)
            return
        self._room = 0
        now = time.monotonic()
        if now - self._shown_at < LIVE_PAUSE_S:
            self._skipped += len(text)
            return
        self._shown_at = now
        left_out = self._skipped + max(len(text) - LIVE_PIECE, 0)
        note = f"\n[… {left_out:,} characters …]\n" if left_out else ""
        self._skipped = 0
        self._progress(note + text[-LIVE_PIECE:])


@dataclass(frozen=True, slots=True)
class Whole:
    """All output as text: as it was kept, and without what only moves a cursor or colours."""

    kept: LongText
    clean: str
    dropped: int


def whole(data: bytes, dropped: int, keep: Callable[[str], LongText], cut_at: int = 0) -> Whole:
    """Decode and keep; `cut_at` is where the dropped bytes were. Blocking: meant for a thread where there is much."""
    text = data.decode("utf-8", "replace")
    if dropped:
        first, last = (piece.decode("utf-8", "replace") for piece in (data[:cut_at], data[cut_at:]))
        text = f"{first}\n[{dropped:,} bytes here were not kept]\n{last}"
    return Whole(keep(text), cleaned(text), dropped)


def cleaned(text: str) -> str:
    """Without control sequences; of a line that was written over, the last state."""
    plain = _CONTROL.sub("", text).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(_last_state(line) if "\r" in line else line for line in plain.split("\n"))


def _last_state(line: str) -> str:
    return next((piece for piece in reversed(line.split("\r")) if piece), "")


def shown(output: Whole) -> str:
    """The text for the model: all of it where it is short, else head and tail with what the whole is."""
    text = output.clean.rstrip("\n")
    lines = text.count("\n") + 1
    if len(text) <= HEAD_CHARS + TAIL_CHARS and lines <= SHOWN_LINES:
        return text + _of_whole(output.kept) if output.dropped else text
    head, tail = _head(text), _tail(text)
    left_out = len(text) - len(head) - len(tail)
    missing = lines - head.count("\n") - tail.count("\n") - 2
    return f"{head}\n[… {max(missing, 0):,} lines, {left_out:,} characters left out{_of_whole(output.kept)} …]\n{tail}"


def _of_whole(kept: LongText) -> str:
    if not isinstance(kept, BlobText):
        return ""
    return f"; the whole output is kept: {kept.size:,} bytes, SHA-256 {kept.blob_sha256}"


def _head(text: str) -> str:
    piece = text[:HEAD_CHARS]
    lines = piece.split("\n")[: SHOWN_LINES // 3]
    joined = "\n".join(lines)
    cut = joined.rfind("\n")
    return joined[:cut] if len(joined) == HEAD_CHARS and cut > HEAD_CHARS // 2 else joined


def _tail(text: str) -> str:
    piece = text[-TAIL_CHARS:]
    lines = piece.split("\n")[-(SHOWN_LINES - SHOWN_LINES // 3) :]
    joined = "\n".join(lines)
    cut = joined.find("\n")
    return joined[cut + 1 :] if len(joined) == TAIL_CHARS and 0 <= cut < TAIL_CHARS // 2 else joined
