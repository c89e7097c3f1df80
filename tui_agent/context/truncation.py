"""Truncation of long texts to head and tail, with an exact note of the omitted part.

Invariant: cuts fall between lines if lines are short, and always between characters; the counts in the note add up.
"""

import hashlib
from dataclasses import dataclass

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.unicode_text import format_count

HEAD_SHARE = 0.6
MAX_BYTES = 16_000
MAX_LINES = 400


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """A text after truncation, including the note.

    `size` (bytes of UTF-8), `lines` and `sha256` describe the full text.
    """

    text: str
    size: int
    lines: int
    sha256: str
    omitted_bytes: int = 0
    omitted_lines: int = 0

    @property
    def is_cut(self) -> bool:
        """True if something was left out."""
        return self.omitted_bytes > 0


def artifact_reference(text: str) -> str:
    """Return a note for the model on how to read the full text, which is stored as an artifact."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"read_artifact shows all of it: {Artifact.id_for_sha256(digest)}"


def head_and_tail(
    text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES, artifact: bool = False
) -> TruncatedText:
    """Return the text, or its head and tail with at most `max_bytes` bytes and `max_lines` lines.

    `artifact`: the full text is stored as an artifact, and the note says so.
    """
    raw = text.encode("utf-8", "replace")
    pieces = _split_lines(raw)
    digest = hashlib.sha256(raw).hexdigest()
    if len(raw) <= max_bytes and len(pieces) <= max_lines:
        return TruncatedText(text, len(raw), len(pieces), digest)
    head_lines = max(1, int(max_lines * HEAD_SHARE))
    tail_lines = max(0, max_lines - head_lines)
    head_budget = max(1, int(max_bytes * HEAD_SHARE))
    head = _take_head(pieces[:head_lines], head_budget)
    remaining = len(raw) - len(head)
    tail_pieces = pieces[max(len(pieces) - tail_lines, 0) :] if tail_lines else []
    tail = _take_tail(tail_pieces, min(max_bytes - head_budget, remaining))
    omitted = raw[len(head) : len(raw) - len(tail)]
    if not omitted:
        return TruncatedText(text, len(raw), len(pieces), digest)
    omitted_lines = omitted.count(b"\n") + (0 if omitted.endswith(b"\n") else 1)
    where = f", {artifact_reference(text)}" if artifact else ""
    missing = f"{format_count(omitted_lines, 'line')}, {format_count(len(omitted), 'byte')} left out"
    note = f"[… {missing}; {len(raw):,} bytes in all{where} …]"
    joint = "" if head.endswith(b"\n") or not head else "\n"
    shown = f"{head.decode()}{joint}{note}\n{tail.decode()}"
    return TruncatedText(shown, len(raw), len(pieces), digest, len(omitted), omitted_lines)


def _split_lines(raw: bytes) -> list[bytes]:
    """Split into lines with their line feeds; only a line feed ends a line."""
    *whole, last = raw.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _take_head(pieces: list[bytes], budget: int) -> bytes:
    kept = bytearray()
    for piece in pieces:
        if len(kept) + len(piece) > budget:
            if len(kept) < budget // 2:
                kept += piece[: _boundary(piece, budget - len(kept))]
            break
        kept += piece
    return bytes(kept)


def _take_tail(pieces: list[bytes], budget: int) -> bytes:
    kept: list[bytes] = []
    room = budget
    for piece in reversed(pieces):
        if len(piece) > room:
            if room > budget // 2:
                start = len(piece) - room
                while start < len(piece) and piece[start] & 0xC0 == 0x80:
                    start += 1
                kept.append(piece[start:])
            break
        kept.append(piece)
        room -= len(piece)
    return b"".join(reversed(kept))


def _boundary(piece: bytes, end: int) -> int:
    """Return the nearest character boundary at or before `end`."""
    while 0 < end < len(piece) and piece[end] & 0xC0 == 0x80:
        end -= 1
    return end
