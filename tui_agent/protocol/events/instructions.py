"""The instructions that hold for a session, and the skills that it can call on."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.events.base import Payload

InstructionScope: TypeAlias = Literal["user", "project", "nested"]


class InstructionFile(Frozen):
    """One file of instructions as it was read. `path` is seen from the workspace, the user's own one is absolute.

    `sha256` is of the file's own bytes, `tokens` an estimate of `text`; `cut`: the file is longer than `text`.
    """

    path: str
    scope: InstructionScope
    sha256: str
    size: int
    tokens: int
    text: LongText
    cut: bool = False


class InstructionsLoaded(Payload):
    """Which files of instructions an agent has from now on. `files` are those that are new or changed, `order` names all
    of them, the farthest first; `notes` say what was left out, and why.

    `why` `turn`: `files` stand in its prompt; `nested`: they join its conversation here, and what stands in it of `gone`
    holds no more.
    """

    kind: Literal["instructions.loaded"] = "instructions.loaded"
    why: Literal["turn", "nested"]
    files: tuple[InstructionFile, ...] = ()
    gone: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SkillRecord(Frozen):
    """A skill: a folder with instructions for one kind of task. With a `fault` it is listed and cannot be used."""

    name: str
    description: str
    origin: Literal["user", "project"]
    path: str
    fault: str = ""


class SkillsLoaded(Payload):
    """The skills that the session has from now on."""

    kind: Literal["skills.loaded"] = "skills.loaded"
    skills: tuple[SkillRecord, ...]
