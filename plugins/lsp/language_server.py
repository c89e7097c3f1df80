"""language_server: sends questions about a file to the language server for the file's language, and renames symbols
with the server's help.

Invariant: a server only reads; this module writes the files of a rename after the user's approval.
"""

import asyncio
import hashlib
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal, TypeVar

import anyio
from pydantic import Field

import tui_agent.plugin_api as api

from .edits import FileEdit, apply_edits, edits_by_file, find_position, path_of
from .running_server import LanguageServer, LspSettings, find_command, run_server
from .server_connection import ServerGone, ServerRefused, clean

MAX_STARTS = 2
MAX_CHANGES = 10_000
"""Maximum number of changed files to remember until the next question to a server."""
MAX_SENT_FILES = 50
"""Maximum number of changed files to send to the servers with their content."""
_CREATED, _CHANGED, _DELETED = 1, 2, 3
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError)
AnswerT = TypeVar("AnswerT")
MAX_SHOWN = 100
MAX_LINE_CHARS = 200
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


class LanguageServerArgs(api.FrozenModel):
    """Arguments of language_server."""

    action: Literal["diagnostics", "definition", "references", "rename"]
    path: str
    symbol: str = ""
    line: int = Field(default=0, ge=0)
    new_name: str = ""


class ReadyArgs(LanguageServerArgs):
    """The arguments that the policy judges: the model's arguments, the server's command, and the edits of a rename."""

    command: tuple[str, ...]
    edits: tuple[FileEdit, ...] = ()


class LanguageServerTool(api.BaseTool):
    """Tool that queries language servers. A server is started when it gets its first question."""

    def __init__(self, settings: LspSettings) -> None:
        self._settings = settings
        self.spec = api.load_spec(
            "language_server", __file__, LanguageServerArgs, verb="lsp", timeout=None, needs={"programs"}
        )
        self._servers: dict[str, LanguageServer] = {}
        """Maps a server's command to the running server."""
        self._failures: dict[str, list[str]] = {}
        """Maps a server's command to the reasons why the server failed."""
        self._changes: dict[str, int] = {}

    def note_change(self, event: api.Envelope) -> None:
        """Remember a changed file, to notify the servers before they get the next question."""
        payload = event.payload
        # A server that starts later reads the changed files anyway.
        if isinstance(payload, api.FileChanged) and self._servers and len(self._changes) < MAX_CHANGES:
            is_deleted, is_new = payload.after is None, payload.before is None
            self._changes[payload.path] = _DELETED if is_deleted else _CREATED if is_new else _CHANGED

    def target(self, args: LanguageServerArgs) -> str:
        """Return the action and its symbol or path; for a rename, also the new name."""
        renamed = f" → {args.new_name}" if args.action == "rename" else ""
        return f"{args.action} {args.symbol or args.path}{renamed}"

    async def settle_arguments(self, args: LanguageServerArgs, env: api.Environment) -> ReadyArgs:
        """Add the server's command; for a rename, let the running server compute the edits."""
        command = await asyncio.to_thread(find_command, args.path, self._settings)
        ready = ReadyArgs(**args.model_dump(), command=command)
        if args.action != "rename":
            return ready
        server = self._servers.get(shlex.join(command))
        # The user sees the edits before approving them, and no program may start before the approval.
        if server is None or server.connection.fault:
            raise api.ToolError(
                "A rename needs a running language server.",
                hint="Call this tool with action=references for the symbol first.",
            )
        return ready.model_copy(update={"edits": await self._compute_rename(server, args, env)})

    def effects(self, args: LanguageServerArgs) -> tuple[api.Effect, ...]:
        """Return the effects of the call: a rename writes files; a question reads the file and runs the server."""
        reads = api.ReadEffect(path=args.path)
        if not isinstance(args, ReadyArgs):
            return (reads,)
        if args.action == "rename":
            return tuple(api.WriteEffect(path=edit.path) for edit in args.edits)
        return (reads, api.RunEffect(argv=args.command))

    async def preview(self, args: ReadyArgs, env: api.Environment) -> api.Preview:
        """Return the diffs of a rename, or the server's command, as the preview."""
        if args.action != "rename":
            command = shlex.join(args.command)
            shown = (api.TextBlock(text=command),)
            return api.Preview(shown, content=command, time_limit_s=self._settings.timeout)
        blocks: list[api.DisplayBlock] = []
        for edit in args.edits:
            blocks += [api.TextBlock(text=edit.path), await _diff(edit, await _read_base(edit, env))]
        # The approval is valid only for exactly these edits.
        content = " ".join(f"{edit.digest} {hashlib.sha256(edit.data).hexdigest()}" for edit in args.edits)
        return api.Preview(tuple(blocks), content=content)

    async def run(self, args: ReadyArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Write the files of a rename, or ask the server."""
        if args.action == "rename":
            return await _write_edits(args, ctx)
        content = await api.read_or_suggest(args.path, ctx.env)
        if args.action == "diagnostics":
            items = await self._ask(args, ctx, lambda server: server.diagnose(content))
            return describe_diagnostics(content.path, items)
        position = find_position(content.text, args.symbol, args.line)
        options = {"context": {"includeDeclaration": True}} if args.action == "references" else {}
        is_loading = False

        async def ask(server: LanguageServer) -> Any:
            nonlocal is_loading
            if args.action == "references":
                # Before the server has read the project, it would return only some of the references.
                await server.settle(content)
            server.open_document(content)
            answer = await server.ask(args.action, content.path, position, **options)
            is_loading = server.is_loading
            return answer

        answer = await self._ask(args, ctx, ask)
        with _reject_malformed_answers(args.command[0]):
            return await describe_places(args.symbol, answer, ctx, is_loading=is_loading)

    async def _ask(
        self, args: ReadyArgs, ctx: api.ToolContext, ask: Callable[[LanguageServer], Awaitable[AnswerT]]
    ) -> AnswerT:
        """Call `ask` with the server for a file. Start the server if necessary, and restart it once after a failure.

        Raise `ToolError` if the server refuses the question or fails again.
        """
        key, name = shlex.join(args.command), args.command[0]
        failures = self._failures.setdefault(key, [])
        while len(failures) < MAX_STARTS:
            server = await self._start(key, args.command, ctx)
            try:
                with anyio.fail_after(self._settings.timeout):
                    return await ask(server)
            except ServerRefused as error:
                raise api.ToolError(f"The language server {name} refused the request: {error}") from error
            except ServerGone as error:
                failures.append(str(error))
            except TimeoutError:
                failures.append(f"it did not answer within {api.format_time_limit(self._settings.timeout)}")
            del self._servers[key]
            assert ctx.programs is not None
            await ctx.programs.end(key)
        raise api.ToolError(
            f"The language server {name} failed twice: {failures[-1]}. It is off for the rest of this session.",
            hint="Use grep and run_command instead.",
        )

    async def _start(self, key: str, command: Sequence[str], ctx: api.ToolContext) -> LanguageServer:
        assert ctx.programs is not None
        spec = api.ExecSpec(argv=tuple(command), read_only=True, show_secrets_as_empty=True)
        server = await ctx.programs.use(key, spec, partial(run_server, command[0], ctx.env.root))
        self._servers[key] = server
        await self._send_changes(ctx.env)
        return server

    async def _send_changes(self, env: api.Environment) -> None:
        # Emptied before the first `await`: files that change meanwhile are sent before the next question.
        changes, self._changes = self._changes, {}
        contents = []
        for path, kind in list(changes.items())[:MAX_SENT_FILES]:
            if kind != _DELETED:
                with suppress(api.EnvironmentFault):  # it is gone again, or too large
                    contents.append(await env.read(path))
        for server in self._servers.values() if changes else ():
            with suppress(ServerGone):  # the next question to it says why
                server.note_changes(changes, contents)

    async def _compute_rename(
        self, server: LanguageServer, args: LanguageServerArgs, env: api.Environment
    ) -> tuple[FileEdit, ...]:
        if not args.new_name:
            raise api.ToolError("new_name is empty.")
        content = await api.read_or_suggest(args.path, env)
        position = find_position(content.text, args.symbol, args.line)
        try:
            await self._send_changes(env)
            server.open_document(content)
            with anyio.fail_after(self._settings.timeout):
                await server.settle(content)
                context = {"includeDeclaration": True}
                # The references show whether the rename would be complete.
                references = await server.ask("references", content.path, position, context=context)
                answer = await server.ask("rename", content.path, position, newName=args.new_name)
        except (ServerRefused, ServerGone) as error:
            raise api.ToolError(f"The language server did not rename the symbol: {error}") from error
        except TimeoutError as error:
            limit = self._settings.timeout
            raise api.ToolError(
                f"The language server did not answer within {api.format_time_limit(limit)}."
            ) from error
        with _reject_malformed_answers("of this file"):
            by_file = edits_by_file(answer, env.root)
            left = sorted({path_of(place["uri"], env.root) for place in references or ()} - by_file.keys())
            if left:
                raise api.ToolError(
                    f"The rename by the language server would leave the old name in {', '.join(left[:5])}."
                )
            contents = {path: await env.read(path) for path in by_file}
            return tuple(apply_edits(contents[path], edits) for path, edits in by_file.items())


@contextmanager
def _reject_malformed_answers(name: str) -> Iterator[None]:
    """Raise `ToolError` if the code in the `with` block fails on an invalid answer of the server `name`."""
    try:
        yield
    except _MALFORMED as error:
        message = f"The language server {name} sent an answer that is not valid: {clean(error, 100)}."
        raise api.ToolError(message) from error


async def _read_base(edit: FileEdit, env: api.Environment) -> api.FileContent:
    content = await env.read(edit.path)
    if content.digest != edit.digest:
        raise api.ToolError(f"{edit.path} has changed since the rename was computed.", hint="Try again.")
    return content


async def _diff(edit: FileEdit, before: api.FileContent) -> api.DiffBlock:
    diff = await asyncio.to_thread(api.diff_lines, before.text, edit.data.decode())
    return api.DiffBlock(path=edit.path, diff=diff.text, added=diff.added, removed=diff.removed)


async def _write_edits(args: ReadyArgs, ctx: api.ToolContext) -> api.ToolResult:
    """Write all files of a rename. If a file changed after the edits were computed, write none of the files."""
    blocks: list[api.DisplayBlock] = []
    for edit in args.edits:
        block = await _diff(edit, await _read_base(edit, ctx.env))
        stored = ctx.blobs.put_text(api.text_preview(block.diff))
        blocks += [api.TextBlock(text=edit.path), block.model_copy(update={"diff": stored})]
    for edit in args.edits:
        await ctx.env.write(edit.path, edit.data, edit.digest)
    places = api.format_count(sum(edit.places for edit in args.edits), "place")
    files = api.format_count(len(args.edits), "file")
    names = ", ".join(f"{edit.path} ({edit.places})" for edit in args.edits)
    return api.text_result(
        f"Renamed {args.symbol} to {args.new_name}: {places} in {files}: {names}.",
        summary=f"{places}, {files}",
        display=tuple(blocks),
        data={"files": [edit.path for edit in args.edits]},
    )


def describe_diagnostics(path: str, items: Sequence[Any] | None) -> api.ToolResult:
    """Return a file's diagnostics as a tool result, errors first.

    `items`: the diagnostics, or None if the server did not send them in time.
    """
    if items is None:
        return api.text_result(
            f"The language server sent no diagnostics for {path} in time.", summary="none yet"
        )
    rows = sorted(filter(None, map(_diagnostic_row, items)))
    lines = [f"{path}:{line}:{column}: {kind}: {message}" for _, line, column, kind, message in rows]
    errors = sum(row[0] == 1 for row in rows)
    summary = f"{api.format_count(errors, 'error')} of {len(rows)}" if rows else "none"
    return _list_result(lines, f"The language server found no problems in {path}.", summary)


def _diagnostic_row(item: Any) -> tuple[int, int, int, str, str] | None:
    try:
        start = item["range"]["start"]
        severity, line, column = int(item.get("severity", 1)), int(start["line"]), int(start["character"])
        code = f" [{clean(item['code'], 60)}]" if isinstance(item.get("code"), str | int) else ""
        return (
            severity,
            line + 1,
            column + 1,
            _SEVERITIES.get(severity, "hint"),
            clean(item["message"]) + code,
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


async def describe_places(
    symbol: str, answer: Any, ctx: api.ToolContext, *, is_loading: bool
) -> api.ToolResult:
    """Return the locations in a server's answer as a tool result.

    The text of each line is included if the call is allowed to read the file.
    """
    places = sorted({_place(item, ctx.env.root) for item in _as_list(answer)})
    texts: dict[str, list[str]] = {}
    for path in dict.fromkeys(path for path, _, _ in places[:MAX_SHOWN]):
        texts[path] = await _lines_of(path, ctx)
    lines = []
    for path, line, column in places:
        shown = texts.get(path, [])
        text = shown[line].strip() if 0 <= line < len(shown) else ""
        lines.append(f"{path}:{line + 1}:{column + 1}" + (f": {text[:MAX_LINE_CHARS]}" if text else ""))
    nothing = f"The language server found nothing for {symbol}."
    if is_loading:
        nothing = "The language server is still loading the project. Try again later."
    return _list_result(lines, nothing, api.format_count(len(places), "place"))


def _as_list(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [] if answer is None else [answer]


def _place(item: Any, root: str) -> tuple[str, int, int]:
    uri = item["uri"] if "uri" in item else item["targetUri"]
    start = (item["range"] if "range" in item else item["targetSelectionRange"])["start"]
    return api.escape_unprintable(path_of(uri, root)), int(start["line"]), int(start["character"])


async def _lines_of(path: str, ctx: api.ToolContext) -> list[str]:
    """Return the lines of a file in the workspace; empty if the call must not read the file."""
    if path.startswith("/") or not ctx.may_read(path):
        return []
    try:
        return (await ctx.env.read(path)).text.split("\n")
    except api.EnvironmentFault:
        return []


def _list_result(lines: Sequence[str], nothing: str, summary: str) -> api.ToolResult:
    shown = list(lines[:MAX_SHOWN])
    if len(lines) > MAX_SHOWN:
        shown.append(f"[{len(lines) - MAX_SHOWN} more not shown]")
    text = "\n".join(shown) or nothing
    return api.text_result(
        text, summary=summary, display=(api.TextBlock(text=text),), data={"count": len(lines)}
    )
