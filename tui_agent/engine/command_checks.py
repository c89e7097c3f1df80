"""Which commands cannot be carried out now, and why. Pure, over the folded state.

Invariant: while a turn runs, whatever would change its ground is refused; reading, answering and stopping never are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui_agent.engine.mailbox import Waiting
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    Compact,
    DecidePermission,
    Delegate,
    GoOn,
    Interrupt,
    Pause,
    PlanRevert,
    Queue,
    Redo,
    RestoreContext,
    Revert,
    RunUserShell,
    SendQueued,
    SetAgent,
    SetContextMode,
    SetEffort,
    SetModel,
    Steer,
    StopJob,
    SubmitPrompt,
    Undo,
    Unqueue,
    WriteGuide,
)
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage


@dataclass(frozen=True, slots=True)
class Refusal:
    """Sentences for the user; `limit` as in `command.rejected`."""

    reason: str
    hint: str = ""
    limit: Literal["", "turn_limit"] = ""


_AFTER = "Esc stops it."
_BACK = "Going back is possible after it."
_CONTEXT = "The context can be changed after it."
_LATER: dict[type[Command], str] = {
    Compact: _CONTEXT,
    Delegate: "A task can be given away after it.",
    GoOn: "The agent can go on after it.",
    PlanRevert: _BACK,
    Redo: _BACK,
    RestoreContext: _CONTEXT,
    Revert: _BACK,
    RunUserShell: "Your next command can run after it.",
    Undo: _BACK,
    WriteGuide: "AGENTS.md can be written after it.",
}
"""What has to wait for the end of whatever runs."""


def refusal(
    command: Command,
    state: SessionStateView,
    running: bool,
    decisions: Waiting[DecidePermission],
    answers: Waiting[AnswerQuestion],
) -> Refusal | None:
    """Why a command is refused, None where it is not."""
    what = "Your command" if state.shell is not None else "A compaction" if state.compacting else "A turn"
    match command:
        case SubmitPrompt() | Delegate() if running and state.shell is None and not state.compacting:
            return Refusal("A turn is running.", "Enter steers it, Tab sends after it, Esc stops it.")
        case _ if running and type(command) in _LATER:
            return Refusal(f"{what} is running. {_LATER[type(command)]}", _AFTER)
        case Delegate(text=text) if not text.strip():
            return Refusal("There is no task.", "/delegate AGENT TASK")
        case Delegate():
            return _turns_refusal(state, running)
        case GoOn() if state.open_calls:
            return None  # the turn that was counted goes on: what it asked is asked again
        case GoOn():
            return _turns_refusal(state, running)
        case SetModel() | SetEffort() | SetAgent() | SetContextMode() if running:
            name = command.kind.removeprefix("set_").replace("_", " ")
            return Refusal(f"{what} is running. The {name} can change after it.", _AFTER)
        case Compact() | RestoreContext() if state.open_calls:
            return Refusal("A call waits for your decision.", "Answer it, or say what to do instead.")
        case Pause() if state.shell is not None:
            return Refusal("Your command is running. It cannot be paused.", _AFTER)
        case SubmitPrompt() | Steer() | Queue() | WriteGuide():
            return _message_refusal(command, state, running)
        case Interrupt() | Pause() if not running:
            return Refusal("Nothing is running.")
        case Interrupt(scope="agent", agent=agent) if all(one.agent != agent for one in state.delegates):
            return Refusal("This subtask does not run any more.")
        case DecidePermission(request_id=request_id) if request_id not in decisions:
            return Refusal("This question is no longer open.")
        case AnswerQuestion(question_id=question_id) if question_id not in answers:
            return Refusal("This question is no longer open.")
        case StopJob(job_id=job_id) if job_id is not None and all(job.job_id != job_id for job in state.jobs):
            return Refusal(f"{job_id} does not run any more.", "/jobs lists those that do.")
        case StopJob() if not state.jobs:
            return Refusal("No background job runs.")
        case Unqueue() | SendQueued() if all(each.queue_id != command.queue_id for each in state.queue):
            return Refusal("This message is no longer queued.")
        case SendQueued() if state.shell is not None:
            return Refusal("Your command is running. The message goes after it.", _AFTER)
        case SendQueued():
            return _turns_refusal(state, running)
    return None


def nothing_to_answer(history: Sequence[Message]) -> Refusal | None:
    """Why the agent cannot go on behind this history; None where a message or results wait for an answer."""
    last = history[-1] if history else None
    if isinstance(last, UserMessage | ToolMessage):
        return None
    if last is None or isinstance(last, SummaryMessage):
        return Refusal("Nothing was said yet that the agent could go on from.", "Say what to do.")
    return Refusal("The agent has answered; there is nothing to go on from.", "Say what to do next.")


def _message_refusal(
    command: SubmitPrompt | Steer | Queue | WriteGuide, state: SessionStateView, running: bool
) -> Refusal | None:
    if not isinstance(command, WriteGuide) and not command.text.strip() and not command.attachments:
        return Refusal("The message is empty.")
    return _turns_refusal(state, running and state.shell is None)


def _turns_refusal(state: SessionStateView, running: bool) -> Refusal | None:
    budgets = state.settings.budgets if state.settings is not None else None
    if budgets is None or budgets.max_turns is None or running:
        return None
    if state.turn >= budgets.max_turns:
        had = "one turn" if budgets.max_turns == 1 else f"{budgets.max_turns} turns"
        return Refusal(
            f"The session has had its {had}, the limit.", "/new begins another session.", "turn_limit"
        )
    return None
