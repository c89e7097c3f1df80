"""What comes before a prompt is recorded: what hooks say about it, and what it mentions; and the session's own start
and end.

Invariant: no prompt begins a turn before the hooks of the session's start have ended, and those of the prompt.
"""

from typing import Final

import anyio

from tui_agent.engine.components import EngineParts
from tui_agent.engine.mentions import Mentioning, MessageT
from tui_agent.engine.tools.hooks import NOTHING, Heard, Hooks
from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.session import CommandRejected

END_S: Final = 10.0
"""Seconds that hooks may take once the session is over."""
ABANDONED_S: Final = 2.0
"""The same when nobody is there any more."""
_UP: Final = "The key Up brings your words back."


class HeardPrompts:
    """The hooks around prompts and the session."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._hooks = Hooks(parts)
        self._mentioning = Mentioning(parts)
        self._lock = anyio.Lock()
        self._begun = anyio.Event()
        if not self._hooks.wanted("session_start"):
            self._begun.set()

    def ready(self, text: LongText) -> bool:
        """Nothing has to be heard or looked up before this prompt is taken."""
        return not self.waits_for and not self._mentioning.may(text)

    @property
    def waits_for(self) -> str:
        """The hook that a prompt waits for; empty where there is none."""
        return (
            "" if self._begun.is_set() and not self._hooks.wanted("before_prompt") else "before_prompt hook"
        )

    async def mentioning(self, message: MessageT) -> MessageT:
        """The message with what it mentions."""
        return await self._mentioning.added(message)

    async def session_start(self) -> None:
        """Tell that the session is open. Cancelled, nothing waits for it any more."""
        if self._begun.is_set():
            return
        source = "resume" if self._parts.recorder.state.turn else "new"
        try:
            await self._hooks.tell("session_start", {"source": source})
        finally:
            self._begun.set()

    async def session_end(self, *, abandoned: bool) -> None:
        """Tell that it ends; those that take too long are ended."""
        with anyio.move_on_after(ABANDONED_S if abandoned else END_S, shield=True):
            await self._hooks.tell("session_end", {"reason": "abandoned" if abandoned else "closed"})

    async def prompt(self, text: LongText) -> Heard:
        """What the hooks say of a prompt, to be recorded beside it. One prompt after the other, as they came."""
        async with self._lock:
            await self._begun.wait()
            return await self._hooks.hear("before_prompt", {"prompt": self._parts.blobs.text(text)})

    def record(self, heard: Heard) -> None:
        """Put into the log what `prompt` heard."""
        self._hooks.record(heard)

    def rejection(self, heard: Heard | None, command: str) -> CommandRejected:
        """The refusal of a prompt: by a hook; or (None) by the user, who stopped the hook."""
        hint = _UP if self._parts.interactive else ""
        if heard is None or heard is NOTHING or heard.decision != "deny":
            return CommandRejected(command=command, reason="Stopped before it was sent.", hint=hint)
        why = f": {heard.reason.rstrip('.')}." if heard.reason else "."
        return CommandRejected(command=command, reason=f"A hook refused this message{why}", hint=hint)
