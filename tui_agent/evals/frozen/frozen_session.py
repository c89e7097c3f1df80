"""The recording of a frozen session (the model's answers, the user's actions, the result of each call) and its replay.

Invariant: a recording has `WORKSPACE` in place of the workspace's path, so it can be replayed in any folder. If a call
ends differently than in the recording, the replay continues.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tui_agent.config.settings.validation_errors import describe_errors
from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.evals.cases.case import FORMAT_HINT, Case
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.policy import PermissionRequested, Reach
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.parts import text_previews

ANSWERS_FILE: Final = "answers.json"
EVENTS_FILE: Final = "events.json"
EDITS_FOLDER: Final = "edits"
WORKSPACE: Final = "{{workspace}}"
COMPARED_VERBS = frozenset(("read", "list", "find", "search", "edit", "write"))
"""Verbs of the tools whose results are compared. Their results depend only on the files."""
MAX_VALUE_CHARS = 120
MAX_COMPARED_CHARS = 1_000


class RecordedDecision(FrozenModel):
    """The user's decision about a call."""

    decision: str
    reach: Reach = "once"
    rule: str = ""
    message: str = ""


class RecordedReply(FrozenModel):
    """The user's answer to a question of the agent."""

    answer: str
    choice: int | None = None


class RecordedCall(FrozenModel):
    """The result of a call.

    - `seq`: number of the call's last event in the session.
    - `files`: maps each changed file to its SHA-256, or to None if the file was deleted.
    - `content`: the result for the model, or None if the result can differ in each run.
    """

    seq: int
    turn: int
    agent: str
    call_id: str
    tool: str
    status: str
    exit_code: int | None = None
    content: str | None = None
    files: dict[str, str | None] = {}


class RecordedEvents(FrozenModel):
    """The user's actions in a session, and the results of its calls.

    `removed`: maps a turn to the files that the user deleted before the turn. The recording's folder `edits/N` has the
    files that the user changed before turn N (counted from 1).
    """

    session: str
    attended: bool = False
    decisions: dict[str, RecordedDecision] = {}
    replies: tuple[RecordedReply, ...] = ()
    removed: dict[int, tuple[str, ...]] = {}
    calls: tuple[RecordedCall, ...] = ()


def load_recorded_events(case: Case) -> RecordedEvents:
    """Return the user's actions and the call results from a case's recording.

    Raise `ConfigError` if the recording cannot be read.
    """
    file = case.folder / case.recording / EVENTS_FILE
    try:
        return RecordedEvents.model_validate_json(_read(file))
    except ValidationError as error:
        problems = describe_errors(error, {}, RecordedEvents)
        raise ConfigError(f"{file}: {problems}", hint=FORMAT_HINT) from error


def write_answers(case: Case, workspace: Path, target: Path) -> None:
    """Write the recorded answers to the file `target`, with the path of this workspace in place of `WORKSPACE`.

    Raise `ConfigError` if the recording cannot be read.
    """
    text = _read(case.folder / case.recording / ANSWERS_FILE).decode()
    target.write_text(text.replace(WORKSPACE, escape_path(workspace)), encoding="utf-8")


def _read(file: Path) -> bytes:
    with os_errors_as(ConfigError, f"{file} cannot be read", hint=FORMAT_HINT):
        return file.read_bytes()


def escape_path(path: Path) -> str:
    """Return a path with the escapes of a JSON string, without the quotes."""
    return json.dumps(str(path), ensure_ascii=False)[1:-1]


class CallEnds:
    """Collects the results of a session's calls. `calls` maps the id of each ended call to its result."""

    def __init__(self, workspace: str, turn: int = 1) -> None:
        self.turn = turn
        self.calls: dict[str, RecordedCall] = {}
        self._workspace = workspace
        self._verbs: dict[str, str] = {}
        self._files: dict[str, dict[str, str | None]] = {}

    def apply(self, event: Envelope) -> None:
        match event.payload:
            case ToolCalled(call_id=call_id, verb=verb):
                self._verbs[call_id] = verb
            case FileChanged(call_id=str() as call_id, path=path, after=after, after_sha256=original):
                self._files.setdefault(call_id, {})[path] = original or after
            case ToolFinished() as end:
                is_compared = self._verbs.get(end.call_id) in COMPARED_VERBS
                files = self._files.pop(end.call_id, {})
                exit_code = end.data.get("exit_code")
                self.calls[end.call_id] = RecordedCall(
                    seq=event.seq,
                    turn=self.turn,
                    agent=event.agent,
                    call_id=end.call_id,
                    tool=end.name,
                    status=end.status,
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    content=self._compared_text(end) if is_compared else None,
                    files=files if is_compared else {},
                )

    def _compared_text(self, end: ToolFinished) -> str:
        texts = text_previews(end.content)
        # Where a long text is cut depends on the length of the workspace's path.
        return "\n".join(texts).replace(self._workspace, WORKSPACE)[:MAX_COMPARED_CHARS]


class FrozenReplay:
    """Repeats the user's recorded actions in a session. Raises `ConfigError` if the case's recording cannot be read."""

    def __init__(self, case: Case, workspace: Path) -> None:
        self.events = load_recorded_events(case)
        self._edits = case.folder / case.recording / EDITS_FOLDER
        self._workspace = workspace
        self._replies = list(self.events.replies)
        self._ends = CallEnds(str(workspace))

    def apply(self, event: Envelope, session: Session) -> None:
        """Record an event. If the event asks the user something, answer as the user did in the frozen session."""
        self._ends.apply(event)
        match event.payload:
            case PermissionRequested(request_id=request_id, call_id=call_id):
                decided = self.events.decisions.get(call_id)
                session.submit(
                    DecidePermission(
                        request_id=request_id,
                        decision="allow" if decided is not None and decided.decision == "allow" else "deny",
                        reach="once" if decided is None else decided.reach,
                        rule="" if decided is None else decided.rule,
                        message="" if decided is None else decided.message,
                    )
                )
            case QuestionAsked(question_id=question_id):
                reply = self._replies.pop(0) if self._replies else None
                answer, choice = ("", None) if reply is None else (reply.answer, reply.choice)
                session.submit(AnswerQuestion(question_id=question_id, answer=answer, choice=choice))

    def begin_turn(self, turn: int) -> None:
        """Change the workspace as the user did before this turn. Raise `OSError` if a file cannot be changed."""
        self._ends.turn = turn
        edits = self._edits / str(turn)
        if edits.is_dir():
            shutil.copytree(edits, self._workspace, symlinks=True, dirs_exist_ok=True)
        for path in self.events.removed.get(turn, ()):
            (self._workspace / path).unlink(missing_ok=True)

    def find_divergence(self) -> str:
        """Describe the first call that ended differently than in the recording. Return an empty text if none did."""
        for recorded in self.events.calls:
            replayed = self._ends.calls.get(recorded.call_id)
            difference = describe_difference(recorded, replayed)
            if difference:
                agent = "" if recorded.agent == "main" else f" by the delegate {recorded.agent}"
                return f"event {recorded.seq} (turn {recorded.turn}, {recorded.tool}{agent}): {difference}"
        return ""


def describe_difference(recorded: RecordedCall, replayed: RecordedCall | None) -> str:
    """Return the difference between a recorded and a replayed call; empty if they ended in the same way.

    `replayed`: None if the call was not made in the replay.
    """
    if replayed is None:
        return "the call was not made"
    values: list[tuple[str, object, object]] = [
        ("status", recorded.status, replayed.status),
        ("exit status", recorded.exit_code, replayed.exit_code),
    ]
    old_files, new_files = recorded.files, replayed.files
    values += [
        (path, old_files.get(path, "unchanged"), new_files.get(path, "unchanged"))
        for path in {**old_files, **new_files}
    ]
    for name, old, new in values:
        if old != new:
            detail = f": {_first_line(replayed.content)}" if name == "status" and replayed.content else ""
            return f"{name} is {_shorten(new)}, but the recording has {_shorten(old)}{detail}"
    if recorded.content is not None and recorded.content != replayed.content:
        old, new = _first_different_lines(recorded.content, replayed.content or "")
        note = ""
        if old.split() == new.split() and " " in old + new:  # shown as one line, they can look the same
            old, new, note = old.replace(" ", "·"), new.replace(" ", "·"), " (each · is a space)"
        return f"its result has {new!r}, but the recording has {old!r}{note}"
    return ""


def _shorten(value: object) -> str:
    text = "no file" if value is None else str(value)
    return f"file {text[:8]}" if len(text) == 64 else text[:MAX_VALUE_CHARS]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:MAX_VALUE_CHARS]


def _first_different_lines(old: str, new: str) -> tuple[str, str]:
    """Return the first pair of different lines. Each is cut to the text around the difference."""
    keep_ends = old.splitlines() == new.splitlines()
    old_lines, new_lines = old.splitlines(keep_ends), new.splitlines(keep_ends)
    count = max(len(old_lines), len(new_lines))
    pairs = zip(
        old_lines + [""] * (count - len(old_lines)), new_lines + [""] * (count - len(new_lines)), strict=True
    )
    left, right = next(((a, b) for a, b in pairs if a != b), ("", ""))
    differences = (index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    start = max(0, next(differences, min(len(left), len(right))) - MAX_VALUE_CHARS // 2)
    return left[start : start + MAX_VALUE_CHARS], right[start : start + MAX_VALUE_CHARS]
