"""The provider-neutral history that is sent to a model.

Invariant of a legal history (checked by `check_pairs`): every tool call is answered by exactly one `ToolMessage`
before the next user or assistant message.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content, ModelPart, ToolCallPart

UserKind: TypeAlias = Literal["said", "mentions", "map", "passing", "restored", "instructions"]
"""What was said; the files that the message before it mentions; the map of the repository; what stands in this one
request only; what a summary stood for and was brought back; instructions of a folder that is worked in now."""


class UserMessage(Frozen):
    """What a person (or the product on their behalf) says to the model, or what goes along with it."""

    role: Literal["user"] = "user"
    content: tuple[Content, ...]
    seq: int = -1
    kind: UserKind = "said"


class AssistantMessage(Frozen):
    """A model's answer, with the model profile that gave it (reasoning goes back to the same model only)."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[ModelPart, ...]
    model: str = ""
    seq: int = -1


class ToolMessage(Frozen):
    """The result of one call; `artifact_id` is what the whole of it is kept as, where it was shortened or read on in."""

    role: Literal["tool"] = "tool"
    call_id: CallId
    name: str
    content: tuple[Content, ...]
    ok: bool = True
    seq: int = -1
    artifact_id: str = ""


class SummaryShare(Frozen):
    """What of a summary counts for a section: characters as they stand in it, and as they were before some were cut."""

    section: Literal["task_contract", "packed_context"]
    raw_chars: int
    chars: int
    dropped_blocks: int = 0


class SummaryMessage(Frozen):
    """What stands for messages that were compacted away; sent as a user message. Without `shares` all of it is a summary."""

    role: Literal["summary"] = "summary"
    text: LongText
    seq: int = -1
    shares: tuple[SummaryShare, ...] = ()


Message: TypeAlias = Annotated[
    UserMessage | AssistantMessage | ToolMessage | SummaryMessage, Field(discriminator="role")
]


def check_pairs(messages: Sequence[Message]) -> list[str]:
    """What is illegal about a history, one sentence a fault; empty when every call has its one result in place."""
    faults: list[str] = []
    open_calls: dict[CallId, str] = {}
    seen: set[CallId] = set()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if open_calls.pop(message.call_id, None) is None:
                faults.append(
                    f"message {position}: a result for {message.call_id}, which no open call asked for"
                )
            continue
        if open_calls:
            faults.append(f"message {position}: calls without a result: {', '.join(sorted(open_calls))}")
            open_calls = {}
        if isinstance(message, AssistantMessage):
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    if part.call_id in seen:
                        faults.append(f"message {position}: call id {part.call_id} is used twice")
                    seen.add(part.call_id)
                    open_calls[part.call_id] = part.name
    if open_calls:
        faults.append(f"end: calls without a result: {', '.join(sorted(open_calls))}")
    return faults
