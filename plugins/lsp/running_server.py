"""Choice of the language server for a file, and a running server with its open document and diagnostics.

Invariant: the server gets a file's current content before each question, and never changes a file itself.
"""

import shlex
import shutil
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import anyio.to_thread
from pydantic import Field

import tui_agent.plugin_api as api

from .server_connection import Connection, ServerGone, ServerRefused

START_LIMIT_S = 30.0
END_LIMIT_S = 1.0
DIAGNOSTICS_LIMIT_S = 15.0
"""Maximum seconds to wait for a server's diagnostics of a file."""
QUIET_S = 0.8
"""If a server sends no new diagnostics for this many seconds, the diagnostics of the file are complete."""
MAX_FILES = 500
"""Maximum number of files with stored diagnostics."""
_CAPABILITIES = {
    # Every server supports UTF-16, in whose units `edits` counts.
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "synchronization": {},
        "publishDiagnostics": {"versionSupport": True},
        "definition": {"linkSupport": True},
        "references": {},
        "rename": {},
    },
}
PYTHON = ("basedpyright-langserver --stdio", "pyright-langserver --stdio", "pylsp", "jedi-language-server")
TYPESCRIPT = ("typescript-language-server --stdio",)
CLANGD = ("clangd",)
COMMANDS: dict[str, tuple[str, ...]] = {
    "py": PYTHON,
    "pyi": PYTHON,
    **dict.fromkeys(("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"), TYPESCRIPT),
    "go": ("gopls",),
    "rs": ("rust-analyzer",),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp"), CLANGD),
}
"""Maps a file suffix to the commands to try; the first installed one is used."""
LANGUAGES = {
    "py": "python", "pyi": "python", "ts": "typescript", "mts": "typescript", "cts": "typescript",
    "tsx": "typescriptreact", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "javascriptreact", "rs": "rust", "h": "c", "cc": "cpp", "cxx": "cpp", "hpp": "cpp",
}  # fmt: skip
"""Maps a file suffix to the protocol's name of the language. A suffix that is missing here is the name itself."""


@dataclass(slots=True)
class _Diagnostics:
    """The newest diagnostics of a file; `count` is how often the server has sent diagnostics."""

    items: Sequence[Any] = ()
    version: int | None = None
    count: int = 0
    arrived: anyio.Event = field(default_factory=anyio.Event)


class LanguageServer:
    """A language server and its state; `root` is the workspace's absolute path."""

    def __init__(self, process: api.PipedProcess, root: str) -> None:
        self._root = root
        answers = {
            # Without a value for an item, the server uses its default.
            "workspace/configuration": lambda params: [None for _ in params.get("items", ())],
            "workspace/workspaceFolders": lambda params: self._folders(),
            "client/registerCapability": lambda params: None,
            "client/unregisterCapability": lambda params: None,
            "window/workDoneProgress/create": lambda params: None,
            # A server must not change files, so that the user can approve every change.
            "workspace/applyEdit": lambda params: {"applied": False},
        }
        self.connection = Connection(process, self._handle_notification, answers)
        self._open_uri = ""
        """URI of the open file. The server uses the content that this object sent, and does not read the file."""
        self._digest = ""
        self._suffixes: set[str] = set()
        """Suffixes of the files that this server was asked about."""
        self._version = 0
        self._diagnostics: dict[str, _Diagnostics] = {}
        self._loading: set[str] = set()
        self._is_settled = False

    @property
    def is_loading(self) -> bool:
        """True while the server reports that it is still reading the project."""
        return bool(self._loading)

    def uri(self, path: str) -> str:
        """Return a file's URI. `path` is absolute or relative to the workspace."""
        return Path(self._root, path).as_uri()

    def _folders(self) -> list[dict[str, str]]:
        return [{"uri": Path(self._root).as_uri(), "name": Path(self._root).name}]

    async def initialize(self) -> None:
        """Start the protocol and send the server the workspace's folder.

        Raise the same errors as `Connection.request`.
        """
        folder = Path(self._root).as_uri()
        await self.connection.request(
            "initialize",
            {
                "processId": None,  # in a sandbox, the server would not find this process
                "clientInfo": {"name": "tui-agent"},
                "rootUri": folder,
                "workspaceFolders": self._folders(),
                "capabilities": _CAPABILITIES,
            },
        )
        self.connection.notify("initialized", {})

    async def settle(self, content: api.FileContent) -> None:
        """Wait until a newly started server has read the project; raise `ServerGone` if the server ends."""
        # The project counts as read when the server has sent diagnostics for the file `content`, or the time limit for
        # diagnostics is over.
        if not self._is_settled:
            await self.diagnose(content)
            self._is_settled = True

    async def end(self) -> None:
        """Ask the server to end."""
        with anyio.move_on_after(END_LIMIT_S, shield=True), suppress(ServerGone, ServerRefused):
            await self.connection.request("shutdown", None)
            self.connection.notify("exit", None)
            await self.connection.finish()

    def open_document(self, content: api.FileContent, *, again: bool = False) -> int:
        """Send the server the current content of a file, and return the document's version.

        `again`: True to send unchanged content too, so that the server checks the file again.
        """
        uri = self.uri(content.path)
        self._suffixes.add(PurePosixPath(content.path).suffix)
        if uri == self._open_uri and content.digest == self._digest and not again:
            return self._version
        self._version += 1
        item = {"uri": uri, "version": self._version}
        if uri == self._open_uri:
            changes = [{"text": content.text}]
            self.connection.notify(
                "textDocument/didChange", {"textDocument": item, "contentChanges": changes}
            )
        else:
            self.close_document()
            language = language_of(content.path)
            opened = {**item, "languageId": language, "text": content.text}
            self.connection.notify("textDocument/didOpen", {"textDocument": opened})
        self._open_uri, self._digest = uri, content.digest
        return self._version

    def close_document(self) -> None:
        """Close the open file, so that the server reads it from disk again."""
        if self._open_uri:
            self.connection.notify("textDocument/didClose", {"textDocument": {"uri": self._open_uri}})
        self._open_uri = ""

    def note_changes(self, changes: Mapping[str, int], contents: Iterable[api.FileContent]) -> None:
        """Report changed files to the server.

        - `changes`: maps each path to 1 (created), 2 (changed) or 3 (deleted).
        - `contents`: new content of changed files, sent too because some servers do not read the files again.
        """
        self.close_document()
        events = [{"uri": self.uri(path), "type": kind} for path, kind in changes.items()]
        self.connection.notify("workspace/didChangeWatchedFiles", {"changes": events})
        for content in contents:
            if PurePosixPath(content.path).suffix in self._suffixes:
                self.open_document(content)
                self.close_document()

    async def ask(self, method: str, path: str, position: Mapping[str, int], **options: object) -> Any:
        """Return the server's answer to a question about a position in a file.

        Raise the errors of `Connection.request`.
        """
        document = {"uri": self.uri(path)}
        return await self.connection.request(
            f"textDocument/{method}", {"textDocument": document, "position": position, **options}
        )

    async def diagnose(self, content: api.FileContent) -> Sequence[Any] | None:
        """Return the diagnostics of a file; None if the server sent no diagnostics in time.

        Raise `ServerGone` if the server ends.
        """
        uri = self.uri(content.path)
        known = self._diagnostics.setdefault(uri, _Diagnostics())
        version = self.open_document(content, again=True)
        count_before = known.count
        known.arrived = anyio.Event()
        with anyio.move_on_after(DIAGNOSTICS_LIMIT_S) as limit:
            while not self.connection.fault:
                is_new = known.count > count_before and (known.version is None or known.version >= version)
                # Until the first diagnostics for this version arrive, only the outer time limit counts.
                with anyio.move_on_after(QUIET_S if is_new else None) as quiet:
                    await known.arrived.wait()
                if quiet.cancelled_caught:
                    break
                known.arrived = anyio.Event()
        if self.connection.fault:
            raise ServerGone(self.connection.fault)
        return known.items if known.count > count_before or not limit.cancelled_caught else None

    def _handle_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "$/progress":
            value, token = params.get("value"), str(params.get("token"))
            kind = value.get("kind") if isinstance(value, dict) else ""
            if kind == "begin" and len(self._loading) < MAX_FILES:
                self._loading.add(token)
            elif kind == "end":
                self._loading.discard(token)
        elif method == "textDocument/publishDiagnostics":
            uri, items, version = params.get("uri"), params.get("diagnostics"), params.get("version")
            if not isinstance(uri, str) or not isinstance(items, list):
                return
            known = (
                self._diagnostics.get(uri)
                if uri in self._diagnostics or len(self._diagnostics) < MAX_FILES
                else None
            )
            if known is not None:
                known.items, known.count = items[:MAX_FILES], known.count + 1
                known.version = version if isinstance(version, int) else None
                known.arrived.set()


@asynccontextmanager
async def run_server(name: str, root: str, process: api.PipedProcess) -> AsyncIterator[LanguageServer]:
    """Yield the language server `name` in `process` when the server is ready. End the server after the `with` block.

    Raise `ToolError` if the server does not get ready.
    """
    server, problem = LanguageServer(process, root), ""
    connection = server.connection
    try:
        async with anyio.create_task_group() as group:
            for task in (connection.read_messages, connection.write_messages, connection.read_errors):
                group.start_soon(task)
            problem = await _initialize(server)
            if not problem:
                try:
                    yield server
                finally:
                    await server.end()
            group.cancel_scope.cancel()
    finally:
        connection.close()
    if problem:
        hint = await anyio.to_thread.run_sync(explain_missing_file, name, problem)
        raise api.ToolError(f"The language server {name} could not be used: {problem}.", hint=hint)


def explain_missing_file(name: str, problem: str) -> str:
    """Return a hint if the server misses a file because the server is installed in /tmp; otherwise an empty string.

    This call blocks.

    - `name`: the server's program
    - `problem`: the error of the server
    """
    # The sandbox replaces /tmp with a folder of its own.
    program = shutil.which(name)
    if (
        program is None
        or "No such file" not in problem
        or "/tmp" not in map(str, Path(program).resolve().parents)
    ):
        return ""
    return "It is installed in /tmp, but the sandbox has its own /tmp: install it in another folder."


async def _initialize(server: LanguageServer) -> str:
    """Make the server ready for questions; return why that failed, or an empty string."""
    try:
        with anyio.fail_after(START_LIMIT_S):
            await server.initialize()
    except TimeoutError:
        return f"it was not ready within {api.format_time_limit(START_LIMIT_S)}"
    except (ServerGone, ServerRefused) as error:
        return str(error)
    return ""


class LspSettings(api.FrozenModel):
    """The settings of the plugin."""

    commands: dict[str, str] = Field(
        {}, description='Commands by file suffix, such as py = "pyright-langserver --stdio".'
    )
    timeout: float = Field(30.0, gt=0, description="Maximum seconds to wait for a server's answer.")


def language_of(path: str) -> str:
    """Return the protocol's name for the language of a file."""
    suffix = _suffix(path)
    return LANGUAGES.get(suffix, suffix)


def find_command(path: str, settings: LspSettings) -> tuple[str, ...]:
    """Return the command of the language server for a file; this call blocks.

    Raise `ToolError` if no server for this kind of file is known or installed.
    """
    suffix = _suffix(path)
    configured = settings.commands.get(suffix)
    known = COMMANDS.get(suffix, ()) if configured is None else (configured,)
    if not any(known):
        raise api.ToolError(
            f"There is no language server for {f'{suffix} files' if suffix else 'files without a suffix'}.",
            hint="Use grep and run_command instead.",
        )
    for command in known:
        words = tuple(shlex.split(command))
        if configured is not None or shutil.which(words[0]):
            return words
    names = " or ".join(command.split()[0] for command in known)
    raise api.ToolError(
        f"No language server for {suffix} files is installed ({names}).",
        hint="Use grep and run_command instead.",
    )


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".").lower()
