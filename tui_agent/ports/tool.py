"""The protocols of tools and of tool servers."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.environment import Environment
from tui_agent.ports.job import Jobs
from tui_agent.ports.log import Blobs
from tui_agent.ports.program import Programs
from tui_agent.ports.repomap import RepoMaps
from tui_agent.ports.symbols_and_skills import Skills
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import JsonMap, LongText

Service: TypeAlias = Literal[
    "ask", "delegate", "repomap", "notes", "skills", "state", "jobs", "started_jobs", "programs"
]


class JsonArguments(BaseModel):
    """The arguments of a tool with a given JSON schema."""

    values: JsonMap


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool's description.

    - `args`: pydantic model of the arguments. Its JSON schema is sent to the model.
    - `verb`: label of the tool's row on the screen, at most 9 letters.
    - `timeout`: limit for one call in seconds (None: the tool limits itself).
    - `parallel_safe`: True if several calls in one answer of the model can run at the same time. Only calls of tools
      with the same `parallel_group` run together.
    - `needs`: services that the tool needs. If a service is missing, the tool is not offered. The service
      `started_jobs` exists after the start of a background job.
    - `policy`: the only policy under which the tool is offered (None: any policy).
    - `parameters`: JSON schema (type object) for a tool without its own arguments class. `args` is then `JsonArguments`.
    - `listed`: False if the tool can be called but is not offered to the model.
    - `may_ask`: True if the tool can ask the user (`ToolContext.ask`) but also works without a user.
    """

    name: str
    description: str
    args: type[BaseModel]
    verb: str
    timeout: float | None = 60.0
    parallel_safe: bool = False
    parallel_group: str = ""
    needs: frozenset[Service] = frozenset()
    policy: PolicyName | None = None
    parameters: JsonMap | None = None
    listed: bool = True
    may_ask: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A user's answer: the index of the chosen option (None: free text) and the text."""

    choice: int | None
    text: str


AskUser: TypeAlias = Callable[[str, Sequence[str], Literal["text", "choice", "plan"]], Awaitable[Answer]]
"""Function that asks the user. Its arguments are the question, the options and the form of the answer.

The question and the answer are recorded in the log.
"""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The services for a running tool call. A service that is not in `spec.needs` is None."""

    env: Environment
    blobs: Blobs
    call_id: CallId
    progress: Callable[[str], None]
    """Function that appends live output to the call's row on the screen.

    If the call is stopped, its output becomes its result. Of a long output, the screen and the log get only samples.
    """
    deadline: float | None
    """The time at which the call is stopped, in seconds of the monotonic clock. None means no limit."""
    state: SessionStateView
    """The session's state when the call started."""
    may_read: Callable[[str], bool]
    """Function that returns True if a search may show the file at this path.

    It returns False for secret files and for files that a rule denies.
    """
    may_connect: Callable[[str], bool]
    """Function that returns False if the policy denies connecting to a host or address.

    A tool must call this function before each connection. Addresses of this machine or a private network need an
    `allow` rule.
    """
    ask: AskUser | None = None
    jobs: Jobs | None = None
    programs: Programs | None = None
    skills: Skills | None = None
    repomap: RepoMaps | None = None
    delegate: Delegates | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result.

    - `ok`: False if the task failed (exit code 1). The model continues.
    - `content`, `display`, `data`: parts for the model, the user and programs.
    - `events`: events that the engine appends before `tool.finished` (`todo.updated`, `file.read`,
      `file.changed`, `test.finished`, `plugin.event`).
    - `full_output`: complete output if `content` is a preview.
    - `environment`: True if the environment failed, not the task. The engine sets this field if a tool raises
      `EnvironmentFault`.
    - `lost`: True if the environment's machine is gone.
    - `stopped`: True if the user ended the awaited job or delegate. This is not a failure.
    """

    ok: bool
    content: tuple[Content, ...]
    summary: str = ""
    display: tuple[DisplayBlock, ...] = ()
    data: JsonMap = field(default_factory=dict)
    events: tuple[Payload, ...] = ()
    full_output: LongText | None = None
    environment: bool = False
    lost: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of a tool call. The user approves exactly this `content`, and nothing else.

    `time_limit_s`: time limit of this call in seconds, if the tool limits itself.
    """

    blocks: tuple[DisplayBlock, ...]
    content: str = ""
    time_limit_s: float | None = None


ArgsT = TypeVar("ArgsT", bound=BaseModel, contravariant=True)


class Tool(Protocol[ArgsT]):
    """A tool. `effects` and `target` do no I/O. `preview` can read files. `run` carries out the call.

    A failing tool raises `ToolError` with a message for the model. A tool must not swallow a cancellation.
    """

    @property
    def spec(self) -> ToolSpec: ...

    def target(self, args: ArgsT) -> str:
        """Return the text after the verb in the call's row on the screen, e.g. a path, a pattern or a command."""
        ...

    def effects(self, args: ArgsT) -> tuple[Effect, ...]:
        """Return everything that the call would read, write or run."""
        ...

    async def preview(self, args: ArgsT, env: Environment) -> Preview: ...

    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult: ...


@runtime_checkable
class ArgumentSettler(Protocol):
    """A tool that completes a call's arguments before the policy sees them.

    For example, the tool adds the command that the call will run.
    """

    async def settle_arguments(self, args: Any, env: Environment) -> BaseModel:
        """Return the complete arguments of a call, for `effects`, `preview` and `run`.

        Raise `ToolError` if the arguments cannot be completed.
        """
        ...


@runtime_checkable
class FailurePredictor(Protocol):
    """A tool that can predict a failure, e.g. an edit of an unread file."""

    async def predict_failure(self, args: Any, env: Environment, state: SessionStateView) -> None:
        """Predict the error of `run`, and raise it. Called before the user is asked for approval."""
        ...


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """The content of a server's resource: cleaned text, or bytes if it is not text."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    """The media type that the server states, cleaned."""


class ToolServers(Protocol):
    """The servers that provide tools and resources to a session, such as MCP servers."""

    @property
    def names(self) -> Collection[str]:
        """The names of all servers."""
        ...

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait for a limited time until the servers of these tools run or have failed."""
        ...

    def explain_absence(self, tool: str) -> str:
        """Return the reason why the server of a tool cannot be used now, or an empty string."""
        ...

    def resource_tool(self, server: str) -> str:
        """Return the tool name that rules use for reading a server's resources."""
        ...

    async def read_resource(self, server: str, uri: str) -> ResourceContent:
        """Read a resource of a server. Raise `ToolError` if the server cannot be used or refuses."""
        ...

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return the mentions that match the typed text (`SERVER:URI`, without the `@`).

        A mention with `{NAME}` is a template: the user must still replace the name.
        """
        ...
