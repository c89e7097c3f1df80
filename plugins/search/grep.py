"""grep: finds lines that match a regular expression, in files or an artifact.

Invariant: lines are read through the environment, which allows only files of the workspace and approved files.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

from . import python_search, ripgrep
from .text_search import Query, SearchResult, split_lines

MAX_RESULTS = 500
MAX_LINE = 300
MAX_CHARS = 40_000
MAX_PATTERN = 1000
MAX_SINGLE_FILE_BYTES = 20_000_000
"""Maximum size of a file given as `path`, in bytes."""
# For files of a folder, see `query.MAX_FILE_BYTES`.


class GrepArgs(api.FrozenModel):
    """Arguments of grep; models are not told about `max_results`."""

    pattern: str
    path: str = ""
    glob: str = ""
    ignore_case: bool = False
    context: Annotated[int, api.at_most(20)] = Field(default=0, ge=0)
    max_results: Annotated[int, api.at_most(MAX_RESULTS)] = Field(
        default=100, ge=1, json_schema_extra={"unsent": True}
    )


@dataclass
class RenderedHits:
    """The search result as lines of text, and its totals.

    - `hits`: number of matching lines
    - `files`: number of files with matching lines
    - `chars`: number of characters in `lines`
    """

    lines: list[str] = field(default_factory=list)
    hits: int = 0
    files: int = 0
    chars: int = 0
    truncated: bool = False

    def add(self, path: str, numbers: list[int], lines: list[str], args: GrepArgs) -> None:
        """Add the matching lines of a file, as many as `max_results` allows.

        `lines`: all lines of the file.
        """
        selected = numbers[: args.max_results - self.hits]
        if not selected:
            return
        rows = [api.escape_unprintable(path), *_format_rows(lines, selected, args.context)]
        self.lines += ["", *rows] if self.lines else rows
        self.files += 1
        self.hits += len(selected)
        self.chars += sum(len(row) + 1 for row in rows)
        self.truncated = len(selected) < len(numbers)


class Grep(api.BaseTool):
    """Tool that searches with ripgrep or, if ripgrep is not installed, with Python in a separate process."""

    def __init__(self) -> None:
        self.spec = api.load_spec("grep", __file__, GrepArgs, verb="search", timeout=60, parallel_safe=True)

    def target(self, args: GrepArgs) -> str:
        """Return the pattern, followed by the call's path and glob, if any."""
        where = " ".join(piece for piece in (args.path, args.glob) if piece)
        return f"{args.pattern} in {where}" if where else args.pattern

    def effects(self, args: GrepArgs) -> tuple[api.Effect, ...]:
        """Return the call's only effect: an `InternalEffect` for an artifact, otherwise a recursive `ReadEffect`."""
        if api.is_artifact(args.path):
            return (api.InternalEffect(subject="artifacts"),)
        return (api.ReadEffect(path=args.path or ".", recursive=True),)

    async def run(self, args: GrepArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the matching lines with their numbers, grouped by file, in the order of the paths."""
        if not args.pattern or len(args.pattern) > MAX_PATTERN:
            raise api.ToolError("The pattern is empty." if not args.pattern else "The pattern is too long.")
        if api.is_artifact(args.path):
            return await _search_artifact(args, ctx)
        query = await _build_query(args, ctx.env)
        result = await ripgrep.search(query, ctx.env, ctx.may_read)
        if result is None:
            _check_patterns(args.pattern, args.glob)
            result = await python_search.search(query, ctx.env, ctx.may_read)
        shown = await _render(result, args, ctx.env)
        if not shown.lines and query.glob.startswith("/") and query.glob == args.glob.strip():
            result.notes.append(api.other_folder_hint(args.glob, args.path, "glob"))
        return _build_result(shown, result, args, ctx)


async def _search_artifact(args: GrepArgs, ctx: api.ToolContext) -> api.ToolResult:
    artifact_id, rows = args.path.strip(), await api.read_artifact(args.path, ctx)
    _check_patterns(args.pattern, "")
    query = Query(args.pattern, artifact_id, True, "", args.ignore_case, args.max_results, "\n".join(rows))
    result = await python_search.search(query, ctx.env, ctx.may_read)
    shown = RenderedHits()
    shown.add(artifact_id, result.lines.get(artifact_id, []), rows, args)
    return _build_result(shown, result, args, ctx, {"artifact_id": artifact_id})


def _check_patterns(pattern: str, glob: str) -> None:
    try:
        if glob.strip("!"):
            api.compile_path_pattern(glob.removeprefix("!"))
    except ValueError as error:
        raise api.ToolError(f"The glob is not valid: {error}") from error
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise api.ToolError(
            f"The pattern is not a valid regular expression: {error}.", hint="Escape literal characters."
        ) from error


async def _build_query(args: GrepArgs, env: api.Environment) -> Query:
    real = env.resolve(args.path)
    root = env.root.rstrip("/")
    inside = real == env.root or real.startswith(root + "/")
    path = real[len(root) + 1 :] if inside else real
    info = await env.stat(path)
    if info is None:
        hint = await api.suggest_paths(args.path, env)
        raise api.ToolError(f"File or folder not found: {args.path}.", hint=hint)
    if info.kind not in ("file", "directory"):
        raise api.ToolError(f"{args.path} is not a regular file.")
    if info.kind == "file" and info.size > MAX_SINGLE_FILE_BYTES:
        raise api.ToolError(
            f"{args.path} is too large: {api.format_bytes(info.size)}, the limit is {api.format_bytes(MAX_SINGLE_FILE_BYTES)}.",
            hint="Search this file with a shell command.",
        )
    glob = api.relative_path_pattern(args.glob, root)
    if glob is None:
        raise api.ToolError(
            f"{args.glob} is outside {path or 'the workspace'}.",
            hint=api.other_folder_hint(args.glob, args.path, "glob"),
        )
    return Query(args.pattern, path, info.kind == "file", glob, args.ignore_case, args.max_results)


async def _render(result: SearchResult, args: GrepArgs, env: api.Environment) -> RenderedHits:
    shown = RenderedHits()
    # Sorted by names, so that `a/b` and `a/c` stay together even if there is a file `a-b`.
    for path in sorted(result.lines, key=lambda path: path.split("/")):
        if shown.hits >= args.max_results or shown.chars > MAX_CHARS:
            shown.truncated = True
            break
        numbers, lines = await _read_hits(path, result.lines[path], env)
        shown.add(path, numbers, lines, args)
    return shown


async def _read_hits(path: str, numbers: Iterable[int], env: api.Environment) -> tuple[list[int], list[str]]:
    """Read a file. Return those line numbers of `numbers` that the file still has, sorted, and the file's lines.

    Both lists are empty if the file cannot be read or was replaced by a link.
    """
    try:
        content = await env.read(path)
    except api.EnvironmentFault:
        return [], []
    if content.path != path:  # the file was replaced by a link after the search
        return [], []
    lines = split_lines(content.data) or []
    return [number for number in sorted(numbers) if number <= len(lines)], lines


def _format_rows(lines: list[str], numbers: list[int], context: int) -> list[str]:
    """Return the result's rows for one file: `12:match`, `13-context`, and `--` between separate blocks."""
    rows: list[str] = []
    hits = set(numbers)
    last = 0
    for number in numbers:
        start = max(number - context, last + 1)
        if context and last and start > last + 1:
            rows.append("--")
        for row_number in range(start, min(number + context, len(lines)) + 1):
            rows.append(f"{row_number}{':' if row_number in hits else '-'}{_shorten(lines[row_number - 1])}")
            last = row_number
    return rows


def _shorten(line: str) -> str:
    line = line.removesuffix("\r")
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… (+{len(line) - MAX_LINE} characters)"


def _build_result(
    shown: RenderedHits,
    result: SearchResult,
    args: GrepArgs,
    ctx: api.ToolContext,
    data: api.JsonMap | None = None,
) -> api.ToolResult:
    hits = f"{shown.hits}{'+' if shown.truncated or result.incomplete else ''} {'hit' if shown.hits == 1 else 'hits'}"
    notes = list(result.notes)
    if shown.truncated:
        notes.append("more hits than shown; narrow the search by path, glob or pattern")
    lines = shown.lines or [f"No match for {args.pattern}."]
    text = "\n".join([*lines, *(f"[{note}]" for note in notes)])
    return api.text_result(
        text,
        summary=hits if shown.hits else "no hits",
        display=(api.TextBlock(text=ctx.blobs.put_text(text)),),
        data={**(data or {}), "hits": shown.hits, "files": shown.files, "engine": result.engine},
    )
