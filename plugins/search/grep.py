"""grep: lines of the workspace's files that fit a regular expression.

Invariant: whatever finds the places (ripgrep, or the own search), every line that is shown was read through the
environment, so nothing can be shown that is not in the workspace or was allowed for this call; and no file is shown
that could not be read by its name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    EnvironmentFault,
    Frozen,
    Preview,
    Reads,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    path_pattern,
)

from . import own, ripgrep
from .places import Found, Query, lines_of

MAX_RESULTS = 500
MAX_LINE = 300
MAX_CHARS = 40_000
MAX_PATTERN = 1000
MAX_SINGLE = 20_000_000
"""Bytes of a file that is searched by its name; of a folder's files the smaller limit in `places` holds."""


class GrepArgs(Frozen):
    """Arguments of grep."""

    pattern: str
    path: str = Field(default="", description="file or folder")
    glob: str = Field(default="", description="only files like *.py or src/**/*.ts")
    ignore_case: bool = False
    context: int = Field(default=0, ge=0, le=20, description="lines around each hit")
    max_results: int = Field(default=100, ge=1, le=MAX_RESULTS)


@dataclass
class Shown:
    """The answer as it grows."""

    lines: list[str] = field(default_factory=list)
    hits: int = 0
    files: int = 0
    chars: int = 0
    full: bool = False


class Grep:
    """Searches by ripgrep where it is installed, else by an own search in a process that can be stopped."""

    spec: ClassVar[ToolSpec]

    def target(self, args: GrepArgs) -> str:
        """The pattern, and where."""
        where = " ".join(piece for piece in (args.path, args.glob) if piece)
        return f"{args.pattern} in {where}" if where else args.pattern

    def effects(self, args: GrepArgs) -> tuple[Effect, ...]:
        """Reads what is below the path."""
        return (Reads(path=args.path or ".", deep=True),)

    async def preview(self, args: GrepArgs, env: Environment) -> Preview:
        """Nothing beyond the pattern."""
        return Preview(())

    async def run(self, args: GrepArgs, ctx: ToolContext) -> ToolResult:
        """The lines, by file in the order of their paths, with their numbers."""
        if not args.pattern or len(args.pattern) > MAX_PATTERN:
            raise ToolError("The pattern is empty." if not args.pattern else "The pattern is too long.")
        query = await _query(args, ctx.env)
        found = await ripgrep.search(query, ctx.env, ctx.may_read)
        if found is None:
            _check(args.pattern, args.glob)
            found = await own.search(query, ctx.env, ctx.may_read)
        shown = await _render(found, args, ctx.env)
        return _told(shown, found, args, ctx)


def _check(pattern: str, glob: str) -> None:
    try:
        if glob.strip("!"):
            path_pattern(glob.removeprefix("!"))
    except ValueError as error:
        raise ToolError(f"The glob does not hold: {error}") from error
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(
            f"The pattern is no regular expression: {error}.", hint="Escape what is meant literally."
        ) from error


async def _query(args: GrepArgs, env: Environment) -> Query:
    real = env.resolve(args.path)
    root = env.root.rstrip("/")
    inside = real == env.root or real.startswith(root + "/")
    path = real[len(root) + 1 :] if inside else real
    there = await env.stat(path)
    if there is None:
        raise ToolError(f"There is no file or folder {args.path}.")
    if there.kind not in ("file", "directory"):
        raise ToolError(f"{args.path} is no regular file.")
    if there.kind == "file" and there.size > MAX_SINGLE:
        raise ToolError(
            f"{args.path} is too big: {there.size:,} bytes, the limit is {MAX_SINGLE:,}.",
            hint="Search it with a command.",
        )
    return Query(args.pattern, path, there.kind == "file", args.glob, args.ignore_case, args.max_results)


async def _render(found: Found, args: GrepArgs, env: Environment) -> Shown:
    shown = Shown()
    for path in sorted(found.lines, key=lambda path: path.split("/")):
        if shown.hits >= args.max_results or shown.chars > MAX_CHARS:
            shown.full = True
            break
        numbers, lines = await _confirmed(path, found.lines[path], env)
        taken = numbers[: args.max_results - shown.hits]
        if not taken:
            continue
        rows = [_printable(path), *_with_context(lines, taken, args.context)]
        shown.lines += ["", *rows] if shown.lines else rows
        shown.files += 1
        shown.hits += len(taken)
        shown.chars += sum(len(row) + 1 for row in rows)
        shown.full = len(taken) < len(numbers)
    return shown


async def _confirmed(path: str, numbers: Iterable[int], env: Environment) -> tuple[list[int], list[str]]:
    """The hits that are there, and the file's lines, read through the environment."""
    try:
        content = await env.read(path)
    except EnvironmentFault:
        return [], []
    if content.path != path:  # a link that was put there meanwhile
        return [], []
    lines = lines_of(content.data) or []
    return [number for number in sorted(numbers) if number <= len(lines)], lines


def _with_context(lines: list[str], numbers: list[int], context: int) -> list[str]:
    """Rows of one file: `12:hit`, `13-beside`, `--` between pieces that do not touch."""
    rows: list[str] = []
    hits = set(numbers)
    last = 0
    for number in numbers:
        start = max(number - context, last + 1)
        if context and last and start > last + 1:
            rows.append("--")
        for at in range(start, min(number + context, len(lines)) + 1):
            rows.append(f"{at}{':' if at in hits else '-'}{_clipped(lines[at - 1])}")
            last = at
    return rows


def _clipped(line: str) -> str:
    line = line.removesuffix("\r")
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… (+{len(line) - MAX_LINE} characters)"


def _printable(path: str) -> str:
    text = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _told(shown: Shown, found: Found, args: GrepArgs, ctx: ToolContext) -> ToolResult:
    hits = f"{shown.hits}{'+' if shown.full or found.more else ''} {'hit' if shown.hits == 1 else 'hits'}"
    notes = list(found.notes)
    if shown.full:
        notes.append("more hits than are shown; narrow the search by path, glob or pattern")
    lines = shown.lines or [f"Nothing fits {args.pattern}."]
    text = "\n".join([*lines, *(f"[{note}]" for note in notes)])
    return ToolResult(
        ok=True,
        content=(TextContent(text=text),),
        summary=hits if shown.hits else "no hits",
        display=(TextBlock(text=ctx.blobs.keep(text)),),
        data={"hits": shown.hits, "files": shown.files, "engine": found.engine},
    )


def make(description: str) -> Grep:
    """The tool with its description for the model."""
    Grep.spec = ToolSpec(
        name="grep", description=description, args=GrepArgs, verb="search", timeout=60, parallel_safe=True
    )
    return Grep()
