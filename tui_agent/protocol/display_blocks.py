"""Display blocks: everything that a tool or plugin can show to a person.

Invariant: blocks are plain data.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.stored_text import JsonMap, LongText


class TextBlock(FrozenModel):
    """A display block of plain text."""

    kind: Literal["text"] = "text"
    text: LongText


class MarkdownBlock(FrozenModel):
    """A display block of Markdown source."""

    kind: Literal["markdown"] = "markdown"
    text: LongText


class DiffBlock(FrozenModel):
    """A change to one file as a unified diff (hunks only, no file header lines).

    `path`: relative to the workspace, or absolute outside the workspace. `added`, `removed`: number of lines.
    """

    kind: Literal["diff"] = "diff"
    path: str
    diff: LongText
    added: int
    removed: int


class TerminalBlock(FrozenModel):
    """Unprocessed output of a program. Control sequences are removed before the block is shown.

    `omitted`: number of lines that are missing before `text`.
    """

    kind: Literal["terminal"] = "terminal"
    text: LongText
    omitted: int = 0


class TableBlock(FrozenModel):
    """A display block with a table: rows of cells. `align`: one character for each column: `l`, `r` or `c`."""

    kind: Literal["table"] = "table"
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str = ""


class TreeNode(FrozenModel):
    """A labelled node of the tree in a `TreeBlock`."""

    label: str
    children: tuple["TreeNode", ...] = ()


class TreeBlock(FrozenModel):
    """A display block with a tree of labels."""

    kind: Literal["tree"] = "tree"
    roots: tuple[TreeNode, ...]


class JsonBlock(FrozenModel):
    """A display block with a JSON value."""

    kind: Literal["json"] = "json"
    data: JsonValue


class ImageBlock(FrozenModel):
    """A display block with an image that is stored as a blob. Only its name and size are shown."""

    kind: Literal["image"] = "image"
    media_type: str
    blob_sha256: str
    size: int
    name: str = ""


class CustomBlock(FrozenModel):
    """A plugin's own display block. The plugin `owner` draws the block; `text` is shown if the plugin is not loaded."""

    kind: Literal["custom"] = "custom"
    owner: str
    name: str
    data: JsonMap
    text: str


DisplayBlock: TypeAlias = Annotated[
    TextBlock
    | MarkdownBlock
    | DiffBlock
    | TerminalBlock
    | TableBlock
    | TreeBlock
    | JsonBlock
    | ImageBlock
    | CustomBlock,
    Field(discriminator="kind"),
]
