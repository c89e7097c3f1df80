"""The output of an agent's program, as the session records it, and the interface to the programs."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import Effort, PolicyName


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """The session's settings that a program gets. An empty `model` means the model of the program's own settings."""

    model: str
    effort: Effort | None
    policy: PolicyName


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """An answer of the program's model. The ids of its calls are the program's own; `parts` may be empty."""

    parts: tuple[ModelPart, ...]
    usage: Usage = Usage()
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call that the program ran itself."""

    call_id: str
    ok: bool
    output: str


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """The reason why the program could not do its task, as it said itself."""

    message: str


ProgramEvent: TypeAlias = ProgramAnswer | CallResult | ProgramFault


class AgentProgram(Protocol):
    """A program that works on a task and prints a JSON object per line. It gets the task on its standard input.

    `memory` is what it must know to continue the conversation after the first task: the value that it had at the end of
    the task before, or an empty one.
    """

    memory: JsonMap

    @property
    def program(self) -> str:
        """The name of the executable."""
        ...

    def command(self, request: ProgramRequest) -> tuple[str, ...]:
        """Return the command line that starts the conversation, or continues it after the first task."""
        ...

    def read(self, line: JsonMap) -> Iterator[ProgramEvent]:
        """Yield what one line of the output says. Raises `LookupError`, `TypeError`, `ValueError` for other lines."""
        ...

    def finish(self) -> Iterator[ProgramEvent]:
        """Yield what the program printed of an answer that it did not end."""
        ...


def text_of(value: object) -> str:
    """Return a text, or an empty one for any other value."""
    return value if isinstance(value, str) else ""


def count_of(values: JsonMap, name: str) -> int:
    """Return a count of tokens; 0 if it is missing."""
    value = values.get(name)
    return value if isinstance(value, int) else 0
