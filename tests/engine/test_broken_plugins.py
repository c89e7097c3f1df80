"""A plugin's tool that raises anything, anywhere, fails its own call by name; the turn and the session go on."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from tests.engine.harness import EchoTool, Words, allow, ask, call, running, say
from tui_agent.engine.plugins.wrappers import GuardedAgent, GuardedMiddleware
from tui_agent.errors import ToolError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_api import BaseMiddleware, Fragment, TurnContext, tool
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.plugin_host.registered_objects import OfferedListener
from tui_agent.ports.agent import Action, AskModel
from tui_agent.ports.environment import Environment
from tui_agent.ports.middleware import ToolNext
from tui_agent.ports.model import ModelNext, ModelReply, ModelRequest, TextChunk
from tui_agent.ports.tool import Preview, ToolContext, ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect, InternalEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.plugin import PluginEvent, PluginFailed
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.wiring.extensions import build_listeners


class Unprintable(BaseException):
    """An error whose text cannot be computed."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class UnprintableExit(BaseException):
    """An error whose text ends the program."""

    def __str__(self) -> str:
        raise SystemExit(3)


ERRORS: list[Callable[[], BaseException]] = [
    lambda: ValueError("boom"),
    lambda: SystemExit(3),
    lambda: KeyboardInterrupt(),
    lambda: asyncio.CancelledError("not a real one"),
    lambda: GeneratorExit(),
    lambda: Unprintable(),
    lambda: UnprintableExit(),
]


class BrokenTool(EchoTool):
    """Raises an error in one of its methods."""

    def __init__(self, where: str, make: Callable[[], BaseException]) -> None:
        super().__init__()
        self.where, self.make = where, make

    def _break(self, where: str) -> None:
        if where == self.where:
            raise self.make()

    def target(self, args: Words) -> str:
        self._break("target")
        return "x"

    def effects(self, args: Words) -> tuple[Effect, ...]:
        self._break("effects")
        return super().effects(args)

    async def settle_arguments(self, args: Any, env: Environment) -> Words:
        self._break("settle_arguments")
        return args  # type: ignore[no-any-return]

    async def predict_failure(self, args: Any, env: Environment, state: object) -> None:
        self._break("predict_failure")

    async def preview(self, args: Words, env: Environment) -> Preview:
        self._break("preview")
        return await super().preview(args, env)

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        self._break("run")
        return await super().run(args, ctx)


@pytest.mark.parametrize("make", ERRORS, ids=lambda make: type(make()).__name__)
@pytest.mark.parametrize("where", ["target", "effects", "settle_arguments", "run"])
async def test_any_error_of_a_tool_fails_its_call_and_names_the_plugin(
    tmp_path: Path, where: str, make: Callable[[], BaseException]
) -> None:
    await expect_named(tmp_path, BrokenTool(where, make), f"`{where}`", type(make()).__name__)


@pytest.mark.parametrize("make", [*ERRORS, StopIteration], ids=lambda make: type(make()).__name__)
async def test_any_error_of_a_function_in_a_thread_fails_its_call(
    tmp_path: Path, make: Callable[[], BaseException]
) -> None:
    @tool(internal="nothing")
    def broken() -> str:
        """Fail."""
        raise make()

    async with running(tmp_path, [call(("broken", "{}")), say("I see.")], [broken]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
    (result,) = bench.results()
    assert (end.reason, result.status) == ("finished", "failed")
    assert "The tool broken (plugin test), in `run`, failed: " in str(result.content)


@pytest.mark.parametrize("where", ["predict_failure", "preview"])
async def test_an_error_before_the_question_fails_the_call_unasked(tmp_path: Path, where: str) -> None:
    tool = BrokenTool(where, lambda: SystemExit(1))
    await expect_named(tmp_path, tool, f"`{where}`", "SystemExit", asking=True)


class OddResult(EchoTool):
    """Returns what is no valid result."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        return self.result  # type: ignore[return-value]


TEXT = (TextContent(text="done"),)
LARGE_EVENT = PluginEvent(plugin="test", name="n", version=1, data={"x": "y" * 65_536})
SMALL_EVENT = PluginEvent(plugin="test", name="n", version=1, data={})
HALF_EVENT = PluginEvent(plugin="test", name="n", version=1, data={"x": "y" * 32_768})
EVENT_OF_ANOTHER = PluginEvent(plugin="todo", name="state", version=1, data={})


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "NoneType"),
        ("done", "str"),
        (ToolResult(ok=True, content=TEXT, data={"x": object()}), "data"),  # type: ignore[dict-item]
        (ToolResult(ok=True, content=("done",)), "content"),  # type: ignore[arg-type]
        (ToolResult(ok=True, content=TEXT, display=(3,)), "display"),  # type: ignore[arg-type]
        (ToolResult(ok=True, content=TEXT, events=("x",)), "must be an event"),  # type: ignore[arg-type]
        (
            ToolResult(ok=True, content=TEXT, events=(TurnFinished(turn=1, reason="finished"),)),
            "turn.finished",
        ),
        (
            ToolResult(ok=True, content=TEXT, events=(LARGE_EVENT,)),
            "66 KB",
        ),
        (ToolResult(ok=True, content=TEXT, events=(EVENT_OF_ANOTHER,)), "an event of the plugin todo"),
        (ToolResult(ok=True, content=TEXT, events=(SMALL_EVENT,) * 101), "at most 100 events"),
        (ToolResult(ok=True, content=TEXT, events=(HALF_EVENT,) * 33), "larger than 1 MB"),
    ],
    ids=[
        "none",
        "text",
        "data",
        "content",
        "display",
        "events",
        "foreign-event",
        "large-event",
        "of-another",
        "many-events",
        "large-events",
    ],
)
async def test_an_odd_result_fails_its_call_and_says_what_is_wrong(
    tmp_path: Path, result: object, words: str
) -> None:
    await expect_named(tmp_path, OddResult(result), words)


class SpinningArgs(Words):
    @field_validator("words")
    @classmethod
    def check(cls, words: str) -> str:
        raise SystemExit(4)


async def test_arguments_whose_check_ends_the_program_fail_the_call_and_name_the_plugin_in_its_row(
    tmp_path: Path,
) -> None:
    tool = EchoTool()
    tool.spec = replace(tool.spec, args=SpinningArgs)  # type: ignore[misc]
    answers = [call(("echo", '{"words": "x"}')), say("Done.")]
    async with running(tmp_path, answers, [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.results()
    assert end.status == "failed" and tool.ran == []
    assert end.summary == "The tool echo (plugin test), in `SpinningArgs`, failed: SystemExit: 4"


class OddEffects(EchoTool):
    def __init__(self, effects: object) -> None:
        super().__init__()
        self.wrong = effects

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return self.wrong  # type: ignore[return-value]


@pytest.mark.parametrize("effects", [None, "reads", ("reads",), [InternalEffect(subject="x"), 3]])
async def test_effects_of_a_wrong_type_fail_the_call(tmp_path: Path, effects: object) -> None:
    await expect_named(tmp_path, OddEffects(effects), "`effects`")


async def expect_named(tmp_path: Path, tool: EchoTool, *words: str, asking: bool = False) -> None:
    answers = [call(("echo", "{}"), ("other", "{}")), say("I see.")]
    other = EchoTool("other")
    async with running(tmp_path, answers, [tool, other], policy=ask if asking else allow) as bench:
        bench.submit(SubmitPrompt(text="go"))
        if asking:
            request = await bench.until_payload(PermissionRequested)
            assert request.tool == "other"
            bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach="once"))
        end = await bench.until_payload(TurnFinished)
    broken, fine = bench.results()
    assert broken.status == "failed" and fine.status == "ok"
    said = str(broken.content)
    assert "The tool echo (plugin test)" in said, said
    assert all(word in said for word in words), said
    (raised,) = bench.of(ErrorRaised)
    assert raised.where == "tool echo"
    assert end.reason == "finished"


class BrokenMiddleware(BaseMiddleware):
    """Raises an error in one of its methods, before or after the call that it wraps."""

    name = "broken"

    def __init__(self, where: str, make: Callable[[], BaseException], *, after: bool = False) -> None:
        self.where, self.make, self.after = where, make, after
        self.calls = 0

    def _break(self, where: str) -> None:
        self.calls += where == self.where
        if where == self.where:
            raise self.make()

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        self._break("contribute")
        return ()

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        if not self.after:
            self._break("wrap_model")
        reply = await call_next(request)
        self._break("wrap_model")
        return reply

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        if not self.after:
            self._break("wrap_tool")
        result = await call_next(call)
        self._break("wrap_tool")
        return result

    async def on_turn_start(self, turn: TurnContext) -> None:
        self._break("on_turn_start")

    async def on_turn_end(self, turn: TurnContext) -> None:
        self._break("on_turn_end")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("make", ERRORS[:4], ids=lambda make: type(make()).__name__)
@pytest.mark.parametrize("where", ["contribute", "wrap_model", "wrap_tool", "on_turn_start", "on_turn_end"])
async def test_a_middleware_that_fails_is_named_and_left_out(
    tmp_path: Path, where: str, make: Callable[[], BaseException], after: bool
) -> None:
    broken = BrokenMiddleware(where, make, after=after)
    echo = EchoTool()
    answers = [call(("echo", "{}")), say("Done."), say("Again.")]
    guarded = lambda recorder: GuardedMiddleware("mine", broken, recorder.append)  # noqa: E731
    async with running(tmp_path, answers, [echo], middlewares=[guarded]) as bench:
        for count in (1, 2):
            bench.submit(SubmitPrompt(text="go"))
            end = await bench.until_payload(TurnFinished, count)
            assert end.reason == "finished"
        assert len(bench.model.requests) == 3  # the request that it wrapped is not sent again
    (failed,) = bench.of(PluginFailed)
    assert failed.title == f"middleware {broken.name} of the plugin mine"
    assert f"`{where}`" in failed.message and type(make()).__name__ in failed.message
    assert broken.calls == 1 and len(echo.ran) == 1
    (result,) = bench.results()
    assert result.status == "ok"


async def test_a_middleware_may_refuse_a_call(tmp_path: Path) -> None:
    class Refusing(BaseMiddleware):
        name = "refusing"

        async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
            raise ToolError("Not today.")

    guarded = lambda recorder: GuardedMiddleware("mine", Refusing(), recorder.append)  # noqa: E731
    async with running(
        tmp_path, [call(("echo", "{}")), say("I see.")], [EchoTool()], middlewares=[guarded]
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    (result,) = bench.results()
    assert result.status == "failed" and "Not today." in str(result.content)
    assert bench.of(PluginFailed) == []


@pytest.mark.parametrize("event", [TurnFinished(turn=1, reason="finished"), LARGE_EVENT])
async def test_a_middleware_cannot_record_what_only_the_engine_records(
    tmp_path: Path, event: Payload
) -> None:
    class Emitting(BaseMiddleware):
        name = "emitting"

        async def on_turn_start(self, turn: TurnContext) -> None:
            turn.emit(event)

    guarded = lambda recorder: GuardedMiddleware("mine", Emitting(), recorder.append)  # noqa: E731
    async with running(tmp_path, [say("Hi.")], middlewares=[guarded]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert len(bench.of(PluginFailed)) == 1 and bench.kinds().count("turn.finished") == 1


class BrokenAgent:
    name = "broken"

    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    async def step(self, state: SessionStateView, ask: AskModel) -> Action:
        return self.answer()  # type: ignore[return-value]


def _raise(error: BaseException) -> object:
    raise error


@pytest.mark.parametrize(
    ("answer", "words"),
    [(partial(_raise, make()), type(make()).__name__) for make in ERRORS[:4]] + [(lambda: None, "NoneType")],
)
async def test_an_agent_that_fails_is_named_and_the_session_goes_on(
    tmp_path: Path, answer: Callable[[], object], words: str
) -> None:
    make = partial(GuardedAgent, "mine", "broken", lambda: BrokenAgent(answer))
    async with running(tmp_path, [], agents={"default": make}) as bench:
        for count in (1, 2):
            bench.submit(SubmitPrompt(text="go"))
            end = await bench.until_payload(TurnFinished, count)
            assert end.reason == "error"
            assert end.detail.startswith("The agent broken (plugin mine)") and words in end.detail


@pytest.mark.parametrize("make", ERRORS[:4], ids=lambda make: type(make()).__name__)
async def test_a_model_client_that_fails_is_named_and_the_session_goes_on(
    tmp_path: Path, make: Callable[[], BaseException]
) -> None:
    async def break_off() -> None:
        raise make()

    async with running(tmp_path, [[TextChunk("Half an"), break_off], say("Whole.")]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished)
        assert end.reason == "model_error"
        assert end.detail.startswith("The client of the model provider fake failed: ")
        assert type(make()).__name__ in end.detail
        bench.submit(SubmitPrompt(text="go"))
        end = await bench.until_payload(TurnFinished, 2)
        assert end.reason == "finished"
    (failed,) = bench.of(ModelFailed)
    assert (failed.fault, failed.partial) == ("client", "Half an")


async def test_a_listener_that_fails_is_named_and_not_called_again(tmp_path: Path) -> None:
    called: list[str] = []

    def broken(event: Envelope) -> None:
        called.append("broken")
        raise SystemExit(1)

    def fine(event: Envelope) -> None:
        called.append(event.payload.kind)

    loaded = LoadedPlugins()
    loaded.listeners += [OfferedListener("mine", "turn.started", broken), OfferedListener("good", "*", fine)]
    async with running(tmp_path, [say("Hi."), say("Hi.")]) as bench:
        bench.recorder.listeners = (
            *bench.recorder.listeners,
            *build_listeners(loaded, bench.recorder.append),
        )
        for count in (1, 2):
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    (failed,) = bench.of(PluginFailed)
    assert failed.title == "listener for turn.started of the plugin mine"
    assert failed.message == "It failed: SystemExit: 1. It is not called again in this session."
    assert called.count("broken") == 1 and called.count("turn.started") == 2
    assert called.index("plugin.failed") == called.index("turn.started") + 1
