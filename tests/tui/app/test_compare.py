"""Two branches side by side in the app."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.two_ways import FORK, MAIN
from tests.tui.app.comparing import Outside, compared, open_comparison
from tests.tui.app.driving import golden, open_app
from tests.tui.app.test_hostile import HOSTILE, harmless
from tui_agent.folds.comparison.compared_branch import Outcome
from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.screens.compare.screen import CompareScreen


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compared(tmp_path_factory.mktemp("two"))


async def test_both_sides_stand_in_columns_with_their_figures(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        header, *rows = shown.rows()
        assert " COMPARE " in header
        assert header.endswith("read only   2 branches")
        names = next(row for row in rows if "fork at 8" in row)
        right = names.index("fork at 8")
        assert names[22:26] == "main"
        assert shown.row("What if").strip().startswith('both start at event 8, after "Cause: Entry.duration')
        outcome = next(row for row in rows if "Outcome" in row)
        assert outcome[22:].startswith("✓ done, 32 tests pass")
        assert outcome[right:] == "✗ 2 tests fail, turn finished"
        assert shown.row("Time").split() == [
            "24",
            "s",
            "━" * 10,
            "1",
            "min",
            "14",
            "s",
            "━" * 30,
            "3.1",
            "times",
        ]
        assert shown.row("Cost").split() == ["$0.031", "━" * 30, "$0.000", "local", "model"]
        assert shown.row("Files").split() == ["3", "+20", "−2", "2", "+9", "−3"]
        assert shown.row("Asked you").split() == ["2", "times", "3", "times,", "1", "denied"]


async def test_the_lines_of_time_have_one_scale_and_the_marks_of_what_happened(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        left, right = shown.row("Timeline").split()
        assert 3.0 < len(right) / len(left) < 3.2
        assert [char for char in left if char != "━"] == ["±", "✗", "±"]
        assert [char for char in right if char != "━"] == ["±", "✗", "✗", "±", "■", "✗", "✗", "✗"]


async def test_where_they_differ_stands_beside_each_other_and_up_and_down_change_the_file(
    two: Comparison,
) -> None:
    async with open_comparison(two) as shown:
        assert "src/timesheet/entry.py   1 of 3 files" in shown.text()
        assert any("end += timedelta(days=1)" in row[:80] for row in shown.rows())
        assert any("return abs(self.end - self.start)" in row[80:] for row in shown.rows())
        assert any("! tests/test_entry.py::test_midnight fails" in row[80:] for row in shown.rows())
        await shown.press("down")
        assert "tests/test_entry.py   2 of 3 files" in shown.text()
        assert any("not changed" in row[80:] for row in shown.rows())
        await shown.press("up", "up")
        assert "tests/test_report.py   3 of 3 files" in shown.text()


@pytest.mark.slow
async def test_answers_are_markdown_beside_each_other(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        row = next(row for row in shown.rows() if "A shift that ends before" in row)
        assert row[4:].startswith("A shift that ends before it starts now ends on the next day. ")
        assert row[82:] == "Durations are now always positive."


async def test_tab_chooses_the_branch_that_k_keeps(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        assert next(row for row in shown.rows() if "fork at 8" in row).index("this branch") < 80
        await shown.press("tab")
        assert next(row for row in shown.rows() if "fork at 8" in row).index("this branch") > 80
        await shown.press("k")
        assert [side.session for side in shown.kept] == [FORK]
        assert not isinstance(shown.driven.app.screen, CompareScreen)


async def test_the_open_sessions_branch_is_the_chosen_one_at_first(two: Comparison) -> None:
    async with open_comparison(two, own=FORK) as shown:
        assert shown.screen.chosen == 1


async def test_a_press_on_a_name_chooses_it(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        at = next(at for at, row in enumerate(shown.rows()) if "fork at 8" in row)
        await shown.driven.pilot.click(offset=(84, at))
        await shown.driven.pilot.pause()
        assert shown.screen.chosen == 1


async def test_both_play_from_the_fork_point_and_the_figures_grow(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        await shown.press("home")
        assert shown.row("Outcome").split() == ["●", "running", "●", "running"]
        assert shown.row("Time").split() == ["0", "ms", "0", "ms"]
        assert shown.row("Files").split() == ["none", "none"]
        assert "0:00 of 1:14" in shown.text()
        seen = []
        for _ in range(24):
            await shown.press("right")
            seen.append(shown.row("Tokens in / out").split()[0])
        assert len(set(seen)) > 2
        await shown.press("end")
        assert shown.row("Outcome").split()[:2] == ["✓", "done,"]
        assert "of 1:14" not in shown.text()


async def test_one_line_that_is_over_waits_for_the_other(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        while shown.screen.playhead.seconds < 40 or shown.screen.playhead.place == shown.screen.playhead.last:
            await shown.press(
                "home" if shown.screen.playhead.place == shown.screen.playhead.last else "right"
            )
        assert shown.row("Outcome").split()[:4] == ["✓", "done,", "32", "tests"]
        assert shown.row("Outcome").split()[-1] == "running"
        left, right = shown.row("Timeline").split()
        assert "●" not in left
        assert "●" in right


async def test_space_plays_from_the_beginning_and_pauses(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        await shown.press("space")
        assert shown.screen.playhead.playing
        assert shown.screen.playhead.speed == 8.0
        assert "▸ 8x   0:0" in shown.text()
        await shown.press("space")
        assert "paused" in shown.text()


async def test_x_asks_where_writes_markdown_there_and_says_so(
    two: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Documents").mkdir()
    async with open_comparison(two) as shown:
        await shown.press("x")
        await shown.driven.until(lambda: "Export this comparison as Markdown" in shown.text())
        await shown.press("enter")
        await shown.driven.until(lambda: "Exporting to ~/Documents …" in shown.text())
        place = ("--json", "--output", str(tmp_path / "Documents"))
        assert shown.outside.asked[-1] == ("compare", MAIN, FORK, "--markdown", *place)
        shown.outside.written.set()
        await shown.driven.until(lambda: "Exported to /home/ada/timesheet/two-ways.md" in shown.text())


@pytest.mark.slow_variants
@pytest.mark.parametrize("key", ["escape", "k"])
async def test_an_export_goes_on_where_the_comparison_is_left(two: Comparison, key: str) -> None:
    async with open_comparison(two) as shown:
        await shown.press("x")
        await shown.driven.until(lambda: "Export this comparison as Markdown" in shown.text())
        await shown.press("enter", key)
        assert not isinstance(shown.driven.app.screen, CompareScreen)
        shown.outside.written.set()
        await shown.driven.until(lambda: "Exported to /home/ada/timesheet/two-ways.md" in shown.text())


async def test_esc_goes_back_and_f1_names_every_key(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        await shown.press("f1")
        assert "play or pause both timelines" in shown.text()
        await shown.press("escape", "escape")
        assert not isinstance(shown.driven.app.screen, CompareScreen)


async def test_the_footer_names_the_keys_in_the_order_of_the_picture(two: Comparison) -> None:
    async with open_comparison(two) as shown:
        said = "Tab other branch   Up/Down file   Space play both   K keep this branch   X export   Esc back"
        assert shown.rows()[-1].strip().startswith(said)
        assert shown.rows()[-1].endswith("F1 help")


@pytest.mark.parametrize(
    "size", [(160, 45), (120, 40), (100, 30), (99, 24), (80, 24), (60, 20), (40, 12), (20, 6)]
)
async def test_at_every_size_it_is_composed_and_nothing_sticks_out(
    two: Comparison, size: tuple[int, int]
) -> None:
    async with open_comparison(two, size=size) as shown:
        harmless(shown.driven)
        assert "main" in shown.text()
        assert "done, 32" in shown.text()
        await shown.press("tab", "down", "home")
        harmless(shown.driven)


async def test_below_70_columns_tab_shows_the_other_branch(two: Comparison) -> None:
    async with open_comparison(two, size=(60, 20)) as shown:
        assert "fork at 8" not in shown.text()
        assert "1 of 2" in shown.text()
        await shown.press("tab")
        assert "2 of 2" in shown.text()
        assert shown.row("Outcome").strip() == "✗ 2 tests fail, turn finished"
        assert "return abs(self.end - self.start)" in shown.text()


async def test_below_100_columns_files_and_answers_are_those_of_the_chosen_branch(two: Comparison) -> None:
    async with open_comparison(two, size=(80, 24)) as shown:
        assert "end += timedelta(days=1)" in shown.text()
        await shown.press("tab")
        assert "return abs(self.end - self.start)" in shown.text()
        await shown.press("pagedown")
        assert "Durations are now always positive." in shown.text()


async def test_without_colour_and_in_ascii_everything_still_reads(two: Comparison) -> None:
    environ = {"NO_COLOR": "1", "TUI_AGENT_SYMBOLS": "ascii"}
    async with open_comparison(two, environ=environ) as shown:
        strips = shown.driven.app.screen._compositor.render_strips()
        coloured = [
            piece
            for strip in strips
            for piece in strip
            if piece.style and (piece.style.color or piece.style.bgcolor) and piece.text.strip()
        ]
        assert not [piece for piece in coloured if not piece.style.color.is_default]
        assert shown.text().isascii()
        assert shown.row("Outcome").split()[0] == "+"
        assert "this branch" in shown.text()
        assert set(shown.row("Timeline").split()[1]) == {"=", "~", "x", "#"}


async def test_foreign_text_is_shown_and_never_obeyed(two: Comparison) -> None:
    said = HOSTILE.replace("\ud800", "")  # no text of a log has half a character
    left = replace(
        two.left,
        name=said,
        title=said,
        model=said,
        change_text=said,
        answer=said,
        failures=(said,),
        outcome=Outcome("failed", said),
        tools={said: 2},
    )
    assert two.fork_point is not None
    differ = (
        replace(two.differences[0], path=said, left=f"@@ -1 +1 @@\n-{said}\n+x\n", right_note=said, right=""),
    )
    found = replace(two, left=left, differences=differ, fork_point=replace(two.fork_point, after=said))
    for size in ((160, 45), (80, 24), (60, 20)):
        async with open_comparison(found, size=size) as shown:
            assert shown.screen.comparison == found
            harmless(shown.driven)
            await shown.press("f1", "escape", "tab")
            harmless(shown.driven)


async def test_strangers_are_two_sessions_that_share_nothing(two: Comparison) -> None:
    found = replace(two, fork_point=None, right=replace(two.right, title="another-thing"))
    async with open_comparison(found) as shown:
        assert "night-shift-hours and another-thing" in shown.rows()[0]
        assert shown.rows()[0].endswith("2 sessions")
        assert "no common start: the whole sessions are compared" in shown.text()


async def test_the_same_ends_are_said(two: Comparison) -> None:
    async with open_comparison(replace(two, differences=())) as shown:
        assert "Both sessions end with the same files." in shown.text()
        await shown.press("down")


async def test_what_the_fork_changed_stands_in_its_head(two: Comparison) -> None:
    found = replace(two, right=replace(two.right, change_text='another message: "Only the report"'))
    async with open_comparison(found) as shown:
        assert any(row[82:].startswith('another message: "Only the report"') for row in shown.rows())


async def test_where_there_is_no_comparison_it_goes_and_says_why() -> None:
    async with open_comparison(None) as shown:
        assert shown.without == ["There is no such session."]
        assert not isinstance(shown.driven.app.screen, CompareScreen)


# -- the command ---------------------------------------------------------------------------------------------------


async def test_compare_with_two_ids_asks_for_both(two: Comparison) -> None:
    outside = Outside(two)
    async with open_app(golden("night_shift"), outside=outside) as driven:
        driven.app.do("tree", f"compare {MAIN} {FORK}")
        await driven.pilot.pause()
        assert isinstance(driven.app.screen, CompareScreen)
        assert ("compare", MAIN, FORK, "--json") in outside.asked


async def test_compare_takes_two_names_at_most() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.do("tree", "compare a b c")
        await driven.pilot.pause()
        assert "/compare takes at most two session ids." in driven.text()


async def test_compare_of_a_session_that_is_not_there_says_so() -> None:
    outside = Outside(None)
    async with open_app(golden("night_shift"), outside=outside) as driven:
        driven.app.do("tree", "compare ses_x ses_y")
        while isinstance(driven.app.screen, CompareScreen):
            await driven.pilot.pause()
        await driven.pilot.pause()
        assert "There is no such session." in driven.text()


async def test_alone_without_forks_one_of_the_other_sessions_can_be_chosen(
    tmp_path: Path, two: Comparison
) -> None:
    class Alone(Outside):
        async def __call__(self, *words: str) -> tuple[int, str]:
            if words[0] == "sessions":
                return 0, f'{{"id": "{FORK}", "title": "the other one"}}\n'
            if len(words) == 3:
                self.asked.append(words)
                return 2, "tui-agent: It is no fork and has none."
            return await super().__call__(*words)

    outside = Alone(two)
    async with open_app(golden("night_shift"), outside=outside) as driven:
        controller = driven.app.controller
        assert controller is not None
        (tmp_path / "events.jsonl").write_bytes(b"{}\n")
        controller.folder = tmp_path
        driven.app.do("tree", "compare")
        while "the other one" not in driven.text():
            await driven.pilot.pause()
        await driven.press("enter")
        await driven.pilot.pause()
        assert ("compare", controller.app.session_id, FORK, "--json") in outside.asked
