"""The recording of a frozen session: the model's answers, the user's actions, and the result of each call.

Invariant: a recording has `WORKSPACE` in place of the workspace's path, so it can be replayed in any folder.
"""

import json
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tui_agent.config.settings.validation_errors import describe_errors
from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.evals.cases.case import FORMAT_HINT, Case
from tui_agent.protocol.base import FrozenModel
from tui_agent.protocol.events.policy import Reach

ANSWERS_FILE: Final = "answers.json"
EVENTS_FILE: Final = "events.json"
EDITS_FOLDER: Final = "edits"
WORKSPACE: Final = "{{workspace}}"


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
    - `content`: the result for the model, or None if it can differ each time.
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
