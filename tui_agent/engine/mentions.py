"""Looks up what a message of the user mentions before it is recorded, under the policy's rules for reading.

Invariant: what the message was sent with stands in its event; nothing of it is read again.
"""

from typing import TypeVar

from tui_agent.context.mentions import MAX_ALL_CHARS, Sources, expand, may_mention
from tui_agent.engine.automatic_reads import why_not
from tui_agent.engine.components import EngineParts
from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered

MessageT = TypeVar("MessageT", UserMessageReceived, UserSteered)
SHARE = 0.25
"""Of the model's window, at most, for what one message mentions."""


class Mentioning:
    """The mentions of messages."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def may(self, text: LongText) -> bool:
        """Whether the message may mention something, so that it has to be looked up."""
        return may_mention(self._parts.blobs.text(text), self._parts.env.root)

    async def added(self, message: MessageT) -> MessageT:
        """The message with what it mentions."""
        if message.mentions or not self.may(message.text):
            return message
        found = await expand(self._parts.blobs.text(message.text), self._sources())
        return message.model_copy(update={"mentions": found}) if found else message

    def _sources(self) -> Sources:
        parts = self._parts
        settings = parts.recorder.state.settings
        window = parts.recorder.windows.least(settings.model) if settings is not None else 0
        room = round(window * SHARE * 4) if window else MAX_ALL_CHARS
        return Sources(
            env=parts.env,
            may_read=self._why_not,
            keep_image=parts.blobs.put,
            symbols=parts.knowledge.symbols,
            images=settings is not None and settings.model.images,
            room=min(room, MAX_ALL_CHARS),
        )

    def _why_not(self, path: str, real: str) -> str:
        parts = self._parts
        return why_not(
            parts.policy, parts.recorder.state, parts.env.root, path, real, allowed=parts.allowed_tools
        )
