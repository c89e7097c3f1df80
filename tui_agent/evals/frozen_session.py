"""The recording of a frozen session: the answers of the model, the user's part, and the end of each call.

Invariant: a recording that cannot be read is named with its file and the reason. `WORKSPACE` stands for the path of the
workspace, so that a recording can be replayed in any folder.
"""

import json
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from tui_agent.config.validation_errors import describe_errors
from tui_agent.errors import ConfigError
from tui_agent.evals.case import FORMAT_HINT, Case
from tui_agent.protocol.events.policy import Reach

ANSWERS_FILE: Final = "answers.json"
EVENTS_FILE: Final = "events.json"
EDITS_FOLDER: Final = "edits"
WORKSPACE: Final = "{{workspace}}"


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedDecision(_Stored):
    """The user's decision about a call."""

    decision: str
    reach: Reach = "once"
    rule: str = ""
    message: str = ""


class RecordedReply(_Stored):
    """The user's answer to a question of the agent."""

    answer: str
    choice: int | None = None


class RecordedCall(_Stored):
    """The end of a call. `seq` is its event in the session; `files` has the SHA-256 of each changed file, or None.

    `content` is the result for the model; None if it may differ each time.
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


class RecordedEvents(_Stored):
    """The user's part in a session, and the ends of its calls. `removed` are files that the user removed before a turn.

    `edits/N` has the files that the user changed before turn N (counted from 1).
    """

    session: str
    attended: bool = False
    decisions: dict[str, RecordedDecision] = {}
    replies: tuple[RecordedReply, ...] = ()
    removed: dict[int, tuple[str, ...]] = {}
    calls: tuple[RecordedCall, ...] = ()


def load_recorded_events(case: Case) -> RecordedEvents:
    """Return the user's part and the ends of the calls in a case's recording. Raises `ConfigError`."""
    file = case.folder / case.recording / EVENTS_FILE
    try:
        return RecordedEvents.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.", hint=FORMAT_HINT) from error
    except ValidationError as error:
        problems = describe_errors(error, {}, RecordedEvents)
        raise ConfigError(f"{file}: {problems}", hint=FORMAT_HINT) from error


def write_answers(case: Case, workspace: Path, target: Path) -> None:
    """Write the recorded answers with the path of this workspace to the file `target`. Raises `ConfigError`."""
    file = case.folder / case.recording / ANSWERS_FILE
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.", hint=FORMAT_HINT) from error
    target.write_text(text.replace(WORKSPACE, escape_path(workspace)), encoding="utf-8")


def escape_path(path: Path) -> str:
    """Return a path as it stands inside a JSON string."""
    return json.dumps(str(path), ensure_ascii=False)[1:-1]
