"""Events of a session's life: start, runs, branches, settings, and faults of the engine itself."""

from typing import Final, Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.base import CallId, FrozenModel, LongText, Payload, RunId, SessionId
from tui_agent.protocol.settings import BudgetUse, ContextMode, Effort, ModelInfo, SessionSettings


class SessionStarted(Payload):
    """The session started. This is event 0. If its line becomes unreadable, the event is recorded again.

    `workspace` is an absolute path. `product` is the name and version of the program that wrote the event. If
    `allowed_tools` is set, the policy denies every other tool. `without` lists tools and features that are turned off,
    such as `tool:grep` or `section:repo_map`.
    """

    kind: Literal["session.started"] = "session.started"
    workspace: str
    product: str
    settings: SessionSettings
    title: str = ""
    allowed_tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()


class SessionTitled(Payload):
    """The session got a title.

    If `titled_by` is `auto`, the title is the beginning of the first message. If it is `answer`, the title is the first
    sentence of the first answer.
    """

    kind: Literal["session.titled"] = "session.titled"
    title: str
    titled_by: Literal["auto", "answer", "user"]


class ForkChange(FrozenModel):
    """The changes that a fork makes to its parent's state. Empty or null fields change nothing.

    `workspace` is the fork's folder. `model` (a name that `SetModel` accepts), `reasoning_effort` and `context_mode`
    are set when the fork is first opened (`settings.changed`). Then the unfinished call `call_id` gets `result` as its
    result (`tool.finished`). `message` is the text that `ContinueTurn` submits. The fork starts before the message that
    this text replaces.
    """

    workspace: str = ""
    model: str = ""
    reasoning_effort: Effort | None = None
    context_mode: ContextMode | None = None
    call_id: CallId | None = None
    result: LongText | None = None
    message: LongText | None = None


class SessionForked(Payload):
    """This session is a fork: it continues the log of `parent_session`, up to and including event `at_seq`.

    `parent_crc` is the checksum of the line with that event. `changes` apply from this event on.
    """

    kind: Literal["session.forked"] = "session.forked"
    parent_session: SessionId
    at_seq: int
    parent_crc: str
    changes: ForkChange = ForkChange()


class WorkspaceMoved(Payload):
    """The session continues in another folder because its folder was moved or removed.

    Paths in events are still relative to the workspace.
    """

    kind: Literal["session.workspace_moved"] = "session.workspace_moved"
    workspace: str
    previous: str


class RevertedHunk(FrozenModel):
    """A hunk of a recorded file change that was reverted. The fields are those of the command `RevertHunk`."""

    path: str
    before: str | None
    after: str | None
    hunk: int


MAX_KEPT_COMMITS = 8
"""Maximum number of commits listed in one event."""


class SessionHeadMoved(Payload):
    """The session moved to an earlier event: the branch continues from `to_seq`. Later events stay in the log.

    The envelope's `parent` of this event is `to_seq`. `from_seq` is the previous end of the branch, so that the move
    can be undone. `parts`, `turn`, `iteration` and `agents` (delegates started) are the session's counts so far, so
    that no number is used twice. `used` is the used part of the budgets, which a move does not reduce. `files` is True
    if the workspace is restored too (`checkpoint.restored` follows).

    With the reasons `hunk` and `files`, only files changed: `to_seq` is the event just before this one, and `from_seq` is
    the event before the changes. `hunk` is the reverted hunk. `redone` is the reason of the move that a redo reverses,
    and `restored_turns` is the number of turns that the redo restores. `kept_commits` are git commits of the undone
    turns, oldest first, as a short id and the subject (`1a2b3c4 Fix the total`): git still has them. At most
    `MAX_KEPT_COMMITS` are listed.
    """

    kind: Literal["session.head_moved"] = "session.head_moved"
    to_seq: int
    from_seq: int
    reason: Literal["revert", "undo", "redo", "branch", "hunk", "files"]
    redone: Literal["revert", "undo", "branch", "hunk", "files"] | None = None
    restored_turns: int = 0
    files: bool = False
    parts: int = 0
    turn: int = 0
    iteration: int = 0
    agents: int = 0
    used: BudgetUse = BudgetUse()
    run_id: RunId | None = None
    hunk: RevertedHunk | None = None
    kept_commits: tuple[str, ...] = ()


class SessionContextLoaded(Payload):
    """A short summary of an earlier session was added to the context of this session."""

    kind: Literal["session.context_loaded"] = "session.context_loaded"
    from_session: SessionId
    turns: int
    summary: LongText


TrajectoryEnd: TypeAlias = Literal[
    "solved",
    "unsolved",
    "finished",
    "part_limit",
    "iteration_limit",
    "turn_limit",
    "cost_limit",
    "timeout",
    "agent_error",
    "env_error",
    "interrupted",
]


class SessionEnded(Payload):
    """The task of a session ended. The client that ended it records this event: an evaluation, or `tui-agent run`.

    `solved` and `unsolved` are the result of tests and a verifier after the agent ended its work. `finished` means that
    nothing checked the result. `agent_error` is a failure of the model, the engine or the policy. `env_error` is a
    failure of files, processes, tests or the verifier. A process that is killed records no end. A later turn continues
    the task; the newest end counts. The app, the browser and editors record no end, because their user can continue.
    `run.finished` says that a process closed the session.
    """

    kind: Literal["session.ended"] = "session.ended"
    reason: TrajectoryEnd


class RunStarted(Payload):
    """A process opened the session. `client` is the kind of client that controls this process."""

    kind: Literal["run.started"] = "run.started"
    run_id: RunId
    pid: int
    client: Literal["app", "headless", "demo", "eval", "web", "editor", "api", "sim"]
    product: str
    model: ModelInfo


class RunResumed(Payload):
    """A process continued a session that has a history.

    `closed_calls` counts calls that the previous process left unfinished and that this process has ended.
    """

    kind: Literal["run.resumed"] = "run.resumed"
    run_id: RunId
    after_seq: int
    clean: bool
    closed_calls: int = 0


class RunFinished(Payload):
    """The process closed the session properly. A log that ends without this event means a crash."""

    kind: Literal["run.finished"] = "run.finished"
    run_id: RunId
    reason: Literal["quit", "done", "signal", "error", "switched"]


class SettingsChanged(Payload):
    """One setting changed. `key` is a field of `SessionSettings`. Values are JSON."""

    kind: Literal["settings.changed"] = "settings.changed"
    key: Literal["model", "policy", "agent", "context_mode", "repo_map", "map_options", "budgets"]
    value: JsonValue
    previous: JsonValue
    changed_by: Literal["user", "agent", "engine"] = "user"


NOTHING_RUNS: Final = "Nothing is running."
"""Reason of a rejected command to stop or pause, if the work ended before the command arrived."""


class CommandRejected(Payload):
    """A command was rejected.

    `reason` and `hint` are sentences for the user. `limit` is set if the session reached a limit.
    """

    kind: Literal["command.rejected"] = "command.rejected"
    command: str
    reason: str
    hint: str = ""
    limit: Literal["", "turn_limit"] = ""


class ErrorRaised(Payload):
    """The engine met an unexpected exception and continued."""

    kind: Literal["error.raised"] = "error.raised"
    where: str
    message: str
    hint: str = ""
    detail: LongText = ""


class LogRepaired(Payload):
    """The log was repaired when it was opened.

    An incomplete tail was moved to `side_file`, or bad lines in the middle were skipped. With `rewritten`, the log's
    file was removed or replaced while it was open. The log was then written again, and a file that was found in its
    place is now `side_file`.
    """

    kind: Literal["log.repaired"] = "log.repaired"
    moved_bytes: int
    side_file: str
    bad_lines: tuple[int, ...] = ()
    rewritten: bool = False
