"""The closed, tagged union of all event payloads.

Invariant: `KINDS` has exactly one class for every kind.
"""

from typing import Annotated, TypeAlias, get_args

from pydantic import Field

from tui_agent.protocol.events import (
    agent,
    context,
    env,
    files,
    hook,
    instructions,
    job,
    model,
    plugin,
    policy,
    session,
    simulation,
    slash_command,
    todo,
    tool,
    turn,
)
from tui_agent.protocol.events import eval as evaluation
from tui_agent.protocol.frozen_model import Payload

CorePayload: TypeAlias = Annotated[
    session.SessionStarted
    | session.SessionTitled
    | session.SessionForked
    | session.WorkspaceMoved
    | session.SessionHeadMoved
    | session.SessionContextLoaded
    | session.SessionEnded
    | session.RunStarted
    | session.RunResumed
    | session.RunFinished
    | session.SettingsChanged
    | session.CommandRejected
    | session.ErrorRaised
    | session.LogRepaired
    | turn.UserMessageReceived
    | turn.UserQueued
    | turn.UserUnqueued
    | turn.UserSteered
    | turn.UserShellStarted
    | turn.UserShellProgress
    | turn.UserShellFinished
    | turn.TurnStarted
    | turn.TurnFinished
    | turn.IterationStarted
    | turn.IterationFinished
    | turn.QuestionAsked
    | turn.QuestionAnswered
    | model.ModelRequested
    | model.ModelDelta
    | model.ModelResponded
    | model.ModelRetried
    | model.ModelFailed
    | tool.ToolCalled
    | tool.ToolStarted
    | tool.ToolProgress
    | tool.ToolFinished
    | job.JobStarted
    | job.JobProgress
    | job.JobFinished
    | policy.PermissionRequested
    | policy.PermissionDecided
    | policy.PermissionRevoked
    | hook.HookRan
    | files.FileRead
    | files.FileChanged
    | files.CheckpointTaken
    | files.CheckpointPlanned
    | files.CheckpointRestored
    | files.CheckpointRestoreStarted
    | context.ContextPacked
    | context.ContextWarned
    | context.ContextCompacted
    | context.ContextTruncated
    | context.ContextWindowInferred
    | context.ContextReduced
    | context.ContextRestored
    | context.ContextPinned
    | context.ContextStuck
    | context.MemoryUpdated
    | instructions.InstructionsLoaded
    | instructions.SkillsLoaded
    | context.RepomapBuilt
    | context.RepomapUsed
    | agent.AgentSpawned
    | agent.AgentStateChanged
    | agent.AgentFinished
    | todo.TodoUpdated
    | env.EnvStarted
    | env.EnvStopped
    | slash_command.CommandsOffered
    | slash_command.CommandRan
    | plugin.PluginLoaded
    | plugin.PluginUnloaded
    | plugin.PluginFailed
    | plugin.PluginEvent
    | evaluation.TestFinished
    | evaluation.VerifierFinished
    | evaluation.EvalCaseStarted
    | evaluation.EvalScored
    | simulation.SimulationMessage,
    Field(discriminator="kind"),
]

KINDS: dict[str, type[Payload]] = {
    str(payload.model_fields["kind"].default): payload for payload in get_args(get_args(CorePayload)[0])
}
