"""edit_notebook: replaces, inserts or deletes a cell of a notebook that the session has read."""

import asyncio
import hashlib
from typing import Literal, NamedTuple

import tui_agent.plugin_api as api

from .notebook_file import Notebook


class EditNotebookArgs(api.FrozenModel, coerce_numbers_to_str=True):
    """Arguments of edit_notebook."""

    path: str
    action: Literal["replace", "insert", "delete"]
    cell: str = ""
    source: str = ""
    cell_type: Literal["code", "markdown", ""] = ""


class _Change(NamedTuple):
    """A planned change of a notebook.

    `block`: shows the change of the cell's source.
    """

    content: api.FileContent
    data: bytes
    block: api.DiffBlock
    message: str


class EditNotebook(api.BaseTool):
    """Tool that changes one cell and keeps all other bytes of the file."""

    def __init__(self) -> None:
        self.spec = api.load_spec("edit_notebook", __file__, EditNotebookArgs, verb="edit")

    def target(self, args: EditNotebookArgs) -> str:
        return f"{args.path} [{args.cell or 'end'}]"

    def effects(self, args: EditNotebookArgs) -> tuple[api.Effect, ...]:
        return (api.WriteEffect(path=args.path),)

    async def predict_failure(
        self, args: EditNotebookArgs, env: api.Environment, state: api.SessionStateView
    ) -> None:
        """Raise `ToolError` if the session has not read the notebook's current content."""
        api.require_current_read(await api.read_or_suggest(args.path, env), state, reader="read_notebook")

    async def preview(self, args: EditNotebookArgs, env: api.Environment) -> api.Preview:
        """Return the change of the cell's source."""
        change = await _compute(args, env)
        digest = hashlib.sha256(change.data).hexdigest()
        return api.Preview((change.block,), content=f"{change.content.digest} {digest}")

    async def run(self, args: EditNotebookArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Write the changed notebook."""
        change = await _compute(args, ctx.env)
        api.require_current_read(change.content, ctx.state, reader="read_notebook")
        await ctx.env.write(change.content.path, change.data, change.content.digest)
        block = change.block
        stored = block.model_copy(update={"diff": ctx.blobs.put_text(api.text_preview(block.diff))})
        return api.text_result(
            change.message,
            summary=api.describe_line_changes(block.added, block.removed, "-"),
            display=(stored,),
            data={"path": change.content.path, "added": block.added, "removed": block.removed},
        )


async def _compute(args: EditNotebookArgs, env: api.Environment) -> _Change:
    return await asyncio.to_thread(_change, args, await api.read_or_suggest(args.path, env))


def _change(args: EditNotebookArgs, content: api.FileContent) -> _Change:
    notebook = Notebook(content)
    api.require_no_placeholder("source", args.source, content)
    before, after = "", args.source
    if args.action == "insert":
        previous = notebook.find(args.cell) if args.cell else None
        data = notebook.with_new_cell(args.source, args.cell_type or "code", previous)
        index = len(notebook.cells) if previous is None else previous.number
        message = f"Inserted cell {index}."
    else:
        cell = notebook.find(args.cell)
        before, index = cell.source, cell.number
        if args.action == "replace":
            data = notebook.with_source(cell, args.source, args.cell_type or cell.kind)
            message = (
                f"Replaced cell {index}; its outputs were removed."
                if cell.outputs
                else f"Replaced cell {index}."
            )
        else:
            data, after = notebook.without_cell(cell), ""
            message = f"Deleted cell {index}."
    if data == content.data:
        raise api.ToolError("Nothing would change.")
    count = api.format_count(len(notebook.cells) + {"insert": 1, "delete": -1}.get(args.action, 0), "cell")
    diff = api.diff_lines(before, after)
    block = api.DiffBlock(
        path=f"{content.path} [{index}]", diff=diff.text, added=diff.added, removed=diff.removed
    )
    return _Change(content, data, block, f"{message} {content.path} now has {count}.")
