"""The closed, tagged union of all event payloads.

Invariant: `KINDS` maps every kind to its one class; docs/events.md is generated from it.
"""

from typing import Annotated, TypeAlias, get_args

from pydantic import Field

from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextCut,
    ContextLearnt,
    ContextPacked,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    ContextStuck,
    ContextWarned,
    MemoryUpdated,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.env import EnvStarted, EnvStopped
from tui_agent.protocol.events.eval import EvalCaseStarted, EvalScored, TestFinished, VerifierFinished
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoring,
    CheckpointTaken,
    FileChanged,
    FileRead,
)
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.instructions import InstructionsLoaded, SkillsLoaded
from tui_agent.protocol.events.job import JobFinished, JobProgress, JobStarted
from tui_agent.protocol.events.model import (
    ModelDelta,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ModelRetried,
)
from tui_agent.protocol.events.plugin import PluginEvent, PluginFailed, PluginLoaded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested, PermissionRevoked
from tui_agent.protocol.events.session import (
    CommandRejected,
    ErrorRaised,
    LogRepaired,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionEnded,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.events.todo import TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellProgress,
    UserShellStarted,
    UserSteered,
    UserUnqueued,
)

CorePayload: TypeAlias = Annotated[
    SessionStarted
    | SessionTitled
    | SessionForked
    | WorkspaceMoved
    | SessionHeadMoved
    | SessionContextLoaded
    | SessionEnded
    | RunStarted
    | RunResumed
    | RunFinished
    | SettingsChanged
    | CommandRejected
    | ErrorRaised
    | LogRepaired
    | UserMessageReceived
    | UserQueued
    | UserUnqueued
    | UserSteered
    | UserShellStarted
    | UserShellProgress
    | UserShellFinished
    | TurnStarted
    | TurnFinished
    | IterationStarted
    | IterationFinished
    | QuestionAsked
    | QuestionAnswered
    | ModelRequested
    | ModelDelta
    | ModelResponded
    | ModelRetried
    | ModelFailed
    | ToolCalled
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | JobStarted
    | JobProgress
    | JobFinished
    | PermissionRequested
    | PermissionDecided
    | PermissionRevoked
    | HookRan
    | FileRead
    | FileChanged
    | CheckpointTaken
    | CheckpointPlanned
    | CheckpointRestored
    | CheckpointRestoring
    | ContextPacked
    | ContextWarned
    | ContextCompacted
    | ContextCut
    | ContextLearnt
    | ContextReduced
    | ContextRestored
    | ContextPinned
    | ContextStuck
    | MemoryUpdated
    | InstructionsLoaded
    | SkillsLoaded
    | RepomapBuilt
    | RepomapUsed
    | AgentSpawned
    | AgentStateChanged
    | AgentFinished
    | TodoUpdated
    | EnvStarted
    | EnvStopped
    | PluginLoaded
    | PluginFailed
    | PluginEvent
    | TestFinished
    | VerifierFinished
    | EvalCaseStarted
    | EvalScored,
    Field(discriminator="kind"),
]

KINDS: dict[str, type[Payload]] = {
    str(payload.model_fields["kind"].default): payload for payload in get_args(get_args(CorePayload)[0])
}
