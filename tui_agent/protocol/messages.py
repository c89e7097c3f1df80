"""The history for a model, in a form that does not depend on the provider.

Invariant: in a valid history, one `ToolMessage` follows each tool call, before the next user or assistant message.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content, ModelPart
from tui_agent.protocol.stored_text import LongText

MessageOrigin: TypeAlias = Literal[
    "prompt", "mentions", "map", "transient", "restored", "instructions", "hook"
]
"""Origin of a user message.

- `prompt`: text written by a person.
- `mentions`: the files that the previous message mentions.
- `map`: the repository map.
- `transient`: content of this one request only.
- `restored`: messages that were restored after a summary had replaced them.
- `instructions`: instructions of a folder where the agent now works.
"""


class UserMessage(FrozenModel):
    """A message with the role `user`. `origin`: a person, or the engine's reason to add the message."""

    role: Literal["user"] = "user"
    content: tuple[Content, ...]
    seq: int = -1
    origin: MessageOrigin = "prompt"


class AssistantMessage(FrozenModel):
    """A model's answer as a message of the history.

    `model`: the model's profile. Reasoning is sent back only to this model.
    """

    role: Literal["assistant"] = "assistant"
    parts: tuple[ModelPart, ...]
    model: str = ""
    seq: int = -1


class ToolMessage(FrozenModel):
    """The result of one tool call, as a message of the history.

    `artifact_id`: artifact with the full text of a shortened result, or the artifact that the call read.
    """

    role: Literal["tool"] = "tool"
    call_id: CallId
    name: str
    content: tuple[Content, ...]
    ok: bool = True
    seq: int = -1
    artifact_id: str = ""


class SummaryShare(FrozenModel):
    """The size of one part of a summary. The part is counted in the request's section `section`.

    `chars`: characters as sent. `raw_chars`: characters before shortening.
    """

    section: Literal["task_contract", "packed_context"]
    raw_chars: int
    chars: int
    dropped_blocks: int = 0


class SummaryMessage(FrozenModel):
    """A summary that replaces compacted messages, sent as a user message.

    `shares`: division of the text among the request's sections. Empty: all text belongs to the section of summaries.
    """

    role: Literal["summary"] = "summary"
    text: LongText
    seq: int = -1
    shares: tuple[SummaryShare, ...] = ()


Message: TypeAlias = Annotated[
    UserMessage | AssistantMessage | ToolMessage | SummaryMessage, Field(discriminator="role")
]
