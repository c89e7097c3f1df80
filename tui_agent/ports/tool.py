"""The tool protocol: typed arguments, declared effects, and a result for model, user and programs."""

from collections.abc import Awaitable, Callable, Sequence
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
from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content
from tui_agent.protocol.settings import PolicyName

Service: TypeAlias = Literal[
    "ask", "delegate", "repomap", "notes", "skills", "state", "jobs", "started_jobs", "programs"
]


class JsonArguments(BaseModel):
    """The arguments of a tool with a ready JSON schema."""

    values: JsonMap


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool's description. `args` is the pydantic model of its arguments; the model gets its JSON schema.

    `verb` labels the tool's row on screen (at most 9 letters). `timeout` limits one call, in seconds (None: the tool
    limits itself). `parallel_safe` calls of one answer may run at the same time if their `parallel_group` is equal.
    The model is not offered the tool while one of the services in `needs` is missing, or if the session's policy is
    not `policy` (None: any). The service `started_jobs` is missing until the session's first background job.

    `parameters` is a ready JSON schema of type object, for tools that are described elsewhere (None: use the schema
    of `args`). If it is set, `args` is `JsonArguments`, whose values fit the schema. A tool that is not `listed` can
    be called, but the model is not told of it. With `may_ask`, the tool gets `ask` if there is a user, and works
    without it.
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
"""Asks the user: maps (question, options, form) to an answer.

Recorded as `question.asked` and `question.answered`.
"""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The services of a running tool call. Services that `spec.needs` does not name are None."""

    env: Environment
    blobs: Blobs
    call_id: CallId
    progress: Callable[[str], None]
    """Appends live output to the call's row on screen. Small pieces are merged before they are recorded."""
    deadline: float | None
    """The time at which the call is stopped, in seconds of the monotonic clock; None: no limit."""
    state: SessionStateView
    """The session's state when the call started."""
    may_read: Callable[[str], bool]
    """Returns True if a search may show this file: it has no secrets and no rule denies reading it.

    Takes a path of `env`.
    """
    may_connect: Callable[[str], bool]
    """Returns True if the policy does not deny connecting to this host or address, to which an allowed call leads.

    An address of this machine or of a private network needs a rule that allows it.
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

    `content` is for the model, `display` for the user, `data` for programs. The engine appends `events` before
    `tool.finished` (todo.updated, file.read, file.changed, test.finished, plugin.event). `full_output` is the complete
    output if `content` is a preview. `environment` is True if files or processes failed rather than the task; the
    engine sets it if a tool raises `EnvironmentFault`. `stopped` is True if the user ended the job or delegate that
    the call waited for, which is not a failure.
    """

    ok: bool
    content: tuple[Content, ...]
    summary: str = ""
    display: tuple[DisplayBlock, ...] = ()
    data: JsonMap = field(default_factory=dict)
    events: tuple[Payload, ...] = ()
    full_output: LongText | None = None
    environment: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of a tool call for its approval. The decision is bound to the digest of `content`.

    `time_limit_s` is the time limit of this call if the tool limits itself.
    """

    blocks: tuple[DisplayBlock, ...]
    content: str = ""
    time_limit_s: float | None = None


ArgsT = TypeVar("ArgsT", bound=BaseModel, contravariant=True)


class Tool(Protocol[ArgsT]):
    """A tool. `effects` and `target` are pure; `preview` may read; `run` acts.

    A failing tool raises `ToolError` with a message for the model. It must not swallow cancellation.
    """

    @property
    def spec(self) -> ToolSpec: ...

    def target(self, args: ArgsT) -> str:
        """Return the object to show in the call's row on screen: a path, a pattern, a command."""
        ...

    def effects(self, args: ArgsT) -> tuple[Effect, ...]:
        """Return everything the call would read, write or run."""
        ...

    async def preview(self, args: ArgsT, env: Environment) -> Preview: ...

    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult: ...


@runtime_checkable
class ArgumentSettler(Protocol):
    """A tool that completes its arguments before a call is judged, for example with the command that it will run."""

    async def settle_arguments(self, args: Any, env: Environment) -> BaseModel:
        """Return the complete arguments of a call, for `effects`, `preview` and `run`.

        May read; may raise `ToolError`.
        """
        ...


@runtime_checkable
class FailurePredictor(Protocol):
    """A tool that can predict from the session's state that a call will fail, such as an edit of an unread file."""

    async def predict_failure(self, args: Any, env: Environment, state: SessionStateView) -> None:
        """Raise the `ToolError` that `run` would raise, before the user is asked. May read."""
        ...
