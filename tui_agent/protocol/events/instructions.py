"""Events of the instructions that apply to a session, and of its skills."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import FrozenModel, LongText
from tui_agent.protocol.events.base import Payload

InstructionScope: TypeAlias = Literal["user", "project", "nested"]


class InstructionFile(FrozenModel):
    """A file of instructions as it was read. `path` is relative to the workspace; that of the user's own file
    is absolute.

    `sha256` is of the file's own bytes, `tokens` an estimate for `text`. `truncated` means that the file is longer
    than `text`.
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

    `files` are the new or changed ones; `order` names all of them, the outermost folder first; `notes` list
    what was left out, with reasons. With `trigger` `turn`, `files` are in the agent's prompt. With `nested` they
    join its conversation here, and the earlier text of the files in `removed` no longer applies.
    """

    kind: Literal["instructions.loaded"] = "instructions.loaded"
    trigger: Literal["turn", "nested"]
    files: tuple[InstructionFile, ...] = ()
    removed: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SkillRecord(FrozenModel):
    """A skill: a folder with instructions for one kind of task. With a `fault` it is listed but cannot be used."""

    name: str
    description: str
    origin: Literal["user", "project"]
    path: str
    fault: str = ""


class SkillsLoaded(Payload):
    """The session's skills changed to these."""

    kind: Literal["skills.loaded"] = "skills.loaded"
    skills: tuple[SkillRecord, ...]
