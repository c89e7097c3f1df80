"""The searchable text of an event: user messages and commands, answers, tool calls and tool results.

Invariant: each event has at most one text, and long texts are cut.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import LongText
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived, UserShellFinished, UserSteered
from tui_agent.protocol.parts import Content, ModelPart, TextContent, TextPart
from tui_agent.store.blobs import BlobStore
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_line import decode_line
from tui_agent.store.log_scan import split_lines

MAX_TEXT_CHARS = 64_000
"""Maximum number of searchable characters of an event. Results for the model are shorter than this."""
OUTPUT_END_CHARS = 2_000
"""Number of searchable characters at the end of a full output, which the screen shows even if the model did not get
it."""
_PAYLOAD = b'"payload":{"kind":"'
_KINDS = (
    b"user.message",
    b"user.steered",
    b"user.shell_finished",
    b"model.responded",
    b"tool.called",
    b"tool.finished",
    b"session.titled",
)


@dataclass(frozen=True, slots=True)
class SearchText:
    """The searchable text of one event."""

    seq: int
    time: float
    kind: str
    text: str


def extract_texts(piece: bytes, folder: Path) -> Iterator[SearchText]:
    """Yield the searchable texts in whole lines of a session's log."""
    blobs = open_blobs(folder)
    for _, line in split_lines(piece):
        start = line.find(_PAYLOAD) + len(_PAYLOAD)
        if not line.startswith(_KINDS, start):
            continue
        record = decode_line(line, blobs)
        if isinstance(record, Envelope):
            text = _event_text(record, blobs)[:MAX_TEXT_CHARS]
            if text:
                yield SearchText(record.seq, record.time, record.payload.kind, text)


def _event_text(event: Envelope, blobs: BlobStore) -> str:
    match event.payload:
        case UserMessageReceived(text=text) | UserSteered(text=text):
            return _load_text(text, blobs)
        case ModelResponded(parts=parts):
            return _join_texts(parts, blobs)
        case UserShellFinished(command=command, output=output, full_output=full_output):
            return f"{command}\n{_add_end(_load_text(output, blobs), full_output, blobs)}"
        case ToolCalled(name=name, target=target, arguments=arguments):
            return "\n".join(
                [f"{name} {target}", *(text for text in _strings_in(arguments) if text != target)]
            )
        case ToolFinished(content=content, full_output=output):
            return _add_end(_join_texts(content, blobs), output, blobs)
        case SessionTitled(title=title):
            return title
    return ""


def _add_end(text: str, full_output: LongText | None, blobs: BlobStore) -> str:
    """Append the end of the full output, if the text does not contain it yet."""
    end = _load_text(full_output or "", blobs)[-OUTPUT_END_CHARS:].strip()
    return text if end in text else f"{text}\n{end}"


def _strings_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(item)


def _join_texts(parts: Iterable[ModelPart | Content], blobs: BlobStore) -> str:
    return "\n".join(
        _load_text(part.text, blobs) for part in parts if isinstance(part, TextPart | TextContent)
    )


def _load_text(text: LongText, blobs: BlobStore) -> str:
    if isinstance(text, str):
        return text
    data = blobs.find(text.blob_sha256)
    return text.preview if data is None else data.decode("utf-8", "replace")
