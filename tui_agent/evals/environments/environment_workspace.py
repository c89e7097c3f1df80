"""The workspace for an environment's tests: a folder, and the commands that run in it."""

from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment, ExecSpec

MAX_OUTPUT_BYTES = 200_000
COMMAND_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command; `exit_code` is None if the command was killed, such as at its time limit."""

    exit_code: int | None
    output: str


class Workspace:
    """A test's copy of the workspace. Processes that are still running are ended after the test."""

    def __init__(self, path: Path, env: Environment) -> None:
        self.path = path
        self._env = env

    async def run(
        self, command: str, *, stdin: str = "", timeout_seconds: float = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        """Run a command line in the workspace, in the sandbox if there is one. The output includes standard error."""
        spec = ExecSpec(
            script=command, stdin=stdin.encode(), timeout=timeout_seconds, max_output=MAX_OUTPUT_BYTES
        )
        result = await self._env.exec(spec, lambda piece: None)
        return CommandResult(result.exit_code, result.output.decode("utf-8", "replace") or result.message)
