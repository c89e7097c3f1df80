"""Checks that decide if a command of the user can run now.

Invariant: commands that would disturb a running turn are refused.
"""

from collections.abc import Sequence
from typing import Literal

from tui_agent.engine.budget_limits import COMMAND_LINE_CLIENTS
from tui_agent.engine.mailbox import PendingAnswers
from tui_agent.errors import CheckpointError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol import commands
from tui_agent.protocol.commands import Command
from tui_agent.protocol.events.session import NOTHING_RUNS, SessionEnded
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.unicode_text import MAX_MESSAGE_CHARS, describe_long_message


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for refusing a user's command, as sentences for the user.

    `limit`: value of the field `limit` in the event `command.rejected`.
    """

    reason: str
    hint: str = ""
    limit: Literal["", "turn_limit"] = ""


def refuse_failed_move(error: UsageError | CheckpointError) -> Refusal:
    """Return a refusal for an undo, a redo or a revert that failed and changed nothing."""
    unchanged = "Nothing was changed."
    if isinstance(error, UsageError) or unchanged in error.hint:
        return Refusal(error.message, error.hint)
    return Refusal(error.message, f"{error.hint} {unchanged}".strip())


_STOP = "Stop it or wait."
_UNDO = "You can undo or redo afterwards."
_CONTEXT = "You can change the context afterwards."
_BUSY_REFUSALS: dict[type[Command], str] = {
    commands.Compact: _CONTEXT,
    commands.Delegate: "You can delegate a task afterwards.",
    commands.ContinueTurn: "The agent can continue afterwards.",
    commands.PlanRevert: _UNDO,
    commands.Redo: _UNDO,
    commands.RestoreContext: _CONTEXT,
    commands.Revert: _UNDO,
    commands.RevertHunk: _UNDO,
    commands.RunUserShell: "You can run your next command afterwards.",
    commands.Undo: _UNDO,
    commands.WriteGuide: "You can write AGENTS.md afterwards.",
}
"""Maps a command to the text of its refusal while something else runs."""


_CHANGE_NEXT_REQUEST = (commands.SetModel, commands.SetEffort, commands.SetAgent, commands.SetContextMode)
"""Commands that change a setting of the model's requests."""


def check_command(
    command: Command,
    state: SessionStateView,
    running: bool,
    decisions: PendingAnswers[commands.DecidePermission],
    answers: PendingAnswers[commands.AnswerQuestion],
) -> Refusal | None:
    """Return the reason for refusing a command; None if the command can run now."""
    subject = _running_work(state)
    # The order matters: if several cases apply, the first one has the reason that helps the user most.
    match command:
        case commands.SubmitPrompt() | commands.Delegate() if running and subject == "A turn":
            return Refusal(
                "A turn is running.",
                "Send your message to the running turn, queue it, or stop the turn.",
            )
        case _ if running and type(command) in _BUSY_REFUSALS:
            return Refusal(f"{subject} is running. {_BUSY_REFUSALS[type(command)]}", _STOP)
        case commands.Delegate(text=text) if not text.strip():
            return Refusal("The task is missing.", "Use /delegate AGENT TASK.")
        case commands.ContinueTurn() if state.open_calls:
            return None  # the turn that is continued already counts towards the limit
        case commands.Delegate() | commands.ContinueTurn():
            return _turn_limit_refusal(state, running)
        case _ if running and isinstance(command, _CHANGE_NEXT_REQUEST):
            name = command.kind.removeprefix("set_").replace("_", " ")
            return Refusal(f"{subject} is running. You can change the {name} afterwards.", _STOP)
        case commands.Compact() | commands.RestoreContext() if state.open_calls:
            return Refusal("A call waits for your approval.", "Allow or deny it, or say what to do instead.")
        case commands.Pause() if state.shell is not None:
            return Refusal("Your command is running. It cannot be paused.", _STOP)
        case commands.SubmitPrompt() | commands.Steer() | commands.Queue() if _has_wrong_length(command):
            return _refuse_length(command)
        case commands.SubmitPrompt() | commands.Steer() | commands.Queue() | commands.WriteGuide():
            return _turn_limit_refusal(state, running and state.shell is None)
        case commands.Interrupt() | commands.Pause() if not running:
            return Refusal(NOTHING_RUNS)
        case commands.Interrupt(scope="agent", agent=agent) if not _has_delegate(state, agent):
            return Refusal("This delegate has ended.")
        case commands.DecidePermission(request_id=request_id) if request_id not in decisions:
            return Refusal("This question is no longer open.")
        case commands.AnswerQuestion(question_id=question_id) if question_id not in answers:
            return Refusal("This question is no longer open.")
        case commands.StopJob(job_id=job_id) if job_id is not None and all(
            job.job_id != job_id for job in state.jobs
        ):
            return Refusal(f"{job_id} has ended.", "/jobs lists the running jobs.")
        case commands.RecordResult(result=result) if not _may_record(state, result):
            return Refusal("Only an evaluation or a simulation can record results.")
        case commands.StopJob() if not state.jobs:
            return Refusal("No background jobs are running.")
        case commands.Unqueue() | commands.SendQueued() if all(
            message.queue_id != command.queue_id for message in state.queue
        ):
            return Refusal("This message is no longer queued.")
        case commands.SendQueued() if state.shell is not None or state.running_command:
            return Refusal(f"{subject} is running. The message is sent afterwards.", _STOP)
        case commands.SendQueued():
            return _turn_limit_refusal(state, running)
    return None


def _may_record(state: SessionStateView, result: Payload) -> bool:
    return state.client in ("eval", "sim") or (
        state.client == "headless" and isinstance(result, SessionEnded)
    )


def _has_delegate(state: SessionStateView, agent: AgentId | None) -> bool:
    return any(delegate.agent == agent for delegate in state.delegates)


def _running_work(state: SessionStateView) -> str:
    if state.shell is not None:
        return "Your command"
    return "A compaction" if state.is_compacting else state.running_command or "A turn"


def check_can_continue(history: Sequence[Message]) -> Refusal | None:
    """Return a refusal if there is nothing for the model to answer, for example because it has already answered."""
    last = history[-1] if history else None
    if isinstance(last, UserMessage | ToolMessage):
        return None
    if last is None or isinstance(last, SummaryMessage):
        return Refusal("There is nothing to continue yet.", "Say what to do.")
    return Refusal("The agent has answered; there is nothing to continue.", "Say what to do next.")


def _has_wrong_length(command: commands.SubmitPrompt | commands.Steer | commands.Queue) -> bool:
    is_empty = not command.text.strip() and not command.attachments
    return is_empty or len(command.text) > MAX_MESSAGE_CHARS


def _refuse_length(command: commands.SubmitPrompt | commands.Steer | commands.Queue) -> Refusal:
    if len(command.text) > MAX_MESSAGE_CHARS:
        return Refusal("The message is too long.", describe_long_message(len(command.text)))
    return Refusal("The message is empty.")


def _turn_limit_refusal(state: SessionStateView, running: bool) -> Refusal | None:
    budgets = state.settings.budgets if state.settings is not None else None
    if budgets is None or budgets.max_turns is None or running:
        return None
    if state.used.turns >= budgets.max_turns:
        turns = "one turn" if budgets.max_turns == 1 else f"{budgets.max_turns} turns"
        is_option = state.client in COMMAND_LINE_CLIENTS
        hint = "--max-turns raises it." if is_option else "Start a new session with /new."
        return Refusal(f"This session has reached its limit of {turns}.", hint, "turn_limit")
    return None
