"""A provider finds a request too long: it is made smaller, and what cannot be is told with a way on."""

from pathlib import Path

from tests.engine.harness import running, say
from tests.engine.long_histories import (
    LIMITS,
    ONLY_SUMMARIES,
    TASK,
    Output,
    Worker,
    compactions,
    of,
    turn,
    work,
)
from tests.stubs.legal_history import check_pairs
from tui_agent.models.provider_faults import fault
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
)
from tui_agent.protocol.events.turn import TurnFinished


async def test_an_overflow_is_answered_by_a_compaction_once(tmp_path: Path) -> None:
    over = [fault("overflow", "The request is too long.")]
    model = Worker([*work(8), over, say("done")])
    async with running(tmp_path, [], [Output()], shrinking=ONLY_SUMMARIES) as bench:
        bench.use(model)
        await turn(bench, TASK)
        assert [one.trigger for one in compactions(bench)] == ["overflow"]
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
