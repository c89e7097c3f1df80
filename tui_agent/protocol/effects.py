"""Effects, what a tool call does to the world. Policy judges them, approvals show them.

`digest` binds a decision to exactly these effects: a changed call needs a new decision.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.base import Frozen


class Reads(Frozen):
    """Reads a file or folder. `path` as the tool was given it; `deep` when everything below it may be read."""

    kind: Literal["reads"] = "reads"
    path: str
    deep: bool = False


class Writes(Frozen):
    """Creates, changes or removes a file or folder."""

    kind: Literal["writes"] = "writes"
    path: str
    creates: bool = False
    removes: bool = False


class Connects(Frozen):
    """Talks to a host over the network."""

    kind: Literal["connects"] = "connects"
    host: str


class Runs(Frozen):
    """Runs a program: `argv` without a shell, or `script` by `bash -c`; exactly one of them is set."""

    kind: Literal["runs"] = "runs"
    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""


class Internal(Frozen):
    """Touches only the session's own state (todos, questions). Always allowed."""

    kind: Literal["internal"] = "internal"
    what: str


Effect: TypeAlias = Annotated[Reads | Writes | Connects | Runs | Internal, Field(discriminator="kind")]


def digest(tool: str, effects: Sequence[Effect], content: str = "") -> str:
    """A hex digest (32 digits) of a tool's name, its effects in order and the exact content that was shown."""
    plain = [tool, [effect.model_dump(mode="json") for effect in effects], content]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:32]
