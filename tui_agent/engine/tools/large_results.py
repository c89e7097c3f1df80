"""Large observations: the model is told their beginning and end, the whole is kept for it to read on in.

Invariant: no single result takes more than a share of the window; what is kept has been redacted before it is cut, so
that no half of a secret is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from anyio import to_thread

from tui_agent.context.summary import CutText
from tui_agent.context.truncation import MAX_LINES, head_and_tail
from tui_agent.errors import BlobMissing, EnvironmentFault
from tui_agent.ports.log import Blobs
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, LongText
from tui_agent.protocol.events.context import Cut
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.parts import Content, TextContent

LARGE, SEEN, LEAST = 24_000, 60_000, 2_000
"""Bytes of a result that are told: at most; of a file that counts as seen once it is read; and whatever the window."""
_CHARS_PER_TOKEN = 4
_PREVIEW = 2 / 3
_MARGIN = 256


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as it is recorded."""

    content: tuple[Content, ...]
    full_output: LongText | None = None
    artifact: Artifact | None = None
    environment: bool = False
    """Something of it could not be stored."""


def limit_of(window: int, *, seen: bool = False) -> int:
    """Bytes that a result may have: an eighth of the window, of a file that is read a quarter, within limits."""
    most, share = (SEEN, 4) if seen else (LARGE, 8)
    return max(LEAST, min(most, window * _CHARS_PER_TOKEN // share)) if window else most


async def kept_whole(result: ToolResult, tool: str, window: int, blobs: Blobs) -> Kept:
    """The result with what is too long of it in an artifact. `blobs` cut what they cannot store, and do not raise."""
    limit = limit_of(window, seen=any(isinstance(event, FileRead) for event in result.events))
    told = sum(_size(one.text) for one in result.content if isinstance(one, TextContent))
    whole = result.full_output
    hidden = isinstance(whole, BlobText) and whole.size > told + _MARGIN
    kept = Kept(result.content, whole)
    if told > limit or hidden:
        with anyio.CancelScope(shield=True):
            kept = await to_thread.run_sync(partial(_kept, result, tool, limit, told, blobs))
    return kept


def _kept(result: ToolResult, tool: str, limit: int, told: int, blobs: Blobs) -> Kept:
    content, whole = result.content, result.full_output
    if told > limit:
        text = blobs.text(blobs.keep(_joined(content, blobs)))
        content = _shortened(content, text, limit)
        if whole is None or _size(whole) <= len(text):
            whole = blobs.keep(text)
    if "artifact_id" in result.data:  # it is read on in already
        return Kept(content, result.full_output)
    artifact = _artifact(tool, whole, content, blobs)
    if artifact is None:
        return Kept(content, result.full_output)
    note = TextContent(text=f"[The whole is {artifact.about}. read_artifact reads on in it.]")
    return Kept((*content, note), whole, artifact)


def _artifact(tool: str, whole: LongText | None, content: Sequence[Content], blobs: Blobs) -> Artifact | None:
    if whole is None:
        return None
    try:
        text = blobs.text(whole)
    except BlobMissing:  # it could not be stored, which `blobs` have told
        return None
    try:
        stored = whole if isinstance(whole, BlobText) else as_blob(text, blobs)
    except EnvironmentFault:  # neither could this
        return None
    told = sum(_size(one.text) for one in content if isinstance(one, TextContent))
    return Artifact.of(tool, stored, lines=line_count(text), preview_size=told)


def as_blob(text: str, blobs: Blobs) -> BlobText:
    """A text as a blob, however short it is. `text` has been redacted. Raises `StoreFull`, `EnvironmentFault`."""
    data = text.encode("utf-8", "replace")
    return BlobText(blob_sha256=blobs.put(data), size=len(data), preview=text)


def line_count(text: str) -> int:
    """Lines of a text; nothing but a line feed ends one."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def _joined(content: Sequence[Content], blobs: Blobs) -> str:
    return "\n".join(blobs.text(one.text) for one in content if isinstance(one, TextContent))


def _shortened(content: Sequence[Content], text: str, limit: int) -> tuple[Content, ...]:
    """One text in place of all, and whatever is no text behind it."""
    shown = head_and_tail(text, max_bytes=round(limit * _PREVIEW), max_lines=MAX_LINES)
    return (TextContent(text=shown.text), *(one for one in content if not isinstance(one, TextContent)))


def _size(text: LongText) -> int:
    return text.size if isinstance(text, BlobText) else len(text.encode("utf-8", "replace"))


def cut_record(cut: CutText, blobs: Blobs) -> Cut:
    """What is recorded of words that are cut, with the artifact that has all of them."""
    whole = as_blob(cut.whole, blobs)
    artifact = Artifact.of(cut.what, whole, lines=line_count(cut.whole), preview_size=cut.chars)
    return Cut(what=cut.what, raw_chars=len(cut.whole), chars=cut.chars, artifact=artifact)
