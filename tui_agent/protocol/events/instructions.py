"""Events of the instructions that apply to a session, and of its skills."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import FrozenModel, LongText, Payload

InstructionScope: TypeAlias = Literal["user", "project", "nested"]


class InstructionFile(FrozenModel):
    """An instruction file as it was read.

    `path` is relative to the workspace; the path of the user's own file is absolute. `sha256` is the digest of the
    file. `tokens` is an estimate for `text`. `truncated` is True if the file is longer than `text`.
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

    `files` are the new or changed files. `order` lists all files, outermost folder first. `notes` are sentences about
    files that were left out. If `trigger` is `turn`, `files` are part of the agent's system prompt. If it is `nested`,
    they are added to the conversation at this event, and the earlier text of the files in `removed` no longer applies.
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
    """The session's list of skills changed. `skills` is the complete new list."""

    kind: Literal["skills.loaded"] = "skills.loaded"
    skills: tuple[SkillRecord, ...]
