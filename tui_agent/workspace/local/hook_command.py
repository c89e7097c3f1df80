"""A hook that is a command: what happens goes in as JSON, its answer comes out as JSON, or as its exit status.

Invariant: whatever the command does, it ends in time with all that it started, and the reply says what came of it;
what is no answer is never taken for one.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic_core import from_json, to_json

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec
from tui_agent.ports.hook import HookAnswer, HookReply
from tui_agent.protocol.base import JsonMap

REFUSED = 2
"""The exit status that says no."""
MAX_ANSWER = 1 << 20
MAX_ERRORS = 4_096


class _Printed(BaseModel):
    """What a hook may print."""

    model_config = ConfigDict(extra="forbid", strict=True)

    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""
    updated_input: dict[str, JsonValue] | None = None
    additional_context: str = ""


class HookCommand:
    """Runs one command in an environment, with the session's facts in its variables too."""

    def __init__(self, env: Environment, command: str, variables: Mapping[str, str]) -> None:
        self._env = env
        self._command = command
        self._variables = variables

    async def ask(self, asked: JsonMap, time_limit_s: float) -> HookReply:
        """Run it to its end. Cancelling ends it with all that it started."""
        spec = ExecSpec(
            script=self._command,
            env=self._variables,
            timeout=time_limit_s,
            max_output=MAX_ANSWER,
            stdin=to_json(asked) + b"\n",
            errors=MAX_ERRORS,
            outside=True,
            network=True,
        )
        try:
            result = await self._env.exec(spec, _unheard)
        except EnvironmentFault as fault:
            return HookReply(fault=f"It could not be run: {fault.message}")
        return _reply(result)


def _unheard(data: bytes) -> None:
    """A hook's output is its answer, and of no interest before it is whole."""


def _reply(result: ExecResult) -> HookReply:
    said = result.errors.decode("utf-8", "replace").strip()
    code = result.exit_code
    if result.ended == "timeout":
        return HookReply(fault=f"It was {result.message}, its time limit.")
    if result.ended != "exited":
        return HookReply(fault=f"It could not be run: {result.message}")
    if code == REFUSED:
        return HookReply(HookAnswer("deny", said), exit_code=code)
    if code != 0:
        how = result.message or f"ended with {code}"
        last = said.splitlines()[-1] if said else ""
        return HookReply(fault=f"It {how}{': ' + last if last else ''}.", exit_code=code)
    if result.dropped:
        return HookReply(fault=f"It printed more than {MAX_ANSWER >> 20} MiB.", exit_code=code)
    answer = read_answer(result.output)
    if isinstance(answer, str):
        return HookReply(fault=f"What it printed is no answer: {answer}.", exit_code=code)
    return HookReply(answer, exit_code=code)


def read_answer(printed: bytes) -> HookAnswer | str:
    """The answer that was printed; or why it is none. Nothing printed says nothing."""
    if not printed.strip():
        return HookAnswer()
    try:
        tree: Any = from_json(printed, allow_inf_nan=False)
    except ValueError:
        return "it is no JSON"
    if not isinstance(tree, dict):
        return "it is no JSON object"
    try:
        read = _Printed.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        return (
            f"there is no field {name!r}" if first["type"] == "extra_forbidden" else f"{name!r} is not right"
        )
    return HookAnswer(read.decision or "", read.reason, read.updated_input, read.additional_context)
