"""What each kind of entry looks like, row by row, and what may never be cut, lost or moved."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.tui.transcript.samples import DIFF, EVERY_ACTION, Samples, diff_block
from tui_agent.folds.transcript.entries import Entry
from tui_agent.protocol.display_blocks import (
    CustomBlock,
    ImageBlock,
    JsonBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from tui_agent.protocol.stored_text import BlobText, LongText
from tui_agent.tui.theme.glyphs import ASCII, UNICODE, Symbols
from tui_agent.tui.theme.theme import Palette, bundled_folder, load_theme
from tui_agent.tui.transcript.entry_drawing import DisplayState, draw, is_open, search_text
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import Row, width_of

NIGHT = load_theme(bundled_folder() / "night.toml")
PALETTE = Palette(NIGHT)


def read(text: LongText) -> str:
    return text if isinstance(text, str) else text.preview


def rows(entry: Entry, width: int = 82, symbols: Symbols = UNICODE, **shown: Any) -> list[Row]:
    return draw(entry, DisplayState(**shown), Look(PALETTE, symbols, width, actions=EVERY_ACTION), read)


def lines(entry: Entry, width: int = 82, **more: Any) -> list[str]:
    return [row.text().rstrip() for row in rows(entry, width, **more)]


def test_a_tool_row_keeps_its_columns_and_its_measures_at_the_right_edge() -> None:
    s = Samples()
    first = lines(s.tool("read", "src/timesheet/entry.py  1–61", "61 lines", 6))[0]
    second = lines(s.tool("[Subtask]", "Who relies on it?", "2 tool calls", 11_200))[0]
    assert first.index("✓") == 2
    assert first.index("read") == 4
    assert first.index("src/") == second.index("Who") == 14
    assert len(first) == len(second) == 80
    assert first.index("61 lines") + len("61 lines") == second.index("2 tool calls") + len("2 tool calls")


@pytest.mark.parametrize(
    ("state", "symbol", "word"),
    [
        ("queued", "·", "queued"),
        ("running", "●", "running"),
        ("waiting", "?", "waiting for you"),
        ("failed", "✗", "exit 1"),
        ("denied", "■", "denied"),
        ("interrupted", "■", "stopped"),
        ("lost", "✗", "lost"),
    ],
)
def test_every_state_has_its_symbol_and_its_word(state: str, symbol: str, word: str) -> None:
    outcome = "exit 1" if state == "failed" else ""
    row = lines(Samples().tool("run", "make", outcome, state=state))[0]
    assert row[2] == symbol
    assert row.endswith(word)


def test_counts_too_long_for_their_column_keep_those_that_matter_and_are_not_repeated_below() -> None:
    blocks = (TerminalBlock(text="AssertionError\n90 failed, 186 passed, 110 skipped in 2.11s\n"),)
    outcome = "90 failed, 186 passed, 110 skipped"
    shown = lines(Samples().tool("test", "test", outcome, 2110, state="failed", blocks=blocks))
    assert re.sub(" +", " ", shown[0]).endswith(" test test 90 failed, 186 passed 2.1 s")
    assert len(shown) == 3
    reason = lines(Samples().tool("test", "test", "the tests could not begin at all here", 9, state="failed"))
    assert "failed" in reason[0]
    assert reason[1].endswith("the tests could not begin at all here")


def test_a_long_command_is_wrapped_and_never_cut() -> None:
    command = "run --with=" + " --and=".join(f"option{n}" for n in range(30))
    shown = lines(Samples().tool("run", command, "exit 0", 12), 60)
    assert "".join(shown).replace(" ", "").count("option") == 30
    assert all(line.startswith(" " * 16) for line in shown[1:])


def test_a_long_path_is_shortened_in_its_middle_until_the_row_is_opened() -> None:
    path = "tests/test_utils/test_make_default_short_help.py"
    entry = Samples().tool("read", path, "39 lines", 45)
    (row,) = lines(entry, 78)
    assert "tests/tes" in row and "…/test_make_default_short_help.py" in row
    assert "…" not in "".join(lines(entry, 78, opened=True))


def test_output_shows_its_last_rows_and_counts_those_before() -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    entry = Samples().tool("run", "make", "exit 0", 12, blocks=(TerminalBlock(text=text),))
    shown = lines(entry)
    assert shown[1].endswith("12 earlier lines")
    assert [line.split("│ ")[1] for line in shown[2:]] == [f"line {n}" for n in range(12, 20)]
    assert len(lines(entry, opened=True)) == 21
    assert lines(entry, has_turn_ended=True) == lines(entry, opened=False)
    assert "folded, 20 lines" in lines(entry, has_turn_ended=True)[0]


def test_a_long_line_of_a_folded_output_takes_three_rows_so_that_the_lines_around_it_stay_in_view() -> None:
    assertion = "E   AssertionError: assert " + " ".join(f"'item-{n}'" for n in range(60))
    text = f"tests/test_shop.py:17:\n{assertion}\n2 failed in 0.26s\n"
    entry = Samples().tool(
        "test", "pytest", "2 failed", 12, state="failed", blocks=(TerminalBlock(text=text),)
    )
    shown = [line.split("│ ")[1].rstrip() for line in lines(entry, 78)[1:]]
    assert shown[0] == "tests/test_shop.py:17:" and shown[-1] == "2 failed in 0.26s"
    assert len(shown) == 5 and shown[1].startswith("E   AssertionError: assert 'item-0'")
    assert shown[3].endswith("…") and len(shown[3]) <= 74
    assert any(run.act == "fold" for run in rows(entry, 78)[4].runs)  # Ctrl+O has something to show
    assert "'item-59'" in "".join(lines(entry, 78, opened=True))


def test_empty_lines_at_the_end_of_an_output_take_no_rows() -> None:
    text = "".join(f"line {n}\n" for n in range(20)) + "\n\x1b[0m\n  \r\n"
    entry = Samples().tool("test", "npx mocha", "1 failed", 12, blocks=(TerminalBlock(text=text),))
    assert lines(entry)[-1].endswith("line 19") and lines(entry)[1].endswith("12 earlier lines")
    assert lines(entry, opened=True)[-1].endswith("line 19")


def test_running_output_shows_six_rows_and_counts_what_is_no_longer_held() -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    entry = Samples().tool("run", "make", state="running", output=text, output_lines=120, started_at=10.0)
    shown = lines(entry, now=14.2)
    assert shown[0].endswith("running      4 s")
    assert shown[1].endswith("114 earlier lines")
    assert len(shown) == 8


def test_what_stands_in_front_of_a_short_last_line_is_shown_though_its_line_began_above() -> None:
    text = "x" * 4_000 + "\n[… 63,536 characters …]\n"
    entry = Samples().tool("run", "make", state="running", output=text, output_lines=2, started_at=10.0)
    shown = lines(entry, now=14.2)
    assert len(shown) == 5 and "xxxx" in shown[1] and "[… 63,536 characters …]" in shown[-1]


def test_a_progress_bar_shows_its_last_form_and_colours_are_roles() -> None:
    text = "10 %\r50 %\r\x1b[31m100 %\x1b[0m\n\x1b]52;c;AAAA\x07ok\n"
    made = rows(Samples().tool("run", "make", "exit 0", 1, blocks=(TerminalBlock(text=text),)))
    assert made[1].text().strip() == "│ 100 %"
    assert made[2].text().strip() == "│ ok"
    red = next(run for run in made[1].runs if run.text == "100 %")
    assert red.style == PALETTE.style("error", "s0")


def test_a_diff_has_numbers_signs_and_strong_words() -> None:
    made = rows(Samples().tool("edit", "src/entry.py", "+4 -1", 8, blocks=(diff_block("src/entry.py"),)))
    shown = [row.text() for row in made]
    assert "+4 −1" in shown[0]
    assert not shown[0].rstrip().endswith("+4 −1")
    assert shown[2].startswith("      24 -         return self.end - self.start")
    assert shown[3].startswith("      24 +         end = self.end")
    changed = "@@ -1 +1 @@\n-    total = 39.5\n+    total = 15.5\n"
    made = rows(Samples().tool("edit", "a.py", "", 8, blocks=(diff_block("a.py", changed, 1, 1),)))
    strong = [
        run.text
        for row in made
        for run in row.runs
        if run.style == PALETTE.style("diff-add-text", "diff-add-strong")
    ]
    assert strong == ["15"]


@pytest.mark.parametrize("width", [44, 52, 60, 71])
def test_a_long_line_of_a_diff_breaks_between_words_and_loses_nothing(width: int) -> None:
    line = "    return timesheet.calculate_total(entries_of_the_week, include_breaks=True)  # all of  them"
    block = diff_block("a.py", f"@@ -1,0 +1 @@\n+{line}\n", 1, 0)
    made = rows(Samples().tool("edit", "a.py", "", 8, blocks=(block,)), width)[1:]
    shown = ["".join(run.text for run in row.runs if run.src != -1) for row in made]
    assert "".join(shown) == f"+{line}" and len(shown) > 1
    for before, after in pairwise(shown):
        assert not (re.search(r"\w$", before) and re.match(r"\w", after))
    assert all(width_of(row.runs) <= width for row in made)


def test_a_long_diff_folds_and_a_denied_one_is_dim() -> None:
    longer = "@@ -1,0 +1,15 @@\n" + "+x\n" * 15
    entry = Samples().tool("edit", "a.py", "", 8, blocks=(diff_block("a.py", longer, 15, 0),))
    assert lines(entry)[0].split()[:5] == ["✓", "edit", "a.py", "+15", "folded"]
    assert len(lines(entry)) == 1
    assert len(lines(entry, opened=True)) == 16
    denied = rows(
        Samples().tool(
            "edit", "a.py", state="denied", denial="Not this file.", blocks=(diff_block("a.py", DIFF),)
        )
    )
    grounds = {run.style.bgcolor for row in denied[2:] for run in row.runs if run.text.strip()}
    assert grounds == {PALETTE.style("t3", "sunk").bgcolor}


@pytest.mark.parametrize("symbols", [UNICODE, ASCII])
def test_the_users_words_at_a_refusal_look_like_the_users_and_stand_apart_from_the_output(
    symbols: Symbols,
) -> None:
    entry = Samples().tool(
        "run",
        "pip install x",
        "exit 1",
        8,
        state="failed",
        denial="You said no: use a venv\nin this folder, " + "please " * 20,
        denied_by_user=True,
        blocks=(TerminalBlock(text="ERROR: no network\n"),),
    )
    made = rows(entry, symbols=symbols)
    texts = [row.text().rstrip() for row in made]
    assert texts[1] == f"    {symbols.rail} ERROR: no network"
    assert texts[2] == f"    {symbols.bar} You said no: use a venv"
    assert texts[3].startswith(f"    {symbols.bar} in this folder, please please")
    assert len(texts) == 6 and texts[5] == f"    {symbols.bar} please please"
    said = [run for row in made[2:] for run in row.runs if "said no" in run.text or "please" in run.text]
    assert {run.style.bgcolor for run in said} == {PALETTE.style("t1", "s2").bgcolor}
    assert all(width_of(row.runs) <= 82 for row in made)


def test_what_cannot_be_seen_stands_in_a_diff_and_a_command_as_its_code_point() -> None:
    changed = "@@ -1 +1 @@\n-x = 1\r\n+x\u200b = '\u202e2' # \u2066\tend\r\n"
    made = lines(Samples().tool("edit", "a.py", "", 8, blocks=(diff_block("a.py", changed, 1, 1),)))
    assert made[1].split() == ["1", "-", "x", "=", "1"]
    assert made[2].split()[2:] == ["x<U+200B>", "=", "'<U+202E>2'", "#", "<U+2066>", "end"]
    assert "echo <U+202E>hidden" in lines(Samples().tool("run", "echo \u202ehidden", "exit 0", 8))[0]


def test_a_short_remark_stands_beside_the_counts_of_a_change() -> None:
    entry = Samples().tool(
        "edit", "a.py", "", 8, blocks=(diff_block("a.py"), TextBlock(text="the total was wrong"))
    )
    assert "+4 −1  the total was wrong" in lines(entry)[0]
    removal = diff_block("a.py", "@@ -1,2 +0,0 @@\n-a\n-b\n", 0, 2)
    (head, *_) = lines(Samples().tool("edit", "a.py", "-2", 8, blocks=(removal,)))
    assert "−2" in head and "-2" not in head
    assert len(lines(entry)) == 7


def test_a_search_finds_a_full_output_as_often_as_the_unfolded_call_shows_it() -> None:
    whole = "".join(f"word {number}\n" for number in range(30))
    part = TerminalBlock(text="".join(whole.splitlines(keepends=True)[-8:]))
    entry = Samples().tool("run", "make", "exit 0", 8, blocks=(part,), full_output=whole)
    assert search_text(entry, read).count("word") == "\n".join(lines(entry, opened=True)).count("word") == 30


def test_opening_a_run_shows_all_of_its_output() -> None:
    part, whole = TerminalBlock(text="last\n", omitted=2), "one\ntwo\nlast\n"
    entry = Samples().tool("run", "make", "exit 0", 8, blocks=(part,), full_output=whole)
    assert [line.strip(" │") for line in lines(entry)[1:]] == ["2 earlier lines", "last"]
    assert [line.strip(" │") for line in lines(entry, opened=True)[1:]] == ["one", "two", "last"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (TextBlock(text="plain [bold]text[/]"), "plain [bold]text[/]"),
        (MarkdownBlock(text="- **point**"), "• point"),
        (TableBlock(columns=("name", "n"), rows=(("世界", "1"),), align="lr"), "世界  1"),
        (TreeBlock(roots=(TreeNode(label="root", children=(TreeNode(label="leaf"),)),)), "leaf"),
        (JsonBlock(data={"a": 1}), '"a": 1'),
        (
            ImageBlock(media_type="image/png", blob_sha256="0" * 64, size=2048, name="shot.png"),
            "shot.png  image/png",
        ),
        (CustomBlock(owner="p", name="x", data={}, text="stands in"), "stands in"),
    ],
)
def test_every_kind_of_block_is_drawn(block: Any, expected: str) -> None:
    shown = "\n".join(lines(Samples().tool("show", "it", blocks=(block,)), opened=True))
    assert expected in shown


def test_a_message_shows_its_time_and_its_actions_only_while_it_is_active() -> None:
    entry = Samples().user("Fix it.")
    assert "fork" not in lines(entry)[0]
    active = rows(entry, active=True)[0]
    assert "fork  revert" in active.text()
    assert active.act_at(active.text().index("fork")) == "fork"
    assert active.act_at(active.text().index("revert") + 1) == "revert"
    assert width_of(active.runs) == 80


def test_a_long_message_shows_a_glimpse_until_it_is_opened() -> None:
    pasted = "\n".join(f"pasted {number}" for number in range(300))
    shown = lines(Samples().user(f"{pasted}\nwhat is this log?", own_words="what is this log?"))
    assert "pasted 0" in shown[0] and "what is this log?" in shown[-1] and len(shown) == 9
    assert "294 more lines" in shown[-2], "in the order in which the model gets them"
    shown = lines(Samples().user(f"look: {pasted}", own_words="look:"))
    assert "look: pasted 0" in shown[0] and "pasted 1" in shown[1], "they are not shown twice"
    around = Samples().user(f"look at this {pasted} and explain", own_words="look at this and explain")
    shown = lines(around)
    assert "look at this pasted 0" in shown[0] and "pasted 1" in shown[1]
    assert "293 more lines" in shown[-2] and shown[-1].endswith("▌ and explain") and len(shown) == 9
    folded = lines(around, opened=False)
    assert "look at this pasted 0" in folded[0] and folded[-1].endswith("▌ and explain") and len(folded) == 3
    shown = lines(Samples().user(f"a {pasted} apple", own_words="a apple"))
    assert shown[-1].endswith("▌ apple"), "no part of a word is left out"
    shown = lines(Samples().user(f"see {pasted} please", own_words="see please"))
    assert "see pasted 0" in shown[0] and shown[-1].endswith("▌ please")
    message = Samples().user("\n".join(f"pasted {number}" for number in range(300)))
    glimpse = lines(message)
    assert len(glimpse) == 9 and "pasted 0" in glimpse[0] and "292 more lines" in glimpse[-1]
    assert [run.act for row in rows(message) for run in row.runs if run.act] == ["fold"]
    assert len(lines(message, opened=True)) == 300
    assert not is_open(message, DisplayState()) and is_open(message, DisplayState(opened=True))


@pytest.mark.parametrize("width", [80, 120, 160])
def test_a_folded_message_counts_the_lines_that_were_pasted(width: int) -> None:
    message = Samples().user("\n".join(f"{number} " + "pasted " * 20 for number in range(200)))
    shown = lines(message, width=width)
    whole = sum(any(f" {number} pasted" in line for line in shown) for number in range(200))
    assert shown[-1].endswith((f" {200 - whole} more lines", f" {201 - whole} more lines"))


def test_the_users_own_command_says_how_it_ended_and_what_the_model_does_not_see() -> None:
    s = Samples()
    failed = s.notice("shell", "error", "exit 3", command="make", blocks=(TerminalBlock(text="no rule"),))
    assert lines(failed)[0].startswith("  ✗ you ran") and lines(failed)[0].endswith("exit 3")
    hidden = s.notice(
        "shell",
        "info",
        "exit 0",
        "kept out of the context",
        command="env",
        blocks=(TerminalBlock(text="A=1"),),
    )
    assert lines(hidden)[0].endswith("kept out of the context   exit 0")


def test_a_queued_message_has_no_row_in_the_transcript() -> None:
    assert lines(Samples().user("Later.", state="queued")) == []


def test_a_turn_ends_with_its_sums_and_what_can_be_done() -> None:
    s = Samples()
    s.user("x")
    made = rows(s.turn_end(), 82)[0]
    assert made.text().split("·")[1:3] == [" 51 s ", " 6 iterations "]
    assert made.text().endswith("$0.076   diff  undo")
    assert made.act_at(77) == "undo"
    assert "iterations" not in rows(s.turn_end(), 62)[0].text()
    many = replace(
        s.turn_end(), turn=12, duration_ms=171_000.0, iterations=31, files=201, added=41_421, removed=1
    )
    assert [row.text().strip() for row in rows(many, 82)] == [
        "turn 12 · 2 min 51 s · 201 files +41421 −1               $0.076   diff  undo"
    ]
    assert [row.text().rstrip()[4:] for row in rows(many, 50)] == [
        "turn 12 · 2 min 51 s     $0.076   diff  undo",
        "201 files +41421 −1",
    ]
    assert rows(s.turn_end(files=0), 82)[0].text().rstrip().endswith("$0.076")


def test_an_error_says_what_happened_and_what_to_press() -> None:
    entry = Samples().notice(
        "model_failed", "error", "It does not answer.", "Nothing is lost.", "Enter try again · Esc leave it"
    )
    shown = lines(entry)
    assert [line.replace("│", "").strip() for line in shown] == [
        "✗ model",
        "It does not answer.",
        "Nothing is lost.",
        "",
        "You can",
        "Enter   try again",
        "Esc     leave it",
    ]


def test_ascii_symbols_leave_no_other_sign_in_a_row() -> None:
    s = Samples()
    for entry in (
        s.user("x"),
        s.tool("run", "make", "exit 0", 12, blocks=(TerminalBlock(text="ok"),)),
        s.turn_end(),
    ):
        assert "".join(lines(entry, symbols=ASCII)).isascii()


@pytest.mark.parametrize("width", [40, 44, 60, 70, 82, 110, 200])
def test_no_row_is_wider_than_the_view(width: int) -> None:
    s = Samples()
    long = "世界 " * 40 + "x" * 300
    entries: list[Entry] = [
        s.user(long),
        s.answer(long + "\n\n```\n" + long + "\n```\n| a | b |\n|---|---|\n| " + long + " | b |\n"),
        s.tool(
            "run",
            long,
            "exit 0",
            12,
            blocks=(TerminalBlock(text=long), diff_block("a.py", "@@ -1 +1 @@\n+" + long)),
        ),
        s.tool("a very long verb indeed", "x", "y" * 29, 700_000),
        s.notice("error", "error", long, long),
        s.turn_end(reason="cost_limit", detail=long),
    ]
    for entry in entries:
        for row in rows(entry, width, opened=True):
            # A broken line may keep the one space that it was broken at.
            assert width_of(row.runs) <= width - 1, row.text()


def test_a_huge_line_of_output_is_drawn_in_part_and_counted() -> None:
    shown = lines(
        Samples().tool("run", "x", "exit 0", 1, blocks=(TerminalBlock(text="y" * 10_000_000),)), opened=True
    )
    assert len(shown) < 60
    assert "9,996,000 more characters" in "".join(shown).replace("│", "").replace("  ", "")


def test_a_text_that_is_not_there_yet_shows_its_preview() -> None:
    blob = BlobText(blob_sha256="0" * 64, size=90_000, preview="the first words")
    assert "the first words" in lines(Samples().answer(blob))[0]


PLAN = "# Fix it\n\n1. **Read** the tests\n2. Change `entry.py`\n" + "".join(
    f"3. step {n}\n" for n in range(20)
)


def test_a_plan_is_shown_once_as_markdown_and_folds() -> None:
    options = ("Approve; ask me before changes", "Approve; accept edits", "Keep planning")
    waiting = Samples().add_question(PLAN, "plan", options)
    assert [line.split() for line in lines(waiting)] == [["?", "plan", "waiting", "for", "you"]]
    approved = replace(waiting, answer=options[1], choice=1)
    shown = lines(approved)
    assert shown[0].endswith("plan      Approve; accept edits")
    assert not any("**" in line or "# Fix" in line for line in shown)
    assert any("│ 1. Read the tests" in line for line in shown) and "more lines" in shown[-1]
    assert len(lines(approved, opened=True)) > len(shown)
    assert len(lines(waiting, opened=True)) > len(shown)
    edited = replace(waiting, answer="# Another\n\nplan", choice=0)
    assert lines(edited)[0].endswith("edited by you, and approved") and "│ Another" in lines(edited)[1]
    refused = replace(waiting, answer="Not so fast.", choice=None)
    assert lines(refused)[0].split()[:3] == ["■", "plan", "refused"]
    assert lines(refused)[-1].strip() == "▌ You said: Not so fast."
    assert lines(replace(waiting, is_void=True))[0].split()[:4] == ["■", "plan", "not", "answered"]


def test_a_question_is_markdown_too_and_its_call_has_no_row_of_its_own() -> None:
    asked = Samples().add_question("Use **all** of `docs`?", "choice", ("yes", "no"))
    assert lines(asked)[0].strip() == "? question  Use all of docs?"
    assert lines(Samples().tool("ask", "Use **all** of `docs`?", is_question=True)) == []


def test_only_actions_that_can_be_carried_out_are_offered() -> None:
    user, turn = Samples().user("Fix it."), Samples().turn_end(files=1, added=1)
    look = Look(PALETTE, UNICODE, 100, actions=frozenset({"diff"}))
    assert "fork" not in draw(user, DisplayState(active=True), look, read)[0].text()
    shown = draw(turn, DisplayState(), look, read)[0].text()
    assert "diff" in shown and "undo" not in shown
