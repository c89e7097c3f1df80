"""Expansion of mentions (@path) in user messages before they are recorded, under the policy's rules for reading.

Invariant: the mentioned contents are in the message's event and are not read again.
"""

from typing import TypeVar

from tui_agent.context.mentions import MAX_ALL_CHARS, Sources, expand, may_mention
from tui_agent.engine.automatic_reads import why_not
from tui_agent.engine.components import EngineParts
from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered

MessageT = TypeVar("MessageT", UserMessageReceived, UserSteered)
SHARE = 0.25
"""Maximum share of the model's window for the mentions of one message."""


class Mentioning:
    """Expands the mentions of messages."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def may(self, text: LongText) -> bool:
        """Return True if the text may contain mentions."""
        return may_mention(self._parts.blobs.text(text), self._parts.env.root)

    async def added(self, message: MessageT) -> MessageT:
        """Return the message with the contents that it mentions."""
        if message.mentions or not self.may(message.text):
            return message
        mentions = await expand(self._parts.blobs.text(message.text), self._sources())
        return message.model_copy(update={"mentions": mentions}) if mentions else message

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
