"""A session that an editor controls, with its prompts, permission requests, questions and updates.

The slash commands `/compact`, `/undo` and `/redo` start no turn.

Invariant: the session is used through `AppSession`, the interface that the app uses.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import acp
from acp.interfaces import Client
from acp.schema import PermissionOption, PromptResponse, StopReason, ToolCallUpdate
from anyio.abc import TaskGroup

from tui_agent.acp.updates import Update, UpdateTranslator, command_update
from tui_agent.acp.user_requests import (
    asking_call,
    chosen_option,
    permission_call,
    permission_decision,
    permission_options,
    question_answer,
    question_call,
    question_options,
)
from tui_agent.engine.input.slash_commands import session_command
from tui_agent.errors import TuiAgentError
from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import OpenCall, SessionStateView
from tui_agent.ports.log import Follower
from tui_agent.ports.session import AppSession, read_text_or_preview
from tui_agent.protocol.commands import Command, Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, known_events
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import ErrorRaised, RunStarted
from tui_agent.protocol.events.turn import QuestionAsked, TurnEnd
from tui_agent.protocol.settings import SessionSettings
from tui_agent.session.command_effects import describe_effect
from tui_agent.session.pending_commands import PendingCommand, PendingCommands, RunningPrompt, SettledCommand


class ReportedCommand(SettledCommand):
    """A sent command that starts no turn, such as `/undo`.

    `report`: sentences about the command's effect, from the events so far.
    """

    report = ""

    def take(self, event: Envelope) -> None:
        """Process the session's next event."""
        if not self.done.is_set():
            self.report = f"{self.report} {describe_effect(event)}".strip()
        super().take(event)


SESSION_ENDED = TuiAgentError(
    "The session ended before the command was done.", hint="Send a message to open the session again."
)
_STOP_REASONS: Final[dict[TurnEnd, StopReason]] = {
    "interrupted": "cancelled",
    "iteration_limit": "max_turn_requests",
    "part_limit": "max_turn_requests",
    "turn_limit": "max_turn_requests",
}


class EditorSession:
    """An open session and the editor that controls it. Call `open` first, then `run` in a task group."""

    def __init__(self, session: AppSession, client: Client, workspace: Path, notice: str = "") -> None:
        self._session = session
        self._client = client
        self.workspace = workspace
        self._notice = notice
        self._follower: Follower | None = None
        self._state = SessionState()
        self._read_text = partial(read_text_or_preview, session)
        self._translator = UpdateTranslator(str(workspace), self._read_text)
        self._history: list[Envelope] = []
        self._pending = PendingCommands()
        self._is_cancelled = False
        """True if the editor cancelled the newest prompt."""

    @property
    def id(self) -> str:
        """The session's id. The app uses the same id."""
        return self._session.id

    @property
    def is_closed(self) -> bool:
        """True if the session's engine has ended."""
        return self._session.is_closed

    @property
    def settings(self) -> SessionSettings:
        """The session's current settings."""
        settings = self._state.view().settings
        if settings is None:
            raise TuiAgentError("The session has no settings; its log may be damaged.")
        return settings

    async def open(self, group: TaskGroup) -> None:
        """Start the engine and read the session's history. Raise the engine's error if the session cannot be opened."""
        group.start_soon(self._session.serve)
        opened = await self._session.wait_until_open()
        self._follower = self._session.follow()
        while self._state.draft.seq < opened.last_seq:
            batch = await self._follower.next_batch()
            if not batch:
                raise TuiAgentError("The session ended while it was being opened.")
            for record in known_events(batch):
                self._state.apply(record)
                self._history.append(record)
        workspace = self._state.view().workspace or str(self.workspace)
        self.workspace, self._translator.workspace = Path(workspace), workspace

    async def replay(self) -> None:
        """Send the history of the current branch as updates."""
        branches, state = Branches(), SessionState()
        for event in self._history:
            branches.apply(event)
        last = self._history[-1].seq if self._history else -1
        branch = stretches(branches.view().moves, last)
        for event in self._history:
            state.apply(event)
            if is_on_branch(event.seq, branch):
                await self._send(await self._translator.translate(event, state, replayed=True))
        self._history = []
        view = state.view()
        if not view.turn_running:
            await self._close_calls(view)

    async def _close_calls(self, view: SessionStateView) -> None:
        """Show each tool call without a result as failed. No result can follow any more."""
        await self._send([_unfinished_call_update(call) for call in view.open_calls if call.called])

    async def run(self, group: TaskGroup) -> None:
        """Send the list of slash commands, then an update for each new event, until the session or the connection ends."""
        with suppress(ConnectionError):
            await self._send([command_update(self._state.view())])
            if self._notice:
                await self._send([acp.update_agent_message_text(self._notice)])
            await self._show_start_errors()
            await self._pump(group)
            await self._close_calls(self._state.view())
        self._pending.fail(self._session.failure or SESSION_ENDED)

    async def _show_start_errors(self) -> None:
        """Show the errors that the engine recorded while it was starting, unless `replay` has shown them."""
        history, self._history = self._history, []
        start = max((event.seq for event in history if isinstance(event.payload, RunStarted)), default=-1)
        for event in history:
            if event.seq > start and isinstance(event.payload, ErrorRaised):
                await self._send(await self._translator.translate(event, self._state, replayed=True))

    async def _pump(self, group: TaskGroup) -> None:
        assert self._follower is not None
        while batch := await self._follower.next_batch():
            for event in known_events(batch):
                self._state.apply(event)
                await self._send(await self._translator.translate(event, self._state, replayed=False))
                match event.payload:
                    case PermissionRequested() as request:
                        group.start_soon(self._ask_permission, request)
                    case QuestionAsked() as question:
                        group.start_soon(self._ask_question, question, event)
                    case _:
                        pass
                # After the updates, so that the response to a prompt follows the last update of its turn.
                self._pending.take(event)

    async def _send(self, updates: list[Update]) -> None:
        for update in updates:
            await self._client.session_update(session_id=self.id, update=update)

    async def prompt(self, message: SubmitPrompt) -> PromptResponse:
        """Send a message or a slash command, and return when its turn has ended.

        Raise the engine's error if the message is refused.
        """
        self._is_cancelled = False
        try:
            return await self._run_prompt(message)
        except TuiAgentError as error:  # such as "You stopped /standup."
            if not self._is_cancelled:
                raise
            if error is self._session.failure:
                await self._send([acp.update_agent_message_text(str(error))])
            return PromptResponse(stop_reason="cancelled")

    async def _run_prompt(self, message: SubmitPrompt) -> PromptResponse:
        command = session_command(message)
        if command is not None:
            reported = ReportedCommand(self._session.submit(command))
            await self._wait_for(reported)
            await self._send([acp.update_agent_message_text(reported.report or "Done.")])
            return PromptResponse(stop_reason="end_turn")
        prompt = RunningPrompt(self._session.submit(message))
        await self._wait_for(prompt)
        if prompt.detail:
            await self._send([acp.update_agent_message_text(prompt.detail)])
        return PromptResponse(stop_reason=_stop_reason(prompt))

    async def carry_out(self, command: Command) -> None:
        """Send a command, and return when the command has been carried out. Raise the engine's error on refusal."""
        await self._wait_for(PendingCommand(self._session.submit(command)))

    async def _wait_for(self, command: PendingCommand) -> None:
        ended = (self._session.failure or SESSION_ENDED) if self._session.is_closed else None
        await self._pending.wait_for(command, ended)

    def cancel(self) -> None:
        """Stop the running turn or slash command."""
        self._is_cancelled = True
        self._session.submit(Interrupt())

    async def _ask_permission(self, request: PermissionRequested) -> None:
        call = await permission_call(request, self._translator)
        self._session.submit(permission_decision(request, await self._ask(call, permission_options(request))))

    async def _ask_question(self, question: QuestionAsked, event: Envelope) -> None:
        text = await self._read_text(question.text)
        call_id = asking_call(event.agent, self._state.view().open_calls) or question.question_id
        chosen = await self._ask(question_call(question, text, call_id), question_options(question))
        self._session.submit(question_answer(question, chosen))

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """Ask the editor's user about a tool call; return the chosen option's id, or `""` without an answer."""
        with suppress(acp.RequestError, ConnectionError, ValueError):
            response = await self._client.request_permission(
                session_id=self.id, tool_call=call, options=options
            )
            return chosen_option(response)
        return ""

    async def aclose(self) -> None:
        """Close the session."""
        await self._session.aclose()


def _unfinished_call_update(call: OpenCall) -> Update:
    """Return the update for a call that was unfinished when the program ended."""
    text = (
        "tui-agent exited while this call ran. Its effects are unknown."
        if call.started
        else "Not run: the turn ended before you answered."
    )
    content = acp.tool_content(acp.text_block(text))
    return acp.update_tool_call(call.call_id, status="failed", content=[content])


def _stop_reason(prompt: RunningPrompt) -> StopReason:
    if prompt.reason in _STOP_REASONS:
        return _STOP_REASONS[prompt.reason]
    if prompt.finish == "refusal":
        return "refusal"
    return "max_tokens" if prompt.finish == "length" else "end_turn"
