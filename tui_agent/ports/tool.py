"""The protocols of tools and of tool servers.

A tool has typed arguments and declared effects. Its result has separate parts for the model, the user and programs.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.environment import Environment
from tui_agent.ports.job import Jobs
from tui_agent.ports.knowledge import Skills
from tui_agent.ports.log import Blobs
from tui_agent.ports.program import Programs
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.base import CallId, JsonMap, LongText, Payload
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.parts import Content
from tui_agent.protocol.settings import PolicyName

Service: TypeAlias = Literal[
    "ask", "delegate", "repomap", "notes", "skills", "state", "jobs", "started_jobs", "programs"
]


class JsonArguments(BaseModel):
    """The arguments of a tool with a given JSON schema."""

    values: JsonMap


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool's description. `args` is the pydantic model of the tool's arguments; its JSON schema is sent to the model.

    `verb` labels the tool's row on the screen (at most 9 letters). `timeout` limits one call, in seconds (None: the
    tool limits itself). `parallel_safe` calls of one answer can run at the same time if their `parallel_group` is
    equal.

    The tool is not offered to the model while one of the services in `needs` is missing, or if the session's policy is
    not `policy` (None: any policy). The service `started_jobs` is missing until the session's first background job.

    `parameters` is a JSON schema of type object, for tools that are described elsewhere (None: use the schema of
    `args`). If it is set, `args` is `JsonArguments`, and its values fit the schema. A tool that is not `listed` can be
    called, but it is not offered to the model. With `may_ask`, the tool gets `ask` if there is a user; without a user,
    it also works.
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
"""Function that asks the user. Its arguments are the question, the options and the form; it returns the answer.

Question and answer are recorded as `question.asked` and `question.answered`.
"""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The services for a running tool call. Services that `spec.needs` does not name are None."""

    env: Environment
    blobs: Blobs
    call_id: CallId
    progress: Callable[[str], None]
    """Function that appends live output to the call's row on the screen.

    Small pieces are merged before they are recorded.
    """
    deadline: float | None
    """The time at which the call is stopped, in seconds of the monotonic clock. None means no limit."""
    state: SessionStateView
    """The session's state when the call started."""
    may_read: Callable[[str], bool]
    """Function that returns True if a search can show a file: it has no secrets, and no rule denies reading it.

    The argument is a path of `env`.
    """
    may_connect: Callable[[str], bool]
    """Function that returns True if the policy does not deny connecting to a host or address.

    Tools call it for the hosts and addresses that an allowed call leads to. An address of this machine or of a private
    network needs a rule that allows it.
    """
    ask: AskUser | None = None
    jobs: Jobs | None = None
    programs: Programs | None = None
    skills: Skills | None = None
    repomap: RepoMaps | None = None
    delegate: Delegates | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result. If `ok` is False, the tool worked but its task failed (exit code 1); the model continues.

    `content` is for the model, `display` for the user, and `data` for programs. The engine appends `events` before
    `tool.finished` (todo.updated, file.read, file.changed, test.finished, plugin.event). If `content` is a preview,
    `full_output` is the complete output. `environment` is True if the environment's files or processes failed, not the
    task; the engine sets it if a tool raises `EnvironmentFault`. `lost` is True if the environment's machine is gone.
    `stopped` is True if the user ended the job or delegate that the call waited for; this is not a failure.
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
    """A preview of a tool call for the approval. The decision is bound to the digest of `content`.

    If the tool limits itself, `time_limit_s` is the time limit of this call.
    """

    blocks: tuple[DisplayBlock, ...]
    content: str = ""
    time_limit_s: float | None = None


ArgsT = TypeVar("ArgsT", bound=BaseModel, contravariant=True)


class Tool(Protocol[ArgsT]):
    """A tool. `effects` and `target` are pure. `preview` can read files. `run` carries out the call.

    A failing tool raises `ToolError` with a message for the model. A tool must not swallow a cancellation.
    """

    @property
    def spec(self) -> ToolSpec: ...

    def target(self, args: ArgsT) -> str:
        """Return the object to show in the call's row on the screen, e.g. a path, a pattern or a command."""
        ...

    def effects(self, args: ArgsT) -> tuple[Effect, ...]:
        """Return everything that the call would read, write or run."""
        ...

    async def preview(self, args: ArgsT, env: Environment) -> Preview: ...

    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult: ...


@runtime_checkable
class ArgumentSettler(Protocol):
    """A tool that completes its arguments before a call is judged, e.g. with the command that it will run."""

    async def settle_arguments(self, args: Any, env: Environment) -> BaseModel:
        """Return the complete arguments of a call, for `effects`, `preview` and `run`.

        Can read files. Can raise `ToolError`.
        """
        ...


@runtime_checkable
class FailurePredictor(Protocol):
    """A tool that can predict that a call will fail. An example is an edit of a file that was not read."""

    async def predict_failure(self, args: Any, env: Environment, state: SessionStateView) -> None:
        """Raise the `ToolError` that `run` would raise, before the user is asked. Can read files."""
        ...


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """The content of a server's resource: cleaned text, or the bytes of content that is not text."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    """The media type that the server states, cleaned."""


class ToolServers(Protocol):
    """The servers of a session. The names of a server's tools begin with the server's name."""

    @property
    def names(self) -> Collection[str]:
        """The names of all servers."""
        ...

    async def wait_for_tools(self, tools: Collection[str]) -> None:
        """Wait until the servers of these tools run or have failed. The waiting time is limited."""
        ...

    def explain_absence(self, tool: str) -> str:
        """Return the reason why the server of a tool cannot be used now.

        Empty if the server runs, or if no server has such a tool.
        """
        ...

    def resource_tool(self, server: str) -> str:
        """Return the name of a server's resources in rules that allow or deny reading them."""
        ...

    async def read_resource(self, server: str, uri: str) -> ResourceContent:
        """Read a resource of a server. Raises `ToolError`."""
        ...

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return mentions of resources (`SERVER:URI`, without the `@`) that match the user's typed text.

        A mention with `{NAME}` in it is a template. The user must then type more than a name.
        """
        ...
