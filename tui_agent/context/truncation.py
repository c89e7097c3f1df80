"""Truncation of long texts to head and tail, with a note that counts the omitted text.

Invariant: a cut never splits a character.
"""

import hashlib

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.artifacts import Artifact, left_out_note

HEAD_FRACTION = 0.6
MAX_BYTES = 16_000
MAX_LINES = 400


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """A text after truncation, including the note.

    `size`: UTF-8 bytes of the full text.
    `lines`: number of lines of the full text.
    """

    text: str
    size: int
    lines: int
    omitted_bytes: int = 0
    omitted_lines: int = 0

    @property
    def is_cut(self) -> bool:
        """True if some of the text was left out."""
        return self.omitted_bytes > 0


def artifact_id(text: str) -> str:
    """Return the id of the artifact (a stored text that the model can read) whose content is `text`."""
    return Artifact.id_for_sha256(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def head_and_tail(
    text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES, artifact: str = ""
) -> TruncatedText:
    """Return the text, or its head and tail with a note if it is too long.

    `max_bytes`, `max_lines`: limits of the result.
    `artifact`: id of the artifact with the full text, for the note.
    """
    raw = text.encode("utf-8", "replace")
    pieces = _split_lines(raw)
    if len(raw) <= max_bytes and len(pieces) <= max_lines:
        return TruncatedText(text, len(raw), len(pieces))
    head_lines = max(1, int(max_lines * HEAD_FRACTION))
    tail_lines = max(0, max_lines - head_lines)
    head_budget = max(1, int(max_bytes * HEAD_FRACTION))
    head = _take_head(pieces[:head_lines], head_budget)
    remaining = len(raw) - len(head)
    tail_pieces = pieces[max(len(pieces) - tail_lines, 0) :] if tail_lines else []
    tail = _take_tail(tail_pieces, min(max_bytes - head_budget, remaining))
    omitted = raw[len(head) : len(raw) - len(tail)]
    if not omitted:
        return TruncatedText(text, len(raw), len(pieces))
    omitted_lines = omitted.count(b"\n") + (0 if omitted.endswith(b"\n") else 1)
    note = left_out_note(omitted_lines, len(omitted), artifact)
    joint = "" if head.endswith(b"\n") or not head else "\n"
    shown = f"{head.decode()}{joint}{note}\n{tail.decode()}"
    return TruncatedText(shown, len(raw), len(pieces), len(omitted), omitted_lines)


def _split_lines(raw: bytes) -> list[bytes]:
    *complete_lines, last = raw.split(b"\n")
    return [line + b"\n" for line in complete_lines] + ([last] if last else [])


def _take_head(pieces: list[bytes], budget: int) -> bytes:
    head = bytearray()
    for piece in pieces:
        if len(head) + len(piece) > budget:
            if len(head) < budget // 2:
                head += piece[: _boundary(piece, budget - len(head))]
            break
        head += piece
    return bytes(head)


def _take_tail(pieces: list[bytes], budget: int) -> bytes:
    tail: list[bytes] = []
    remaining = budget
    for piece in reversed(pieces):
        if len(piece) > remaining:
            if remaining > budget // 2:
                start = len(piece) - remaining
                while start < len(piece) and piece[start] & 0xC0 == 0x80:
                    start += 1
                tail.append(piece[start:])
            break
        tail.append(piece)
        remaining -= len(piece)
    return b"".join(reversed(tail))


def _boundary(piece: bytes, end: int) -> int:
    """Return the nearest boundary between UTF-8 characters at or before the index `end`."""
    while 0 < end < len(piece) and piece[end] & 0xC0 == 0x80:
        end -= 1
    return end
