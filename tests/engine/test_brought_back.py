"""What was summarised or put away comes back: one message, a whole summary, in a later run and in a fork."""

from pathlib import Path

from tests.engine.harness import running, say
from tests.engine.long_histories import (
    LIMITS,
    ONLY_SUMMARIES,
    TASK,
    Output,
    Worker,
    compact,
    of,
    rests,
    turn,
    words,
    work,
)
from tests.stubs.legal_history import check_pairs
from tui_agent.context.compaction.summary_text import TITLE
from tui_agent.folds.context.context_breakdown import Ledger
from tui_agent.protocol.commands import (
    Compact,
    PinContext,
    RestoreContext,
    Steer,
)
from tui_agent.protocol.events.context import (
    ContextPacked,
)
from tui_agent.protocol.messages import SummaryMessage, ToolMessage
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore


async def test_one_message_comes_back_and_a_pin_holds_over_the_next_compaction(tmp_path: Path) -> None:
    model = Worker([*work(6), say("ok"), *work(6), say("again")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        result = next(one for one in bench.recorder.messages() if isinstance(one, ToolMessage))
        bench.submit(PinContext(seqs=(result.seq,)))
        await compact(bench)
        assert "output of call 0" in words(bench.recorder.messages()[0])
        second = [one for one in bench.recorder.model_messages().originals() if isinstance(one, ToolMessage)][
            1
        ]
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
        second = [one for one in bench.recorder.model_messages().originals() if isinstance(one, ToolMessage)][
            1
        ]
        bench.submit(RestoreContext(seqs=(second.seq,)))
        event = await bench.until("context.restored")
        await rests(bench)
        held = bench.recorder.meter
        assert held.used == sum(one.tokens for one in held.sections) > small.used + 300
        for one in bench.events:
            ledger.apply(one)
        assert next(one for one in ledger.view().messages if one.seq == event.seq).sender == "output"
        await turn(bench, "on", 2)
        packed = bench.of(ContextPacked)[-1]
        sent = {one.name: one.tokens for one in packed.sections}
        was = {one.name: one.tokens for one in held.sections}
        assert sent["packed_context"] == was["summaries"]
        assert sent["task_contract"] < 60 and packed.total_tokens - held.used < 20
        bench.submit(RestoreContext(compaction=made.seq))
        await bench.until("context.restored", 2)
        await rests(bench)
        assert bench.recorder.meter.used > held.used + 1_000
        await turn(bench, "on", 3)
        packed = bench.of(ContextPacked)[-1]
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
    assert [one.answer_index for one in model.asked] == list(range(6))
    again = Worker([say("ok")])
    async with running(tmp_path, [], [Output()], shrinking=LIMITS) as bench:
        bench.use(again)
        await turn(bench, "go on")
        assert again.asked[0].answer_index == 6 and isinstance(again.asked[0].messages[0], SummaryMessage)


async def test_what_cannot_come_back_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, [say("ok")], shrinking=LIMITS) as bench:
        await turn(bench, TASK)
        for command in (RestoreContext(seqs=(99_999,)), RestoreContext(compaction=3), RestoreContext()):
            bench.submit(command)
        await bench.until("command.rejected", 3)
        bench.submit(Compact())
        event = await bench.until("context.stuck")
        assert "too little to summarise" in event.payload.message  # type: ignore[union-attr]
