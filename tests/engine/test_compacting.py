"""A history that outgrows the window by itself: put away, summarised, never lost, and legal."""

import hashlib
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.engine.long_histories import (
    LIMITS,
    ONLY_OUTPUTS,
    ONLY_SUMMARIES,
    RULE,
    TASK,
    WINDOW_CHARS,
    Output,
    Worker,
    compact,
    compactions,
    of,
    stuck,
    turn,
    words,
    work,
)
from tests.stubs.legal_history import check_pairs
from tests.stubs.tool_context import tools_of
from tui_agent.context.compaction.summary_text import STORY, TITLE
from tui_agent.models.provider_faults import fault
from tui_agent.ports.model import FinishChunk, TextChunk, ToolCallChunk
from tui_agent.protocol.events.context import (
    ContextReduced,
)
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.messages import ToolMessage


@pytest.mark.slow
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
        reduced = bench.of(ContextReduced)
        assert 1 <= len(reduced) <= 3 and not compactions(bench) and not model.summaries
        first = reduced[0]
        assert first.after_tokens <= first.before_tokens - 1_000
        last = [one for one in model.asked[-1].messages if isinstance(one, ToolMessage)]
        away = [one for one in last if words(one).endswith(" …]")]
        assert away == last[: len(away)] and "output of call 19" in words(last[-1])
        artifact = first.artifacts[0]
        assert bench.recorder.state.artifacts[artifact.id].sha256 == artifact.sha256
        whole = (tmp_path / "sessions/ses_test" / artifact.path).read_text()
        first_line = words(away[0]).partition("\n")[0]
        assert whole.startswith(first_line) and first_line.startswith("output of call 0")
        assert words(away[0]).endswith(f" left out: read_file or grep {artifact.id} …]")
        assert not check_pairs(model.asked[-1].messages)


async def test_what_was_shortened_or_read_of_an_artifact_is_put_away_under_that_artifact(
    tmp_path: Path,
) -> None:
    whole = "output of call 0: " + "word " * 1_600
    held = f"artifact:{hashlib.sha256(whole.encode()).hexdigest()[:12]}"
    reads = call(("read_file", f'{{"path":"{held}"}}'))
    model = Worker([*work(1), reads, *work(8), say("done")])
    tools = [Output(8_000), tools_of("files")["read_file"]]
    async with running(tmp_path, [], tools, shrinking=ONLY_OUTPUTS) as bench:
        bench.use(model)
        await turn(bench, TASK)
        reduced = bench.of(ContextReduced)
        away = [one for event in reduced for one in event.artifacts]
        assert [one.id for one in away[:2]] == [held, held] and away[0].size == len(whole)
        assert {one.tool for one in away} == {"output"} and {one.size for one in away} == {len(whole)}


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
        assert "FILES mentioned in the user's message: " in shown and shown.count("USER: ") == 2
        own = str(made.summary).split("## Files")[0]
        assert "Mind @notes.txt too." in own and "secret recipe" not in own


BAD = {
    "empty": lambda number: say("  "),
    "refused": lambda number: [TextChunk("No."), FinishChunk("refusal")],
    "cut": lambda number: [TextChunk("So long"), FinishChunk("length")],
    "too long": lambda number: say("very long " * 5_000),
    "a call": lambda number: [ToolCallChunk(0, "x1", "output", "{}"), FinishChunk("tool_calls")],
    "a fault": lambda number: [fault("auth", "no key")],
    "overflow": lambda number: [fault("overflow", "too long")],
}


@pytest.mark.slow
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
        (told,) = stuck(bench)
        assert "your messages" in told.message and "/model" in told.hint


@pytest.mark.slow
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
