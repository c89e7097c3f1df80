"""A program's output: stored, and shortened for the model.

Invariant: the text for the model has a fixed maximum size.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.plugin_api import (
    BlobText,
    LongText,
    format_bytes,
    left_out_note,
    stored_artifact_id,
    strip_control_sequences,
)

HEAD_CHARS = 6_000
TAIL_CHARS = 10_000
PREVIEW_CHARS = 1_000
MAX_SHOWN_LINES = 400


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

    An output that is not stored as an artifact stays complete, because the model could not read the middle later.
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
