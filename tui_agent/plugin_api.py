"""The only module of tui-agent that a plugin is allowed to import.

`API_VERSION` changes if a change could break plugins.

A plugin is a package (a folder with `__init__.py`) or a single module. It contains functions decorated with `@tool`,
`@hook` and so on, or a function `register(api: PluginApi) -> None`, or both. Importing a plugin must do nothing.

The engine's process calls `register` when it loads the plugin. The function registers objects such as tools. Each
object is stored with the plugin's name, so that users can list, trace and disable it.

A name that is imported as itself (`import Tool as Tool`) belongs to the API.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel

from tui_agent.config.extensions import note_files
from tui_agent.config.extensions.note_files import list_note_locations as list_note_locations
from tui_agent.config.extensions.note_files import read_note as read_note
from tui_agent.config.settings.optional_packages import install_hint as install_hint
from tui_agent.config.small_files import replace_private as replace_private
from tui_agent.errors import BlobNotFound as BlobNotFound
from tui_agent.errors import EnvironmentFault as EnvironmentFault
from tui_agent.errors import PluginError as PluginError
from tui_agent.errors import StaleFile as StaleFile
from tui_agent.errors import ToolError as ToolError
from tui_agent.folds import actions as actions
from tui_agent.folds.actions import AnyAction, build_tool_calls
from tui_agent.folds.session.stale_test_results import LaterChanges as LaterChanges
from tui_agent.folds.session.state_view import ReadFile
from tui_agent.folds.session.state_view import SessionStateView as SessionStateView
from tui_agent.folds.session.todo_list import DONE_STATUSES as DONE_STATUSES
from tui_agent.folds.session.todo_list import format_todo_item as format_todo_item
from tui_agent.folds.text import word_forms as text_forms
from tui_agent.folds.text.glob import compile_path_pattern as compile_path_pattern
from tui_agent.folds.text.glob import other_folder_hint as other_folder_hint
from tui_agent.folds.text.glob import relative_path_pattern as relative_path_pattern
from tui_agent.folds.text.line_diff import LineDiff as LineDiff
from tui_agent.folds.text.line_diff import diff_lines as diff_lines
from tui_agent.folds.text.plain_text import DecodedText as DecodedText
from tui_agent.folds.text.plain_text import decode_text as decode_text
from tui_agent.folds.text.plain_text import encode_text as encode_text
from tui_agent.folds.text.plain_text import notes_on_cut_lines as notes_on_cut_lines
from tui_agent.folds.text.plain_text import notes_on_text as notes_on_text
from tui_agent.folds.text.plain_text import number_lines as number_lines
from tui_agent.folds.text.plain_text import strip_control_sequences as strip_control_sequences
from tui_agent.folds.text.redaction_placeholders import find_new_placeholder as find_new_placeholder
from tui_agent.folds.text.word_forms import strip_accents as strip_accents
from tui_agent.json_text import parse_json as parse_json
from tui_agent.plugin_artifacts import is_artifact as is_artifact
from tui_agent.plugin_artifacts import read_artifact as read_artifact
from tui_agent.plugin_functions import FunctionTool as FunctionTool
from tui_agent.plugin_functions import command as command
from tui_agent.plugin_functions import hook as hook
from tui_agent.plugin_functions import oracle as oracle
from tui_agent.plugin_functions import pane as pane
from tui_agent.plugin_functions import tool as tool
from tui_agent.plugin_functions import verifier as verifier
from tui_agent.ports.agent import Action as Action
from tui_agent.ports.agent import Agent as Agent
from tui_agent.ports.agent import AskModel as AskModel
from tui_agent.ports.agent import CallTools as CallTools
from tui_agent.ports.agent import Finish as Finish
from tui_agent.ports.agent import ModelQuery as ModelQuery
from tui_agent.ports.agent import Reject as Reject
from tui_agent.ports.agent import SayMessage as SayMessage
from tui_agent.ports.delegate import DelegateReport as DelegateReport
from tui_agent.ports.delegate import Delegates as Delegates
from tui_agent.ports.delegate import DelegateTask as DelegateTask
from tui_agent.ports.environment import Environment as Environment
from tui_agent.ports.environment import ExecResult as ExecResult
from tui_agent.ports.environment import ExecSpec as ExecSpec
from tui_agent.ports.environment import FileContent as FileContent
from tui_agent.ports.environment import FileInfo as FileInfo
from tui_agent.ports.environment import PipedProcess as PipedProcess
from tui_agent.ports.eval_functions import Verdict as Verdict
from tui_agent.ports.hook import HOOK_EVENTS as HOOK_EVENTS
from tui_agent.ports.hook import HookAnswer as HookAnswer
from tui_agent.ports.job import JobReport as JobReport
from tui_agent.ports.job import Jobs as Jobs
from tui_agent.ports.middleware import Fragment as Fragment
from tui_agent.ports.middleware import Middleware as Middleware
from tui_agent.ports.middleware import ToolNext as ToolNext
from tui_agent.ports.middleware import TurnContext as TurnContext
from tui_agent.ports.model import FinishChunk as FinishChunk
from tui_agent.ports.model import ModelChunk as ModelChunk
from tui_agent.ports.model import ModelClient as ModelClient
from tui_agent.ports.model import ModelFault as ModelFault
from tui_agent.ports.model import ModelNext as ModelNext
from tui_agent.ports.model import ModelReply as ModelReply
from tui_agent.ports.model import ModelRequest as ModelRequest
from tui_agent.ports.model import ReasoningChunk as ReasoningChunk
from tui_agent.ports.model import TextChunk as TextChunk
from tui_agent.ports.model import ToolCallChunk as ToolCallChunk
from tui_agent.ports.model import UsageChunk as UsageChunk
from tui_agent.ports.program import Programs as Programs
from tui_agent.ports.repomap import MapRequest as MapRequest
from tui_agent.ports.repomap import RenderedMap as RenderedMap
from tui_agent.ports.similar_paths import read_or_suggest as read_or_suggest
from tui_agent.ports.similar_paths import suggest_paths as suggest_paths
from tui_agent.ports.slash_command import CommandAnswer as CommandAnswer
from tui_agent.ports.tool import Answer as Answer
from tui_agent.ports.tool import Preview as Preview
from tui_agent.ports.tool import Service
from tui_agent.ports.tool import Tool as Tool
from tui_agent.ports.tool import ToolContext as ToolContext
from tui_agent.ports.tool import ToolResult as ToolResult
from tui_agent.ports.tool import ToolSpec as ToolSpec
from tui_agent.protocol.artifacts import Artifact as Artifact
from tui_agent.protocol.artifacts import left_out_note as left_out_note
from tui_agent.protocol.artifacts import shorten_text as shorten_text
from tui_agent.protocol.artifacts import stored_artifact_id as stored_artifact_id
from tui_agent.protocol.display_blocks import CustomBlock as CustomBlock
from tui_agent.protocol.display_blocks import DiffBlock as DiffBlock
from tui_agent.protocol.display_blocks import DisplayBlock as DisplayBlock
from tui_agent.protocol.display_blocks import ImageBlock as ImageBlock
from tui_agent.protocol.display_blocks import JsonBlock as JsonBlock
from tui_agent.protocol.display_blocks import MarkdownBlock as MarkdownBlock
from tui_agent.protocol.display_blocks import TableBlock as TableBlock
from tui_agent.protocol.display_blocks import TerminalBlock as TerminalBlock
from tui_agent.protocol.display_blocks import TextBlock as TextBlock
from tui_agent.protocol.display_blocks import TreeBlock as TreeBlock
from tui_agent.protocol.display_blocks import TreeNode as TreeNode
from tui_agent.protocol.effects import Effect as Effect
from tui_agent.protocol.effects import InternalEffect as InternalEffect
from tui_agent.protocol.effects import NetworkEffect as NetworkEffect
from tui_agent.protocol.effects import ReadEffect as ReadEffect
from tui_agent.protocol.effects import RunEffect as RunEffect
from tui_agent.protocol.effects import WriteEffect as WriteEffect
from tui_agent.protocol.envelope import Envelope as Envelope
from tui_agent.protocol.events.context import RepomapBuilt as RepomapBuilt
from tui_agent.protocol.events.context import RepomapUsed as RepomapUsed
from tui_agent.protocol.events.eval import TestFinished as TestFinished
from tui_agent.protocol.events.files import FileChanged as FileChanged
from tui_agent.protocol.events.files import FileRead as FileRead
from tui_agent.protocol.events.plugin import PluginEvent as PluginEvent
from tui_agent.protocol.events.todo import TodoItem as TodoItem
from tui_agent.protocol.events.todo import TodoStatus as TodoStatus
from tui_agent.protocol.events.todo import TodoUpdated as TodoUpdated
from tui_agent.protocol.frozen_model import FrozenModel as FrozenModel
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.parts import Content as Content
from tui_agent.protocol.parts import ImageContent as ImageContent
from tui_agent.protocol.parts import TextContent as TextContent
from tui_agent.protocol.parts import ToolCallPart as ToolCallPart
from tui_agent.protocol.parts import Usage as Usage
from tui_agent.protocol.parts import image_type as image_type
from tui_agent.protocol.settings import ModelInfo as ModelInfo
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import BlobText as BlobText
from tui_agent.protocol.stored_text import JsonMap as JsonMap
from tui_agent.protocol.stored_text import LongText as LongText
from tui_agent.protocol.stored_text import text_preview as text_preview
from tui_agent.protocol.unicode_text import escape_unprintable as escape_unprintable
from tui_agent.protocol.unicode_text import format_count as format_count
from tui_agent.units import describe_line_changes as describe_line_changes
from tui_agent.units import format_bytes as format_bytes
from tui_agent.units import format_duration as format_duration
from tui_agent.units import format_number as format_number
from tui_agent.units import format_time_limit as format_time_limit

API_VERSION = 1

NOTE_BYTES = note_files.MAX_BYTES
title_of_note = note_files.extract_title
word_forms = text_forms.split_text

ArgsT = TypeVar("ArgsT", bound=BaseModel)
SettingsT = TypeVar("SettingsT", bound=BaseModel)


class PluginApi(Protocol):
    """The argument of a plugin's `register` function. Raises `PluginError` if a name is registered twice."""

    @property
    def plugin(self) -> str:
        """The name of the plugin that is being loaded."""
        ...

    @property
    def notes_folder(self) -> Path | None:
        """The folder for notes on this project, shared by all its sessions. None without a project.

        The folder may not exist yet.
        """
        ...

    def tool(self, tool: Tool[ArgsT]) -> None:
        """Register a tool for agents."""
        ...

    def middleware(self, middleware: Middleware, *, order: int = 500) -> None:
        """Add a middleware, which wraps all middlewares with a higher `order`. Built-in middlewares use 100 to 400."""
        ...

    def agent(self, name: str, make: Callable[[], Agent], *, description: str = "") -> None:
        """Register an agent that users can choose.

        `make`: creates an instance for each task.
        """
        ...

    def model(self, provider: str, make: Callable[[ModelInfo], ModelClient]) -> None:
        """Register a model provider.

        `make`: creates the client of one of the provider's models.
        """
        ...

    def environment(self, name: str, make: Callable[[Path], Environment], *, description: str = "") -> None:
        """Register an environment for commands and files.

        `make`: creates the environment for a workspace folder, but does not start it (see the environment's method
        `start`).
        """
        ...

    def policy_table(self, path: str) -> None:
        """Register a TOML file that describes programs for the policy; see docs/program-tables.md.

        The file can describe new programs. For a known program, it can only add effects, so that the policy asks more
        often.

        `path`: relative to the plugin's folder, or absolute.
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
        """Add a language to the repository map.

        - `suffixes`: suffixes of the language's files, without a dot.
        - `patterns`: pairs of a kind (`"function"`, `"class"`) and a regular expression with a group `name`. In the
          expression, `^` matches at the start of each line.
        - `grammar`: `"module:function"`, a function of an installed package that returns a tree-sitter grammar.
        - `query`: a tree-sitter query that captures `@name`, and the whole definition by its kind, such as `@function`.

        The patterns are used if the grammar cannot be loaded.
        """
        ...

    def hook(self, event: str, target: Callable[..., object]) -> None:
        """Call `target` for every event of a kind, or at a hook event.

        For an event kind, such as `tool.finished`, `target` is called after each event of this kind is stored. Its
        return value is ignored.

        For a hook event, one of `HOOK_EVENTS`, `target` is an `async` function. It takes a dict and returns a
        `HookAnswer` or None.
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

        - `function(text, state)`: an `async` function of the text after the name and the session's state. It returns a
          text for the agent, a display block for the user, or a `CommandAnswer`.
        - `arguments`: a hint for the user, such as `[DATE]`.
        - `complete(text, state)`: returns completions for the text typed so far, within one second.
        """
        ...

    def setting(self, model: type[SettingsT]) -> SettingsT:
        """Return the plugin's settings.

        `model`: a pydantic model whose fields are the keys of `[plugins.NAME]` in config.toml.

        Raise `ConfigError` with the file and the line if a value is not valid.
        """
        ...

    def key(self, name: str, help: str = "") -> str:
        """Return a secret from the environment or the user's stored keys, or an empty string.

        - `name`: name of a variable, such as `ACME_API_KEY`.
        - `help`: purpose of the key.
        """
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
        """Return an empty preview, so that an approval shows only the call's verb and target.

        Override this method to show more.
        """
        return Preview(())


class SessionTool(BaseTool):
    """Base class for tools that read and change only the session itself. Subclasses define `target` and `run`."""

    subject: str
    """The part of the session that the tool reads or changes, such as `todos`."""

    def effects(self, args: Any) -> tuple[Effect, ...]:
        """Return one effect that concerns only the session. The policy always allows this effect."""
        return (InternalEffect(subject=self.subject),)


def at_most(limit: int) -> AfterValidator:
    """Return an annotation that lowers a greater number to `limit`.

    Use this annotation for a tool's argument instead of `Field(le=limit)`, because models are not told about limits.
    """
    return AfterValidator(lambda number: min(number, limit))


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

    `module_file`: the module's `__file__`.

    The other arguments are fields of `ToolSpec`.
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
        """Return texts for the system prompt or context of the next request. Overrides must have no side effects."""
        return ()

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        """Send a model request with `call_next(request)`, and return the reply.

        An override can change the request and the reply, or send the request again.
        """
        return await call_next(request)

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        """Run a tool call with `call_next(call)`, and return the result.

        The policy has already allowed the call. An override can change the call and the result.
        """
        return await call_next(call)

    async def on_turn_end(self, turn: TurnContext) -> None:
        """Run after the turn's last iteration.

        `turn.reason`: the reason why the turn ended.
        """


def act(state: SessionStateView, *wanted: AnyAction) -> Action:
    """Convert named actions to the return value of an agent's `step`.

    A named action is, for example, `actions.CmdRun(command="make")`. Actions that use tools become tool calls, in
    order. If no action uses a tool, the last action becomes a message, a finish or a rejection.
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
    """Return a tool result with the text that the model gets. The other arguments are fields of `ToolResult`."""
    return ToolResult(
        ok, (TextContent(text=text),), summary, tuple(display), data or {}, tuple(events), full_output
    )


def last_read_digest(content: FileContent, state: SessionStateView) -> str:
    """Return the digest of the file's content at the session's last read, or an empty string."""
    last_read = _last_read(content, state)
    return "" if last_read is None else last_read.digest


def has_foreign_changes(content: FileContent, state: SessionStateView) -> bool:
    """Return True if somebody else changed the file after the session last read or edited it."""
    last_read = _last_read(content, state)
    return last_read is not None and content.digest not in (last_read.digest, last_read.edited_digest)


def _last_read(content: FileContent, state: SessionStateView) -> ReadFile | None:
    # The log replaces bytes of a file name that are not UTF-8, so replace them here too.
    logged_path = content.path.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return state.read_files.get(logged_path)


def require_current_read(content: FileContent, state: SessionStateView, *, reader: str = "read_file") -> None:
    """Raise a `ToolError` if the session has not read the current content of the file.

    `reader`: name of the tool that the error recommends.
    """
    digest = last_read_digest(content, state)
    if digest != content.digest:
        why = "has changed since it was read" if digest else "has not been read in this session"
        raise ToolError(f"{content.path} {why}.", hint=f"Read it with {reader} first.")


def require_no_placeholder(argument: str, text: str, original: FileContent | None) -> None:
    """Raise a `ToolError` if the model's text for a file contains a placeholder of redaction.

    The model sees `[redacted: …]` instead of a secret. Writing this placeholder would destroy the secret. A
    placeholder that the file really contains is allowed.

    - `argument`: name of the tool's argument with the text, for the error.
    - `original`: the file's content. None for a new file.
    """
    placeholder = find_new_placeholder(text, original.text if original else "")
    if placeholder:
        raise ToolError(
            f"{argument}: {placeholder} stands for a value that is hidden from you. Nothing was written.",
            hint="Change only the text around the value, with edit_file."
            if original
            else "Leave it out. To copy the value, use a command such as cp.",
        )
