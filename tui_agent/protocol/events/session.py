"""Events of a session's life: start, runs, branches, settings, and faults of the engine itself."""

from typing import Final, Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.ids import CallId, RunId, SessionId
from tui_agent.protocol.settings import BudgetUse, ContextMode, Effort, ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import LongText


class SessionStarted(Payload):
    """The session started. This is event 0. If its line becomes unreadable, the event is recorded again.

    `workspace`: absolute path. `product`: name and version of the program that wrote the event. `allowed_tools`: the
    policy denies every other tool (null: no limit). `without`: tools and features that are turned off, such as
    `tool:grep` or `section:repo_map`.
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

    `titled_by`: `auto` for a sentence of the user's first message, `answer` for the first sentence of the first answer.
    """

    kind: Literal["session.titled"] = "session.titled"
    title: str
    titled_by: Literal["auto", "answer", "user"]


WorkspaceKind: TypeAlias = Literal["", "copy", "copy_without_git", "worktree"]


class ForkChange(FrozenModel):
    """A fork's changes to its parent's state. Empty fields change nothing.

    `workspace`: the fork's folder. `workspace_kind`: a copy of the parent's files, or a new git work tree. The kind
    `copy_without_git` is a copy outside git of a folder in a git repository. `left_out_folders`: the folders of
    installed or generated files, such as `.venv/`, that the fork's folder lacks although the parent's checkpoint has
    them; caches such as `__pycache__/` are not listed. A note tells the model what is missing in the fork's folder.
    `model` (a name for `SetModel`), `reasoning_effort`, `context_mode`: settings for the fork. `result`: result for the
    unfinished call `call_id`. `message`: new text for one of the parent's messages. The fork starts before that
    message, and `ContinueTurn` sends the new text.
    """

    workspace: str = ""
    workspace_kind: WorkspaceKind = ""
    left_out_folders: tuple[str, ...] = ()
    model: str = ""
    reasoning_effort: Effort | None = None
    context_mode: ContextMode | None = None
    call_id: CallId | None = None
    result: LongText | None = None
    message: LongText | None = None


class SessionForked(Payload):
    """This session is a fork: it continues the log of `parent_session`, up to and including event `at_seq`.

    `parent_crc`: checksum of the parent's log line with this event. `changes` apply from this event on.
    """

    kind: Literal["session.forked"] = "session.forked"
    parent_session: SessionId
    at_seq: int
    parent_crc: str
    changes: ForkChange = ForkChange()


class WorkspaceMoved(Payload):
    """The session continues in another folder because the workspace's folder was moved or removed.

    Paths in events stay relative to the workspace.
    """

    kind: Literal["session.workspace_moved"] = "session.workspace_moved"
    workspace: str
    previous: str


class RevertedHunk(FrozenModel):
    """A hunk of a recorded file change that was reverted. The command `RevertHunk` describes the fields."""

    path: str
    before: str | None
    after: str | None
    hunk: int


MAX_KEPT_COMMITS = 8
"""Maximum number of commits listed in one event. Also the maximum number of stashes."""
MAX_KEPT_PATHS = 20
"""Maximum number of paths listed in one event that an undo did not restore."""


class SessionHeadMoved(Payload):
    """The session moved to an earlier event: the branch continues from `to_seq`. Later events stay in the log.

    The event's `parent` is `to_seq`. `from_seq`: last event of the branch before the move. A later redo moves the
    session back to `from_seq`. `parts`, `turn`, `iteration`, `agents`, `jobs`: highest numbers used so far; new numbers
    continue after them. `used`: used part of the budgets; undone work still counts. `files`: True if files are restored
    too (`checkpoint.restored` follows).

    With the reasons `hunk` and `files`, the session only changed files and did not move. `to_seq` is then the event
    just before this one, and `from_seq` is the last event before the changes. `hunk`: the reverted hunk. `redone`: for a
    redo, the `reason` of the move that it reverses. `restored_turns`: number of turns that the redo restores.
    `stopped_jobs`: commands of the background jobs that were stopped, because a turn that the move undoes had started
    them. `kept_commits`: commits of undone turns that are still in the user's repository, as short id and subject (`1a2b3c4
    Fix the total`). They are listed oldest first; at most `MAX_KEPT_COMMITS` are listed. `kept_stashes`: messages of git
    stashes that undone turns made. `outside_paths`: files outside the workspace that undone calls changed or deleted.
    `deleted_paths`: files of the workspace that undone calls deleted and that were not restored, because no checkpoint has
    them. Both lists contain only what the calls named, at most `MAX_KEPT_PATHS` paths each.
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
    jobs: int = 0
    used: BudgetUse = BudgetUse()
    run_id: RunId | None = None
    hunk: RevertedHunk | None = None
    kept_commits: tuple[str, ...] = ()
    kept_stashes: tuple[str, ...] = ()
    outside_paths: tuple[str, ...] = ()
    deleted_paths: tuple[str, ...] = ()
    stopped_jobs: tuple[str, ...] = ()


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
    """The task of a session ended. Only an evaluation or `tui-agent run` records this event.

    `solved`, `unsolved`: result of tests and a verifier. `finished`: the agent ended its work, and nothing checked the
    result. `agent_error`: failure of the model, the engine or the policy. `env_error`: failure of files, processes,
    tests or the verifier. If a later turn continues the task, the newest end counts.
    """

    kind: Literal["session.ended"] = "session.ended"
    reason: TrajectoryEnd


class RunStarted(Payload):
    """A process opened the session. `client`: kind of client that controls the process."""

    kind: Literal["run.started"] = "run.started"
    run_id: RunId
    pid: int
    client: Literal["app", "headless", "demo", "eval", "web", "editor", "api", "sim"]
    product: str
    model: ModelInfo


class RunResumed(Payload):
    """A process continued an existing session.

    `closed_calls`: number of calls that the previous process left open, and that the new process recorded as ended.
    """

    kind: Literal["run.resumed"] = "run.resumed"
    run_id: RunId
    after_seq: int
    clean: bool
    closed_calls: int = 0


class RunFinished(Payload):
    """The process closed the session properly. If a log ends without this event, the process crashed."""

    kind: Literal["run.finished"] = "run.finished"
    run_id: RunId
    reason: Literal["quit", "done", "signal", "error", "switched"]


class SettingsChanged(Payload):
    """One setting changed. `key`: a field of `SessionSettings`."""

    kind: Literal["settings.changed"] = "settings.changed"
    key: Literal["model", "policy", "agent", "context_mode", "repo_map", "map_options", "budgets"]
    value: JsonValue
    previous: JsonValue
    changed_by: Literal["user", "agent", "engine"] = "user"


NOTHING_RUNS: Final = "Nothing is running."
"""The reason why a command such as pause or interrupt is rejected if nothing is running (any more)."""


class CommandRejected(Payload):
    """A command was rejected.

    `reason` and `hint` are sentences for the user. `limit`: set if the session reached a limit.
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

    Either an incomplete end of the log was moved to `side_file`, or bad lines in the middle were skipped. `rewritten`:
    True if the log's file was removed or replaced while open, and the log was written to a new file. In this case,
    `side_file` is the file that had replaced the log (if any).
    """

    kind: Literal["log.repaired"] = "log.repaired"
    moved_bytes: int
    side_file: str
    bad_lines: tuple[int, ...] = ()
    rewritten: bool = False
