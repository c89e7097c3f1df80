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
"""Origin of a user message.

- `said`: text written by a person.
- `mentions`: the files that the previous message mentions.
- `map`: the repository map.
- `passing`: content of this one request only.
- `restored`: messages brought back from a summary.
- `instructions`: instructions of a folder that the agent has begun to work in.
"""


class UserMessage(Frozen):
    """A message from a person, from the product on their behalf, or with context that accompanies one."""

    role: Literal["user"] = "user"
    content: tuple[Content, ...]
    seq: int = -1
    kind: UserKind = "said"


class AssistantMessage(Frozen):
    """A model's answer and the profile of the model that gave it. Reasoning is sent back to the same model
    only."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[ModelPart, ...]
    model: str = ""
    seq: int = -1


class ToolMessage(Frozen):
    """The result of one call.

    `artifact_id` names the artifact that stores the full text, if the result was shortened or is itself read
    from one.
    """

    role: Literal["tool"] = "tool"
    call_id: CallId
    name: str
    content: tuple[Content, ...]
    ok: bool = True
    seq: int = -1
    artifact_id: str = ""


class SummaryShare(Frozen):
    """The part of a summary that counts towards one section: characters sent, and before any were cut."""

    section: Literal["task_contract", "packed_context"]
    raw_chars: int
    chars: int
    dropped_blocks: int = 0


class SummaryMessage(Frozen):
    """A summary that replaces compacted messages; sent as a user message.

    Without `shares` the whole text counts as summary.
    """

    role: Literal["summary"] = "summary"
    text: LongText
    seq: int = -1
    shares: tuple[SummaryShare, ...] = ()


Message: TypeAlias = Annotated[
    UserMessage | AssistantMessage | ToolMessage | SummaryMessage, Field(discriminator="role")
]


def check_pairs(messages: Sequence[Message]) -> list[str]:
    """Return the faults of a history, one sentence each; empty if every call is followed by its one
    result."""
    faults: list[str] = []
    open_calls: dict[CallId, str] = {}
    seen_ids: set[CallId] = set()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if open_calls.pop(message.call_id, None) is None:
                faults.append(f"message {position}: a result for {message.call_id}, which has no open call")
            continue
        if open_calls:
            faults.append(f"message {position}: calls without a result: {', '.join(sorted(open_calls))}")
            open_calls = {}
        if isinstance(message, AssistantMessage):
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    if part.call_id in seen_ids:
                        faults.append(f"message {position}: call id {part.call_id} is used twice")
                    seen_ids.add(part.call_id)
                    open_calls[part.call_id] = part.name
    if open_calls:
        faults.append(f"end: calls without a result: {', '.join(sorted(open_calls))}")
    return faults
