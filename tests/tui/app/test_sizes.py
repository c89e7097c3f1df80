"""The main screen at every size that it promises to hold."""

import pytest

from tests.stubs.story import decision, requested, started
from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.events.turn import IterationFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.tui.screen_layout import shape

SIZES = [(160, 45), (120, 40), (80, 24), (60, 20), (40, 8), (20, 5)]


STAGES: list[tuple[str, Payload]] = [
    ("message", UserMessageReceived(text="go")),
    ("model", requested("r9")),
    ("policy", decision("c9")),
    ("tools", started("c9")),
    ("trace", IterationFinished(iteration=9, action="calls", duration_ms=1.0)),
]
"""Each stage of a turn, with an event that reaches it."""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_policy_context_and_prompt_are_in_sight(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        rows = driven.rows()
        assert len(rows) == size[1]
        assert "ask" in rows[0] and "21 %" in rows[0]
        assert any("Ask for a change" in row for row in rows)
        if size[0] >= 60:
            assert "$0.097" in rows[0]


async def test_wide_screen_has_the_three_side_panes_with_columns() -> None:
    async with open_app(golden("night_shift"), size=(160, 45)) as driven:
        text = driven.text()
        assert "Todo" in text and "5/5 done" in text
        assert "▾ turn 2" in text and "$0.076" in text
        assert "42.6k of 200k" in text and "below soft limit" in text
        assert "[message] -> [model] -> [policy] -> [tools] -> [trace]" in text


@pytest.mark.parametrize(
    ("size", "longest"),
    [((120, 40), "[message] -> [model] -> [policy] -> [tools] -> [trace]"), ((60, 20), "[message]")],
)
async def test_the_stage_of_a_turn_is_lit_in_the_status_line_and_a_narrow_one_has_only_that(
    size: tuple[int, int], longest: str
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(TurnStarted(turn=3))
        lit, shown = [], []
        for _, event in STAGES:
            driven.session.feed(event)
            await driven.settle()
            region = driven.app.status.region
            strip = driven.app.screen._compositor.render_strips()[region.y]
            bold = [segment.text for segment in strip if segment.style and segment.style.bold]
            lit.append([text for text in bold if text.startswith("[")])
            shown.append(strip.text[strip.text.index("[") : region.right].rstrip())
        assert lit == [[f"[{stage}]"] for stage, _ in STAGES]
        assert max(shown, key=lambda text: text.count("[")) == longest


async def test_narrow_screen_has_a_strip_in_place_of_the_panes() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        assert "Todo 5/5 done   3 files +20 −2" in driven.text()
        assert "▾ turn 2" not in driven.text()


async def test_two_line_mode_shows_state_policy_and_context_above_the_prompt() -> None:
    async with open_app(golden("night_shift"), size=(40, 8)) as driven:
        rows = driven.rows()
        assert rows[0].startswith("· ready") and rows[0].rstrip().endswith("ctx 21 %")
        assert rows[-1].startswith("▌ Ask for a change")


async def test_header_status_and_prompt_stand_on_the_same_columns() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = driven.rows()
        assert rows[0][2] == "▌" and rows[0][4] != " "
        status = next(row for row in rows if "ready" in row)
        assert status[2] == "·" and status[4:9] == "ready"
        prompt = next(row for row in rows if "Ask for a change" in row)
        assert prompt[2] == "▌" and prompt[4:7] == "Ask"


async def test_the_panes_follow_the_size_without_losing_what_is_typed() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        await driven.type("half a thought")
        await driven.pilot.resize_terminal(60, 20)
        await driven.pilot.pause()
        assert "half a thought" in driven.text() and "Todo 5/5" in driven.text()
        await driven.pilot.resize_terminal(160, 45)
        await driven.pilot.pause()
        assert "half a thought" in driven.text() and "▾ turn 2" in driven.text()


async def test_the_sidebar_can_be_hidden() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("f6")
        assert "below soft limit" not in driven.text()
        await driven.press("f6")
        assert "below soft limit" in driven.text()


@pytest.mark.parametrize(
    ("width", "height", "sidebar", "airy", "tiny", "policy_row"),
    [
        (160, 45, 50, True, False, True),
        (139, 30, 38, True, False, True),
        (100, 29, 38, False, False, True),
        (99, 29, 0, False, False, True),
        (69, 16, 0, False, False, False),
        (120, 15, 0, False, True, False),
        (20, 5, 0, False, True, False),
    ],
)
def test_breakpoints(width: int, height: int, sidebar: int, airy: bool, tiny: bool, policy_row: bool) -> None:
    now = shape(width, height)
    assert (now.sidebar, now.airy, now.tiny, now.policy_row) == (sidebar, airy, tiny, policy_row)
    assert 1 <= now.prompt_rows <= 10
