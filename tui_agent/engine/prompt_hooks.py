"""The hooks of prompts and of the session's start and end, and the mentions of prompts.

Invariant: a prompt starts a turn only after the hooks of the session's start and of the prompt have ended. Mentioned
contents are in the message's event and are not read again.
"""

from typing import Final, TypeVar

import anyio

from tui_agent.context.mentions import MAX_ALL_CHARS, Sources, expand, may_mention
from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.access import why_not
from tui_agent.engine.tools.hooks import NOTHING, Heard, Hooks
from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.session import CommandRejected
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


END_S: Final = 10.0
"""Maximum seconds for hooks at the end of the session."""
ABANDONED_S: Final = 2.0
"""The same if the client is gone."""
_UP: Final = "Press Up to get your message back."


class HeardPrompts:
    """The hooks around prompts and the session."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._hooks = Hooks(parts)
        self._mentioning = Mentioning(parts)
        self._lock = anyio.Lock()
        self._session_started = anyio.Event()
        if not self._hooks.wanted("session_start"):
            self._session_started.set()

    def ready(self, text: LongText) -> bool:
        """Return True if the prompt can be recorded at once: no hooks and no mentions."""
        return not self.waits_for and not self._mentioning.may(text)

    @property
    def waits_for(self) -> str:
        """The hook that a prompt waits for; empty if there is none."""
        return (
            ""
            if self._session_started.is_set() and not self._hooks.wanted("before_prompt")
            else "before_prompt hook"
        )

    async def mentioning(self, message: MessageT) -> MessageT:
        """Return the message with the contents that it mentions."""
        return await self._mentioning.added(message)

    async def session_start(self) -> None:
        """Tell hooks that the session is open. After a cancellation, prompts no longer wait for them."""
        if self._session_started.is_set():
            return
        source = "resume" if self._parts.recorder.state.turn else "new"
        try:
            await self._hooks.tell("session_start", {"source": source})
        finally:
            self._session_started.set()

    async def session_end(self, *, abandoned: bool) -> None:
        """Tell hooks that the session ends; slow hooks are stopped."""
        with anyio.move_on_after(ABANDONED_S if abandoned else END_S, shield=True):
            await self._hooks.tell("session_end", {"reason": "abandoned" if abandoned else "closed"})

    async def prompt(self, text: LongText) -> Heard:
        """Ask the hooks about a prompt; the caller records their answers. Prompts are handled in order."""
        async with self._lock:
            await self._session_started.wait()
            return await self._hooks.hear("before_prompt", {"prompt": self._parts.blobs.text(text)})

    def record(self, heard: Heard) -> None:
        """Record the answers that `prompt` returned."""
        self._hooks.record(heard)

    def rejection(self, heard: Heard | None, command: str) -> CommandRejected:
        """Return the rejection of a prompt by a hook, or (None) by the user, who stopped the hook."""
        hint = _UP if self._parts.interactive else ""
        if heard is None or heard is NOTHING or heard.decision != "deny":
            return CommandRejected(command=command, reason="Stopped before it was sent.", hint=hint)
        why = f": {heard.reason.rstrip('.')}." if heard.reason else "."
        return CommandRejected(command=command, reason=f"A hook refused this message{why}", hint=hint)
