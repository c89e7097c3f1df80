"""The interface to agents' programs, and the events read from their output."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.parts import ModelPart, Usage
from tui_agent.protocol.settings import Effort, PolicyName
from tui_agent.protocol.stored_text import JsonMap


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """The session settings for a program."""

    model: str
    effort: Effort | None
    policy: PolicyName


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """An answer of the program's model. The calls in the answer have the program's own ids."""

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
    """The program's own message about why the task failed."""

    message: str


ProgramEvent: TypeAlias = ProgramAnswer | CallResult | ProgramFault


class AgentProgram(Protocol):
    """A program that reads a task from standard input, and prints one JSON object per line.

    `memory`: data to continue a conversation; empty before the first task.
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
        """Yield the events in one line of the output.

        Raise `LookupError`, `TypeError` or `ValueError` for a line of an unexpected form.
        """
        ...

    def finish(self) -> Iterator[ProgramEvent]:
        """Yield the events of an answer that is still incomplete when the output ends."""
        ...


def text_of(value: object) -> str:
    """Return `value` if it is a `str`, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def count_of(values: JsonMap, name: str) -> int:
    """Return the number of tokens under `name` in `values`; 0 if there is none."""
    value = values.get(name)
    return value if isinstance(value, int) else 0
