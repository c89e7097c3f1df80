"""Hooks for prompts, session starts and session ends, and the mentions in a prompt.

Invariant: a prompt starts a turn only after the hooks for the prompt have ended.
"""

from collections.abc import Collection
from typing import Final, TypeVar

import anyio

from tui_agent.context.mentions.mentions import Sources, may_mention, resolve_mentions
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import Hooks, HookVerdict
from tui_agent.engine.tools.tool_access import denial_reason, resource_denial_reason
from tui_agent.errors import ToolError
from tui_agent.folds.session.state_view import PROMPT_HOOKS_REASON
from tui_agent.folds.text.mention_parser import MAX_ALL_MENTIONS_CHARS
from tui_agent.ports.tool import ResourceContent
from tui_agent.protocol.events.hook import REFUSED_MESSAGE
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.stored_text import LongText

MessageT = TypeVar("MessageT", UserMessageReceived, UserSteered)
CHARS_PER_TOKEN = 4
MAX_MENTIONS_FRACTION = 0.25
"""Maximum size of all mentions of one message, as a fraction of the model's window."""


END_HOOKS_TIMEOUT_S: Final = 10.0
"""Time limit of the hooks at the end of the session, in seconds."""
ABANDONED_HOOKS_TIMEOUT_S: Final = 2.0
"""Time limit for the session's end hooks after the client has disconnected, in seconds."""
_KEPT: Final = "Your message is in the prompt's history."


class PromptHooks:
    """Runs the hooks for prompts, and for the start and the end of the session."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._hooks = Hooks(parts)
        self._lock = anyio.Lock()  # one prompt at a time, so that messages keep their order
        self._session_started = anyio.Event()
        if not self._hooks.has_hooks("session_start"):
            self._session_started.set()

    def can_record_at_once(self, message: UserMessageReceived | UserSteered) -> bool:
        """Return True if the prompt needs no hooks and has no mentions."""
        return not self.pending_hook and not self._may_mention(message)

    @property
    def pending_hook(self) -> str:
        """A label for the hooks that a prompt waits for. Empty if there are none."""
        is_free = self._session_started.is_set() and not self._hooks.has_hooks("before_prompt")
        return "" if is_free else PROMPT_HOOKS_REASON

    async def add_mentions(self, message: MessageT) -> MessageT:
        """Return the message with the contents of the files that it mentions (`@path`)."""
        if message.mentions or not self._may_mention(message):
            return message
        parts, settings = self._parts, self._parts.recorder.state.settings
        window = parts.recorder.windows.effective_window(settings.model) if settings is not None else 0
        sources = Sources(
            env=parts.env,
            may_read=self._denial_reason,
            keep_image=parts.blobs.put_bytes,
            symbols=parts.knowledge.symbols,
            images=settings is not None and settings.model.images,
            servers=self._mentionable_servers(message),
            read_resource=self._read_resource,
            room=min(
                round(window * MAX_MENTIONS_FRACTION * CHARS_PER_TOKEN) or MAX_ALL_MENTIONS_CHARS,
                MAX_ALL_MENTIONS_CHARS,
            ),
        )
        mentions = await resolve_mentions(
            parts.blobs.read_text(message.text), sources, message.typed_mentions
        )
        return message.model_copy(update={"mentions": mentions}) if mentions else message

    def _may_mention(self, message: UserMessageReceived | UserSteered) -> bool:
        if message.typed_mentions is not None:
            return bool(message.typed_mentions)
        return may_mention(self._parts.blobs.read_text(message.text), self._parts.env.root)

    def _denial_reason(self, path: str, real: str) -> str:
        parts = self._parts
        return denial_reason(parts.policy, parts.recorder.state, parts.env.root, path, real)

    def _mentionable_servers(self, message: UserMessageReceived | UserSteered) -> Collection[str]:
        """Return the names of the MCP servers whose resources a message can mention."""
        names = () if self._parts.tool_servers is None else self._parts.tool_servers.names
        owner, colon, _ = message.command.removeprefix("/").partition(" ")[0].partition(":")
        # A server's prompt must not read resources: the user has not typed its mentions.
        return () if colon and owner in names else names

    async def _read_resource(self, server: str, uri: str) -> ResourceContent:
        parts, servers = self._parts, self._parts.tool_servers
        assert servers is not None
        tool = servers.resource_tool(server)
        refusal = resource_denial_reason(parts.policy, parts.recorder.state, parts.env.root, server, tool)
        if refusal:
            raise ToolError(refusal)
        return await servers.read_resource(server, uri)

    async def session_start(self) -> None:
        """Run the hooks for the session's start, unless they have already run.

        Prompts wait until these hooks have ended.
        """
        if self._session_started.is_set():
            return
        source = "resume" if self._parts.recorder.state.turn else "new"
        try:
            await self._hooks.run_hooks("session_start", {"source": source})
        finally:  # also after an error: prompts must not wait forever
            self._session_started.set()

    async def session_end(self, *, abandoned: bool) -> None:
        """Run the hooks for the session's end, with a time limit.

        `abandoned`: True if the client has disconnected; the limit is then shorter.
        """
        time_limit_s = ABANDONED_HOOKS_TIMEOUT_S if abandoned else END_HOOKS_TIMEOUT_S
        with anyio.move_on_after(time_limit_s, shield=True):
            await self._hooks.run_hooks("session_end", {"reason": "abandoned" if abandoned else "closed"})

    async def ask_hooks(self, text: LongText) -> HookVerdict:
        """Run the hooks for a prompt. The caller must pass the result to `record`."""
        async with self._lock:
            await self._session_started.wait()
            return await self._hooks.ask_hooks("before_prompt", {"prompt": self._parts.blobs.read_text(text)})

    def record(self, hook_verdict: HookVerdict) -> None:
        """Record the answers that `ask_hooks` returned."""
        self._hooks.record(hook_verdict)

    def rejection(self, hook_verdict: HookVerdict | None, command: str) -> CommandRejected:
        """Return the rejection of a prompt by a hook."""
        hint = _KEPT if self._parts.interactive else ""
        if hook_verdict is None or hook_verdict.decision != "deny":
            return CommandRejected(
                command=command, reason="The message was stopped before it was sent.", hint=hint
            )
        why = f": {hook_verdict.reason.rstrip('.')}." if hook_verdict.reason else "."
        return CommandRejected(command=command, reason=f"{REFUSED_MESSAGE}{why}", hint=hint)
