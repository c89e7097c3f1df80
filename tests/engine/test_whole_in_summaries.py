"""What must not be lost stands whole in every request after compactions, or its artifact is named and that is told."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tests.engine.long_histories import (
    LIMITS,
    TITLED,
    Output,
    Small,
    Worker,
    compact,
    compactions,
    cuts,
    manifests,
    model_of,
    of,
    seen,
    task_of,
    turn,
    words,
    work,
)
from tests.stubs.legal_history import check_pairs
from tests.stubs.tool_context import tools_of
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.context.compaction.summary_facts import Facts, fact_blocks
from tui_agent.context.instructions import RULES_LABEL
from tui_agent.context.request_assembly import PINNED_SHORT
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.engine.recorder import Recorder
from tui_agent.models.provider_faults import fault
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.middleware import Fragment, Middleware
from tui_agent.ports.tool import ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import PinContext, RestoreContext
from tui_agent.protocol.events.context import ContextRestored
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.messages import ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import ContextMode

SUMMARIES = CompactionSettings(prompt=LIMITS.prompt, reduce_at=0)


def own_words(bench: Bench) -> list[tuple[int, int, bool]]:
    """Of each request with a person's words: their characters before and after, and whether the record says cut."""
    sections = [one for made in manifests(bench) for one in made.sections if one.name == "task_contract"]
    return [(one.raw_chars, one.chars, one.reduced) for one in sections]


class ManyTests(EchoTool):
    """Runs tests of which sixty fail."""

    spec: ClassVar[ToolSpec]  # type: ignore[misc]

    def __init__(self) -> None:
        super().__init__("run_tests")

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        names = tuple(f"tests/test_many.py::test_fails[{at}]" for at in range(60))
        text = "\n".join(f"failed: {name}\n    assert {'x' * 60}" for name in names)
        event = TestFinished(
            framework="pytest",
            command="pytest",
            passed=3,
            failed=60,
            skipped=0,
            exit_code=1,
            failures=names,
        )
        return ToolResult(ok=False, content=(TextContent(text=text),), events=(event,))


@pytest.mark.slow_variants
@pytest.mark.parametrize(("window", "count"), [(8_000, 80), (16_000, 200), (32_000, 450)])
async def test_every_line_of_the_task_is_in_every_request_over_several_compactions(
    tmp_path: Path, window: int, count: int
) -> None:
    worker = Worker([*work(40), say("done")])
    async with running(tmp_path, [], [Output(window // 4)], shrinking=SUMMARIES) as bench:
        model_of(bench, worker, window)
        await turn(bench, task_of(count))
        assert len(compactions(bench)) > 2 and not any(one.truncations for one in compactions(bench))
        assert {seen(one, r"REQ_\d+_") for one in worker.asked} == {count}
        told = own_words(bench)
        assert len(told) >= len(worker.asked) and all(raw == size for raw, size, _ in told)
        assert not any(cut for *_, cut in told) and not cuts(bench)
        assert all(not check_pairs(one.messages) for one in worker.asked)


async def test_tasks_failing_tests_files_and_rules_are_all_in_requests_after_compactions(
    tmp_path: Path,
) -> None:
    todos = [{"content": f"TODO_{at}_ migrate{TITLED}", "status": "pending"} for at in range(40)]
    writes = [call(("output", f'{{"words":"src/orders/file_{at}.py"}}')) for at in range(3)]
    worker = Worker(
        [call(("write_todos", json.dumps({"todos": todos}))), call(("run_tests", "{}")), *writes, say("ok")]
        + [one for _ in range(11) for one in (*work(3), say("ok"))]
    )
    middlewares: list[Middleware | Callable[[Recorder], Middleware]] = [
        lambda recorder: WorkingMemory(lambda: recorder.state)
    ]
    tools = [Output(3_000), ManyTests(), tools_of("todo")["write_todos"]]
    async with running(tmp_path, [], tools, shrinking=SUMMARIES, middlewares=middlewares) as bench:
        model_of(bench, worker, 16_000)
        await turn(bench, "Migrate all of it.")
        pad = "background of the message about the shop and its carts. " * 18
        for at in range(1, 12):
            await turn(bench, f"Message {at}.\n{pad}\nKeep RULE_{at}_ from now on.", at + 1)
        assert len(compactions(bench)) > 2 and not any(one.truncations for one in compactions(bench))
        last = worker.asked[-1]
        assert seen(last, r"RULE_\d+_") == 11 and seen(last, r"TODO_\d+_") == 40
        assert seen(last, r"test_fails\[\d+\]") == 60


async def test_what_was_pinned_is_word_for_word_in_the_next_summary(tmp_path: Path) -> None:
    worker = Worker([one for _ in range(9) for one in (*work(1), say("ok"))])
    async with running(tmp_path, [], [Output(1_000)], shrinking=SUMMARIES) as bench:
        model_of(bench, worker, 16_000)
        said = [f"PIN_{at}: " + f"every word {at} of it counts. " * 40 for at in range(9)]
        for at, text in enumerate(said):
            await turn(bench, text, at + 1)
        own = [one.seq for one in bench.recorder.messages() if isinstance(one, UserMessage)]
        bench.submit(PinContext(seqs=tuple(own[1:])))
        made = await compact(bench)
        text = "\n".join(map(words, bench.recorder.messages()))
        assert all(one.strip() in text for one in said) and not made.payload.truncations  # type: ignore[union-attr]


@pytest.mark.parametrize("window", [8_000, 0])
async def test_words_longer_than_the_window_are_told_and_can_be_read_on_in(
    tmp_path: Path, window: int
) -> None:
    """Of a known window at once; of one that nobody knows once its provider refused them."""
    over = [] if window else [[fault("overflow", "The request is too long.")]] * 2
    worker = Worker([*over, *work(2), say("done")])
    async with running(tmp_path, [], [Output(600)], shrinking=SUMMARIES) as bench:
        model_of(bench, worker, window)
        task = task_of(800)
        await turn(bench, task)
        assert bench.recorder.state.last_turn_end == "finished" and not compactions(bench)
        told = cuts(bench)[0]
        (cut,) = told.truncations
        learnt = {one.window for one in manifests(bench) if one.window_inferred}
        assert (
            cut.raw_chars == len(task)
            and told.window in ({window} if window else learnt)
            and cut.chars < cut.raw_chars
        )
        assert bench.recorder.state.artifacts[cut.artifact.id] == cut.artifact
        assert bench.engine._parts.blobs.read(cut.artifact.sha256).decode() == task
        for request in worker.asked[len(over) :]:
            assert cut.artifact.id in of(request) and "REQ_0_" in of(request) and "REQ_799_" in of(request)
        raw, size, reduced = own_words(bench)[-1]
        assert raw == len(task) > size and reduced


async def test_a_long_first_message_goes_out_whole_though_it_leaves_little_room(tmp_path: Path) -> None:
    worker = Worker([say("done")])
    async with running(tmp_path, [], [Output(600)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 8_000)
        await turn(bench, task_of(315))
        (request,) = worker.asked
        assert seen(request, r"REQ_\d+_") == 315 and not worker.summaries and not cuts(bench)
        sent = manifests(bench)[-1].total_tokens
        assert sent > 0.85 * 8_000 and request.max_tokens <= 8_000 - sent


async def test_a_summary_taken_back_moves_the_meter_to_what_the_history_takes(tmp_path: Path) -> None:
    """More than a request may hold is shortened only once one goes out."""
    worker = Worker([*work(26), say("done"), say("again")])
    async with running(tmp_path, [], [Output(1_600)], shrinking=SUMMARIES) as bench:
        model_of(bench, worker, 10_000)
        await turn(bench, "Do it.")
        newest = bench.recorder.model_messages().removed.newest_compaction
        assert newest is not None
        bench.submit(RestoreContext(compaction=newest))
        event = await bench.until("context.restored")
        back = event.payload
        assert isinstance(back, ContextRestored)
        whole = sum(len(words(one)) for one in bench.recorder.messages()) / 4
        assert back.after_tokens > 0.9 * whole and bench.recorder.meter.fraction == back.after_tokens / 10_000


@pytest.mark.slow_variants
@pytest.mark.parametrize("most", [45_000, 52_000, 90_000])
async def test_a_window_learnt_of_a_refusal_holds_from_then_on_and_the_task_stays_whole(
    tmp_path: Path, most: int
) -> None:
    """Outputs and turns go before the words of a person, and no request of a refused length is sent again."""
    worker = Small(most, [*work(60), say("done")])
    async with running(tmp_path, [], [Output(3_000)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        task = task_of(330)
        assert 28_000 < len(task) <= 30_500
        await turn(bench, task)
        assert bench.recorder.state.last_turn_end == "finished" and not cuts(bench)
        assert {seen(one, r"REQ_\d+_") for one in worker.took} == {330}
        assert 1 <= len(worker.refused) <= 2 and worker.refused == sorted(worker.refused, reverse=True)
        told = [one for one in manifests(bench) if one.window_inferred]
        assert len(told) > 20 and all(one.window and one.input_budget for one in told)
        assert len({one.window for one in told}) == len(worker.refused)


async def test_words_cut_for_a_learnt_window_stay_as_they_were_cut(tmp_path: Path) -> None:
    worker = Small(30_000, [*work(30), say("done")])
    async with running(tmp_path, [], [Output(1_500)], shrinking=LIMITS) as bench:
        model_of(bench, worker, 0)
        await turn(bench, task_of(800))
        assert bench.recorder.state.last_turn_end == "finished" and cuts(bench)
        sizes = [seen(one, r"REQ_\d+_") for one in worker.took]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 100, sizes
        assert len(worker.refused) <= 4, worker.refused


class ManyFiles(EchoTool):
    """Writes fifty files a call."""

    spec: ClassVar[ToolSpec]  # type: ignore[misc]

    def __init__(self) -> None:
        super().__init__("write_many")

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        names = [f"src/part_{args.words}/file_{at}_.py" for at in range(50)]
        made = tuple(
            FileChanged(
                path=name, before=None, after="a" * 64, before_size=0, after_size=1, mode=0o644,
                author="command", added=1, removed=0,
            )
            for name in names
        )  # fmt: skip
        return ToolResult(ok=True, content=(TextContent(text="written " * 100),), events=made)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["pack", "none"])
async def test_every_file_that_was_changed_in_the_session_is_named_however_far_back(
    tmp_path: Path, mode: ContextMode
) -> None:
    writes = [call(("write_many", f'{{"words":"{at}"}}')) for at in range(6)]
    worker = Worker([*writes, *work(240), say("done")])
    async with running(tmp_path, [], [Output(1_500), ManyFiles()], shrinking=SUMMARIES) as bench:
        model_of(bench, worker, 30_000)
        bench.recorder.append(SettingsChanged(key="context_mode", value=mode, previous="pack"))
        await turn(bench, "Do it.")
        assert len(compactions(bench)) > 2
        assert len(set(re.findall(r"part_\d+/", of(worker.asked[-1])))) == 6
        assert of(worker.asked[-1]).count("_.py") == 300


def test_of_very_many_changed_files_the_newest_are_named_and_the_others_counted() -> None:
    paths = tuple(f"src/orders/file_{at:06}.py" for at in range(9_000))
    facts = Facts(originals=(), spoken={}, pinned=(), todo=(), artifacts=(), through=0, changed=paths)
    block = next(one for one in fact_blocks(facts, str) if one.title == "Changed files")
    named = block.full_text.count(".py")
    assert 1_000 < named < 9_000 and f"… and {9_000 - named:,} more" in block.full_text
    assert "file_008999" in block.full_text and len(block.full_text.encode()) < 80_000


class Rules(BaseMiddleware):
    """Instructions that are longer than the window."""

    name = "rules"

    def contribute(self, state: object) -> tuple[Fragment, ...]:
        text = "\n".join(f"RULE_{at}_ holds for all files of the shop" for at in range(1_200))
        return (Fragment("instructions", text, section="instructions"),)


async def test_instructions_longer_than_the_window_are_cut_and_that_is_told(tmp_path: Path) -> None:
    worker = Worker([*work(2), say("done")])
    async with running(tmp_path, [], [Output(600)], shrinking=LIMITS, middlewares=[Rules()]) as bench:
        model_of(bench, worker, 8_000)
        await turn(bench, task_of(20))
        assert bench.recorder.state.last_turn_end == "finished"
        assert all(one.total_tokens < 8_000 for one in manifests(bench))
        assert len({one.system for one in worker.asked}) == 1 and len(cuts(bench)) == 1
        (cut,) = cuts(bench)[0].truncations
        assert cut.label == f"{RULES_LABEL}instructions" and cut.artifact.id in worker.asked[-1].system
        assert {seen(one, r"REQ_\d+_") for one in worker.asked} == {20}


async def test_a_pinned_result_is_the_last_that_is_shortened_and_that_is_told(tmp_path: Path) -> None:
    worker = Worker([*work(1), say("ok"), *work(12), say("done")])
    output = Output(8_000)
    no_room = CompactionSettings(prompt=LIMITS.prompt, reduce_at=0, compact_at=0)
    async with running(tmp_path, [], [output], shrinking=no_room) as bench:
        model_of(bench, worker, 8_000)
        await turn(bench, "Do it.")
        result = next(one for one in bench.recorder.messages() if isinstance(one, ToolMessage))
        bench.submit(PinContext(seqs=(result.seq,)))
        await turn(bench, "Go on.", 2)
        assert "output of call 0: " + "word " * 200 in of(worker.asked[5]) and not cuts(bench)
        output.chars = 20
        await turn(bench, task_of(260), 3)
        (cut,) = [one for made in cuts(bench) for one in made.truncations]
        sections = {one.name: one for one in manifests(bench)[-1].sections}
        assert "pinned" in cut.label and bench.engine._parts.blobs.read(cut.artifact.sha256).startswith(
            b"output of call 0"
        )
        assert PINNED_SHORT in sections["tool_results"].rule
