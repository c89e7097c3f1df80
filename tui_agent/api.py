"""Sessions for Python programs: open a session, send messages, read the events.

    async with open_session(Path("repo"), model="openai/MODEL", policy="accept-edits") as session:
        print(await session.ask("Why does the test fail?"))

Invariant: this module only wraps `ports.session.Session`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import BudgetExceeded, TuiAgentError, UsageError
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session, read_text
from tui_agent.protocol.commands import Command, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT, CommandId, SessionId
from tui_agent.protocol.parts import TextPart
from tui_agent.protocol.settings import AgentState
from tui_agent.protocol.stored_text import LongText
from tui_agent.session.headless_turn import block_text
from tui_agent.wiring.session import open_session as open_local_session


class Conversation:
    """An open session, as a Python program uses it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> SessionId:
        """The session's id. Use it to open the session again, here or in the app."""
        return self._session.id

    def submit(self, command: Command) -> CommandId:
        """Send a command of `tui_agent.protocol.commands`, such as an answer to a permission request."""
        return self._session.submit(command)

    def follow(self, after: int = -1) -> Follower:
        """Return a follower that yields the records after event `after`: first the stored ones, then new ones."""
        return self._session.follow(after)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return the bytes of a text that is too long for an event. Raise `BlobNotFound` if the blob is missing."""
        return await self._session.read_blob(blob_sha256)

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Return completions for `arguments`, the text typed so far after the name of a slash command."""
        return await self._session.complete(command, arguments)

    async def aclose(self) -> None:
        """Close the session, as the end of the `async with` block does."""
        await self._session.aclose()

    async def run(self, prompt: str | Command) -> AsyncIterator[Envelope]:
        """Send a message or a command, and yield the events of its turn until the turn ends.

        Raise `BudgetExceeded` or `UsageError` if the command is refused. Raise `TuiAgentError` if the session ends
        before the turn does.
        """
        follower = self._session.follow()
        command_id = self._session.submit(SubmitPrompt(text=prompt) if isinstance(prompt, str) else prompt)
        is_begun = False
        try:
            while batch := await follower.next_batch():
                for record in known_events(batch):
                    is_begun = is_begun or record.cause == command_id
                    if not is_begun:
                        continue
                    yield record
                    match record.payload:
                        case TurnFinished() if record.agent == MAIN_AGENT:
                            return
                        case CommandRan(sends=False) if record.cause == command_id:
                            return
                        case AgentStateChanged(state=AgentState.IDLE) if record.cause == command_id:
                            return  # a command without a turn, such as `/undo`
                        case CommandRejected(reason=reason, hint=hint, limit=limit) if (
                            record.cause == command_id
                        ):
                            raise (
                                BudgetExceeded(reason, hint=hint) if limit else UsageError(reason, hint=hint)
                            )
        finally:
            follower.close()
        raise TuiAgentError("The session ended during the turn.")

    async def ask(self, prompt: str) -> str:
        """Send a message, wait until the turn ends, and return the text of the last answer.

        For a slash command that starts no turn, return the printed text. Raise `TuiAgentError` if the turn does not
        finish.
        """
        texts: Sequence[LongText] = ()
        async for event in self.run(prompt):
            match event.payload:
                case ModelResponded(parts=parts) if event.agent == MAIN_AGENT:
                    texts = [part.text for part in parts if isinstance(part, TextPart)] or texts
                case CommandRan(sends=False, display=display):
                    texts = ["\n".join(block_text(block) for block in display)]
                case TurnFinished(reason=reason, detail=detail) if reason != "finished":
                    raise TuiAgentError(detail or f"The turn ended: {reason}.")
        return "".join([await self.read_text(text) for text in texts]).strip()

    async def read_text(self, text: LongText) -> str:
        """Return the full text that an event refers to. Raise `BlobNotFound` if the text is missing."""
        return await read_text(self._session, text)


@asynccontextmanager
async def open_session(
    workspace: Path,
    *,
    session: str | None = None,
    continue_latest: bool = False,
    model: str | None = None,
    base_url: str | None = None,
    policy: str | None = None,
    agent: str | None = None,
    plugin_dirs: Sequence[Path] = (),
    data_dir: Path | None = None,
    max_iterations: int | None = None,
    max_cost_usd: float | None = None,
    timeout_seconds: float | None = None,
    answers_requests: bool = False,
) -> AsyncIterator[Conversation]:
    """Open or create a session in a workspace, and close it when the `async with` block ends.

    Without options, the user's configuration applies.

    `session`: id of a session to open or create.
    `continue_latest`: open the newest session of the workspace.
    `answers_requests`: True if the program answers permission requests and questions with `submit`. By default, calls that
    need approval are denied.
    `max_iterations`, `timeout_seconds`: limits of each turn.
    `max_cost_usd`: limit of the session.

    Raise `ConfigError`, `SessionLocked` or `StoreError` before anything runs.
    """
    options = SessionOptions(
        cwd=workspace,
        client="api",
        interactive=answers_requests,
        session=session,
        continue_latest=continue_latest,
        model=model,
        base_url=base_url,
        policy=policy,
        agent=agent,
        plugin_dirs=tuple(plugin_dirs),
        data_dir=data_dir,
        max_iterations=max_iterations,
        max_cost_usd=max_cost_usd,
        timeout_seconds=timeout_seconds,
        cwd_given=True,
    )
    async with open_local_session(options) as opened:
        yield Conversation(opened)
