"""A model that works through many calls and summarises, tools with long outputs, and what is read of such a session."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import anyio

from tests.engine.harness import Bench, EchoTool, FakeModel, Words, call, say
from tui_agent.context.shrinking import Shrinking
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.ports.tool import ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import (
    Compact,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextStuck,
)
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent

PROMPT = "You write the summary."
LIMITS = Shrinking(prompt=PROMPT)
ONLY_SUMMARIES = Shrinking(prompt=PROMPT, reduce_at=0)
ONLY_OUTPUTS = Shrinking(prompt=PROMPT, compact_at=0)
TASK = "Port the parser to the new grammar."
RULE = "Never touch the files below vendor/."
WINDOW_CHARS = 40_000


class Output(EchoTool):
    """Gives so many characters back."""

    spec: ClassVar[ToolSpec]  # type: ignore[misc]

    def __init__(self, chars: int = 2_000) -> None:
        super().__init__("output")
        self.chars = chars

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        text = f"output of {args.words}: " + "word " * (self.chars // 5)
        return ToolResult(ok=True, content=(TextContent(text=text),))


class Worker(FakeModel):
    """Works through its answers; what it is to summarise it summarises, as `summary` says."""

    def __init__(
        self, answers: Sequence[object], summary: Callable[[int], list[ModelChunk]] | None = None
    ) -> None:
        super().__init__([])
        self.work = list(answers)
        self.summary = summary or (lambda number: say(f"Story {number}: half is ported."))
        self.summaries: list[ModelRequest] = []

    def stream(self, request: ModelRequest) -> object:  # type: ignore[override]
        if request.system == PROMPT:
            self.summaries.append(request)
            self.answers = [self.summary(len(self.summaries))]
        else:
            self.answers = [self.work.pop(0)] if self.work else []
        return super().stream(request)

    @property
    def asked(self) -> list[ModelRequest]:
        return [one for one in self.requests if one.system != PROMPT]


def work(count: int) -> list[object]:
    return [call(("output", f'{{"words":"call {at}"}}'), text=f"Now {at}.") for at in range(count)]


def words(message: Message) -> str:
    match message:
        case SummaryMessage(text=text):
            return str(text)
        case UserMessage(content=content) | ToolMessage(content=content):
            return " ".join(str(one.text) for one in content if isinstance(one, TextContent))
        case _:
            return ""


def of(request: ModelRequest) -> str:
    return "\n".join(map(words, request.messages))


async def turn(bench: Bench, text: str, count: int = 1) -> None:
    bench.submit(SubmitPrompt(text=text))
    await bench.until("turn.finished", count)


async def until(condition: Callable[[], object]) -> None:
    """Wait beside whoever waits for events."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def rests(bench: Bench) -> None:
    """Wait until nothing runs."""
    await until(lambda: not bench.engine._turns.running)


async def compact(bench: Bench, focus: str = "", count: int = 1) -> Envelope:
    bench.submit(Compact(focus=focus))
    event = await bench.until("context.compacted", count)
    await rests(bench)
    return event


def compactions(bench: Bench) -> list[ContextCompacted]:
    return [one for one in bench.of(ContextCompacted) if isinstance(one, ContextCompacted)]


def stuck(bench: Bench) -> list[ContextStuck]:
    return [one for one in bench.of(ContextStuck) if isinstance(one, ContextStuck)]
