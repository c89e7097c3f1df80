"""Events of a session's instructions and skills."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.stored_text import LongText

InstructionScope: TypeAlias = Literal["user", "project", "nested"]


class InstructionFile(FrozenModel):
    """An instruction file as it was read.

    `path`: relative to the workspace, or absolute for the user's own file. `sha256`: digest of the file. `tokens`:
    estimate for `text`. `truncated`: True if the file is longer than `text`.
    """

    path: str
    scope: InstructionScope
    sha256: str
    size: int
    tokens: int
    text: LongText
    truncated: bool = False


class InstructionsLoaded(Payload):
    """The instruction files of an agent changed.

    `files`: new or changed files. `order`: all files, outermost folder first. `notes`: sentences about files that were
    left out. If `trigger` is `turn`, the system prompt contains `files`. If `trigger` is `nested`, the conversation
    contains `files` from this event on, and the text of the files in `removed` no longer applies.
    """

    kind: Literal["instructions.loaded"] = "instructions.loaded"
    trigger: Literal["turn", "nested"]
    files: tuple[InstructionFile, ...] = ()
    removed: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SkillRecord(FrozenModel):
    """A skill: a folder with instructions for one kind of task. A skill with a `fault` is listed but cannot be used."""

    name: str
    description: str
    origin: Literal["user", "project"]
    path: str
    fault: str = ""


class SkillsLoaded(Payload):
    """The session's list of skills changed. `skills`: the complete new list."""

    kind: Literal["skills.loaded"] = "skills.loaded"
    skills: tuple[SkillRecord, ...]
