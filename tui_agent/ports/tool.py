"""A tool: typed arguments in, effects declared, a result for three audiences out."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from tui_agent.folds.session.fold import SessionStateView
from tui_agent.ports.delegate import Delegates
from tui_agent.ports.environment import Environment
from tui_agent.ports.job import Jobs
from tui_agent.ports.knowledge import Skills
from tui_agent.ports.log import Blobs
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.base import JsonMap, LongText
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import Content

Service: TypeAlias = Literal["ask", "delegate", "repomap", "notes", "skills", "state", "jobs"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a tool is. `args` is the pydantic model of its arguments, whose JSON schema the model is offered.

    `verb` is the row's word (at most 9 letters). `timeout` in seconds bounds one call (None: the tool bounds itself).
    `parallel_safe` tools of one answer may run side by side: those with the same word in `parallel_among`.
    """

    name: str
    description: str
    args: type[BaseModel]
    verb: str
    timeout: float | None = 60.0
    parallel_safe: bool = False
    parallel_among: str = ""
    needs: frozenset[Service] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered: the index of the chosen option (None: free words) and the words."""

    choice: int | None
    text: str


AskUser: TypeAlias = Callable[[str, Sequence[str], Literal["text", "choice", "plan"]], Awaitable[Answer]]
"""(question, options, form) -> answer. Recorded as question.asked and question.answered."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running call may use. Services that `spec.needs` does not name are None."""

    env: Environment
    blobs: Blobs
    call_id: CallId
    progress: Callable[[str], None]
    """Appends live output to the call's row; merged before it is recorded."""
    deadline: float | None
    """Monotonic seconds."""
    state: SessionStateView
    """The session as folded when the call started."""
    may_read: Callable[[str], bool]
    """Whether a file that a search came upon (named as `env` names it) may be shown: none with secrets, none that a
    rule denies."""
    ask: AskUser | None = None
    jobs: Jobs | None = None
    skills: Skills | None = None
    repomap: RepoMaps | None = None
    delegate: Delegates | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`ok` False means the tool did its best and the task at hand failed (exit 1): the model goes on.

    `content` is for the model, `display` for the user, `data` for programs; `events` are appended by the engine
    before `tool.finished` (todo.updated, file.read, file.changed, test.finished, plugin.event).
    `full_output` is the whole where `content` is a preview. `environment` says that files or processes themselves
    failed, not the task (the engine sets it where a tool lets an `EnvironmentFault` out). `stopped`: the user ended what the
    call waited for; it has not failed.
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
    """What an approval shows of a call before it runs; `content` is what the decision's digest binds.

    `time_limit_s` is how long a tool that bounds itself lets this call run.
    """

    blocks: tuple[DisplayBlock, ...]
    content: str = ""
    time_limit_s: float | None = None


ArgsT = TypeVar("ArgsT", bound=BaseModel, contravariant=True)


class Tool(Protocol[ArgsT]):
    """One tool. `effects` and `target` are pure; `preview` may read; `run` acts.

    A tool raises `ToolError` with a message for the model when it cannot do what was asked. Cancellation must pass.
    """

    spec: ClassVar[ToolSpec]

    def target(self, args: ArgsT) -> str:
        """The row's object in few words: a path, a pattern, a command."""
        ...

    def effects(self, args: ArgsT) -> tuple[Effect, ...]: ...

    async def preview(self, args: ArgsT, env: Environment) -> Preview: ...

    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult: ...


@runtime_checkable
class Settling(Protocol):
    """A tool that settles what a call leaves open before it is judged: which command it will run, for example."""

    async def settle(self, args: Any, env: Environment) -> BaseModel:
        """The arguments that `effects`, `preview` and `run` get in place of these. May read; may raise `ToolError`."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A tool that knows from what the session has seen that a call must fail: a change of a file that was not read."""

    async def foresee(self, args: Any, env: Environment, state: SessionStateView) -> None:
        """Raises the `ToolError` that `run` would raise, before anyone is asked. May read."""
        ...
