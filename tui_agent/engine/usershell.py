"""L4: the user's own commands (`!` and `!!`): run as they stand, without the policy: the user is the one who asks."""

from tui_agent.engine.parts import EngineParts
from tui_agent.engine.states import StateKeeper
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecSpec
from tui_agent.protocol.commands import RunUserShell
from tui_agent.protocol.events.turn import UserShellFinished
from tui_agent.protocol.settings import AgentState
from tui_agent.tools.truncate import head_and_tail

TIMEOUT = 600.0
MAX_OUTPUT = 2_000_000


async def run_user_shell(parts: EngineParts, states: StateKeeper, command: RunUserShell) -> None:
    """Run one command and record its output, cut in the middle where it is long. Cancelling kills it."""
    states.set(AgentState.RUNNING, f"! {command.command}")
    spec = ExecSpec(script=command.command, timeout=TIMEOUT, max_output=MAX_OUTPUT)
    exit_code: int | None = None
    duration = 0.0
    output = "stopped"
    try:
        result = await parts.env.exec(spec, lambda _: None)
        exit_code, duration = result.exit_code, result.duration_ms
        output = head_and_tail(result.output.decode("utf-8", "replace")).text
    except EnvironmentFault as fault:
        output = str(fault)
    finally:
        parts.recorder.append(
            UserShellFinished(
                command=command.command,
                output=output,
                exit_code=exit_code,
                duration_ms=round(duration, 1),
                hidden=command.hidden,
            ),
            cause=command.id,
        )
        states.set(AgentState.IDLE)
