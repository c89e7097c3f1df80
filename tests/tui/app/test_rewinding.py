"""Going back and forth in the app: what is shown is the branch, and the message returns to the prompt."""

import re

from textual.events import Paste

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.base import RequestId
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    FolderChange,
    PlannedFileChange,
)
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import CommandRejected, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived, UserQueued
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.protocol.settings import BudgetUse
from tui_agent.tui.controller.rewind import KeptFilesPicker
from tui_agent.tui.transcript.messages import EntryAction


def turn(driven: Driven, number: int, text: str, answer: str, cost: float | None = None) -> int:
    """One turn; the seq of its message."""
    seq = len(driven.session.records)
    driven.session.feed(
        UserMessageReceived(text=text),
        TurnStarted(turn=number),
        ModelResponded(
            request_id=RequestId(f"req_{number}"),
            first_part=number,
            parts=(TextPart(text=answer),),
            finish="stop",
            usage=Usage() if cost is None else Usage(input_tokens=1000, output_tokens=10),
            cost_usd=cost,
            duration_ms=1.0,
        ),
        TurnFinished(turn=number, reason="finished", duration_ms=5.0),
    )
    return seq


def hear(driven: Driven) -> None:
    """Keys count for the question at once."""
    assert isinstance(driven.app.screen, KeptFilesPicker)
    driven.app.screen.end_grace_period()


def begun() -> FakeSession:
    """A session that has just begun."""
    return FakeSession(golden("streaming")[:3])


async def test_what_was_taken_back_is_gone_from_the_screen_and_comes_again() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        await driven.settle()
        assert "the second thing" in driven.text()
        end = len(driven.session.records) - 1
        commits = tuple(f"{number}a2b3c4 Number {number}" for number in range(1, 5))
        driven.session.feed(
            SessionHeadMoved(
                to_seq=second - 1, from_seq=end, reason="undo", turn=2, parts=3, kept_commits=commits
            )
        )
        driven.session.feed(CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("a.py", "b.py")))
        await driven.settle()
        assert "the second thing" not in driven.text()
        assert "the first thing" in driven.text()
        assert "2 files restored: a.py, b.py" in driven.text()
        assert "These commits stay: 1a2b3c4 “Number 1”, 2a2b3c4" in driven.text()
        text = " ".join(re.sub(r"[│ ]+", " ", driven.text()).split())
        assert "git reset" in text
        last = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=last, reason="redo", turn=2, parts=3))
        await driven.settle()
        assert "the second thing" in driven.text()


async def test_after_going_back_it_is_ready_and_what_is_queued_is_held() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo", turn=1, parts=1))
        await driven.settle()
        assert (driven.app.status.view.mood, driven.app.status.view.word) == ("ready", "ready")
        assert driven.app.status.view.what == ""
        driven.session.feed(UserQueued(text="later", queue_id=RequestId("q_1")))
        await driven.settle()
        assert (driven.app.status.view.word, driven.app.status.view.what) == ("ready", "1 message held")
        turn(driven, 2, "the next thing", "two")
        driven.session.feed(TurnFinished(turn=2, reason="interrupted", duration_ms=5.0))
        await driven.settle()
        assert driven.app.status.view.word == "stopped"


async def test_the_cost_of_undone_turns_is_still_counted() -> None:
    async with open_app(session=begun(), size=(120, 40)) as driven:
        turn(driven, 1, "the first thing", "one", cost=1.05)
        second = turn(driven, 2, "the second thing", "two", cost=1.05)
        end = len(driven.session.records) - 1
        used = BudgetUse(turns=2, cost_usd=2.1)
        driven.session.feed(SessionHeadMoved(to_seq=second - 1, from_seq=end, reason="undo", used=used))
        await driven.settle()
        assert "$2.10" in driven.rows()[0]
        turn(driven, 3, "the third thing", "three", cost=1.05)
        last = len(driven.session.records)
        driven.session.feed(TurnStarted(turn=4), TurnFinished(turn=4, reason="cost_limit", duration_ms=5.0))
        await driven.settle()
        assert "$3.15" in driven.rows()[0]
        await driven.type("/cost")
        await driven.press("escape", "enter")
        shown = [" ".join(row.split()) for row in driven.rows()]
        for row in ("session $3.15", "last turn $0.000", "turn 4 $0.000 0 0 0", "undone $1.05"):
            assert any(row in text for text in shown), row
        assert any("session $3.15 2.0k 20" in text for text in shown)
        await driven.press("escape")
        used = BudgetUse(turns=3, cost_usd=3.15)
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=last, reason="redo", used=used))
        await driven.settle()
        assert "$3.15" in driven.rows()[0]


async def test_undo_gives_the_message_back_to_the_prompt() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        assert [type(one) for one in driven.session.submitted] == [Undo]
        assert driven.app.prompt.editor.text == "the first thing"


async def test_a_refused_undo_takes_its_message_out_of_the_prompt_again() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        editor = driven.app.prompt.editor
        refused = CommandRejected(command="undo", reason="The disk is full.", hint="Nothing was changed.")
        for typed, left in (("", ""), (" more", "the first thing more")):
            await driven.type("/undo")
            await driven.press("enter")
            await driven.type(typed)
            assert editor.text == f"the first thing{typed}"
            driven.session.feed(refused)
            await driven.settle()
            assert editor.text == left
        driven.session.feed(refused)
        await driven.settle()
        assert editor.text == left


async def test_undo_of_a_turn_that_continued_the_one_before_gives_no_message_back() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        driven.session.feed(
            TurnStarted(turn=2, is_continuation=True),
            TurnFinished(turn=2, reason="finished", duration_ms=5.0),
        )
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        assert [type(one) for one in driven.session.submitted] == [Undo]
        assert driven.app.prompt.editor.text == ""


async def test_a_second_undo_can_be_typed_right_away() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        for _ in range(2):
            await driven.type("/undo")
            await driven.press("enter")
            await driven.settle()
        assert [type(one) for one in driven.session.submitted] == [Undo, Undo]
        assert driven.app.prompt.editor.text == "the first thing"
        await driven.type(" and/or more")
        assert driven.app.prompt.editor.text == "the first thing and/or more"


async def test_with_nothing_to_take_back_it_says_so() -> None:
    async with open_app(session=begun()) as driven:
        for slash in ("/undo", "/redo", "/revert"):
            await driven.type(slash)
            await driven.press("enter")
        assert not [one for one in driven.session.submitted if isinstance(one, Undo | Redo | Revert)]


async def test_escape_twice_chooses_a_message_and_what_goes_back() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        await driven.settle()
        await driven.type("x")
        await driven.press("escape", "escape")
        assert "Ctrl+C clears the message, then Esc Esc reverts." in driven.text()
        await driven.press("ctrl+c", "escape", "escape")
        assert "Revert to the point before a message" in driven.text()
        await driven.press("enter")
        assert "conversation and files" in driven.text()
        assert isinstance(driven.session.submitted[-1], PlanRevert)
        planned = (
            PlannedFileChange(path="a.py", operation="write", added=3, removed=1),
            PlannedFileChange(
                path="b.py", operation="remove", added=0, removed=9, conflict="you changed it too"
            ),
        )
        driven.session.feed(CheckpointPlanned(to_seq=second - 1, changes=planned))
        await driven.settle()
        assert "+3 −1" in driven.text()
        assert re.search(r"Kept\n.*b\.py +you changed it too", driven.text())
        await driven.press("down", "down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.files) == (second - 1, False, True)


async def test_the_messages_to_revert_to_have_ages_as_sessions_have_in_their_list() -> None:
    async with open_app(session=begun()) as driven:
        driven.session.feed(UserMessageReceived(text="the first thing"), after=-150)
        await driven.settle()
        await driven.type("/revert")
        await driven.press("enter")
        assert re.search(r"the first thing +2 min(?! \d)(?! ago)", driven.text())


async def test_files_left_alone_are_asked_about_one_by_one() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py", "b.py"))
        )
        await driven.settle()
        assert "Kept 2 files, because you changed them too" in driven.text()
        hear(driven)
        await driven.press("down", "down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert revert.overwrite == ("a.py",)
        assert (revert.to_seq, revert.conversation) == (first - 1, False)


async def test_files_that_a_redo_kept_are_redone_anyway() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end + 1, reason="redo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py", "b.py"))
        )
        await driven.settle()
        assert "redo all 2 anyway" in driven.text() and "Redo one of them anyway" in driven.text()


async def test_what_is_typed_ahead_goes_to_the_prompt_and_never_answers_of_files_left_alone() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=second - 1, from_seq=end, reason="undo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
        )
        await driven.settle()
        sheet = driven.app.screen
        assert isinstance(sheet, KeptFilesPicker)
        await driven.press("enter")
        assert driven.app.screen is sheet, "too early to be an answer"
        assert driven.app.prompt.editor.text == "the second thing", "and nothing that is to be sent"
        await driven.press("down", "/", "u", "n", "d", "o", "enter")
        await driven.settle()
        sheet.post_message(Paste("pasted"))
        await driven.settle()
        assert driven.app.screen is sheet and not sheet.field.text
        assert [type(one) for one in driven.session.submitted] == [Undo, Undo]
        assert driven.app.prompt.editor.text == "the first thingpasted"
        hear(driven)
        await driven.press("down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert revert.overwrite == ("a.py",)


async def test_files_that_went_back_alone_ask_of_what_was_left_alone_too() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end + 1, reason="redo"))
        await driven.settle()
        driven.session.feed(
            CheckpointRestoreStarted(source="c" * 40, to_seq=second - 1, paths=("a.py",)),
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",)),
        )
        await driven.settle()
        assert "Kept 1 file, because you changed it too" in driven.text()
        hear(driven)
        await driven.press("down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.overwrite) == (second - 1, False, ("a.py",))


async def test_a_session_that_went_back_opens_where_it_is() -> None:
    session = begun()
    async with open_app(session=session) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        end = len(session.records) - 1
        session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        turn(driven, 2, "another first thing", "one")
    async with open_app(session=FakeSession(session.records)) as again:
        assert "another first thing" in again.text()
        assert "the first thing" not in again.text().replace("another first thing", "")


async def test_revert_on_a_message_goes_back_to_before_that_message() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        turn(driven, 2, "the second thing", "two")
        await driven.settle()
        chat = driven.app.controller.chat if driven.app.controller is not None else None
        assert chat is not None and chat.widget is not None
        entry = chat.entry_at(first)
        assert entry is not None
        chat.widget.post_message(EntryAction(entry.id, "revert"))
        await driven.pilot.pause()
        assert "Revert to before “the first thing”" in driven.text()
        await driven.press("enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert revert.to_seq == first - 1
        assert driven.app.prompt.editor.text == "the first thing"


async def test_kept_files_of_a_generated_folder_are_one_row_and_a_long_path_shows_its_file_name() -> None:
    long = "src/" + "very_long_folder_name/" * 6 + "the_file_itself.py"
    for size in ((120, 40), (80, 24)):
        async with open_app(session=begun(), size=size) as driven:
            first = turn(driven, 1, "the first thing", "one")
            await driven.settle()
            end = len(driven.session.records) - 1
            driven.session.feed(
                SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"),
                CheckpointRestored(
                    source="c" * 40, commit="d" * 40, paths=("b.py",), skipped_paths=(long,),
                    folders=(FolderChange(path=".venv/", files=2_440, removed=2_440, conflicts=130),),
                ),
            )  # fmt: skip
            await driven.settle()
            assert isinstance(driven.app.screen, KeptFilesPicker)
            assert "Kept 131 files, because you changed them too" in driven.text()
            row = next(row for row in driven.rows() if "the_file_itself.py" in row)
            assert "src/very_" in row and "…/the_file_itself.py" in row
            assert re.search(r"▌ +\.venv/ +130 files", driven.text())
            hear(driven)
            await driven.press("down", "down", "down", "enter")
            (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
            assert revert.overwrite == (".venv/",)
            assert "1 file restored, .venv/ 2,440 files removed." in driven.text()


async def test_the_plan_of_a_revert_has_one_row_for_a_generated_folder() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        await driven.type(f"/revert {first - 1}")
        await driven.press("enter")
        folders = (FolderChange(path="node_modules/", files=12_000, removed=12_000, conflicts=3),)
        driven.session.feed(CheckpointPlanned(to_seq=first - 1, folders=folders))
        await driven.settle()
        restored, kept = (row for row in driven.rows() if "node_modules/" in row)
        assert re.search(r"node_modules/ +12,000 files removed$", restored)
        assert re.search(r"node_modules/ +also changed by you +3 files$", kept)


async def test_a_restore_that_restored_nothing_says_so() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
        )
        await driven.settle()
        await driven.press("escape")
        assert "No file was changed." in driven.text()


async def test_more_kept_files_than_the_log_lists_are_counted_and_can_be_undone_together() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(session=begun(), size=size) as driven:
            first = turn(driven, 1, "the first thing", "one")
            await driven.settle()
            end = len(driven.session.records) - 1
            driven.session.feed(
                SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"),
                CheckpointRestored(
                    source="c" * 40, commit="d" * 40, paths=("gone.py", "back.py"), unlisted_count=4, removed_count=5,
                    skipped_paths=tuple(f"f{number:03}.py" for number in range(200)), unlisted_skipped_count=514,
                ),
            )  # fmt: skip
            await driven.settle()
            assert "Kept 714 files, because you changed them too" in driven.text()
            hear(driven)
            await driven.press("up")
            assert re.search(r"and 514 more files +only “undo all” restores these", driven.text())
            await driven.press("enter", "down", "down", "enter")
            (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
            assert (revert.overwrite, revert.conversation) == (("/",), False)
            assert "1 file restored, 5 files removed: gone.py, back.py, …" in driven.text()
            assert "714 files kept, because you changed them: f000.py, f001.py, f002.py, …" in " ".join(
                driven.text().split()
            )


async def test_undo_on_the_row_of_an_older_turn_asks_about_that_turn() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        turn(driven, 3, "the third thing", "three")
        await driven.settle()
        chat = driven.app.controller.chat if driven.app.controller is not None else None
        assert chat is not None and chat.widget is not None
        rows = {entry.turn: entry.id for entry in chat.entries if entry.id.startswith("turn.")}
        for number, seq, title in (
            (2, second, "Undo turn 2 and 1 later turn"),
            (1, first, "Undo turn 1 and 2"),
        ):
            chat.widget.post_message(EntryAction(rows[number], "undo"))
            await driven.pilot.pause()
            assert title in driven.text()
            plan = driven.session.submitted[-1]
            assert isinstance(plan, PlanRevert) and plan.to_seq == seq - 1
            await driven.press("escape")
        assert not [one for one in driven.session.submitted if isinstance(one, Undo | Revert)]
        await driven.type("/undo turn 2")
        await driven.press("enter")
        await driven.press("enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, driven.app.prompt.editor.text) == (second - 1, "the second thing")
        chat.widget.post_message(EntryAction(rows[3], "undo"))
        await driven.pilot.pause()
        assert isinstance(driven.session.submitted[-1], Undo), "the newest turn: at once"


async def test_undo_of_a_turn_that_does_not_exist_says_so() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        await driven.type("/undo turn 7")
        await driven.press("enter")
        assert 'There is no "turn 7" to undo here.' in driven.text()
        assert driven.session.submitted == []
