"""The only module that a plugin may import. Versioned, documented, small.

A plugin is a package (a folder with `__init__.py`) or a module with a function `register(api: PluginApi) -> None`.
What it registers has the plugin as its owner: it can be listed, traced, disabled and isolated. Importing a plugin
must do nothing; `register` runs once a process.

Tools, middleware, agents, models and environments are registered as objects and live in the engine's process.
Panes, commands and projections are lazy `"module:name"` references and are loaded in the app's process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

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
from tui_agent.protocol.events.context import RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.parts import Content, ImageContent, TextContent, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import counted

API_VERSION = 1

ArgsT = TypeVar("ArgsT", bound=BaseModel)


class PluginApi(Protocol):
    """What `register` is given. Every name is unique; a second registration of it raises `PluginError`."""

    @property
    def plugin(self) -> str:
        """The registering plugin's name."""
        ...

    @property
    def notes_folder(self) -> Path | None:
        """Where this project's notes across sessions lie; it need not be there. None where there is no project."""
        ...

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Offer a tool to agents."""
        ...

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Put a middleware into the chain; lower `order` is further out. The built-in ones stand at 100 to 400."""
        ...

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Offer an agent of the hub; `make` gives a new instance for each task."""
        ...

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Offer a provider: `make` gives a client for `provider/model`, and for a profile that names the provider."""
        ...

    def environment(self, name: str, make: Callable[[str], Environment]) -> None:
        """Offer an environment; `make` is given the workspace's absolute path."""
        ...

    def command(self, name: str, target: str, *, help: str) -> None:
        """Offer a slash command, `target` as `"module:name"`."""
        ...

    def pane(self, name: str, target: str, *, title: str) -> None:
        """Offer a pane, `target` as `"module:name"` of a widget class in the plugin's `tui/` folder."""
        ...

    def projection(self, name: str, target: str) -> None:
        """Offer a fold, `target` as `"module:name"` of a class without arguments."""
        ...

    def theme(self, path: str) -> None:
        """Offer a theme file (TOML, as in themes/)."""
        ...

    def policy_table(self, path: str) -> None:
        """Offer a table of programs (TOML, docs/policy.md): what programs do that the product does not know, and more
        caution about those that it knows. A relative path is taken from the plugin's folder."""
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
        """Teach the repository map a language, for files with these endings (without a dot). `patterns` are pairs of a
        kind (`"function"`, `"class"`) and a regular expression with a group `name`; `^` is at each line. `grammar` is
        `"module:function"` of an installed package that gives a tree-sitter grammar; its `query` captures `@name` and the
        whole definition by its kind, such as `@function`. Where the grammar cannot be loaded the patterns stand in."""
        ...

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Be told of an event kind after it is stored (the return value is ignored); or, at one of `HOOK_EVENTS`, be
        asked: `target` is then an `async` function from what happens (a dict) to a `HookAnswer` or None."""
        ...


class BaseMiddleware:
    """A middleware that does nothing: inherit and override what is needed."""

    name = "unnamed"

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Before the turn's first iteration."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Pieces of the system prompt or context for the next request. Pure."""
        return ()

    async def wrap_model(self, request: ModelRequest, nxt: ModelNext) -> ModelReply:
        """Around one model call; may change the request or call `nxt` again."""
        return await nxt(request)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Around one tool call, after the policy's decision."""
        return await nxt(call)

    async def on_turn_end(self, turn: TurnContext) -> None:
        """After the turn's last iteration; `turn.reason` tells why it ended."""


def act(state: SessionStateView, *wanted: AnyAction) -> Action:
    """What an agent's `step` returns for named actions (`actions.CmdRun(command="make")`): their calls, in order.

    Words or an end alone are a message, a finish or a rejection; beside calls they are left out.
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
    text: str, *, ok: bool = True, summary: str = "", display: Sequence[DisplayBlock] = ()
) -> ToolResult:
    """A result whose content for the model is one text."""
    return ToolResult(ok=ok, content=(TextContent(text=text),), summary=summary, display=tuple(display))


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
    "line_diff",
    "note_places",
    "path_pattern",
    "plain_letters",
    "replace_private",
    "text_of_note",
    "text_result",
    "title_of_note",
    "word_forms",
]
