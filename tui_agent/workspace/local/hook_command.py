"""Hooks that are commands. A hook gets an event as JSON, and answers with JSON or an exit status.

Invariant: the command and all its processes end within the time limit.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic_core import from_json, to_json

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec
from tui_agent.ports.hook import HookAnswer, HookReply
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_bytes

DENY_EXIT_CODE = 2
"""Exit status of a hook command that denies the event."""
MAX_ANSWER_BYTES = 1 << 20
MAX_ERROR_BYTES = 4_096


AnswerReader: TypeAlias = Callable[[JsonMap, int, bytes, str], HookAnswer | str]
"""Function that reads a hook command's output. It returns the hook's answer or an error text.

Arguments: facts about the event, exit status (0 or 2), standard output, standard error.
"""


class _HookOutput(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""
    updated_input: dict[str, JsonValue] | None = None
    additional_context: str = ""


class HookCommand:
    """A hook that runs one command in an environment, with additional environment variables."""

    def __init__(
        self,
        env: Environment,
        command: str,
        variables: Mapping[str, str],
        *,
        describe: Callable[[JsonMap], JsonMap] = dict,
        read: AnswerReader | None = None,
    ) -> None:
        """Create a hook that runs `command`.

        - `describe`: turns an event's facts into the command's input
        - `read`: turns the command's output into an answer

        By default, input and output have the form in docs/hooks.md.
        """
        self._env = env
        self._command = command
        self._variables = variables
        self._describe = describe
        self._read = read or _read_own_answer

    async def ask(self, event: JsonMap, time_limit_s: float) -> HookReply:
        """Run the hook's command to its end and return the hook's reply; end all its processes if cancelled."""
        spec = ExecSpec(
            script=self._command,
            env=self._variables,
            timeout=time_limit_s,
            max_output=MAX_ANSWER_BYTES,
            stdin=to_json(self._describe(event)) + b"\n",
            max_stderr_bytes=MAX_ERROR_BYTES,
            max_written_bytes=MAX_ANSWER_BYTES,
            unsandboxed=True,
            allow_network=True,
        )
        try:
            result = await self._env.exec(spec, _discard)
        except EnvironmentFault as fault:
            return HookReply(fault=f"The hook could not be run: {fault.message}")
        return _read_reply(result, event, self._read)


def _discard(data: bytes) -> None: ...


def _read_reply(result: ExecResult, event: JsonMap, read: AnswerReader) -> HookReply:
    error_text = result.stderr.decode("utf-8", "replace").strip()
    code = result.exit_code
    if result.outcome == "timeout":
        return HookReply(fault=f"The hook was {result.message} (its time limit).")
    if result.outcome == "flooded":
        limit = format_bytes(MAX_ANSWER_BYTES)
        return HookReply(fault=f"The hook was stopped, because it wrote more than {limit}.")
    if result.outcome != "exited":
        return HookReply(fault=f"The hook could not be run: {result.message}")
    if code is None or code not in (0, DENY_EXIT_CODE):
        reason = result.message or f"ended with {code}"
        last_line = error_text.splitlines()[-1] if error_text else ""
        return HookReply(fault=f"The hook {reason}{': ' + last_line if last_line else ''}.", exit_code=code)
    answer = read(event, code, result.output, error_text)
    if isinstance(answer, str):
        return HookReply(fault=f"The hook's output is not a valid answer: {answer}.", exit_code=code)
    return HookReply(answer, exit_code=code)


def _read_own_answer(event: JsonMap, exit_code: int, printed: bytes, error_text: str) -> HookAnswer | str:
    return HookAnswer("deny", error_text) if exit_code == DENY_EXIT_CODE else parse_answer(printed)


def parse_answer(printed: bytes) -> HookAnswer | str:
    """Parse the output of a hook command, or return an error text if the output is invalid."""
    if not printed.strip():
        return HookAnswer()
    try:
        tree: Any = from_json(printed, allow_inf_nan=False)
    except ValueError:
        return "it is not JSON"
    if not isinstance(tree, dict):
        return "it is not a JSON object"
    try:
        output = _HookOutput.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        if first["type"] == "extra_forbidden":
            return f"unknown field {name!r}"
        return f"{name!r} has an invalid value"
    return HookAnswer(output.decision or "", output.reason, output.updated_input, output.additional_context)
