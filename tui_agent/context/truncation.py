"""What is shown of a long text: its head and its tail, with an exact note of what was left out between.

Invariant: the kept pieces are whole lines where lines are short, whole characters always; the counts add up.
"""

import hashlib
from dataclasses import dataclass

from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.unicode_text import counted

HEAD_SHARE = 0.6
MAX_BYTES = 16_000
MAX_LINES = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` is what is shown, note included; `size` (bytes of UTF-8), `lines` and `sha256` are of the whole."""

    text: str
    size: int
    lines: int
    sha256: str
    omitted_bytes: int = 0
    omitted_lines: int = 0

    @property
    def cut(self) -> bool:
        """Something was left out."""
        return self.omitted_bytes > 0


def is_artifact(text: str) -> str:
    """Where a model finds a text whole that is kept as an artifact."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"read_artifact reads all of it as {Artifact.id_of(digest)}"


def head_and_tail(
    text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES, artifact: bool = False
) -> Shown:
    """The text whole where it fits, else its head and tail: at most `max_bytes` of it and `max_lines` lines. `artifact`:
    the whole is kept as one, and that is told."""
    raw = text.encode("utf-8", "replace")
    pieces = _lines(raw)
    digest = hashlib.sha256(raw).hexdigest()
    if len(raw) <= max_bytes and len(pieces) <= max_lines:
        return Shown(text, len(raw), len(pieces), digest)
    head_lines = max(1, int(max_lines * HEAD_SHARE))
    tail_lines = max(0, max_lines - head_lines)
    head_budget = max(1, int(max_bytes * HEAD_SHARE))
    head = _head(pieces[:head_lines], head_budget)
    rest = len(raw) - len(head)
    tail_pieces = pieces[max(len(pieces) - tail_lines, 0) :] if tail_lines else []
    tail = _tail(tail_pieces, min(max_bytes - head_budget, rest))
    omitted = raw[len(head) : len(raw) - len(tail)]
    if not omitted:
        return Shown(text, len(raw), len(pieces), digest)
    left_out = omitted.count(b"\n") + (0 if omitted.endswith(b"\n") else 1)
    where = is_artifact(text) if artifact else f"sha256 {digest[:16]}"
    note = f"[… {counted(left_out, 'line')}, {counted(len(omitted), 'byte')} left out; {len(raw):,} bytes in all, {where} …]"
    joint = "" if head.endswith(b"\n") or not head else "\n"
    shown = f"{head.decode()}{joint}{note}\n{tail.decode()}"
    return Shown(shown, len(raw), len(pieces), digest, len(omitted), left_out)


def _lines(raw: bytes) -> list[bytes]:
    """Lines with their line feeds; nothing but a line feed ends a line."""
    *whole, last = raw.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _head(pieces: list[bytes], budget: int) -> bytes:
    kept = bytearray()
    for piece in pieces:
        if len(kept) + len(piece) > budget:
            if len(kept) < budget // 2:
                kept += piece[: _boundary(piece, budget - len(kept))]
            break
        kept += piece
    return bytes(kept)


def _tail(pieces: list[bytes], budget: int) -> bytes:
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
    """The nearest character boundary at or before `end`."""
    while 0 < end < len(piece) and piece[end] & 0xC0 == 0x80:
        end -= 1
    return end
