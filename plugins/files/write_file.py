"""write_file: creates or replaces a file."""

import tui_agent.plugin_api as api

from .planned_change import (
    FileChange,
    compute_change,
    preview_change,
    read_existing,
    write_change,
)

MAX_BYTES = 10_000_000


class WriteFileArgs(api.FrozenModel):
    """Arguments of write_file."""

    path: str
    content: str
    overwrite: bool = False


class ResolvedWrite(WriteFileArgs):
    """The arguments of write_file that the policy judges.

    `exists`: True if the file exists before the write.
    """

    exists: bool


class WriteFile(api.BaseTool):
    """Tool that creates a file. With `overwrite`, it replaces an existing file that the session has read."""

    def __init__(self) -> None:
        self.spec = api.load_spec("write_file", __file__, WriteFileArgs, verb="write")

    def target(self, args: WriteFileArgs) -> str:
        return args.path

    async def settle_arguments(self, args: WriteFileArgs, env: api.Environment) -> ResolvedWrite:
        """Return the arguments with `exists` set; a path that cannot be checked is treated as missing."""
        try:
            exists = await env.stat(args.path) is not None
        except api.EnvironmentFault:
            exists = False
        return ResolvedWrite(**args.model_dump(), exists=exists)

    def effects(self, args: WriteFileArgs) -> tuple[api.Effect, ...]:
        creates = not (args.exists if isinstance(args, ResolvedWrite) else args.overwrite)
        return (api.WriteEffect(path=args.path, creates=creates),)

    async def predict_failure(
        self, args: WriteFileArgs, env: api.Environment, state: api.SessionStateView
    ) -> None:
        """Raise `ToolError` if the file to replace has content that the session has not read."""
        before = await read_existing(args.path, env) if args.overwrite else None
        if before is not None:
            api.require_current_read(before, state)

    async def preview(self, args: WriteFileArgs, env: api.Environment) -> api.Preview:
        """Return the diff against the current file as the preview."""
        return preview_change(await _compute_write(args, env))

    async def run(self, args: WriteFileArgs, ctx: api.ToolContext) -> api.ToolResult:
        change = await _compute_write(args, ctx.env)
        if change.before is not None:
            api.require_current_read(change.before, ctx.state)
        lines = api.format_count(
            args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content)), "line"
        )
        verb = "Created" if change.before is None else "Replaced"
        return await write_change(change, f"{verb} {change.path}: {lines}.", ctx)


async def _compute_write(args: WriteFileArgs, env: api.Environment) -> FileChange:
    try:
        data = args.content.encode()
    except UnicodeEncodeError as error:
        raise api.ToolError(
            f"The content contains an unpaired surrogate at position {error.start}."
        ) from error
    if len(data) > MAX_BYTES:
        raise api.ToolError(
            f"The content is too large: {api.format_bytes(len(data))}, the limit is {api.format_bytes(MAX_BYTES)}."
        )
    before = await read_existing(args.path, env)
    if before is not None and not args.overwrite:
        raise api.ToolError(
            f"{args.path} already exists.",
            hint="Change it with edit_file, or read it and set overwrite=true to replace it.",
        )
    api.require_no_placeholder("content", args.content, before)
    return await compute_change(args.path if before is None else before.path, before, data)
