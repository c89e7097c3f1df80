"""Doubles for running one tool: a context over a real folder, and the loading of a bundled plugin's tools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from tests.stubs.memory_blobs import MemoryBlobs
from tui_agent.folds.session.state_view import ReadFile, SessionStateView
from tui_agent.plugin_functions import FunctionTool
from tui_agent.plugin_host.plugin_imports import import_from, unload_modules
from tui_agent.policy.places.path_places import Guards, Place
from tui_agent.ports.environment import Environment
from tui_agent.ports.program import Programs
from tui_agent.ports.tool import Answer, ToolContext, ToolResult
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.todo import TodoUpdated
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import TextContent
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.file_change_events import RecordingEnvironment

PLUGINS = Path(__file__).parents[2] / "plugins"


class Collecting:
    """A `PluginApi` that only collects tools. Their settings are `settings`, or the defaults."""

    notes_folder: Path | None = None

    def __init__(self, settings: object = None) -> None:
        self.tools: dict[str, Any] = {}
        self._settings = settings

    def tool(self, tool: Any) -> None:
        self.tools[tool.spec.name] = tool

    def hook(self, event: str, target: Any) -> None:
        """Leave it out: nothing is recorded here."""

    def setting(self, model: Any) -> Any:
        return self._settings or model()


def tools_of(plugin: str, settings: object = None) -> dict[str, Any]:
    """Return new tools of a bundled plugin, by name. The plugin is imported once, as the host does it."""
    api = Collecting(settings)
    package = _package(plugin)
    for decorated in vars(package).values():
        if isinstance(decorated, FunctionTool):
            api.tool(decorated)
    if hasattr(package, "register"):
        package.register(api)
    return api.tools


@cache
def _package(plugin: str) -> Any:
    package = import_from(plugin, PLUGINS / plugin)
    unload_modules(plugin)
    return package


@cache
def module_of(plugin: str, name: str) -> Any:
    """One module of a bundled plugin, for tests of its pure functions."""
    package = import_from(plugin, PLUGINS / plugin)
    return getattr(package, name, None) or import_module(f"{package.__name__}.{name}")


@dataclass
class Bench:
    """A workspace, one plugin's tools, and the state that their events make."""

    folder: Path
    tools: dict[str, Any]
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    events: list[Payload] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    state: SessionStateView = field(default_factory=SessionStateView)
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, Sequence[str], str]] = field(default_factory=list)
    inner: Environment | None = None
    deadline: float | None = None
    may_connect: Callable[[str], bool] = lambda host: True
    programs: Programs | None = None

    def __post_init__(self) -> None:
        self.inner = self.inner or LocalEnvironment(self.folder, grace=0.2)

    @property
    def env(self) -> Environment:
        assert self.inner is not None
        return RecordingEnvironment(self.inner, self.blobs, self._happened, CallId("c1"))

    def context(self, progress: Callable[[str], None] | None = None) -> ToolContext:
        return ToolContext(
            env=self.env,
            blobs=self.blobs,
            call_id=CallId("c1"),
            progress=progress or self.live.append,
            deadline=self.deadline,
            state=self.state,
            ask=self._ask if self.answers else None,
            may_read=self._may_read,
            may_connect=self.may_connect,
            programs=self.programs,
        )

    async def run(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool; its events change the state as the session's fold would."""
        tool = self.tools[name]
        result: ToolResult = await tool.run(tool.spec.args(**arguments), self.context())
        for event in result.events:
            self._happened(event)
        return result

    def effects(self, name: str, **arguments: Any) -> Any:
        tool = self.tools[name]
        return tool.effects(tool.spec.args(**arguments))

    async def preview(self, name: str, **arguments: Any) -> Any:
        tool = self.tools[name]
        return await tool.preview(tool.spec.args(**arguments), self.env)

    def write(self, path: str, data: bytes | str) -> None:
        """Put a file into the workspace, as if it had always been there."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)

    def bytes(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def _happened(self, event: Payload) -> None:
        self.events.append(event)
        known = dict(self.state.read_files)
        match event:
            case FileRead():
                known[event.path] = ReadFile(event.digest, event.complete)
            case FileChanged(path=path, disk_sha256_before=before, disk_sha256_after=str() as digest):
                if before is None or (path in known and known[path].digest == before):
                    known[path] = ReadFile(digest, True)
                elif path in known:
                    known[path] = replace(known[path], edited_digest=digest)
            case TodoUpdated():
                self.state = replace(self.state, todo=event.items)
        self.state = replace(self.state, read_files=known)

    def _may_read(self, path: str) -> bool:
        real = path if path.startswith("/") else f"{self.env.root}/{path}"
        return not Guards().is_secret(Place(path, real, path))

    async def _ask(
        self, question: str, options: Sequence[str], form: Literal["text", "choice", "plan"]
    ) -> Answer:
        self.asked.append((question, options, form))
        return self.answers.pop(0)


def text(result: ToolResult) -> str:
    """What the model is told."""
    return "\n".join(
        piece.text if isinstance(piece.text, str) else piece.text.preview
        for piece in result.content
        if isinstance(piece, TextContent)
    )
