"""/compact: what it dwells on, what it leaves, and wherever it is stopped the history is legal."""

from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.engine.long_histories import (
    LIMITS,
    ONLY_SUMMARIES,
    TASK,
    Output,
    Worker,
    compact,
    compactions,
    model_of,
    of,
    rests,
    turn,
    until,
    work,
)
from tests.stubs.legal_history import check_pairs
from tui_agent.folds.text.session_figures import estimate_next_turn
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.model import TextChunk
from tui_agent.protocol.commands import (
    Compact,
    Interrupt,
    RestoreContext,
    RunUserShell,
    Steer,
    SubmitPrompt,
)
from tui_agent.protocol.events.context import (
    ContextPacked,
    ContextStuck,
)
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.messages import Message
from tui_agent.protocol.stored_text import JsonMap


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
        assert made.trigger == "user" and made.focus == "the lexer" and made.request_id is not None
        assert "Story 1" in str(made.summary) and not made.fault
        assert len(bench.recorder.messages()) < len(before)
        bench.submit(RestoreContext(compaction=event.seq))
        await bench.until("context.restored")
        assert bench.recorder.messages() == before
        await turn(bench, "go on", 3)
        assert not check_pairs(bench.recorder.messages())


@pytest.mark.slow
async def test_without_a_known_window_a_summary_is_made_from_all_that_the_provider_has_accepted(
    tmp_path: Path,
) -> None:
    worker = Worker([*work(80), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        model_of(bench, worker, 0)
        await turn(bench, TASK)
        await compact(bench)
        summarised = of(worker.summaries[0])
        assert "call 0" in summarised and "left out: no room" not in summarised


async def test_after_a_summary_the_meter_holds_what_the_next_request_will(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), say("again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        sent = bench.of(ContextPacked)
        await compact(bench)
        (made,) = compactions(bench)
        held = bench.recorder.meter
        assert held.used == made.after_tokens == sum(one.tokens for one in held.sections)
        assert sent[-1].total_tokens <= made.before_tokens < sent[-1].total_tokens + 50
        await turn(bench, "on", 2)
        last = bench.of(ContextPacked)[-1]
        # What was just found out is older once the user has spoken.
        tokens, measured = (
            {one.name.replace("recent_observations", "tool_results"): one.tokens for one in sections}
            for sections in (last.sections, made.sections)
        )
        assert measured.keys() <= tokens.keys() and "packed_context" in measured
        assert sum(tokens.values()) - sum(measured.values()) < 20
        assert all(tokens[name] == count for name, count in measured.items() if name != "task_contract")
        assert {one.seq for one in last.added} == {one.seq for one in bench.recorder.messages()[:-1]}


async def test_a_compaction_counts_the_output_of_a_users_command_only_once_in_the_next_turn(
    tmp_path: Path,
) -> None:
    model = Worker([*work(6), say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:

        def forecast() -> int:
            return estimate_next_turn(bench.recorder.meter, bench.recorder.state, 0)[0]

        bench.use(model)
        await turn(bench, TASK)
        without_output = forecast()
        bench.submit(RunUserShell(command="seq 2000"))
        await bench.until("user.shell_finished")
        await rests(bench)
        before = forecast()
        assert before > without_output + 300
        event = await compact(bench)
        (made,) = compactions(bench)
        assert forecast() == made.after_tokens < before
        bench.submit(RestoreContext(compaction=event.seq))
        await bench.until("context.restored")
        assert forecast() == bench.recorder.meter.used


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
        assert heard[0]["trigger"] == "user" and heard[0]["focus"] == "the lexer" and heard[0]["tokens"]
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
        assert "turn is running" in rejected.reason


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


async def test_a_summary_that_would_free_nothing_leaves_the_messages(tmp_path: Path) -> None:
    model = Worker([say("ok"), say("ok"), say("ok")], lambda _: say("- read logs"))
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(model)
        for number in range(3):
            await turn(bench, f"{number} pasted " * 300, number + 1)
        before = bench.recorder.messages()
        bench.submit(Compact())
        event = await bench.until("context.stuck")
        assert "would free no space" in event.payload.message  # type: ignore[union-attr]
        assert bench.recorder.messages() == before and not compactions(bench)


async def test_short_messages_are_too_little_to_summarise(tmp_path: Path) -> None:
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(Worker([say("ok"), say("ok")]))
        for number in range(2):
            await turn(bench, "short", number + 1)
        bench.submit(Compact())
        event = await bench.until("context.stuck")
        stuck = event.payload
        assert isinstance(stuck, ContextStuck)
        assert "too little" in stuck.message and not stuck.hint


async def test_a_summary_counts_turns_and_not_the_messages_sent_during_them(tmp_path: Path) -> None:
    started, go = anyio.Event(), anyio.Event()

    async def hold(_words: str) -> None:
        started.set()
        await go.wait()

    answers = [call(("echo", "{}")), *work(5), say("ok"), *work(5), say("ok")]
    async with running(tmp_path, [], [Output(), EchoTool(before=hold)], shrinking=LIMITS) as bench:
        bench.use(Worker(answers))
        bench.submit(SubmitPrompt(text=TASK))
        await started.wait()
        bench.submit(Steer(text="and the docs"))
        await bench.until("user.steered")
        go.set()
        await bench.until("turn.finished")
        await turn(bench, "And the tests.", 2)
        await compact(bench)
        assert compactions(bench)[0].turns == 2


async def test_a_long_summary_does_not_keep_the_turns_after_it_from_being_summarised(tmp_path: Path) -> None:
    answers = [*(say("word " * 800) for _ in range(3)), *(say("ok") for _ in range(3))]
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(Worker(answers, lambda number: say("word " * (1_400 // number**3))))
        for number in range(4):
            await turn(bench, "short", number + 1)
        await compact(bench)
        for number in range(4, 6):
            await turn(bench, f"{number} pasted " * 150, number + 1)
        await compact(bench, count=2)
