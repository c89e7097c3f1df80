"""The only module that a plugin may import: versioned, documented, small.

A plugin is a package (a folder with `__init__.py`) or a module with a function `register(api: PluginApi) -> None`.
The plugin owns what it registers, so that this can be listed, traced, disabled and isolated. Importing a plugin must do
nothing; `register` runs once per process.

Tools, middleware, agents, models and environments are registered as objects and live in the engine's process.
Panes, commands and projections are lazy `"module:name"` references and are loaded in the app's process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from tui_agent.config.files import replace_private
from tui_agent.config.notes import MAX_BYTES as NOTE_BYTES
from tui_agent.config.notes import note_places, text_of_note
from tui_agent.config.notes import title_of as title_of_note
from tui_agent.errors import BlobMissing, EnvironmentFault, PluginError, StaleFile, ToolError
from tui_agent.folds.actions import calls_for
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.folds.text.glob import path_pattern
from tui_agent.folds.text.line_diff import LineDiff, line_diff
from tui_agent.folds.text.word_forms import pieces as word_forms
from tui_agent.folds.text.word_forms import plain_letters
from tui_agent.ports.agent import (
    Action,
    Agent,
    Ask,
    AskModel,
    CallTools,
    Finish,
    Reject,
    SayMessage,
)
from tui_agent.ports.delegate import DelegateReport, Delegates, Errand
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec, FileContent, FileInfo
from tui_agent.ports.hook import HOOK_EVENTS, HookAnswer
from tui_agent.ports.job import JobReport
from tui_agent.ports.middleware import Fragment, Middleware, ToolNext, TurnContext
from tui_agent.ports.model import (
    Finished,
    ModelChunk,
    ModelClient,
    ModelFault,
    ModelNext,
    ModelReply,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.ports.repomap import MapShown, MapWish
from tui_agent.ports.tool import Answer, Preview, Tool, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol import actions
from tui_agent.protocol.actions import AnyAction
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, Frozen, JsonMap, LongText, text_preview
from tui_agent.protocol.display import (
    CustomBlock,
    DiffBlock,
    DisplayBlock,
    ImageBlock,
    JsonBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.parts import Content, ImageContent, TextContent, ToolCallPart, Usage, image_type
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import counted, printable

API_VERSION = 1

ArgsT = TypeVar("ArgsT", bound=BaseModel)


class PluginApi(Protocol):
    """The argument of `register`. Names are unique; registering one twice raises `PluginError`."""

    @property
    def plugin(self) -> str:
        """The registering plugin's name."""
        ...

    @property
    def notes_folder(self) -> Path | None:
        """The folder of this project's notes across sessions, which may not exist yet; None without a project."""
        ...

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Register a tool for agents."""
        ...

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Add a middleware to the chain; a lower `order` is further out. Built-in ones use 100 to 400."""
        ...

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Register an agent of the hub; `make` creates an instance for each task."""
        ...

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Register a provider; `make` creates a client for `provider/model`, or for a profile with this provider."""
        ...

    def environment(self, name: str, make: Callable[[str], Environment]) -> None:
        """Register an environment; `make` takes the workspace's absolute path."""
        ...

    def command(self, name: str, target: str, *, help: str) -> None:
        """Register a slash command; `target` is `"module:name"`."""
        ...

    def pane(self, name: str, target: str, *, title: str) -> None:
        """Register a pane; `target` is `"module:name"` of a widget class in the plugin's `tui/` folder."""
        ...

    def projection(self, name: str, target: str) -> None:
        """Register a fold; `target` is `"module:name"` of a class without arguments."""
        ...

    def theme(self, path: str) -> None:
        """Register a theme file (TOML, as in themes/)."""
        ...

    def policy_table(self, path: str) -> None:
        """Register a table of programs (TOML, see docs/policy.md): unknown programs, or more caution for known ones.

        A relative path starts at the plugin's folder.
        """
        ...

    def language(
        self,
        name: str,
        suffixes: Sequence[str],
        *,
        patterns: Sequence[tuple[str, str]] = (),
        grammar: str = "",
        query: str = "",
    ) -> None:
        """Add a language to the repository map, for files with these suffixes (without a dot).

        `patterns`: pairs of a kind (`"function"`, `"class"`) and a regular expression with a group `name`; `^` matches at
        each line. `grammar`: `"module:function"` of an installed package that returns a tree-sitter grammar; its `query`
        captures `@name`, and the whole definition by its kind, such as `@function`. The patterns are used if the grammar
        cannot be loaded.
        """
        ...

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Subscribe to a kind of event, or answer at a hook event.

        For an event kind, `target` is called after each event is stored, and its return value is ignored. For one of
        `HOOK_EVENTS`, `target` is an `async` function that takes a dict and returns a `HookAnswer` or None.
        """
        ...


class BaseTool:
    """A tool with an empty preview: inherit from it, set `spec`, and define `target`, `effects` and `run`."""

    spec: ToolSpec

    async def preview(self, args: Any, env: Environment) -> Preview:
        """Return an empty preview: the call's row says enough. Override it to show what the user approves."""
        return Preview(())


def tool_description(module_file: str) -> str:
    """Return the text of the `.md` file beside a tool's module; `module_file` is the module's `__file__`."""
    return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()


class BaseMiddleware:
    """A middleware that does nothing: inherit from it and override what you need."""

    name = "unnamed"

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Run before the turn's first iteration."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return pieces of the system prompt or context for the next request. Pure."""
        return ()

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """Wrap a model request; may change the request or call `nxt` again."""
        return await nxt(request)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Wrap a tool call, after the policy's decision."""
        return await nxt(call)

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Run after the turn's last iteration; `turn.reason` tells why it ended."""


def act(state: SessionStateView, *wanted: AnyAction) -> Action:
    """Return the result of an agent's `step` for named actions such as `actions.CmdRun(command="make")`.

    Actions that call tools become calls, in order. Without such actions the last one becomes a message, a finish or a
    rejection.
    """
    calls = calls_for(wanted, state.todo)
    if calls or not wanted:
        return CallTools(calls)
    match wanted[-1]:
        case actions.AgentReject(reason=reason):
            return Reject(reason)
        case actions.AgentFinish(text=text):
            return Finish(text_preview(text))
        case actions.Message(text=text):
            return SayMessage(text_preview(text))
        case _:
            return CallTools(calls)


def text_result(
    text: str,
    *,
    ok: bool = True,
    summary: str = "",
    display: Sequence[DisplayBlock] = (),
    data: JsonMap | None = None,
    events: Sequence[Payload] = (),
    full_output: LongText | None = None,
) -> ToolResult:
    """Return a result with one text as its content for the model."""
    return ToolResult(
        ok, (TextContent(text=text),), summary, tuple(display), data or {}, tuple(events), full_output
    )


__all__ = [
    "API_VERSION",
    "HOOK_EVENTS",
    "NOTE_BYTES",
    "Action",
    "Agent",
    "Answer",
    "Artifact",
    "Ask",
    "AskModel",
    "BaseMiddleware",
    "BaseTool",
    "BlobMissing",
    "BlobText",
    "CallTools",
    "Connects",
    "Content",
    "CustomBlock",
    "DelegateReport",
    "Delegates",
    "DiffBlock",
    "DisplayBlock",
    "Effect",
    "Environment",
    "EnvironmentFault",
    "Errand",
    "ExecResult",
    "ExecSpec",
    "FileChanged",
    "FileContent",
    "FileInfo",
    "FileRead",
    "Finish",
    "Finished",
    "Fragment",
    "Frozen",
    "HookAnswer",
    "ImageBlock",
    "ImageContent",
    "Internal",
    "JobReport",
    "JsonBlock",
    "JsonMap",
    "LineDiff",
    "LongText",
    "MapShown",
    "MapWish",
    "MarkdownBlock",
    "Middleware",
    "ModelChunk",
    "ModelClient",
    "ModelFault",
    "ModelInfo",
    "ModelNext",
    "ModelReply",
    "ModelRequest",
    "PluginApi",
    "PluginError",
    "PluginEvent",
    "Preview",
    "Reads",
    "ReasoningChunk",
    "Reject",
    "RepomapBuilt",
    "RepomapUsed",
    "Runs",
    "SayMessage",
    "SessionStateView",
    "StaleFile",
    "TableBlock",
    "TerminalBlock",
    "TestFinished",
    "TextBlock",
    "TextChunk",
    "TextContent",
    "TodoItem",
    "TodoStatus",
    "TodoUpdated",
    "Tool",
    "ToolCallChunk",
    "ToolCallPart",
    "ToolContext",
    "ToolError",
    "ToolNext",
    "ToolResult",
    "ToolSpec",
    "TreeBlock",
    "TreeNode",
    "TurnContext",
    "Usage",
    "UsageChunk",
    "Writes",
    "act",
    "actions",
    "counted",
    "image_type",
    "line_diff",
    "note_places",
    "path_pattern",
    "plain_letters",
    "printable",
    "replace_private",
    "text_of_note",
    "text_result",
    "title_of_note",
    "tool_description",
    "word_forms",
]
