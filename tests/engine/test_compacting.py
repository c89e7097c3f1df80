"""A history that outgrows the window: put away, summarised, never lost, and legal wherever it is stopped."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import anyio

from tests.engine.harness import Bench, EchoTool, FakeModel, Words, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.context.shrinking import Shrinking
from tui_agent.context.summary import STORY, TITLE
from tui_agent.engine.compacting import NO_WAY_ON
from tui_agent.folds.forgotten import REDUCED
from tui_agent.folds.ledger import Ledger
from tui_agent.models.faults import fault
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.model import Finished, ModelChunk, ModelRequest, TextChunk, ToolCallChunk
from tui_agent.ports.tool import ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.commands import (
    Compact,
    Interrupt,
    PinContext,
    RestoreContext,
    Steer,
    SubmitPrompt,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextStuck,
)
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.session import CommandRejected, SettingsChanged
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage, check_pairs
from tui_agent.protocol.parts import TextContent
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.sessions import SessionStore

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


async def test_a_turn_of_seventy_iterations_keeps_its_task_rules_and_todos(tmp_path: Path) -> None:
    todos = '{"todos":[{"content":"Port the lexer","status":"in_progress"}]}'
    model = Worker([call(("write_todos", todos)), *work(70), say("All done.")])
    tools = [Output(), tools_of("todo")["write_todos"]]
    async with running(tmp_path, [], tools, shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, f"{TASK} {RULE}")
        assert bench.recorder.state.last_turn_end == "finished"
        made = compactions(bench)
        assert len(made) >= 3 and len(model.asked) == 72
        for request in model.asked:
            assert not check_pairs(request.messages)
            assert sum(len(words(one)) for one in request.messages) < WINDOW_CHARS
            assert TASK in of(request) and RULE in of(request)
        last = words(model.asked[-1].messages[0])
        assert last.startswith(TITLE) and "Port the lexer" in last
        assert f"Story {len(made)}" in last and last.count("Story ") == 1 and last.count(STORY) == 1
        assert all(one.after_tokens < one.before_tokens * 0.9 for one in made)
        sizes = [len(str(one.summary)) for one in made]
        assert max(sizes) < 3 * min(sizes)
        marked = [one for one in bench.of(ModelRequested) if one.purpose == "compaction"]  # type: ignore[attr-defined]
        assert len(marked) == len(made) == len(model.summaries)
        for request in model.summaries:
            assert not request.tools and len(of(request)) < WINDOW_CHARS * 0.95


async def test_old_outputs_are_put_away_first_in_few_big_portions(tmp_path: Path) -> None:
    model = Worker([*work(20), say("done")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(model)
        await turn(bench, TASK)
        reduced = [one for one in bench.of(ContextReduced) if isinstance(one, ContextReduced)]
        assert 1 <= len(reduced) <= 3 and not compactions(bench) and not model.summaries
        first = reduced[0]
        assert first.after_tokens <= first.before_tokens - 1_000
        last = [one for one in model.asked[-1].messages if isinstance(one, ToolMessage)]
        away = [one for one in last if words(one).startswith(REDUCED)]
        assert away == last[: len(away)] and "output of call 19" in words(last[-1])
        artifact = first.artifacts[0]
        assert bench.recorder.state.artifacts[artifact.id].sha256 == artifact.sha256
        whole = (tmp_path / "sessions/ses_test" / artifact.path).read_text()
        assert whole.startswith("output of call 0") and artifact.id in words(away[0])
        assert not check_pairs(model.asked[-1].messages)


async def test_what_was_shortened_or_read_of_an_artifact_is_put_away_under_that_artifact(
    tmp_path: Path,
) -> None:
    whole = "output of call 0: " + "word " * 1_600
    held = f"art_{hashlib.sha256(whole.encode()).hexdigest()[:12]}"
    reads = call(("read_artifact", f'{{"artifact_id":"{held}"}}'))
    model = Worker([*work(1), reads, *work(8), say("done")])
    tools = [Output(8_000), tools_of("artifacts")["read_artifact"]]
    async with running(tmp_path, [], tools, shrinking=ONLY_OUTPUTS) as bench:
        bench.use(model)
        await turn(bench, TASK)
        reduced = [one for one in bench.of(ContextReduced) if isinstance(one, ContextReduced)]
        away = [one for event in reduced for one in event.artifacts]
        assert [one.id for one in away[:2]] == [held, held] and away[0].size == len(whole)
        assert {one.tool for one in away} == {"output"} and {one.size for one in away} == {len(whole)}


async def test_a_compaction_by_command_dwells_on_its_focus_and_can_be_taken_back(tmp_path: Path) -> None:
    model = Worker([*work(4), say("ok"), say("second"), say("third")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(model)
        await turn(bench, TASK)
        await turn(bench, "And the docs.", 2)
        before = bench.recorder.messages()
        event = await compact(bench, "the lexer")
        assert "the lexer" in of(model.summaries[0])
        (made,) = compactions(bench)
        assert made.by == "user" and made.focus == "the lexer" and made.request_id is not None
        assert "Story 1" in str(made.summary) and not made.fault
        assert len(bench.recorder.messages()) < len(before)
        bench.submit(RestoreContext(compaction=event.seq))
        await bench.until("context.restored")
        assert bench.recorder.messages() == before
        await turn(bench, "go on", 3)
        assert not check_pairs(bench.recorder.messages())


async def test_after_a_summary_the_meter_holds_what_the_next_request_will(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), say("again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        sent = [one for one in bench.of(ContextPacked) if isinstance(one, ContextPacked)]
        await compact(bench)
        (made,) = compactions(bench)
        held = bench.recorder.meter
        assert held.used == made.after_tokens == sum(one.tokens for one in held.sections)
        assert sent[-1].total_tokens <= made.before_tokens < sent[-1].total_tokens + 50
        await turn(bench, "on", 2)
        last = [one for one in bench.of(ContextPacked) if isinstance(one, ContextPacked)][-1]
        # What was just found out is older once the user has spoken.
        tokens, measured = (
            {one.name.replace("recent_observations", "tool_results"): one.tokens for one in sections}
            for sections in (last.sections, made.sections)
        )
        assert measured.keys() <= tokens.keys() and "packed_context" in measured
        assert sum(tokens.values()) - sum(measured.values()) < 20
        assert all(tokens[name] == count for name, count in measured.items() if name != "task_contract")
        assert {one.seq for one in last.added} == {one.seq for one in bench.recorder.messages()[:-1]}


async def test_a_mentioned_file_is_neither_a_turn_nor_the_users_words(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), *work(6), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        (tmp_path / "workspace" / "notes.txt").write_text("secret recipe\n" * 20)
        await turn(bench, TASK)
        await turn(bench, "Mind @notes.txt too.", 2)
        assert "secret recipe" in of(model.asked[-1])
        await compact(bench)
        (made,) = compactions(bench)
        assert made.turns == 2
        shown = of(model.summaries[0])
        assert "USER: Mind @notes.txt too." in shown
        assert "FILES that the user's message mentions: " in shown and shown.count("USER: ") == 2
        own = str(made.summary).split("## Files")[0]
        assert "Mind @notes.txt too." in own and "secret recipe" not in own


async def test_one_message_comes_back_and_a_pin_holds_over_the_next_compaction(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), *work(6), say("again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        result = next(one for one in bench.recorder.messages() if isinstance(one, ToolMessage))
        bench.submit(PinContext(seqs=(result.seq,)))
        await compact(bench)
        assert "output of call 0" in words(bench.recorder.messages()[0])
        second = [one for one in bench.recorder.history().originals() if isinstance(one, ToolMessage)][1]
        bench.submit(RestoreContext(seqs=(second.seq,)))
        await bench.until("context.restored")
        assert "output of call 1" in words(bench.recorder.messages()[-1])
        await turn(bench, "more", 2)
        await compact(bench, count=2)
        assert "output of call 0" in words(bench.recorder.messages()[0])
        assert not check_pairs(bench.recorder.messages())


async def test_what_comes_back_moves_the_meter_at_once_and_is_no_words_of_the_users(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), say("again"), say("and again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        ledger = Ledger()
        made = await compact(bench)
        small = bench.recorder.meter
        second = [one for one in bench.recorder.history().originals() if isinstance(one, ToolMessage)][1]
        bench.submit(RestoreContext(seqs=(second.seq,)))
        event = await bench.until("context.restored")
        await rests(bench)
        held = bench.recorder.meter
        assert held.used == sum(one.tokens for one in held.sections) > small.used + 300
        for one in bench.events:
            ledger.apply(one)
        assert next(one for one in ledger.view().messages if one.seq == event.seq).who == "output"
        await turn(bench, "on", 2)
        packed = [one for one in bench.of(ContextPacked) if isinstance(one, ContextPacked)][-1]
        sent = {one.name: one.tokens for one in packed.sections}
        was = {one.name: one.tokens for one in held.sections}
        assert sent["packed_context"] == was["summaries"]
        assert sent["task_contract"] < 60 and packed.total_tokens - held.used < 20
        bench.submit(RestoreContext(compaction=made.seq))
        await bench.until("context.restored", 2)
        await rests(bench)
        assert bench.recorder.meter.used > held.used + 1_000
        await turn(bench, "on", 3)
        packed = [one for one in bench.of(ContextPacked) if isinstance(one, ContextPacked)][-1]
        assert not check_pairs(bench.recorder.messages())


async def test_a_message_sent_while_something_comes_back_goes_after_it(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), say("again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        made = await compact(bench)
        bench.submit(RestoreContext(compaction=made.seq))
        bench.submit(Steer(text="And the docs."))
        await bench.until("turn.finished", 2)
        kinds = bench.kinds()
        assert kinds.index("context.restored") < len(kinds) - kinds[::-1].index("user.message")
        assert "And the docs." in of(model.asked[-1])


async def test_a_later_run_and_a_fork_take_a_summary_back_too(tmp_path: Path) -> None:
    model = Worker([*work(5), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        before = bench.recorder.messages()
        seq = (await compact(bench)).seq
        last = bench.recorder.state.seq
    store = SessionStore(tmp_path / "sessions", SystemClock(), Redactor())
    store.fork("ses_test", last, "ses_fork")
    for session in ("ses_test", "ses_fork"):
        async with running(tmp_path, [say("ok")], session=session, shrinking=LIMITS) as bench:
            assert words(bench.recorder.messages()[0]).startswith(TITLE)
            bench.submit(RestoreContext(compaction=seq))
            await bench.until("context.restored")
            assert bench.recorder.messages() == before


async def test_a_later_run_counts_the_answers_behind_a_summary_too(tmp_path: Path) -> None:
    model = Worker([*work(5), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        await compact(bench)
    assert [one.place for one in model.asked] == list(range(6))
    again = Worker([say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(again)
        await turn(bench, "go on")
        assert again.asked[0].place == 6 and isinstance(again.asked[0].messages[0], SummaryMessage)


async def test_what_cannot_come_back_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, [say("ok")], shrinking=LIMITS) as bench:
        await turn(bench, TASK)
        for command in (RestoreContext(seqs=(99_999,)), RestoreContext(compaction=3), RestoreContext()):
            bench.submit(command)
        await bench.until("command.rejected", 3)
        bench.submit(Compact())
        event = await bench.until("context.stuck")
        assert "Nothing older" in event.payload.message  # type: ignore[union-attr]


BAD = {
    "empty": lambda number: say("  "),
    "refused": lambda number: [TextChunk("No."), Finished("refusal")],
    "cut": lambda number: [TextChunk("So long"), Finished("length")],
    "too long": lambda number: say("very long " * 5_000),
    "a call": lambda number: [ToolCallChunk(0, "x1", "output", "{}"), Finished("tool_calls")],
    "a fault": lambda number: [fault("auth", "no key")],
    "overflow": lambda number: [fault("overflow", "too long")],
}


async def test_a_summary_that_fails_is_made_of_the_record_and_costs_no_turn(tmp_path: Path) -> None:
    for name, answer in BAD.items():
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        model = Worker([*work(60), say("done")], answer)  # type: ignore[arg-type]
        async with running(folder, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
            bench.use(model)
            await turn(bench, f"{TASK} {RULE}")
            assert bench.recorder.state.last_turn_end == "finished", name
            made = compactions(bench)
            assert len(made) >= 3 and all(one.fault for one in made), name
            assert len(model.summaries) == (4 if name == "empty" else 2), (
                name
            )  # an empty answer is asked for again
            assert TASK in of(model.asked[-1]) and "Called output" in of(model.asked[-1]), name
            assert [one.automatic for one in stuck(bench)] == [True], name
            assert all(not check_pairs(one.messages) for one in model.asked), name
            assert not bench.recorder.state.open_calls and not bench.recorder.state.open_requests


async def test_a_compaction_that_frees_nothing_is_not_tried_again_in_the_turn(tmp_path: Path) -> None:
    model = Worker([*work(4), say("ok"), *work(2), say("done")])
    async with running(tmp_path, [], [Output(300)], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, "x" * 35_500)
        assert len(model.summaries) <= 1
        assert stuck(bench) and stuck(bench)[0].hint == NO_WAY_ON


async def test_an_overflow_is_answered_by_a_compaction_once(tmp_path: Path) -> None:
    over = [fault("overflow", "The request is too long.")]
    model = Worker([*work(8), over, say("done")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        assert [one.by for one in compactions(bench)] == ["overflow"]
        assert bench.recorder.state.last_turn_end == "finished"
    model = Worker([over, over, over])
    async with running(tmp_path, [], [Output()], session="ses_second", shrinking=LIMITS) as bench:
        bench.use(model)
        await turn(bench, "word " * 10_000)
        assert bench.recorder.state.last_turn_end == "finished" and len(model.asked) == 4
        sizes = [len(of(one)) for one in model.asked]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] / 2
        assert not check_pairs(bench.recorder.messages())


async def test_after_an_overflow_the_record_says_what_was_counted_not_the_window(tmp_path: Path) -> None:
    over = [fault("overflow", "The request is too long.")]
    for at, limits in enumerate((LIMITS, ONLY_SUMMARIES)):
        model = Worker([*work(5), over, say("done")])
        async with running(tmp_path, [], [Output()], session=f"ses_{at}", shrinking=limits) as bench:
            bench.use(model)
            await turn(bench, TASK)
            told = [one.payload for one in bench.events]
            made = [one for one in told if isinstance(one, ContextReduced | ContextCompacted)]
            sent = [one.total_tokens for one in told if isinstance(one, ContextPacked)]
            assert abs(made[0].before_tokens - sent[5]) < 10
            assert abs(made[-1].after_tokens - sent[-1]) <= sent[-1] * 0.1


async def test_one_message_larger_than_the_window_is_told_with_a_way_on(tmp_path: Path) -> None:
    over = [fault("overflow", "The request is too long.")]
    model = Worker([*work(4), say("ok"), *[over] * 9])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        await turn(bench, "word " * 12_000, 2)
        detail = bench.of(TurnFinished)[-1].detail  # type: ignore[attr-defined]
        assert "One message alone" in detail and "@path" in detail


async def test_a_hook_can_forbid_a_compaction_and_add_what_it_is_to_dwell_on(tmp_path: Path) -> None:
    heard: list[JsonMap] = []
    answer = [HookAnswer(additional_context="Mind the names.")]

    async def asked(event: JsonMap, _limit: float) -> HookReply:
        heard.append(event)
        return HookReply(answer[0])

    hook = Hook("before_compaction", "test", "plugin", asked)
    model = Worker([*work(5), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS, hooks=[hook]) as bench:
        bench.use(model)
        await turn(bench, TASK)
        await compact(bench, "the lexer")
        assert heard[0]["by"] == "user" and heard[0]["focus"] == "the lexer" and heard[0]["tokens"]
        assert "Mind the names." in of(model.summaries[0])
        answer[0] = HookAnswer(decision="deny", reason="not now")
        bench.submit(Compact())
        event = await bench.until("context.stuck")
        assert "not now" in event.payload.message and len(compactions(bench)) == 1  # type: ignore[union-attr]


async def test_an_interrupt_while_it_summarises_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    model = Worker([*work(5), say("ok"), say("answered")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:

        async def stop() -> None:
            bench.submit(Interrupt())
            await anyio.sleep_forever()

        bench.use(model)
        await turn(bench, TASK)
        before = bench.recorder.messages()
        model.summary = lambda number: [stop, *say("too late")]  # type: ignore[list-item]
        bench.submit(Compact())
        await bench.until("model.failed")
        await rests(bench)
        assert bench.recorder.messages() == before and not compactions(bench)
        await turn(bench, "go on", 2)
        assert bench.recorder.state.last_turn_end == "finished"


async def test_a_message_that_is_sent_while_it_summarises_goes_after_it(tmp_path: Path) -> None:
    model = Worker([*work(5), say("ok"), say("answered")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:

        async def speak() -> None:
            bench.submit(Steer(text="and now this"))
            await until(lambda: "user.queued" in bench.kinds())

        bench.use(model)
        await turn(bench, TASK)
        model.summary = lambda number: [speak, *say("the story")]  # type: ignore[list-item]
        bench.submit(Compact())
        await bench.until("turn.finished", 2)
        assert len(compactions(bench)) == 1 and "and now this" in of(model.asked[-1])


async def test_it_is_refused_while_a_turn_runs(tmp_path: Path) -> None:
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:

        async def ask() -> None:
            bench.submit(Compact())
            await until(lambda: "command.rejected" in bench.kinds())

        bench.use(Worker([[ask, *say("ok")]]))
        await turn(bench, TASK)
        (rejected,) = bench.of(CommandRejected)
        assert isinstance(rejected, CommandRejected) and "turn is running" in rejected.reason


async def test_a_model_without_a_known_window_is_not_summarised_by_itself(tmp_path: Path) -> None:
    model = Worker([*work(60), say("done")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(model)
        settings = bench.recorder.state.settings
        assert settings is not None
        blind = settings.model.model_copy(update={"window": 0})
        bench.recorder.append(SettingsChanged(key="model", value=blind.model_dump(mode="json"), previous={}))
        await turn(bench, TASK)
        assert not compactions(bench) and not bench.of(ContextReduced)


async def test_a_crash_while_it_summarises_is_taken_up_with_the_history_as_it_was(tmp_path: Path) -> None:
    model = Worker([*work(5), say("ok"), say("answered")])
    held: list[tuple[Message, ...]] = []
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:

        async def die() -> None:
            held.append(bench.recorder.messages())
            await anyio.sleep_forever()

        bench.use(model)
        await turn(bench, TASK)
        model.summary = lambda number: [TextChunk("The st"), die]  # type: ignore[list-item]
        log = tmp_path / "sessions/ses_test/events.jsonl"
        bench.submit(Compact())
        await until(lambda: held)
        kept = log.read_bytes()
    log.write_bytes(kept)
    async with running(tmp_path, [say("answered")], shrinking=LIMITS) as bench:
        assert bench.recorder.messages() == held[0] and not bench.recorder.state.open_requests
        await turn(bench, "go on", 1)
        assert not check_pairs(bench.model.requests[-1].messages)
