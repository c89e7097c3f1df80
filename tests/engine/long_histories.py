"""A model that works through many calls and summarises, tools with long outputs, and what is read of such a session."""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import anyio

from tests.engine.harness import MODEL, Bench, EchoTool, FakeModel, Words, call, say
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.models.provider_faults import fault
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.ports.tool import ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import (
    Compact,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextStuck,
    ContextTruncated,
)
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent

PROMPT = "You write the summary."
LIMITS = CompactionSettings(prompt=PROMPT)
ONLY_SUMMARIES = CompactionSettings(prompt=PROMPT, reduce_at=0)
ONLY_OUTPUTS = CompactionSettings(prompt=PROMPT, compact_at=0)
TASK = "Port the parser to the new grammar."
RULE = "Never touch the files below vendor/."
WINDOW_CHARS = 40_000
TITLED = " of the shop and its carts, with all their rates and discounts"


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
    await until(lambda: not bench.engine._turns.is_running)


async def compact(bench: Bench, focus: str = "", count: int = 1) -> Envelope:
    bench.submit(Compact(focus=focus))
    event = await bench.until("context.compacted", count)
    await rests(bench)
    return event


def compactions(bench: Bench) -> list[ContextCompacted]:
    return bench.of(ContextCompacted)


def stuck(bench: Bench) -> list[ContextStuck]:
    return bench.of(ContextStuck)


def model_of(bench: Bench, worker: Worker, window: int) -> None:
    bench.use(worker)
    model = MODEL.model_copy(update={"window": window, "max_output": 1_000})
    bench.recorder.append(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous={}))


def seen(request: ModelRequest, pattern: str) -> int:
    """How many different words of this form a request has."""
    return len(set(re.findall(pattern, of(request))))


def task_of(count: int) -> str:
    return "Do all of this.\n" + "\n".join(f"REQ_{at}_ the requirement {at}{TITLED}" for at in range(count))


def manifests(bench: Bench) -> list[ContextPacked]:
    return bench.of(ContextPacked)


def cuts(bench: Bench) -> list[ContextTruncated]:
    return bench.of(ContextTruncated)


class Small(Worker):
    """A provider that refuses what is longer than `most` characters, and says nothing of its window. What it is asked
    stands in `took` and `refused`."""

    def __init__(self, most: int, answers: list[object]) -> None:
        super().__init__(answers)
        self.most = most
        self.took = list[ModelRequest]()
        self.refused = list[int]()

    def fault(self) -> object:
        return [fault("overflow", "The request is too long.")]

    def stream(self, request: ModelRequest) -> object:
        size = len(request.system) + len(of(request)) + len(str(request.tools))
        if size > self.most:
            self.refused.append(size)
            self.work.insert(0, self.fault())
        elif request.system != PROMPT:
            self.took.append(request)
        return super().stream(request)
