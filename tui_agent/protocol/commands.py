"""Commands, what a user or client wants; imperative. The engine checks each against the folded state.

Invariant: plain data. `id` is stamped by the client's facade; events that follow carry it as `cause`.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.base import Frozen
from tui_agent.protocol.events.policy import Reach
from tui_agent.protocol.ids import AgentId, CallId, CommandId, JobId, RequestId
from tui_agent.protocol.settings import Budgets, ContextMode, Effort, MapChoice, PolicyName


class Attachment(Frozen):
    """A file that goes with a message, by its path on the engine's machine."""

    path: str
    media_type: str


class CommandBase(Frozen):
    """Base of every command."""

    id: CommandId = CommandId("")
    kind: str


class SubmitPrompt(CommandBase):
    """Start a turn with this message. While a turn runs it is rejected: `Steer` or `Queue` say what is meant."""

    kind: Literal["submit_prompt"] = "submit_prompt"
    text: str
    attachments: tuple[Attachment, ...] = ()


class Delegate(CommandBase):
    """Start a turn in which the named agent `agent` works on the task, in a context of its own."""

    kind: Literal["delegate"] = "delegate"
    agent: str
    text: str


class WriteGuide(CommandBase):
    """Write a first AGENTS.md from what the repository's files show, without a model; add to one that is there."""

    kind: Literal["write_guide"] = "write_guide"


class GoOn(CommandBase):
    """Start a turn without a new message: the model goes on from where the branch ends.

    Behind tool results, or behind a message without an answer; in a fork that carries a message of its own, with that.
    Calls that waited for the user's decision when an earlier run ended are judged, and asked about, anew before any
    request. Rejected where there is nothing to answer.
    """

    kind: Literal["go_on"] = "go_on"


class Steer(CommandBase):
    """Put a message into the running turn. When none runs it starts one."""

    kind: Literal["steer"] = "steer"
    text: str
    attachments: tuple[Attachment, ...] = ()


class Queue(CommandBase):
    """Send a message after the running turn. When none runs it starts one."""

    kind: Literal["queue"] = "queue"
    text: str
    attachments: tuple[Attachment, ...] = ()


class Unqueue(CommandBase):
    """Take a queued message back."""

    kind: Literal["unqueue"] = "unqueue"
    queue_id: RequestId


class SendQueued(CommandBase):
    """Send a queued message now: it steers the running turn; where none runs, it begins one."""

    kind: Literal["send_queued"] = "send_queued"
    queue_id: RequestId


class Interrupt(CommandBase):
    """Stop the running turn, one delegate, or one call."""

    kind: Literal["interrupt"] = "interrupt"
    scope: Literal["turn", "agent", "call"] = "turn"
    agent: AgentId | None = None
    call_id: CallId | None = None


class Pause(CommandBase):
    """Hold the running turn before its next model call or tool."""

    kind: Literal["pause"] = "pause"


class Resume(CommandBase):
    """Let a paused turn go on."""

    kind: Literal["resume"] = "resume"


class DecidePermission(CommandBase):
    """Answer a permission request. `rule` replaces the offered rule where the user edited it."""

    kind: Literal["decide_permission"] = "decide_permission"
    request_id: RequestId
    decision: Literal["allow", "deny"]
    reach: Reach = "once"
    rule: str = ""
    message: str = ""


class AnswerQuestion(CommandBase):
    """Answer the agent's question."""

    kind: Literal["answer_question"] = "answer_question"
    question_id: RequestId
    answer: str
    choice: int | None = None


class SetModel(CommandBase):
    """Use another model: a profile's name, a litellm model name, `scripted:FILE`, `replay:SESSION` or `demo`."""

    kind: Literal["set_model"] = "set_model"
    model: str
    base_url: str = ""


class SetEffort(CommandBase):
    """Use another reasoning effort."""

    kind: Literal["set_effort"] = "set_effort"
    effort: Effort


class SetPolicy(CommandBase):
    """Use another policy profile."""

    kind: Literal["set_policy"] = "set_policy"
    policy: PolicyName


class RevokeRule(CommandBase):
    """Let a rule that was allowed in this session count no more. Refused where there is none."""

    kind: Literal["revoke_rule"] = "revoke_rule"
    rule: str


class SetAgent(CommandBase):
    """Use another agent of the hub from the next turn on."""

    kind: Literal["set_agent"] = "set_agent"
    agent: str


class SetContextMode(CommandBase):
    """Use another way of assembling context."""

    kind: Literal["set_context_mode"] = "set_context_mode"
    mode: ContextMode


class SetRepoMap(CommandBase):
    """Give the model a map of the repository by itself, or only when it asks."""

    kind: Literal["set_repo_map"] = "set_repo_map"
    mode: Literal["off", "auto"]


class SetMapChoice(CommandBase):
    """Make the map of the repository otherwise from the next one on."""

    kind: Literal["set_map_choice"] = "set_map_choice"
    choice: MapChoice


class SetBudgets(CommandBase):
    """Replace the limits."""

    kind: Literal["set_budgets"] = "set_budgets"
    budgets: Budgets


class Compact(CommandBase):
    """Let a summary stand for all but the newest messages; `focus` is what it is to dwell on."""

    kind: Literal["compact"] = "compact"
    focus: str = ""


class RestoreContext(CommandBase):
    """Bring messages back into the context by their seqs; or all that the newest compaction, event `compaction`, took."""

    kind: Literal["restore_context"] = "restore_context"
    seqs: tuple[int, ...] = ()
    compaction: int | None = None


class PinContext(CommandBase):
    """Keep these messages, word for word, in every summary to come; or no longer."""

    kind: Literal["pin_context"] = "pin_context"
    seqs: tuple[int, ...]
    pinned: bool = True


class RunUserShell(CommandBase):
    """Run the user's own command; `hidden` keeps its output out of the model's context."""

    kind: Literal["run_user_shell"] = "run_user_shell"
    command: str
    hidden: bool = False


class StopJob(CommandBase):
    """End a background job with all that it started; without an id, all jobs."""

    kind: Literal["stop_job"] = "stop_job"
    job_id: JobId | None = None


class Rename(CommandBase):
    """Give the session a name."""

    kind: Literal["rename"] = "rename"
    title: str


class Revert(CommandBase):
    """Go back to the state after event `to_seq`: the conversation, the files, or both.

    Files that someone else changed after the session did are left alone, but for those named in `overwrite`.
    """

    kind: Literal["revert"] = "revert"
    to_seq: int
    conversation: bool = True
    files: bool = True
    overwrite: tuple[str, ...] = ()


class PlanRevert(CommandBase):
    """Say what putting the files back to event `to_seq` would do (`checkpoint.planned`); nothing is changed."""

    kind: Literal["plan_revert"] = "plan_revert"
    to_seq: int


class Undo(CommandBase):
    """Take back the newest turn, with its files; again: the one before."""

    kind: Literal["undo"] = "undo"
    overwrite: tuple[str, ...] = ()


class Redo(CommandBase):
    """Take back the newest revert or undo."""

    kind: Literal["redo"] = "redo"
    overwrite: tuple[str, ...] = ()


class Close(CommandBase):
    """Let go of the session; a running turn is interrupted first."""

    kind: Literal["close"] = "close"
    reason: Literal["quit", "done", "signal", "switched"] = "quit"


Command: TypeAlias = Annotated[
    SubmitPrompt
    | Delegate
    | WriteGuide
    | GoOn
    | Steer
    | Queue
    | Unqueue
    | SendQueued
    | Interrupt
    | Pause
    | Resume
    | DecidePermission
    | AnswerQuestion
    | SetModel
    | SetEffort
    | SetPolicy
    | RevokeRule
    | SetAgent
    | SetContextMode
    | SetRepoMap
    | SetMapChoice
    | SetBudgets
    | Compact
    | RestoreContext
    | PinContext
    | RunUserShell
    | StopJob
    | Rename
    | Revert
    | PlanRevert
    | Undo
    | Redo
    | Close,
    Field(discriminator="kind"),
]
