"""The trace: pane and full screen, controller, filtered, in JSON, and of any length."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.strip import Strip

from tests.tui.app.driving import golden, open_app
from tui_agent.folds.trace.spans import Span, TraceView
from tui_agent.protocol.commands import SetPolicy
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.tool import ToolCalled, ToolStarted
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished, TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.trace import trace_rows
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.screens.trace.span_list import SpanList
from tui_agent.tui.widgets.rows import Pen
from tui_agent.units import format_tokens


async def test_running_spans_appear_in_the_pane_and_the_status_line() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        driven.session.feed(
            TurnStarted(turn=3),
            IterationStarted(iteration=10, local_iteration=10),
            ToolCalled(
                call_id=CallId("c"), name="run", arguments={}, iteration=10, verb="run", target="make all"
            ),
            ToolStarted(call_id=CallId("c"), writes=True),
        )
        await driven.settle()
        text = driven.text()
        assert "● run make all" in text and "▾ turn 3" in text and "▸ turn 2" in text
        assert "[tools]" in text


async def test_the_command_shows_this_sessions_spans_and_the_figures_of_another_by_id_run_or_path() -> None:
    asked: list[tuple[str, ...]] = []

    async def program(*words: str) -> tuple[int, str]:
        asked.append(words)
        return 0, "31 model calls, 30 tools"

    async with open_app(golden("night_shift"), outside=program) as driven:
        for words in ("/trace", "/trace latest"):
            driven.app.prompt.editor.put_text(words)
            await driven.press("enter")
            assert isinstance(driven.app.screen, TraceScreen)
            assert "◆ subtask Who relies on" in driven.text()
            await driven.press("escape")
        assert asked == []
        for name in ("ses_0123456789abcdef", "run_0123456789ab", "/elsewhere/events.jsonl"):
            driven.app.prompt.editor.put_text(f"/trace {name}")
            await driven.press("enter")
            await driven.until(lambda: "31 model calls, 30 tools" in driven.text())
            assert asked.pop()[:2] == ("trace", name) and not asked
            assert f"Trace of {Path(name).name}" in driven.text()
            await driven.press("escape")


async def test_the_full_screen_shows_columns_filters_and_the_newest_span() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3")
        text = driven.text()
        assert "failed 1" in text and "denied 1" in text and "2 turns" in text
        row = next(row for row in driven.rows() if "◆ subtask Who relies on" in row)
        assert "8.1k" in row and "11.2 s" in row and "$0.004" in row and "━" in row
        assert driven.rows()[0].startswith("  ▌ /home/ada/timesheet") and "Up/Down span" in driven.rows()[-1]
        await driven.press("4")
        rows = [row for row in driven.rows() if "✗" in row]
        assert "run pytest -q" in rows[0] and "exit 1" in rows[0]
        await driven.press("1")
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1


async def test_folding_hides_what_is_below_and_opening_brings_it_back() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3", "home")
        assert "read src/timesheet/cli.py" in driven.text()
        await driven.press("left")
        assert "read src/timesheet/cli.py" not in driven.text()
        await driven.press("right")
        assert "read src/timesheet/cli.py" in driven.text()


async def test_on_a_low_terminal_the_header_shows_the_state_of_the_session() -> None:
    async with open_app(golden("night_shift"), size=(80, 12)) as driven:
        assert "ready" in driven.rows()[0]
        for key in ("f3", "/jobs", "/tree"):
            await driven.press(*([key] if key == "f3" else [*key, "enter"]))
            await driven.until(lambda: len(driven.app.screen_stack) == 2)
            assert "ready" in driven.rows()[0] and "opening" not in driven.rows()[0], key
            await driven.press("escape")


@pytest.mark.slow_variants
@pytest.mark.parametrize("width", [160, 80])
async def test_a_spans_events_open_as_json_and_enter_shows_it_in_the_chat(width: int) -> None:
    async with open_app(golden("night_shift"), size=(width, 45)) as driven:
        await driven.press("f3", "4")
        await driven.press("j")
        await driven.until(lambda: '"kind": "tool.called"' in driven.text())
        await driven.press("escape", "enter")
        assert len(driven.app.screen_stack) == 1
        assert "pytest -q" in driven.text()


async def test_a_click_folds_a_span_in_the_side_pane() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        rows = driven.rows()
        y = next(at for at, row in enumerate(rows) if "▾ iteration 7" in row)
        await driven.pilot.click(offset=(rows[y].index("▾ iteration 7"), y))
        await driven.pilot.pause()
        assert "▸ iteration 7" in driven.text()


def many(count: int) -> TraceView:
    """A long trace: turns of a hundred tools each."""
    spans: list[Span] = []
    roots: list[int] = []

    def add(kind: str, name: str, parent: int | None, depth: int, children: tuple[int, ...]) -> None:
        at = float(len(spans))
        spans.append(
            Span(
                len(spans),
                kind,
                name,
                "done",
                MAIN_AGENT,
                depth,
                at,
                at + 1,
                1000.0,
                None,
                None,
                None,
                0,
                0,
                parent=parent,
                children=children,
            )  # type: ignore[arg-type]
        )

    while len(spans) < count:
        root = len(spans)
        roots.append(root)
        add("turn", f"turn {len(roots)}", None, 0, tuple(range(root + 1, root + 101)))
        for number in range(100):
            add("tool", f"read file {number}", root, 1, ())
    return TraceView(tuple(spans), tuple(roots), turns=len(roots))


class Looked(Sequence[Span]):
    """Spans, and how many of them were looked at."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans, self.seen = spans, set[int]()

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, at: Any) -> Any:
        self.seen.add(at)
        return self.spans[at]


@pytest.mark.slow
async def test_old_turns_are_not_looked_at_as_long_as_they_are_folded_and_out_of_sight() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3")
        listed, view = driven.app.screen.query_one(SpanList), many(50_000)
        looked = Looked(view.spans)
        listed.set_view(replace(view, spans=looked), 1.0)
        await driven.press("end")
        await driven.until(lambda: "read file 99" in driven.text())
        assert len(listed.items) == len(view.roots) + 3 * 100
        far = {at for at in looked.seen if at < view.roots[-3] and at not in listed.items[-300 - 60 :]}
        assert not far, sorted(far)[:5]


async def test_fifty_thousand_spans_are_listed_and_only_those_in_sight_are_drawn() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3")
        spans = driven.app.screen.query_one(SpanList)
        view = many(50_000)
        drawn: list[int] = []
        draw = spans.draw_item

        def draw_counted(index: int, width: int, line: Pen) -> Strip:
            drawn.append(index)
            return draw(index, width, line)

        spans.draw_item = draw_counted
        spans.folds = dict.fromkeys(view.roots, False)
        spans.set_view(view, 1.0)
        await driven.press("end")
        assert len(spans.items) == len(view.spans)
        assert "read file 99" in driven.text()
        assert 0 < len(drawn) < 1000


@pytest.mark.slow
async def test_the_pane_draws_no_more_rows_than_it_has_room_for() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = trace_rows(many(50_000), {}, driven.app.looks, 38, 12, 0.0)
        text = ["".join(segment.text for segment in row) for row in rows]
        assert len(rows) <= 12 and "read file 99" in text[-1] and "turn 496" in text[1]


async def test_without_known_costs_the_time_stands_at_the_edge() -> None:
    async with open_app(golden("night_shift")[:8], size=(160, 45)) as driven:
        driven.session.feed(
            TurnStarted(turn=1),
            IterationStarted(iteration=1, local_iteration=1),
            TurnFinished(turn=1, reason="finished", duration_ms=7_000.0),
        )
        await driven.settle()
        assert any(row.endswith("7.0 s") for row in driven.rows()[:20])
        await driven.press("f3")
        head = next(row for row in driven.rows() if row.startswith("    span"))
        assert "time  0 s" in head and "cost" not in head


async def test_a_compaction_between_turns_is_drawn_on_the_scale_of_the_turn_before_it() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        driven.session.feed(
            ContextCompacted(
                through_seq=1,
                summary="",
                removed_seqs=(),
                turns=1,
                before_tokens=9,
                after_tokens=5,
                trigger="user",
            )
        )
        await driven.settle()
        await driven.press("f3", "end")
        head = next(row for row in driven.rows() if row.startswith("    span"))
        assert "0 s" in head and "51 s" in head


@pytest.mark.slow_variants
@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 160, 200])
async def test_columns_stand_under_their_names_and_never_touch_however_long_a_turn_took(width: int) -> None:
    async with open_app(golden("night_shift"), size=(width, 60)) as driven:
        driven.session.feed(
            TurnStarted(turn=3), TurnFinished(turn=3, reason="finished", duration_ms=3_599_000.0)
        )
        await driven.settle()
        await driven.press("f3", "home")
        rows = driven.rows()
        head = next(row for row in rows if row.startswith("    span"))
        edge = head.index("time") + len("time")
        turns = [row for row in rows if row.lstrip("›▾▸ ").startswith("turn ")]
        assert len(turns) == 3
        for row, took in zip(turns, ("14.2 s", "51 s", "59 min 59 s"), strict=True):
            assert row[:edge].endswith(f" {took}")
            if "out" in head:
                assert row[: head.index("out") + 3].rstrip() == row[: edge - len(took)].rstrip()


async def test_the_full_screen_opens_with_the_newest_span_in_sight() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.press("f3")
        await driven.until(
            lambda: any(row.startswith("›") and "model claude-sonnet-4-5" in row for row in driven.rows())
        )


@pytest.mark.slow_variants
@pytest.mark.parametrize("log", ["night_shift", "streaming", "every_kind"])
async def test_failures_are_one_number_in_every_pane(log: str) -> None:
    async with open_app(golden(log), size=(160, 60)) as driven:
        assert driven.app.controller is not None
        views = driven.app.controller.views
        trace, metrics = views.trace.view(), views.metrics.view()
        failed = sum(one.state == "failed" and one.kind not in ("turn", "iteration") for one in trace.spans)
        assert trace.failed == failed == metrics.failed_tools + metrics.model_failures
        assert trace.denied == metrics.denials
        assert (f"{failed} failed" in driven.text()) == bool(failed)
        await driven.press("f3")
        assert (f"failed {failed}" in driven.text()) == bool(failed)
        await driven.press("escape")
        await driven.type("/doctor")
        await driven.press("enter")
        await driven.until(lambda: "This session" in driven.text())
        calls = format_count(failed, "tool or model call")
        assert f"{calls}, {trace.denied} denied" in driven.text()


async def test_the_status_says_the_state_in_the_words_of_the_status_line() -> None:
    async with open_app(golden("every_kind"), size=(120, 40)) as driven:
        await driven.type("/status")
        await driven.press("enter")
        row = next(row for row in driven.rows() if "  now  " in row)
        assert row.split("now")[1].split()[0] == "stopped"


async def test_the_cost_of_a_turn_is_summed_over_its_requests() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        assert driven.app.controller is not None
        metrics = driven.app.controller.views.metrics.view()
        await driven.type("/cost")
        await driven.press("enter")
        names = next(row for row in driven.rows() if "largest request" in row)
        assert names.split("▌")[1].split()[:5] == ["turn", "cost", "tokens", "sent", "received"]
        turns = [row.split("▌")[1].split() for row in driven.rows() if "▌  turn " in row and "$" in row]
        sums = [
            span.billed_in for span in driven.app.controller.views.trace.view().spans if span.kind == "turn"
        ]
        assert sum(sums) == metrics.input_tokens
        assert all(format_tokens(one) in row for one, row in zip(sums, map(" ".join, turns), strict=True))


@pytest.mark.slow
async def test_a_long_time_in_the_pane_stands_apart_from_the_tokens() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        assert driven.app.controller is not None
        view = driven.app.controller.views.trace.view()
        spans = tuple(replace(span, duration_ms=3_599_000.0) for span in view.spans)
        rows = trace_rows(replace(view, spans=spans), {}, driven.app.looks, 50, 40, 0.0)
        shown = ["".join(segment.text for segment in row) for row in rows]
        assert any("42.2k 59 min 59 s" in row for row in shown)


@pytest.mark.slow
async def test_what_a_press_on_the_head_opens_over_the_chat_is_answered() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3")
        at = driven.rows()[0].index(
            driven.app.controller.state.settings.policy if driven.app.controller else ""
        )
        await driven.pilot.click(offset=(at + 1, 0))
        await driven.pilot.pause()
        assert len(driven.app.screen_stack) == 2
        await driven.press("home", "enter", "escape")
        await driven.pilot.pause()
        assert len(driven.app.screen_stack) == 1
        assert [one for one in driven.session.submitted if isinstance(one, SetPolicy)]


async def test_a_click_on_help_opens_it_above_the_trace_as_its_key_does() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.press("f3")
        await driven.settle()
        trace = driven.app.screen
        rows = driven.rows()
        await driven.pilot.click(offset=(rows[-1].index("F1 help") + 4, len(rows) - 1))
        await driven.settle()
        assert driven.app.screen is not trace and trace in driven.app.screen_stack
        await driven.press("escape")
        assert driven.app.screen is trace


async def test_a_click_chooses_a_span_and_a_click_on_its_mark_folds_it() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        await driven.press("f3", "home")
        spans = driven.app.screen.query_one(SpanList)
        assert await driven.pilot.click(SpanList, offset=(30, 2))
        await driven.settle()
        assert spans.index == 2 and driven.app.screen.is_current
        count = len(spans.items)
        assert await driven.pilot.click(SpanList, offset=(4, 0))
        await driven.settle()
        assert len(spans.items) < count and spans.folds[spans.view.roots[0]]
        assert await driven.pilot.click(SpanList, offset=(4, 0))
        await driven.settle()
        assert len(spans.items) == count
