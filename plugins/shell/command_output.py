"""A program's output: shown live on the screen, stored, and shortened for the model.

Invariant: the live output and the text for the model have a fixed maximum size.
"""

import asyncio
import codecs
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.plugin_api import (
    BlobText,
    LongText,
    format_bytes,
    format_number,
    left_out_note,
    stored_artifact_id,
    strip_control_sequences,
)

HEAD_CHARS = 6_000
TAIL_CHARS = 10_000
PREVIEW_CHARS = 1_000
MAX_SHOWN_LINES = 400
LIVE_CHARS = 64_000
LIVE_SAMPLE_CHARS = 2_000
LIVE_LINE_CHARS = 200
"""If the newest output has no line break, only this number of its last characters is shown."""
# A longer text would push the note about skipped characters off the screen.
LIVE_PAUSE_S = 0.5
_SPACE = re.compile(r"\s")


class LiveOutput:
    """Decodes a program's output while it runs, and passes text for the screen to `progress`.

    The first `LIVE_CHARS` characters are passed on completely. After that, only the newest characters are passed on,
    every `LIVE_PAUSE_S` seconds.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._room = LIVE_CHARS
        self._shown_at = 0.0
        self._newest = ""
        self._waiting = 0
        self._line_ended = False
        self._due: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Add the next bytes of the output; must be called on the event loop."""
        text = self._decode.decode(data)
        if self._room and text:
            first, text = text[: self._room], text[self._room :]
            self._room -= len(first)
            self._line_ended = first.endswith("\n")
            self._progress(first)
        if not text:
            return
        self._waiting += len(text)
        self._newest = (self._newest + text[-LIVE_SAMPLE_CHARS:])[-LIVE_SAMPLE_CHARS:]
        wait = self._shown_at + LIVE_PAUSE_S - time.monotonic()
        if wait <= 0:
            self._show()
        elif self._due is None:
            self._due = asyncio.get_running_loop().call_later(wait, self._show)

    def close(self) -> None:
        """Stop passing text to `progress`."""
        if self._due is not None:
            self._due.cancel()

    def _show(self) -> None:
        self.close()
        self._due = None
        self._shown_at = time.monotonic()
        text = _sample(self._newest, self._waiting, "" if self._line_ended else "\n")
        self._progress(text)
        self._newest, self._waiting, self._line_ended = "", 0, text.endswith("\n")


def _sample(newest: str, waiting: int, joint: str) -> str:
    """Return the end of `newest`, preceded by a note on the number of skipped characters, if any.

    - `newest`: the last characters since the previous sample
    - `waiting`: number of all characters since the previous sample
    - `joint`: text before the note. It is a line feed if the last line on the screen is not finished.
    """
    # A sample without a space gets a line feed at its end, because the screen does not show an unfinished word.
    skipped = waiting - len(newest)
    if not skipped:
        return newest
    begin = newest.find("\n", 0, -1) + 1
    shown = newest[begin:] if begin else newest[-LIVE_LINE_CHARS:]
    skipped = waiting - len(shown)
    terminated = shown if _SPACE.search(shown) else f"{shown}\n"
    return f"{joint}[… {format_number(skipped)} characters …]\n{terminated}"


@dataclass(frozen=True, slots=True)
class DecodedOutput:
    """A program's output as text. `stored` is the complete text, `clean` has no control sequences.

    - `size`: number of bytes in the output
    - `dropped`: number of bytes that were not stored
    """

    stored: LongText
    clean: str
    size: int
    dropped: int


def decode_output(
    data: bytes, dropped: int, keep: Callable[[str], LongText], cut_at: int = 0
) -> DecodedOutput:
    """Decode a program's output and store it with `keep`. If the output is large, call this function in a thread.

    - `dropped`: number of bytes that are missing in `data`
    - `cut_at`: byte position of the missing bytes. A note is inserted at this position.
    """
    size = len(data) + dropped
    if dropped:
        note = f"\n[{format_bytes(dropped)} of output was not kept]\n".encode()
        data = b"".join((memoryview(data)[:cut_at], note, memoryview(data)[cut_at:]))
    text = data.decode("utf-8", "replace")
    del data  # up to 50 MB, which storing the text needs again
    return DecodedOutput(keep(text), strip_control_sequences(text), size, dropped)


def store_as_artifact(stored: str, put_bytes: Callable[[bytes], str]) -> BlobText:
    """Store a short output as a blob, so that the model can read it as an artifact.

    - `stored`: the output without secrets, from `DecodedOutput.stored`
    - `put_bytes`: stores bytes and returns their hex SHA-256

    Raise `EnvironmentFault` if the disk is full.
    """
    data = stored.encode()
    return BlobText(blob_sha256=put_bytes(data), size=len(data), preview=stored[:PREVIEW_CHARS])


def shorten_for_model(
    output: DecodedOutput, head_chars: int = HEAD_CHARS, tail_chars: int = TAIL_CHARS
) -> str:
    """Return the output for the model. If the output is long, a note replaces its middle.

    An output that is not stored as an artifact stays complete, because nobody could read the rest.
    """
    text = output.clean.rstrip("\n")
    lines, artifact = text.count("\n") + 1, stored_artifact_id(output.stored)
    if not artifact or (len(text) <= head_chars + tail_chars and lines <= MAX_SHOWN_LINES):
        return text
    head, tail = _take_head(text, head_chars), _take_tail(text, tail_chars)
    left_out = len(text) - len(head) - len(tail)
    missing = lines - head.count("\n") - tail.count("\n") - 2
    note = left_out_note(missing, left_out, artifact)
    return f"{head}\n{note}\n{tail}" if left_out > len(note) else text


def _take_head(text: str, limit: int) -> str:
    piece = text[:limit]
    lines = piece.split("\n")[: MAX_SHOWN_LINES // 3]
    joined = "\n".join(lines)
    cut = joined.rfind("\n")
    # The piece ends with a whole line, unless this would drop more than half of it.
    return joined[:cut] if len(joined) == limit and cut > limit // 2 else joined


def _take_tail(text: str, limit: int) -> str:
    piece = text[-limit:]
    lines = piece.split("\n")[-(MAX_SHOWN_LINES - MAX_SHOWN_LINES // 3) :]
    joined = "\n".join(lines)
    cut = joined.find("\n")
    return joined[cut + 1 :] if len(joined) == limit and 0 <= cut < limit // 2 else joined
