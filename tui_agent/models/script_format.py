"""The file format of scripted models: YAML for authors, checked when it is read.

Invariant: a script that does not fit the format is refused with its file and the place in it; see
docs/scripted-models.md.
"""

from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tui_agent.config.files import read_small
from tui_agent.errors import ConfigError
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.model import FaultKind, FinishReason

Words: TypeAlias = str | tuple[str, ...]
"""One substring, or several that must all be there."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ExpectResult(_Entry):
    """What the last tool results must hold: one of this name, with these words, with this outcome."""

    name: str = ""
    contains: Words = ()
    ok: bool | None = None


class Expect(_Entry):
    """What must have come before an answer. Words are compared without regard to case."""

    last_user: Words = ()
    system: Words = ()
    tool_result: ExpectResult | None = None
    tool_results: int | None = None
    tools: tuple[str, ...] = ()


class ScriptedCall(_Entry):
    """A tool call: `{name: …, arguments: {…}}`, or short `{TOOL: {…}}`. `raw` sends arguments as they stand."""

    name: str
    arguments: JsonMap = Field(default_factory=dict)
    raw: str | None = None
    id: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, dict) and "name" not in given and len(given) == 1:
            name, arguments = next(iter(given.items()))
            if isinstance(arguments, str):
                return {"name": name, "raw": arguments}
            return {"name": name, "arguments": arguments or {}}
        return given


class ScriptedFault(_Entry):
    """A failure of one attempt. `after`: characters of the answer that come first."""

    kind: FaultKind
    message: str = "a scripted fault"
    retry_after: float | None = None
    status: int | None = None
    after: int = 0


class ScriptedUsage(_Entry):
    """Token counts of an answer; absent, they are estimated."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


class ScriptedAnswer(_Entry):
    """One answer: reasoning, then text, then calls. `faults` happen first, one an attempt."""

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


class Match(_Entry):
    """Which conversation a list of answers is for; every word given must be found."""

    first_user: Words = ()
    system: Words = ()


class Conversation(_Entry):
    """The answers of another conversation than the main one: a delegate's, a summary's."""

    match: Match
    answers: tuple[ScriptedAnswer, ...]


class Script(_Entry):
    """A whole script. `pace` is in characters a second (0: at once)."""

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
    def _repeated(cls, given: Any) -> Any:
        if isinstance(given, list):
            return {"answers": given}
        return given


def read(path: Path) -> Script:
    """A script file. Raises `ConfigError` naming the file, the place, and what is wrong."""
    text = read_small(path)
    if text is None:
        raise ConfigError(
            f"There is no script {path}.", hint="Give the path of a scripted model's YAML file."
        )
    return parse(text, str(path))


def parse(text: str, name: str = "script") -> Script:
    """A script's text. Raises `ConfigError`."""
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name} is no valid YAML: {error}", hint="Correct that line.") from error
    try:
        return Script.model_validate(tree)
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"]) or "the file"
        raise ConfigError(
            f"{name}, at {place}: {found['msg']}.", hint="docs/scripted-models.md describes the format."
        ) from error


def unrolled(answers: tuple[ScriptedAnswer, ...]) -> list[ScriptedAnswer]:
    """The answers in order, each as often as it is repeated."""
    return [answer for answer in answers for _ in range(answer.repeat)]
