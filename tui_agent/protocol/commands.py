"""Commands: requests of a user or client, named in the imperative.

Invariant: every event that a command causes has the command's `id` as `cause`.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.events.eval import EvalCaseStarted, EvalScored, TestFinished, VerifierFinished
from tui_agent.protocol.events.policy import Reach
from tui_agent.protocol.events.session import SessionEnded
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import AgentId, CallId, CommandId, JobId, RequestId
from tui_agent.protocol.settings import Budgets, ContextMode, Effort, PolicyName, RepoMapOptions

MIN_OUTPUT_COLUMNS: Final = 20
MAX_OUTPUT_COLUMNS: Final = 1_000


class Attachment(FrozenModel):
    """A file attached to a message, by its path on the engine's machine."""

    path: str
    media_type: str


class CommandBase(FrozenModel):
    """Base of every command."""

    id: CommandId = CommandId("")
    kind: str


class SubmitPrompt(CommandBase):
    """Start a turn with this message. Rejected while a turn runs (see `Steer` and `Queue`).

    `own_words`: words that the user typed before and after a long paste; empty without a long paste. `typed_mentions`:
    mentions that the user typed or chose. Only these are looked up (None: everything that looks like a mention).
    """

    kind: Literal["submit_prompt"] = "submit_prompt"
    text: str
    attachments: tuple[Attachment, ...] = ()
    own_words: str = ""
    typed_mentions: tuple[str, ...] | None = None


class Delegate(CommandBase):
    """Start a turn for the agent named `agent`. The agent works in its own context."""

    kind: Literal["delegate"] = "delegate"
    agent: str
    text: str


class WriteGuide(CommandBase):
    """Write a first AGENTS.md from the repository's files, or extend an existing one."""

    kind: Literal["write_guide"] = "write_guide"


class ContinueTurn(CommandBase):
    """Start a turn without a new message: the model continues from the end of the branch.

    The branch must end with tool results or an unanswered message, or be a new fork for which a message was changed.
    Tool calls that still wait for the user's decision are checked again first.
    """

    kind: Literal["continue_turn"] = "continue_turn"


class Steer(CommandBase):
    """Add a message to the running turn. If no turn runs, start one."""

    kind: Literal["steer"] = "steer"
    text: str
    attachments: tuple[Attachment, ...] = ()
    own_words: str = ""
    typed_mentions: tuple[str, ...] | None = None


class Queue(CommandBase):
    """Send a message after the running turn. If no turn runs, start one.

    `place`: number of queued messages before this one (None: the message is the last). A message with a `place` above 0
    waits behind queued messages even if no turn runs.
    """

    kind: Literal["queue"] = "queue"
    text: str
    attachments: tuple[Attachment, ...] = ()
    own_words: str = ""
    place: int | None = Field(default=None, ge=0)
    typed_mentions: tuple[str, ...] | None = None


class Unqueue(CommandBase):
    """Remove a queued message."""

    kind: Literal["unqueue"] = "unqueue"
    queue_id: RequestId


class SendQueued(CommandBase):
    """Send a queued message now. If a turn runs, the message becomes part of this turn."""

    kind: Literal["send_queued"] = "send_queued"
    queue_id: RequestId


class Interrupt(CommandBase):
    """Stop the running turn, or one delegate (`agent`), or one tool call (`call_id`)."""

    kind: Literal["interrupt"] = "interrupt"
    scope: Literal["turn", "agent", "call"] = "turn"
    agent: AgentId | None = None
    call_id: CallId | None = None


class Pause(CommandBase):
    """Pause the running turn before its next model request or tool call."""

    kind: Literal["pause"] = "pause"


class Resume(CommandBase):
    """Continue a paused turn."""

    kind: Literal["resume"] = "resume"


class DecidePermission(CommandBase):
    """Answer a permission request.

    `rule`: the offered rule as edited by the user; empty if the user did not edit it.
    """

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
    """Switch the model to a profile, a litellm model name, `scripted:FILE`, `replay:SESSION` or `demo`."""

    kind: Literal["set_model"] = "set_model"
    model: str
    base_url: str = ""


class SetEffort(CommandBase):
    """Change the reasoning effort."""

    kind: Literal["set_effort"] = "set_effort"
    effort: Effort


class SetPolicy(CommandBase):
    """Switch to another permission policy."""

    kind: Literal["set_policy"] = "set_policy"
    policy: PolicyName


class RevokeRule(CommandBase):
    """Revoke a rule that the user allowed in this session. Rejected if the rule does not exist."""

    kind: Literal["revoke_rule"] = "revoke_rule"
    rule: str


class SetAgent(CommandBase):
    """Use another agent from the next turn on."""

    kind: Literal["set_agent"] = "set_agent"
    agent: str


class SetContextMode(CommandBase):
    """Change how the context is assembled."""

    kind: Literal["set_context_mode"] = "set_context_mode"
    mode: ContextMode


class SetRepoMap(CommandBase):
    """Send the repository map with requests automatically, or only when the model asks for it."""

    kind: Literal["set_repo_map"] = "set_repo_map"
    mode: Literal["off", "auto"]


class SetRepoMapOptions(CommandBase):
    """Change the options of the repository map, from the next map on."""

    kind: Literal["set_map_choice"] = "set_map_choice"
    options: RepoMapOptions


class SetBudgets(CommandBase):
    """Replace the limits that end a turn, such as the maximum cost."""

    kind: Literal["set_budgets"] = "set_budgets"
    budgets: Budgets


class Compact(CommandBase):
    """Replace all but the newest messages by a summary. `focus` is a topic that the summary should emphasise."""

    kind: Literal["compact"] = "compact"
    focus: str = ""


class RestoreContext(CommandBase):
    """Restore messages that a compaction replaced by a summary.

    `seqs`: single messages. `compaction`: seq of the newest `context.compacted` event, to restore all its messages.
    """

    kind: Literal["restore_context"] = "restore_context"
    seqs: tuple[int, ...] = ()
    compaction: int | None = None


class PinContext(CommandBase):
    """Pin these messages: all later summaries contain them unchanged. If `pinned` is False, unpin them."""

    kind: Literal["pin_context"] = "pin_context"
    seqs: tuple[int, ...]
    pinned: bool = True


class RunUserShell(CommandBase):
    """Run a command that the user typed after `!`. With `hidden`, its output is not sent to the model.

    `typed`: slash command that produced the command, such as `/search hours`.
    """

    kind: Literal["run_user_shell"] = "run_user_shell"
    command: str
    hidden: bool = False
    typed: str = ""


class SetOutputWidth(CommandBase):
    """Set the width in columns (`COLUMNS`) for the output of programs started from now on.

    The width is not recorded.
    """

    kind: Literal["set_output_width"] = "set_output_width"
    columns: int = Field(ge=MIN_OUTPUT_COLUMNS, le=MAX_OUTPUT_COLUMNS)


class StopJob(CommandBase):
    """Stop a background job and all its processes. Without an id, stop all jobs."""

    kind: Literal["stop_job"] = "stop_job"
    job_id: JobId | None = None


class Rename(CommandBase):
    """Set the session's title."""

    kind: Literal["rename"] = "rename"
    title: str


class Revert(CommandBase):
    """Return to the state after the event `to_seq`: the conversation, the files, or both.

    Files that someone else changed later are not restored unless `overwrite` names them. In `overwrite`, a name with a
    final slash, such as `build/`, means all files of this generated folder; `/` alone means all files.
    """

    kind: Literal["revert"] = "revert"
    to_seq: int
    conversation: bool = True
    files: bool = True
    overwrite: tuple[str, ...] = ()


class PlanRevert(CommandBase):
    """Preview the restore to the event `to_seq`: record in `checkpoint.planned` how each file would change.

    No file is changed.
    """

    kind: Literal["plan_revert"] = "plan_revert"
    to_seq: int


class RevertHunk(CommandBase):
    """Revert one hunk of the session's changes to a file. Rejected if the user changed the same lines.

    `before`, `after`: digests of the file's recorded contents (None: no file). `user_changes`: the digests before and
    after each change that the session did not make. `hunk`: index of the hunk in the diff of the session's changes.
    `hidden_changes`: the file's lines with hidden changes, as in `file.changed`. `Redo` restores the hunk.
    """

    kind: Literal["revert_hunk"] = "revert_hunk"
    path: str
    before: str | None
    after: str | None
    hunk: int
    user_changes: tuple[tuple[str | None, str | None], ...] = ()
    hidden_changes: tuple[int, ...] = ()


class Undo(CommandBase):
    """Undo the newest turn and its file changes.

    `turn`: number of the oldest turn to undo; later turns are undone too (null: only the newest turn).
    """

    kind: Literal["undo"] = "undo"
    turn: int | None = None
    overwrite: tuple[str, ...] = ()


class Redo(CommandBase):
    """Redo what the newest `Revert` or `Undo` undid."""

    kind: Literal["redo"] = "redo"
    overwrite: tuple[str, ...] = ()


class RunCommand(CommandBase):
    """Run a slash command that the session offers (`commands.offered`). `name` is without the slash."""

    kind: Literal["run_command"] = "run_command"
    name: str
    arguments: str = ""


class ReloadPlugins(CommandBase):
    """Load new and changed plugins, and remove disabled ones. The next iteration uses the new plugins.

    `automatic`: True if the user did not ask for the reload. An automatic reload does not try failed plugins again, and
    reports nothing if no plugin changed.
    """

    kind: Literal["reload_plugins"] = "reload_plugins"
    automatic: bool = False


class RecordResult(CommandBase):
    """Record a result, or the message of a simulated user.

    The clients `eval` and `sim` can record all results, the client `headless` only the end of the session, and other
    clients nothing.
    """

    kind: Literal["record_result"] = "record_result"
    result: (
        TestFinished | VerifierFinished | EvalCaseStarted | EvalScored | SessionEnded | SimulationMessage
    ) = Field(discriminator="kind")


class Close(CommandBase):
    """Close the session. A running turn is interrupted first."""

    kind: Literal["close"] = "close"
    reason: Literal["quit", "done", "signal", "switched"] = "quit"


Command: TypeAlias = Annotated[
    SubmitPrompt
    | Delegate
    | WriteGuide
    | ContinueTurn
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
    | SetRepoMapOptions
    | SetBudgets
    | Compact
    | RestoreContext
    | PinContext
    | RunUserShell
    | SetOutputWidth
    | StopJob
    | Rename
    | Revert
    | PlanRevert
    | RevertHunk
    | Undo
    | Redo
    | RunCommand
    | ReloadPlugins
    | RecordResult
    | Close,
    Field(discriminator="kind"),
]
