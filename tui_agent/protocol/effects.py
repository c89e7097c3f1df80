"""Effects of a tool call. The policy judges them; approvals show them.

`digest` binds a decision to exactly these effects: a changed call needs a new decision.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.base import Frozen


class Reads(Frozen):
    """Reading a file or folder. `path` is as given to the tool; `deep` means that everything below it may be
    read."""

    kind: Literal["reads"] = "reads"
    path: str
    deep: bool = False


class Writes(Frozen):
    """Creating, changing or removing a file or folder."""

    kind: Literal["writes"] = "writes"
    path: str
    creates: bool = False
    removes: bool = False


class Connects(Frozen):
    """A network connection to a host."""

    kind: Literal["connects"] = "connects"
    host: str


class Runs(Frozen):
    """Running a program: `argv` without a shell, or `script` with `bash -c`. Exactly one of them is set."""

    kind: Literal["runs"] = "runs"
    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""


class Internal(Frozen):
    """A change to the session's own state only (todos, questions). Always allowed."""

    kind: Literal["internal"] = "internal"
    what: str


Effect: TypeAlias = Annotated[Reads | Writes | Connects | Runs | Internal, Field(discriminator="kind")]


def digest(tool: str, effects: Sequence[Effect], content: str = "") -> str:
    """Return the hex digest (32 digits) of a tool's name, its effects in order and the exact content
    shown."""
    plain = [tool, [effect.model_dump(mode="json") for effect in effects], content]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:32]
