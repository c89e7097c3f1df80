"""read_notebook: lists the cells of a notebook, or shows one complete cell."""

import asyncio

from pydantic import Field

import tui_agent.plugin_api as api

from .notebook_file import Cell, Notebook
from .outputs import image_parts, output_images, output_text, shorten

MAX_LIST_CHARS = 30_000
MAX_SOURCE_CHARS, MAX_OUTPUT_CHARS = 2_000, 600
"""Maximum characters of a cell's source, and of each of its outputs, in a list of cells."""
MAX_CELL_CHARS = 30_000


class ReadNotebookArgs(api.FrozenModel, coerce_numbers_to_str=True):
    """Arguments of read_notebook."""

    path: str
    cell: str = ""
    first: int = Field(default=0, ge=0)


class ReadNotebook(api.BaseTool):
    """Tool that shows the cells of a notebook, and records the file's digest for edit_notebook."""

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "read_notebook", __file__, ReadNotebookArgs, verb="read", parallel_safe=True
        )

    def target(self, args: ReadNotebookArgs) -> str:
        """Return the path, followed by the cell if the call names a cell."""
        return f"{args.path} [{args.cell}]" if args.cell else args.path

    def effects(self, args: ReadNotebookArgs) -> tuple[api.Effect, ...]:
        return (api.ReadEffect(path=args.path),)

    async def run(self, args: ReadNotebookArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the cells from `first` on, as many as fit, or one cell with its images."""
        content = await api.read_or_suggest(args.path, ctx.env)
        return await asyncio.to_thread(_show, content, args, ctx)


def _show(content: api.FileContent, args: ReadNotebookArgs, ctx: api.ToolContext) -> api.ToolResult:
    notebook = Notebook(content)
    count = api.format_count(len(notebook.cells), "cell")
    images: list[api.ImageContent] = []
    blocks: list[api.ImageBlock] = []
    if args.cell:
        cell = notebook.find(args.cell)
        text, summary = _describe(cell, MAX_CELL_CHARS, MAX_CELL_CHARS), f"cell {cell.number} of {count}"
        images, blocks = image_parts(output_images(cell.outputs), ctx)
    else:
        rows, left = [f"{notebook.path}: {count}, {notebook.language}"], MAX_LIST_CHARS
        for cell in notebook.cells[args.first :]:
            row = _describe(cell, MAX_SOURCE_CHARS, MAX_OUTPUT_CHARS)
            left -= len(row)
            if left < 0 and len(rows) > 1:
                rows.append(f"[read on with first={cell.number}]")
                break
            rows.append(row)
        text, summary = "\n\n".join(rows), count
    event = api.FileRead(
        path=content.path,
        digest=content.digest,
        size=len(content.data),
        first_line=1,
        last_line=1,
        complete=not args.cell,
        call_id=ctx.call_id,
    )
    return api.ToolResult(
        ok=True,
        content=(api.TextContent(text=text), *images),
        summary=summary,
        display=(api.TextBlock(text=ctx.blobs.put_text(text)), *blocks),
        data={"path": content.path, "cells": len(notebook.cells)},
        events=(event,),
    )


def _describe(cell: Cell, source_chars: int, output_chars: int) -> str:
    count = cell.value.get("execution_count")
    rows = [f"{cell.label} {cell.kind}" + (f" In [{count}]" if isinstance(count, int) else "")]
    rows.append(shorten(cell.source, source_chars))
    rows += [
        f"--- {output.get('output_type')}:\n{shorten(output_text(output).rstrip(), output_chars)}"
        for output in cell.outputs
    ]
    return "\n".join(rows)
