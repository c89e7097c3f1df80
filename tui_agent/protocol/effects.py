"""Effects of a tool call. The policy judges them, and approvals show them.

A user's decision applies only to a call whose effects have the same digest (`digest_effects`).
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.frozen_model import FrozenModel


class ReadEffect(FrozenModel):
    """An effect of a tool call: reading a file or folder.

    `path`: the path in the tool's arguments. `recursive`: True if the call can read everything below the folder.
    """

    kind: Literal["reads"] = "reads"
    path: str
    recursive: bool = False


class WriteEffect(FrozenModel):
    """An effect of a tool call: creating, changing or removing a file or folder."""

    kind: Literal["writes"] = "writes"
    path: str
    creates: bool = False
    removes: bool = False


class NetworkEffect(FrozenModel):
    """An effect of a tool call: a network connection to a host."""

    kind: Literal["connects"] = "connects"
    host: str


class RunEffect(FrozenModel):
    """An effect of a tool call: running a program.

    Either `argv` is run without a shell, or `script` is run with `bash -c`.
    """

    kind: Literal["runs"] = "runs"
    argv: tuple[str, ...] = ()
    script: str = ""
    cwd: str = ""


class InternalEffect(FrozenModel):
    """An effect of a tool call: changing only the session's own state (todos, questions).

    Such calls are always allowed.
    """

    kind: Literal["internal"] = "internal"
    subject: str


class McpCallEffect(FrozenModel):
    """An effect of a tool call: an MCP server runs its tool `tool`, which can do anything.

    `read_only`: True if the server says that the tool changes nothing. Even then the call needs approval. `digest`: short
    digest of the tool's description and schema. A rule applies only to this version of the tool.
    """

    kind: Literal["calls"] = "calls"
    server: str
    tool: str
    digest: str = ""
    read_only: bool = False


Effect: TypeAlias = Annotated[
    ReadEffect | WriteEffect | NetworkEffect | RunEffect | InternalEffect | McpCallEffect,
    Field(discriminator="kind"),
]


def digest_effects(tool: str, effects: Sequence[Effect], content: str = "") -> str:
    """Return a digest of a tool call's name, effects and content: 32 hex digits of SHA-256.

    `content`: the exact text shown to the user.
    """
    plain = [tool, [effect.model_dump(mode="json") for effect in effects], content]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:32]
