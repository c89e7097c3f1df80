"""Large results: the model gets the beginning and the end, and can read the rest from an artifact.

Invariant: no result takes more than a fixed share of the model's window.
"""

from collections.abc import Sequence
from functools import partial

import anyio
from anyio import to_thread

from tui_agent.context.compaction.summary_text import CutText
from tui_agent.context.truncation import MAX_LINES, TruncatedText, head_and_tail
from tui_agent.engine.tools.live_output import MAX_UNSAMPLED_CHARS, CollectedOutput
from tui_agent.errors import BlobNotFound, EnvironmentFault
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.plain_text import strip_control_sequences
from tui_agent.ports.log import Blobs
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.artifacts import Artifact, left_out_note, stored_artifact_id
from tui_agent.protocol.display_blocks import DisplayBlock, TerminalBlock
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import Truncation
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content, TextContent
from tui_agent.protocol.stored_text import BlobText, LongText
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_bytes, format_number

MAX_RESULT_BYTES, MAX_READ_BYTES, MIN_RESULT_BYTES = 24_000, 60_000, 2_000
"""Maximum bytes of a tool's result, maximum bytes of a file's content, and the minimum of both limits.

A small window lowers the two limits, but not below `MIN_RESULT_BYTES`.
"""
_CHARS_PER_TOKEN = 4
_PREVIEW_FRACTION = 2 / 3
"""Size of the preview of a result that is too long, as a fraction of the limit."""
_MARGIN = 256
"""Minimum number of bytes that a tool's own preview leaves out, if its full output becomes an artifact."""


@dataclass(frozen=True, slots=True)
class StoppedOutput:
    """The output of a call that did not finish.

    - `text`: the output for the model, shortened and without control sequences.
    - `heading`: words before `text`.
    - `stored`: the complete output. None if the complete output is not known.
    """

    text: str
    heading: str = "Its output:"
    stored: LongText | None = None
    artifact: Artifact | None = None

    def append_to(self, message: str) -> str:
        """Return `message`, followed by the output if there is any."""
        return f"{message} {self.heading}\n{self.text}" if self.text else message

    @property
    def display(self) -> tuple[DisplayBlock, ...]:
        """The complete output for the screen."""
        return () if self.stored is None else (TerminalBlock(text=self.stored),)


@dataclass(frozen=True, slots=True)
class RecordableResult:
    """A tool's result as recorded: shortened content, full output and artifact."""

    content: tuple[Content, ...]
    summary: str
    """The tool's summary, with the size of the left-out part."""
    full_output: LongText | None = None
    artifact: Artifact | None = None
    storage_failed: bool = False
    """True if some part of the result could not be stored."""


def result_limit(window: int, *, is_file: bool = False) -> int:
    """Return the maximum number of bytes in a tool's result.

    - `window`: size of the model's window in tokens (0: unknown).
    - `is_file`: True if the result is the content of a file, which can be longer.
    """
    maximum, share = (MAX_READ_BYTES, 4) if is_file else (MAX_RESULT_BYTES, 8)
    return max(MIN_RESULT_BYTES, min(maximum, window * _CHARS_PER_TOKEN // share)) if window else maximum


async def offload_large_result(result: ToolResult, tool: str, window: int, blobs: Blobs) -> RecordableResult:
    """Shorten a result that is too long, and store its full text as an artifact."""
    limit = result_limit(window, is_file=any(isinstance(event, FileRead) for event in result.events))
    size = _content_size(result.content)
    full_output = result.full_output
    is_preview = isinstance(full_output, BlobText) and (
        full_output.size > size + _MARGIN
        or await to_thread.run_sync(_names, result.content, stored_artifact_id(full_output), blobs)
    )
    recordable = RecordableResult(result.content, result.summary, full_output)
    if size > limit or is_preview:
        with anyio.CancelScope(shield=True):  # the call has ended, so a stop must not lose its result
            recordable = await to_thread.run_sync(partial(_offload, result, tool, limit, size, blobs))
    return recordable


def store_stopped_output(output: str, tool: str, window: int, blobs: Blobs) -> StoppedOutput:
    """Store the output of a call that was stopped, and shorten it for the model.

    `window`: size of the model's window in tokens (0: unknown).
    """
    stored = blobs.put_text(output)
    # Storing a text redacts its secrets, so the shortened text is made from the stored text.
    text = strip_control_sequences(blobs.read_text(stored)).strip("\n")
    max_bytes = round(result_limit(window) * _PREVIEW_FRACTION)
    if len(text.encode()) <= max_bytes and not isinstance(stored, BlobText):
        return StoppedOutput(text, stored=stored or None)
    artifact = _artifact(tool, stored, blobs)
    identity = "" if artifact is None else artifact.id
    shown = head_and_tail(text, max_bytes=max_bytes, max_lines=MAX_LINES, artifact=identity)
    if not shown.is_cut or artifact is None:
        return StoppedOutput(shown.text, stored=stored)
    artifact = artifact.model_copy(update={"preview_size": len(shown.text.encode())})
    return StoppedOutput(shown.text, stored=stored, artifact=artifact)


def recorded_outputs(history: Sequence[Record]) -> dict[CallId, StoppedOutput]:
    """Return the recorded live output of the calls that have no result in `history`."""
    printed: dict[CallId, CollectedOutput] = {}
    for record in history:
        match record.payload:
            case ToolProgress(call_id=call_id, text=text, stream="output"):
                printed.setdefault(call_id, CollectedOutput()).add(text)
            case ToolFinished(call_id=call_id):
                printed.pop(call_id, None)
    return {call_id: recorded_output(output.text()) for call_id, output in printed.items()}


def recorded_output(samples: str) -> StoppedOutput:
    """Return the output of a command that was lost in a crash.

    `samples`: the live output in the log.
    """
    text, heading = samples, "Its recorded output:"
    if len(text) > MAX_UNSAMPLED_CHARS:
        text = text[: text.rfind("\n") + 1] or text
        complete_chars = format_number(MAX_UNSAMPLED_CHARS)
        heading = f"Of its output, only the first {complete_chars} characters and samples of the rest were recorded:"
    return StoppedOutput(head_and_tail(strip_control_sequences(text).strip("\n")).text, heading)


def _offload(result: ToolResult, tool: str, limit: int, size: int, blobs: Blobs) -> RecordableResult:
    content, summary, full_output = result.content, result.summary, result.full_output
    texts = (blobs.read_text(part.text) for part in content if isinstance(part, TextContent))
    # Storing a text redacts its secrets, so the preview is made from the stored text.
    text = blobs.read_text(blobs.put_text("\n".join(texts)))
    if size > limit and (full_output is None or _size(full_output) <= len(text)):
        full_output = blobs.put_text(text)
    # A call that read an artifact needs no new one for its result.
    artifact = None if "artifact_id" in result.data else _artifact(tool, full_output, blobs)
    identity = "" if artifact is None else artifact.id
    if size > limit:
        size_shown = round(limit * _PREVIEW_FRACTION)
        preview = head_and_tail(text, max_bytes=size_shown, max_lines=MAX_LINES, artifact=identity)
        others = (part for part in content if not isinstance(part, TextContent))  # for example images
        content = (TextContent(text=preview.text), *others)
        summary = _add_omission(summary, preview)
    if artifact is None:
        return RecordableResult(content, summary, result.full_output)
    artifact = artifact.model_copy(update={"preview_size": _content_size(content)})
    if identity not in text and size <= limit:
        note = left_out_note(artifact.lines - line_count(text), artifact.size - size, identity)
        content = (*content, TextContent(text=note))
    return RecordableResult(content, summary, full_output, artifact)


def _names(content: Sequence[Content], artifact_id: str, blobs: Blobs) -> bool:
    """Return True if the tool itself tells the model to read the rest in this artifact. Blocks: call it in a thread."""
    return any(
        isinstance(part, TextContent) and artifact_id in blobs.read_text(part.text) for part in content
    )


def _artifact(tool: str, full_output: LongText | None, blobs: Blobs) -> Artifact | None:
    if full_output is None:
        return None
    try:
        text = blobs.read_text(full_output)
        stored = full_output if isinstance(full_output, BlobText) else as_blob(text, blobs)
    except (BlobNotFound, EnvironmentFault):  # the text could not be stored; `blobs.faults` has the reason
        return None
    return Artifact.from_blob(tool, stored, lines=line_count(text), preview_size=0)


def as_blob(text: str, blobs: Blobs) -> BlobText:
    """Store a redacted text as a blob, even if the text is short.

    Raise `StoreFull` or `EnvironmentFault` if the text cannot be stored.
    """
    data = text.encode("utf-8", "replace")
    return BlobText(blob_sha256=blobs.put_bytes(data), size=len(data), preview=text)


def line_count(text: str) -> int:
    """Return the number of lines in a text."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def _add_omission(summary: str, preview: TruncatedText) -> str:
    """Add to a summary how much is left out, for example `715 lines, 567 left out`."""
    if not preview.is_cut:
        return summary
    missing = format_bytes(preview.omitted_bytes)
    if preview.omitted_lines > 1:
        missing = format_count(preview.omitted_lines, "line")
    if summary.endswith(" lines"):
        missing = missing.removesuffix(" lines")
    return ", ".join(filter(None, (summary, f"{missing} left out")))


def _content_size(content: Sequence[Content]) -> int:
    return sum(_size(part.text) for part in content if isinstance(part, TextContent))


def _size(text: LongText) -> int:
    return text.size if isinstance(text, BlobText) else len(text.encode("utf-8", "replace"))


def cut_record(cut: CutText, blobs: Blobs) -> Truncation:
    """Store the full text of a shortened text as an artifact. Return a `Truncation` with the artifact and both lengths."""
    blob = as_blob(cut.full_text, blobs)
    artifact = Artifact.from_blob(cut.label, blob, lines=line_count(cut.full_text), preview_size=cut.chars)
    return Truncation(label=cut.label, raw_chars=len(cut.full_text), chars=cut.chars, artifact=artifact)
