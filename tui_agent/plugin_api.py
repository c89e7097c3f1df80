"""The only module of tui-agent that a plugin is allowed to import. `API_VERSION` changes if a change could break
plugins.

A plugin is a package (a folder with `__init__.py`) or a single module. It contains functions decorated with `@tool`,
`@hook` and so on, or a function `register(api: PluginApi) -> None`, or both. Importing a plugin must do nothing.
`register` runs in the engine's process when the plugin is loaded, and registers objects such as tools. Each object is
stored with the plugin's name, so that it can be listed, traced and disabled.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from tui_agent.config.extensions.note_files import MAX_BYTES as NOTE_BYTES
from tui_agent.config.extensions.note_files import extract_title as title_of_note
from tui_agent.config.extensions.note_files import list_note_locations, read_note
from tui_agent.config.settings.extras import install_hint
from tui_agent.config.small_files import replace_private
from tui_agent.errors import BlobNotFound, EnvironmentFault, PluginError, StaleFile, ToolError
from tui_agent.folds import actions
from tui_agent.folds.actions import AnyAction, build_tool_calls
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.text.charset import DecodedText, decode_text, encode_text
from tui_agent.folds.text.control_sequences import strip_control_sequences
from tui_agent.folds.text.glob import compile_path_pattern
from tui_agent.folds.text.line_diff import LineDiff, diff_lines
from tui_agent.folds.text.word_forms import split_text as word_forms
from tui_agent.folds.text.word_forms import strip_accents
from tui_agent.plugin_functions import FunctionTool, command, hook, oracle, pane, tool, verifier
from tui_agent.ports.agent import (
    Action,
    Agent,
    AskModel,
    CallTools,
    Finish,
    ModelQuery,
    Reject,
    SayMessage,
)
from tui_agent.ports.artifact import is_artifact, read_artifact
from tui_agent.ports.command import CommandAnswer
from tui_agent.ports.delegate import DelegateReport, Delegates, DelegateTask
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec, FileContent, FileInfo, PipedProcess
from tui_agent.ports.hook import HOOK_EVENTS, HookAnswer
from tui_agent.ports.job import JobReport, Jobs
from tui_agent.ports.middleware import Fragment, Middleware, ToolNext, TurnContext
from tui_agent.ports.model import (
    FinishChunk,
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
from tui_agent.ports.program import Programs
from tui_agent.ports.repomap import MapRequest, RenderedMap
from tui_agent.ports.tool import Answer, Preview, Service, Tool, ToolContext, ToolResult, ToolSpec
from tui_agent.ports.verdict import Verdict
from tui_agent.protocol.artifacts import Artifact, left_out_note, shorten_text, stored_artifact_id
from tui_agent.protocol.base import BlobText, FrozenModel, JsonMap, LongText, Payload, text_preview
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
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.parts import Content, ImageContent, TextContent, ToolCallPart, Usage, image_type
from tui_agent.protocol.settings import ModelInfo, PolicyName
from tui_agent.protocol.unicode_text import escape_unprintable, format_count
from tui_agent.units import (
    describe_line_changes,
    format_bytes,
    format_duration,
    format_number,
    format_time_limit,
)

API_VERSION = 1

ArgsT = TypeVar("ArgsT", bound=BaseModel)
SettingsT = TypeVar("SettingsT", bound=BaseModel)


class PluginApi(Protocol):
    """The argument of a plugin's `register` function. Registering a name twice raises `PluginError`."""

    @property
    def plugin(self) -> str:
        """The name of the plugin that is being loaded."""
        ...

    @property
    def notes_folder(self) -> Path | None:
        """The folder for notes on this project, shared by all its sessions; None without a project.

        The folder can be missing.
        """
        ...

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Register a tool for agents."""
        ...

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Add a middleware. It wraps all middlewares with a higher `order`; built-in ones use 100 to 400."""
        ...

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Register an agent that users can choose. `make` creates an instance for each task."""
        ...

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Register a model provider. `make` creates the client of one of its models."""
        ...

    def environment(self, name: str, make: Callable[[Path], Environment], *, description: str = "") -> None:
        """Register an environment for commands and files. `make` gets the workspace; `start` is called afterwards."""
        ...

    def policy_table(self, path: str) -> None:
        """Register a TOML file that describes programs for the policy; see docs/program-tables.md.

        The file can add programs. For programs that the policy knows, it can only add effects, so that the policy asks
        more often. `path` is relative to the plugin's folder, or absolute.
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
        the start of each line. `grammar`: `"module:function"`, a function of an installed package that returns a
        tree-sitter grammar. `query`: a tree-sitter query that captures `@name`, and the whole definition by its kind,
        such as `@function`. The patterns are used if the grammar cannot be loaded.
        """
        ...

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Call `target` for every event of a kind, or at a hook event.

        If `event` is a kind such as `tool.finished`, `target` is called after each event of this kind is stored, and its
        return value is ignored. If `event` is one of `HOOK_EVENTS`, `target` must be an `async` function that takes a dict
        and returns a `HookAnswer` or None.
        """
        ...

    def command(
        self,
        name: str,
        function: Callable[..., Awaitable[object]],
        *,
        help: str,
        arguments: str = "",
        complete: Callable[..., object] | None = None,
    ) -> None:
        """Register a slash command, such as `/standup`.

        `await function(text, state)` gets the text after the name and the session's state. It returns a text, a display
        block or a `CommandAnswer`. A text is sent to the agent as the user's message; a display block is shown to the
        user. `arguments` is a hint for the user, such as `[DATE]`. `complete(text, state)` returns a list of
        completions for the text typed so far; its time limit is one second.
        """
        ...

    def setting(self, model: type[SettingsT]) -> SettingsT:
        """Return the plugin's settings. `model` is a pydantic model whose fields are the keys of `[plugins.NAME]` in
        config.toml.

        Raises `ConfigError`, which names the file and the line, if a value is not valid.
        """
        ...

    def key(self, name: str, help: str = "") -> str:
        """Return a secret, such as `ACME_API_KEY`, from the environment or the user's stored keys; empty if there is none."""
        ...

    def oracle(self, name: str, function: Callable[..., Awaitable[object]]) -> None:
        """Register an oracle for evaluations: `await function(workspace)` solves the case in the workspace."""
        ...

    def verifier(self, name: str, function: Callable[..., Awaitable[object]]) -> None:
        """Register a verifier for evaluations: `await function(workspace, records)` returns a `Verdict`."""
        ...


class BaseTool:
    """Base class for tools, with an empty preview. Subclasses set `spec` and define `target`, `effects` and `run`."""

    spec: ToolSpec

    async def preview(self, args: Any, env: Environment) -> Preview:
        """Return an empty preview, so that an approval shows only the call's verb and target. Overrides can show
        more.
        """
        return Preview(())


class SessionTool(BaseTool):
    """Base class for tools that read and change only the session itself. Subclasses define `target` and `run`."""

    subject: str
    """The part of the session that the tool reads or changes, such as `todos`."""

    def effects(self, args: Any) -> tuple[Effect, ...]:
        """Return an effect on the session only, which the policy always allows."""
        return (InternalEffect(subject=self.subject),)


def load_spec(
    name: str,
    module_file: str,
    args: type[BaseModel],
    *,
    verb: str,
    timeout: float | None = 60.0,
    parallel_safe: bool = False,
    parallel_group: str = "",
    needs: Iterable[Service] = (),
    policy: PolicyName | None = None,
) -> ToolSpec:
    """Return the spec of a tool. The file `<name>.md` beside the tool's module describes the tool to the model.

    `module_file` is the module's `__file__`; the other arguments are fields of `ToolSpec`.
    """
    description = Path(module_file).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
    return ToolSpec(
        name, description, args, verb, timeout, parallel_safe, parallel_group, frozenset(needs), policy
    )


class BaseMiddleware:
    """Base class for middlewares. Its methods change nothing; subclasses override some of them."""

    name = "unnamed"

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Run before the turn's first iteration."""

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """Return texts to add to the system prompt or context of the next request. Must have no side effects."""
        return ()

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        """Send a model request with `call_next(request)`, and return the reply.

        An override can change the request and the reply, or send the request again.
        """
        return await call_next(request)

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Run a tool call with `call_next(call)`, and return the result. The policy has allowed the call.

        An override can change the call and the result.
        """
        return await call_next(call)

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Run after the turn's last iteration. `turn.reason` is the reason why the turn ended."""


def act(state: SessionStateView, *wanted: AnyAction) -> Action:
    """Convert named actions such as `actions.CmdRun(command="make")` to the return value of an agent's `step`.

    Actions that use tools become tool calls, in order. If there are none, the last action becomes a message, a finish
    or a rejection.
    """
    calls = build_tool_calls(wanted, state.todo)
    match wanted[-1] if wanted and not calls else None:
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
    """Return a tool result whose content for the model is `text`. The other arguments are fields of `ToolResult`."""
    return ToolResult(
        ok, (TextContent(text=text),), summary, tuple(display), data or {}, tuple(events), full_output
    )


def last_read_digest(content: FileContent, state: SessionStateView) -> str:
    """Return the digest of the content that the session last read from the file; empty if it was never read."""
    # The log replaces bytes of a file name that are not UTF-8, so replace them here too.
    logged_path = content.path.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    last_read = state.read_files.get(logged_path)
    return "" if last_read is None else last_read.digest


def require_current_read(content: FileContent, state: SessionStateView, *, reader: str = "read_file") -> None:
    """Raise a `ToolError` if the session has not read the file with its present content.

    `reader` is the name of the tool that reads such files.
    """
    digest = last_read_digest(content, state)
    if digest != content.digest:
        why = "has changed since it was read" if digest else "has not been read in this session"
        raise ToolError(f"{content.path} {why}.", hint=f"Read it with {reader} first.")


__all__ = [
    "API_VERSION",
    "HOOK_EVENTS",
    "NOTE_BYTES",
    "Action",
    "Agent",
    "Answer",
    "Artifact",
    "AskModel",
    "BaseMiddleware",
    "BaseTool",
    "BlobNotFound",
    "BlobText",
    "CallTools",
    "CommandAnswer",
    "Content",
    "CustomBlock",
    "DecodedText",
    "DelegateReport",
    "DelegateTask",
    "Delegates",
    "DiffBlock",
    "DisplayBlock",
    "Effect",
    "Envelope",
    "Environment",
    "EnvironmentFault",
    "ExecResult",
    "ExecSpec",
    "FileChanged",
    "FileContent",
    "FileInfo",
    "FileRead",
    "Finish",
    "FinishChunk",
    "Fragment",
    "FrozenModel",
    "FunctionTool",
    "HookAnswer",
    "ImageBlock",
    "ImageContent",
    "InternalEffect",
    "JobReport",
    "Jobs",
    "JsonBlock",
    "JsonMap",
    "LineDiff",
    "LongText",
    "MapRequest",
    "MarkdownBlock",
    "Middleware",
    "ModelChunk",
    "ModelClient",
    "ModelFault",
    "ModelInfo",
    "ModelNext",
    "ModelQuery",
    "ModelReply",
    "ModelRequest",
    "NetworkEffect",
    "PipedProcess",
    "PluginApi",
    "PluginError",
    "PluginEvent",
    "Preview",
    "Programs",
    "ReadEffect",
    "ReasoningChunk",
    "Reject",
    "RenderedMap",
    "RepomapBuilt",
    "RepomapUsed",
    "RunEffect",
    "SayMessage",
    "SessionStateView",
    "SessionTool",
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
    "Verdict",
    "WriteEffect",
    "act",
    "actions",
    "command",
    "compile_path_pattern",
    "decode_text",
    "describe_line_changes",
    "diff_lines",
    "encode_text",
    "escape_unprintable",
    "format_bytes",
    "format_count",
    "format_duration",
    "format_number",
    "format_time_limit",
    "hook",
    "image_type",
    "install_hint",
    "is_artifact",
    "last_read_digest",
    "left_out_note",
    "list_note_locations",
    "load_spec",
    "oracle",
    "pane",
    "read_artifact",
    "read_note",
    "replace_private",
    "require_current_read",
    "shorten_text",
    "stored_artifact_id",
    "strip_accents",
    "strip_control_sequences",
    "text_preview",
    "text_result",
    "title_of_note",
    "tool",
    "verifier",
    "word_forms",
]
