"""Model client that repeats a session's recorded answers in order.

Invariant: the number of answers in the conversation selects the next answer.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Final

from anyio.lowlevel import checkpoint
from pydantic import TypeAdapter, ValidationError

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.projection import current_branch
from tui_agent.models.provider_faults import fault
from tui_agent.ports.log import BlobReader
from tui_agent.ports.model import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import (
    ModelPart,
    PatchPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    text_previews,
)
from tui_agent.protocol.stored_text import text_preview


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """The recorded answers of a session.

    - `answers`: answers of the main agent.
    - `delegates`: answers of each delegate, by its task.
    """

    answers: Sequence[ModelResponded] = ()
    delegates: Mapping[str, Sequence[ModelResponded]] = field(default_factory=dict)


ANSWERS_ENDING: Final = ".json"


@cache
def answers_format() -> TypeAdapter[RecordedAnswers]:
    """Return the pydantic adapter for a file with recorded answers."""
    return TypeAdapter(RecordedAnswers)


def read_answers(file: Path) -> RecordedAnswers:
    """Return the recorded answers in a file. Raise `ConfigError` if the file cannot be read."""
    try:
        return answers_format().validate_json(file.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}.", hint="Freeze the session again."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{file}, at {place}: {first['msg']}.", hint="Freeze the session again.") from error


class ReplayClient:
    """Model client that streams recorded answers.

    `name`: name of the recording in messages.
    """

    def __init__(self, recording: RecordedAnswers, name: str) -> None:
        self._recording = recording
        self._name = name

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks(request))

    async def aclose(self) -> None:
        """Do nothing: no resources are open."""

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        await checkpoint()
        if request.purpose == "compaction":
            yield fault("script", f"{self._name} has no recorded summaries.")
            return
        index = request.answer_index
        answers = self._recording.delegates.get(_conversation_task(request), self._recording.answers)
        if index >= len(answers):
            yield fault(
                "script", f"{self._name} has only {len(answers)} recorded answers, but another was requested."
            )
            return
        for chunk in chunks_of(answers[index]):
            yield chunk


def chunks_of(answer: ModelResponded) -> Iterator[ModelChunk]:
    """Yield the chunks that a provider would stream for this answer. The texts of the answer must be complete."""
    for number, part in enumerate(answer.parts):
        yield _chunk(part, number)
    yield UsageChunk(answer.usage, answer.cost_usd)
    yield FinishChunk(answer.finish, answer.provider_id)


def read_recording(records: Sequence[Record], blobs: BlobReader) -> RecordedAnswers:
    """Return the answers of the main agent and of each delegate on the current branch of a log."""
    tasks: dict[str, Sequence[ModelResponded]] = {}
    for record in current_branch(records):
        if isinstance(record.payload, AgentSpawned):
            tasks.setdefault(
                blobs.read_text(record.payload.task), recorded_answers(records, blobs, record.agent)
            )
    return RecordedAnswers(recorded_answers(records, blobs), tasks)


def _conversation_task(request: ModelRequest) -> str:
    """Return the start of the first user message, which identifies the conversation."""
    if request.starts_with_summary:
        return request.opening_text
    first = next((message for message in request.messages if isinstance(message, UserMessage)), None)
    content = first.content if first is not None else ()
    return "".join(text_previews(content))


def recorded_answers(
    records: Sequence[Record], blobs: BlobReader, agent: AgentId = MAIN_AGENT
) -> tuple[ModelResponded, ...]:
    """Return an agent's answers on the current branch of a log, in order, with complete texts."""
    return tuple(
        _load_texts(record.payload, blobs)
        for record in current_branch(records)
        if record.agent == agent
        and isinstance(record.payload, ModelResponded)
        and record.payload.author == "model"
    )


def _load_texts(answer: ModelResponded, blobs: BlobReader) -> ModelResponded:
    parts: list[ModelPart] = []
    for part in answer.parts:
        match part:
            case TextPart() | PatchPart():
                parts.append(part.model_copy(update={"text": blobs.read_text(part.text)}))
            case ReasoningPart():
                signature = None if part.signature is None else blobs.read_text(part.signature)
                parts.append(
                    part.model_copy(update={"text": blobs.read_text(part.text), "signature": signature})
                )
            case ToolCallPart():
                malformed = None if part.malformed is None else blobs.read_text(part.malformed)
                arguments = blobs.resolve(part.arguments)
                parts.append(part.model_copy(update={"arguments": arguments, "malformed": malformed}))
    return answer.model_copy(update={"parts": tuple(parts)})


def _chunk(part: ModelPart, number: int) -> ModelChunk:
    match part:
        case ReasoningPart():
            signature = "" if part.signature is None else text_preview(part.signature)
            return ReasoningChunk(text_preview(part.text), signature, part.opaque)
        case ToolCallPart():
            raw = json.dumps(part.arguments, ensure_ascii=False)
            arguments = raw if part.malformed is None else text_preview(part.malformed)
            return ToolCallChunk(number, part.call_id, part.name, arguments)
        case TextPart() | PatchPart():
            return TextChunk(text_preview(part.text))
