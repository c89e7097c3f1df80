"""/context: each section with what it takes, what it may take, and whether it went out whole; its keys; its level."""

from pathlib import Path

import pytest
from textual.events import Paste
from textual.strip import Strip

from tests.stubs.fake_session import FakeSession
from tests.stubs.story import delta, requested, responded
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import Compact
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import ContextPacked, Section
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserShellFinished
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.commands.context import ContextSheet
from tui_agent.tui.keys_and_commands import BY_NAME

WINDOW = 200_000


def section(name: str, tokens: int, budget: int | None = None, **rest: object) -> Section:
    chars = tokens * 4
    given = {"raw_chars": chars, "chars": chars, "budget": budget, **rest}
    return Section(name=name, tokens=tokens, **given)


SECTIONS = (
    section("system", 3_900),
    section("instructions", 1_100, 2_000, rule="always whole"),
    section("repo_map", 4_000, 4_000, reduced=True, preserved=False, raw_chars=40_000),
    section("mentions", 0, 1_000, dropped_blocks=3, rule="left out: no room"),
    section("messages", 10_200),
    section("tool_results", 17_800, 36_000, reduced=True, rule="shortened the oldest 2 to fit"),
)


def packed(*sections: Section, window: int = WINDOW) -> ContextPacked:
    total = sum(one.tokens for one in sections)
    return ContextPacked(
        request_id=RequestId("req_now"),
        window=window,
        total_tokens=total,
        total_chars=total * 4,
        sections=sections,
        input_budget=77_000,
    )


async def opened(driven: Driven, manifest: ContextPacked) -> list[str]:
    driven.session.feed(manifest, after=1.0)
    await driven.settle()
    await driven.press("f4")
    sheet = driven.app.screen.query_one("#sheet").region
    rows: list[str] = []
    for _ in range(8):
        rows += [row[sheet.x : sheet.right] for row in driven.rows()]
        await driven.press("space")
    return [" ".join(row.replace("▌", " ").replace("▐", " ").split()) for row in rows]


def row_of(rows: list[str], name: str) -> str:
    return next(row for row in rows if row.startswith(f"{name} ") or row == name)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_each_section_stands_with_its_budget_and_its_state(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        rows = await opened(driven, packed(*SECTIONS))
        heads = row_of(rows, "section").split()
        wanted = {
            120: ["section", "tokens", "share", "budget", "state"],
            80: ["section", "tokens", "share", "budget", "state"],
            60: ["section", "tokens", "budget", "state"],
        }
        assert heads == wanted[size[0]]
        share = ["11", "%"] if size[0] > 60 else []
        shown = [word for word in row_of(rows, "repo map").split() if not set(word) & set("━─")]
        assert shown[:8] == ["repo", "map", "4.0k", *share, "4.0k", "!", "reduced"][:8]
        assert "whole" in row_of(rows, "system") and "whole" in row_of(rows, "instructions")
        assert "! dropped" in row_of(rows, "mentions") and "! reduced" in row_of(rows, "old results")
        assert "77.0k" in row_of(rows, "total")
        # A bar shows how much of its budget a section takes; it is the first to go.
        assert ("━" in row_of(rows, "repo map")) is (size[0] == 120)
        # Why a section is not whole stands in its row, or below where there is no room.
        text = " ".join(rows)
        assert "3 left out: no room" in text and "shortened the oldest 2 to fit" in text


async def test_a_bar_tells_how_much_of_its_budget_a_section_takes() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = await opened(driven, packed(*SECTIONS))
        assert "─" not in row_of(rows, "repo map") and "━" not in row_of(rows, "system")
        full, half = row_of(rows, "repo map").count("━"), row_of(rows, "old results").count("━")
        assert half == round(full * 17_800 / 36_000)


async def test_a_window_that_was_learnt_is_marked_and_says_how_to_set_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = await opened(driven, packed(*SECTIONS).model_copy(update={"window_inferred": True}))
        text = " ".join(rows)
        assert "200k (learnt)" in text and "context_window in the model's profile" in text
        await driven.press("escape")
        assert "of ~200k" in driven.text()


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(160, 45), (120, 40), (80, 24)])
@pytest.mark.parametrize(("tokens", "percent"), [(88_000, "44 %"), (132_000, "66 %")])
async def test_the_words_and_the_colour_are_of_the_figure_beside_them_while_a_model_answers(
    size: tuple[int, int], tokens: int, percent: str
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.session.feed(packed(section("messages", tokens)), after=1.0)
        await driven.settle()
        await driven.press("f4")
        assert f"{percent}  over soft limit" in driven.text()
        assert "near soft limit" not in driven.text()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("window", "tokens", "words"),
    [
        (200_000, 170_000, "compaction near"),
        (0, 110_000, "window almost full: /compact"),
        (0, 133_000, "over the window: /compact"),
    ],
)
async def test_the_pane_and_the_sheet_agree_on_what_happens_at_the_end_of_the_window(
    window: int, tokens: int, words: str
) -> None:
    session = FakeSession(list[Record](golden("night_shift")))
    model = ModelInfo(profile="m", provider="p", model="m", window=window)
    session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None), after=1.0)
    async with open_app(session=session) as driven:
        manifest = packed(section("messages", tokens)).model_copy(update={"window": window})
        text = " ".join(await opened(driven, manifest))
        assert ("only when you run /compact" in text) is (not window), text
        await driven.press("escape")
        assert words in driven.text()


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_no_key_of_the_context_means_another_thing_in_other_sheets(size: tuple[int, int]) -> None:
    async with open_app(session=FakeSession(list[Record](golden("night_shift"))), size=size) as driven:
        await driven.press("f4", "c")
        assert not any(isinstance(one, Compact) for one in driven.session.submitted)
        assert "C compact" not in driven.text() and "S summarise" in driven.text()
        await driven.press("s")
        assert isinstance(driven.session.submitted[-1], Compact)
        assert BY_NAME["view_copy"].keys == ("c",) and BY_NAME["context_summarise"].keys == ("s",)


async def test_the_sheet_follows_the_turn_that_runs_under_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = await opened(driven, packed(section("messages", 20_000)))
        assert any("20.0k of 200k tokens 10 % below soft limit" in row for row in rows)
        driven.session.feed(packed(section("messages", 20_000), section("tool_results", 68_000)), after=1.0)
        await driven.settle()
        assert "88.0k of 200k tokens   44 %  over soft limit" in driven.text()
        await driven.press("home")
        assert "68.0k" in driven.text() and "20.0k of" not in driven.text()


async def test_summarising_waits_for_the_end_of_the_turn() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await opened(driven, packed(*SECTIONS))
        assert "S summarise" not in driven.text() and "Esc close" in driven.text()
        await driven.press("s")
        assert isinstance(driven.app.screen, ContextSheet)
        assert not any(isinstance(one, Compact) for one in driven.session.submitted)
        driven.session.feed(TurnFinished(turn=3, reason="finished"))
        await driven.settle()
        assert "S summarise" in driven.text()


async def test_the_sections_add_up_as_they_are_written() -> None:
    sizes = {"system": 340, "repo_map": 840, "mentions": 840, "messages": 12, "tool_results": 3_745}
    async with open_app(golden("night_shift")) as driven:
        rows = await opened(driven, packed(*(section(name, tokens) for name, tokens in sizes.items())))
        names = ("system", "repo map", "mentions", "old results")
        figures = [float(row_of(rows, one).removeprefix(one).split()[0][:-1]) for one in names]
        assert row_of(rows, "answers").split()[1] == "<0.1k"
        assert round(sum(figures), 1) == float(row_of(rows, "total").split()[1][:-1]) == 5.8


async def test_the_next_turn_counts_commands_pastes_and_mentions_that_no_request_has_had(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.md").write_text(("n" * 39 + "\n") * 200)
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(packed(section("system", 600)), requested("req_now"))
        usage = Usage(input_tokens=1_000, output_tokens=20_000)
        driven.session.feed(responded("req_now", "Done").model_copy(update={"usage": usage}), after=1.0)
        driven.app.prompt.set_root(tmp_path)
        ran = UserShellFinished(command="make", output="o" * 16_000, exit_code=0, duration_ms=1.0)
        driven.session.feed(ran, ran.model_copy(update={"hidden": True}))
        await driven.settle()
        assert "next turn 25k tokens" in driven.text()
        driven.app.prompt.set_root(tmp_path)
        driven.app.prompt.editor.post_message(Paste("a long paste\n" * 1_000))
        await driven.settle()
        await driven.type(" sum up")
        await driven.until(lambda: "next turn 28k tokens" in driven.text())
        await driven.type(" @notes.md ")
        await driven.until(lambda: "next turn 31k tokens" in driven.text())
        driven.app.prompt.editor.load_text("")
        await driven.until(lambda: "next turn 25k tokens" in driven.text())
        driven.session.feed(requested("req_next"))
        await driven.until(lambda: "next turn 21k tokens" in driven.text())


async def test_every_figure_counts_the_newest_answer() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(packed(section("system", 600)), requested("req_now"))
        usage = Usage(input_tokens=1_000, output_tokens=20_000)
        driven.session.feed(responded("req_now", "Done").model_copy(update={"usage": usage}), after=1.0)
        await driven.settle()
        assert "next turn 21k tokens" in driven.text() and "21 %" in driven.rows()[0]
        await driven.press("f4")
        rows = [" ".join(row.replace("▌", " ").replace("▐", " ").split()) for row in driven.rows()]
        text = "\n".join(rows)
        assert "21.0k of 100k tokens" in text and "about 21k tokens in" in text
        assert "20.0k" in text.split("by tool and speaker")[0].split("answers")[1].split("\n")[0]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20), (40, 16)])
async def test_the_sheet_has_its_name_at_any_width(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        rows = await opened(driven, packed(section("messages", 88_000)))
        head = next(row for row in rows if "over soft limit" in row and "44 %" in row)
        assert head.startswith("Context ")
        assert ("88.0k of 200k" in head) is (size[0] >= 80)


@pytest.mark.slow
async def test_the_bars_give_way_to_the_reasons_and_every_key_is_named() -> None:
    async with open_app(golden("night_shift")) as driven:
        rows = await opened(driven, packed(*SECTIONS))
        assert row_of(rows, "old results").endswith("! reduced shortened the oldest 2 to fit")
        assert "━" in row_of(rows, "old results")
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await opened(driven, packed(*SECTIONS))
        for key in ("S summarise", "L restore", "M map", "Esc close"):
            assert key in driven.text()


@pytest.mark.slow_variants
@pytest.mark.parametrize("width", [80, 90, 100, 110, 120, 160])
async def test_every_limit_of_the_bar_has_its_figure(width: int) -> None:
    async with open_app(golden("night_shift"), size=(width, 40)) as driven:
        rows = await opened(driven, packed(*SECTIONS))
        labels = next(row for row in rows if row.startswith(("32", "warn 32")))
        assert width < 90 or "warn 32 40 soft limit 68 compaction" in labels  # `rows` has single spaces
        figures = [word for word in labels.split() if word.isdigit()]
        assert figures[:2] == ["32", "40"] and len(figures) == 3


async def test_an_answer_that_streams_does_not_draw_the_sheet_again() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3), packed(*SECTIONS), requested("req_now"))
        await driven.settle()
        await driven.press("f4")
        sheet = driven.app.screen
        assert isinstance(sheet, ContextSheet)
        drawn, draw = list[int](), sheet.body

        def counted(width: int) -> list[Strip]:
            drawn.append(width)
            return draw(width)

        sheet.body = counted  # type: ignore[method-assign]
        for _ in range(10):
            driven.session.feed(delta("req_now", "word "))
            await driven.settle()
        assert not drawn
        driven.session.feed(responded("req_now", "words", tokens=90_000))
        await driven.settle()
        assert drawn and "90.0k of" in driven.text()


async def test_the_next_turn_counts_the_message_in_the_prompt_with_its_mentions() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("look into it")
        driven.app.prompt.editor.attached_chars = 20_000
        assert driven.app.prompt.editor.message_size == 20_012
        await driven.press("f4")
        await driven.until(lambda: "about 48k tokens in" in driven.text())
