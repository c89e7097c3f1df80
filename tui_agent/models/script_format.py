"""File format of scripted models: YAML, validated when it is read (see docs/scripted-models.md).

Invariant: an invalid script is rejected with its file and the position of the error.
"""

from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import Field, ValidationError, model_validator

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.protocol.events.model import FaultKind, FinishReason
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.stored_text import JsonMap

Words: TypeAlias = str | tuple[str, ...]
"""Substrings that must all occur in a text. A single substring can be given without a list."""


class ExpectResult(FrozenModel):
    """A tool result that must occur: the tool's name, words in the result, and the outcome. Omitted fields match
    everything."""

    name: str = ""
    contains: Words = ()
    ok: bool | None = None


class Expect(FrozenModel):
    """Conditions on the conversation before an answer. Texts are compared without regard to case.

    - `last_user`: words in the user's last message.
    - `system`: words in the system prompt.
    - `tool_result`: a result that must have arrived since the last answer.
    - `tool_results`: the number of results since the last answer.
    - `tools`: names of tools that the model must be able to call.
    """

    last_user: Words = ()
    system: Words = ()
    tool_result: ExpectResult | None = None
    tool_results: int | None = None
    tools: tuple[str, ...] = ()


class ScriptedCall(FrozenModel):
    """A tool call: `{name: …, arguments: {…}}` or, in short, `{TOOL: {…}}`.

    `raw`: text to send instead of `arguments`, for example invalid JSON.
    """

    name: str
    arguments: JsonMap = Field(default_factory=dict)
    raw: str | None = None
    id: str = ""

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, value: Any) -> Any:
        if isinstance(value, dict) and "name" not in value and len(value) == 1:
            name, arguments = next(iter(value.items()))
            if isinstance(arguments, str):
                return {"name": name, "raw": arguments}
            return {"name": name, "arguments": arguments or {}}
        return value


class ScriptedFault(FrozenModel):
    """A failure of one attempt to send a request.

    `after`: number of characters of the answer before the failure.
    """

    kind: FaultKind
    message: str = "a scripted fault"
    retry_after: float | None = None
    status: int | None = None
    after: int = 0


class ScriptedUsage(FrozenModel):
    """Token counts of an answer. Omitted counts are estimated."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


class ScriptedAnswer(FrozenModel):
    """One answer: reasoning, then text, then calls.

    - `faults`: failures of the first attempts, in order.
    - `pace`: characters per second (None: the pace of the script).
    - `delay`: seconds before the first character.
    - `repeat`: number of times that the answer is given.
    """

    expect: Expect | None = None
    reasoning: str = ""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    faults: tuple[ScriptedFault, ...] = ()
    finish: FinishReason | None = None
    usage: ScriptedUsage | None = None
    pace: float | None = Field(None, ge=0)
    delay: float = Field(0.0, ge=0)
    repeat: int = Field(1, ge=1, le=100_000)


class Match(FrozenModel):
    """Conditions that select a conversation; all given words must occur."""

    first_user: Words = ()
    system: Words = ()


class Conversation(FrozenModel):
    """The answers of another conversation, for example of a delegate or a summary."""

    match: Match
    answers: tuple[ScriptedAnswer, ...]


class Script(FrozenModel):
    """A whole script.

    `pace`: characters per second; 0 for no delay.
    """

    name: str = ""
    description: str = ""
    prompt: str = ""
    window: int = 200_000
    max_output: int = 16_384
    images: bool = True
    pace: float = Field(0.0, ge=0)
    input_price: float | None = None
    output_price: float | None = None
    answers: tuple[ScriptedAnswer, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _accept_list(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"answers": value}
        return value


def read_script(path: Path) -> Script:
    """Read a script file. Raise `ConfigError` with the file, the position and the problem."""
    text = read_small(path)
    if text is None:
        raise ConfigError(f"Script not found: {path}.", hint="Give the path of a scripted model's YAML file.")
    return parse_script(text, str(path))


def parse_script(text: str, name: str = "script") -> Script:
    """Parse a script. Raise `ConfigError` if the script is not valid."""
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name} is not valid YAML: {error}", hint="Correct that line.") from error
    try:
        return Script.model_validate(tree)
    except ValidationError as error:
        first_error = error.errors()[0]
        place = ".".join(str(part) for part in first_error["loc"]) or "the file"
        raise ConfigError(
            f"{name}, at {place}: {first_error['msg']}.",
            hint="The format is described in docs/scripted-models.md.",
        ) from error


def repeat_answers(answers: tuple[ScriptedAnswer, ...]) -> list[ScriptedAnswer]:
    """Return the answers in order, each as many times as its `repeat` says."""
    return [answer for answer in answers for _ in range(answer.repeat)]
