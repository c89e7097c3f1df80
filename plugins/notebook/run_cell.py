"""run_cell: runs code in a Jupyter kernel, which keeps its variables between calls.

Invariant: the policy judges a cell like the command `python3 -c` with the cell's code.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import anyio
from pydantic import Field

import tui_agent.plugin_api as api

from .kernel_client import CellRun, Kernel, KernelGone, run_kernel
from .notebook_file import Notebook
from .outputs import image_parts, output_images, output_text, shorten

MAX_MODEL_CHARS = 16_000
MAX_TIMEOUT_S = 3_600
RUNNER = Path(__file__).with_name("kernel_runner.py")


class NotebookSettings(api.FrozenModel):
    """The settings of the plugin."""

    python: str = Field(
        "",
        description="The Python program that runs the kernels; it needs ipykernel."
        " If empty, the project's Python (`.venv` or `venv`), else `python`.",
    )


class RunCellArgs(api.FrozenModel, coerce_numbers_to_str=True):
    """Arguments of run_cell."""

    code: str = ""
    path: str = ""
    cell: str = ""
    timeout: Annotated[float, api.at_most(MAX_TIMEOUT_S)] = Field(default=120, gt=0, description="seconds")
    restart: bool = False


class ReadyCell(RunCellArgs):
    """The arguments that the policy judges: the model's arguments, and the code of the notebook's cell.

    `digest`: digest of the notebook file.
    """

    digest: str = ""


class RunCell(api.BaseTool):
    """Tool that runs Python cells. Each notebook has its own kernel. Code outside notebooks shares one kernel."""

    def __init__(self, settings: NotebookSettings) -> None:
        self._python = settings.python
        self._started: set[str] = set()
        """Names of the kernels that have run a cell."""
        self.spec = api.load_spec(
            "run_cell", __file__, RunCellArgs, verb="run", timeout=None, needs={"programs"}
        )

    def target(self, args: RunCellArgs) -> str:
        """Return the notebook's path with the cell, or the first line of the call's own code."""
        return f"{args.path} [{args.cell}]" if args.cell else args.code.strip().partition("\n")[0]

    async def settle_arguments(self, args: RunCellArgs, env: api.Environment) -> ReadyCell:
        """Add the code of the notebook's cell to the arguments, if the call names a cell."""
        if find_spec("jupyter_client") is None:
            raise api.ToolError(
                "Cells need Jupyter's client, which is not installed.",
                hint=f"{api.install_hint('notebook')}, then try again. Or use run_command.",
            )
        if bool(args.code) == bool(args.cell) or (args.cell and not args.path):
            raise api.ToolError("Give either code, or path and cell.")
        if not args.cell:
            return ReadyCell(**args.model_dump())
        content = await api.read_or_suggest(args.path, env)
        notebook = await asyncio.to_thread(Notebook, content)
        cell = notebook.find(args.cell)
        if cell.kind != "code" or notebook.language != "python":
            raise api.ToolError(f"Cell {args.cell} of {args.path} is not Python.")
        return ReadyCell(**{**args.model_dump(), "code": cell.source, "digest": content.digest})

    def effects(self, args: RunCellArgs) -> tuple[api.Effect, ...]:
        """Return the effects of the call: the code runs, and a notebook cell's outputs are written to the file."""
        writes = (api.WriteEffect(path=args.path),) if args.cell else ()
        return (api.RunEffect(argv=("python3", "-c", args.code), cwd=_folder(args)), *writes)

    async def preview(self, args: ReadyCell, env: api.Environment) -> api.Preview:
        """Return a note on the kernel as the preview."""
        note = "The code runs in a kernel, which keeps its variables until the session ends."
        return api.Preview((api.TextBlock(text=note),), content=f"{args.digest} {args.code}")

    async def run(self, args: ReadyCell, ctx: api.ToolContext) -> api.ToolResult:
        """Run the cell, and interrupt it after the time limit; an exception in the cell counts as a failure."""
        assert ctx.programs is not None
        name = f"kernel of {args.path}" if args.path else "kernel"
        if args.restart:
            await ctx.programs.end(name)
        kernel = await self._kernel(name, args, ctx)
        is_lost = kernel.is_new and name in self._started and not args.restart
        self._started.add(name)
        try:
            with anyio.move_on_after(args.timeout) as limit:
                run = await kernel.run(args.code, ctx.progress)
        except KernelGone as error:
            await ctx.programs.end(name)
            raise api.ToolError(
                f"The kernel died: {error}. Its variables are lost.", hint="The next call starts a new one."
            ) from error
        if limit.cancelled_caught:
            raise api.ToolError(
                f"Interrupted after {api.format_time_limit(args.timeout)}, the time limit. The kernel keeps its variables."
            )
        note = "\n[new kernel: the variables of earlier calls are lost]" if is_lost else ""
        if args.cell:
            note += await _save_outputs(args, run, ctx)
        return await asyncio.to_thread(_result, run, note, ctx)

    async def _kernel(self, name: str, args: ReadyCell, ctx: api.ToolContext) -> Kernel:
        assert ctx.programs is not None
        python = self._python or await _find_python(ctx.env, PurePosixPath(_folder(args)))
        spec = api.ExecSpec(argv=(sys.executable, str(RUNNER), python), cwd=_folder(args))
        run = partial(run_kernel, python=python)
        kernel = await ctx.programs.use(name, spec, run)
        if not kernel.fault:
            return kernel
        await ctx.programs.end(name)  # it died between two calls
        return await ctx.programs.use(name, spec, run)


async def _find_python(env: api.Environment, folder: PurePosixPath) -> str:
    """Return the Python of the project, as a path relative to the notebook's folder, or `python` if the project has
    none.
    """
    for depth, parent in enumerate((folder, *folder.parents)):
        for name in (".venv", "venv"):
            if await env.stat(str(parent / name / "bin" / "python")) is not None:
                return f"{'../' * depth}{name}/bin/python"
    return "python"


def _folder(args: RunCellArgs) -> str:
    folder = str(PurePosixPath(args.path).parent) if args.path else ""
    return "" if folder == "." else folder


async def _save_outputs(args: ReadyCell, run: CellRun, ctx: api.ToolContext) -> str:
    """Write the run's outputs to the cell in the notebook file, and return an empty text.

    If the notebook has changed since the run began, write nothing, and return a note for the model.
    """
    content = await ctx.env.read(args.path)
    if content.digest != args.digest:
        return "\n[the notebook changed meanwhile, so the outputs were not saved]"
    notebook = await asyncio.to_thread(Notebook, content)
    outputs = [_convert_for_file(output) for output in run.outputs]
    data = await asyncio.to_thread(notebook.with_outputs, notebook.find(args.cell), outputs, run.count)
    await ctx.env.write(args.path, data, content.digest)
    return ""


def _convert_for_file(output: dict[str, Any]) -> dict[str, Any]:
    """Convert an output to the format of notebook files, which store a text as a list of lines."""
    saved = dict(output)
    if isinstance(saved.get("text"), str):
        saved["text"] = saved["text"].splitlines(keepends=True)
    data = saved.get("data")
    if isinstance(data, dict):
        saved["data"] = {
            kind: value.splitlines(keepends=True)
            if isinstance(value, str) and (kind.startswith("text/") or kind == "image/svg+xml")
            else value
            for kind, value in data.items()
        }
    return saved


def _result(run: CellRun, note: str, ctx: api.ToolContext) -> api.ToolResult:
    is_ok = run.status == "ok"
    text = "\n".join(output_text(output).rstrip("\n") for output in run.outputs)
    images, blocks = image_parts(output_images(run.outputs), ctx)
    stored = ctx.blobs.put_text(text)
    count = "" if run.count is None else f" [{run.count}]"
    end = "ok" if is_ok else _error_name(run.outputs) or run.status
    shown = shorten(text, MAX_MODEL_CHARS) or "no output"
    return api.ToolResult(
        ok=is_ok,
        content=(api.TextContent(text=f"Out{count}, {end}:\n{shown}{note}"), *images),
        summary=end,
        display=((api.TerminalBlock(text=stored),) if text else ()) + tuple(blocks),
        data={"exit_code": 0 if is_ok else 1, "execution_count": run.count},
        full_output=stored,
    )


def _error_name(outputs: Sequence[dict[str, Any]]) -> str:
    names = (str(output.get("ename")) for output in outputs if output.get("output_type") == "error")
    return next(names, "")
