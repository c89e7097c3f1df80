"""Going back and forth in the app: what is shown is the branch, and the message returns to the prompt."""

import re

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import open_app
from tests.tui.app.turns_story import begun, turn
from tui_agent.folds.session.branches import MoveReason
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    FolderChange,
    PlannedFileChange,
)
from tui_agent.protocol.events.session import CommandRejected, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived, UserQueued
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.policy import PolicySheet
from tui_agent.tui.transcript.transcript_messages import EntryAction


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


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("files", "/checkpoints restores the newer files."),
        ("undo", "/tree returns to the undone turns."),
    ],
)
async def test_a_redo_after_a_new_message_names_the_way_back(reason: MoveReason, hint: str) -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        end = len(driven.session.records) - 1
        to_seq = end if reason == "files" else first - 1
        driven.session.feed(
            SessionHeadMoved(to_seq=to_seq, from_seq=end, reason=reason, files=True, turn=1, parts=1)
        )
        driven.session.feed(CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("a.py",)))
        turn(driven, 2, "the next thing", "two")
        await driven.settle()
        await driven.type("/redo")
        await driven.press("enter")
        assert not driven.session.submitted
        assert (
            driven.app.notice.text
            == f"Nothing to redo. A redo is possible only until the next message. {hint}"
        )


async def test_after_going_back_it_is_ready_and_what_is_queued_is_held() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo", turn=1, parts=1))
        await driven.settle()
        assert (driven.app.status.view.mood, driven.app.status.view.word) == ("ready", "ready")
        assert driven.app.status.view.detail == ""
        driven.session.feed(UserQueued(text="later", queue_id=RequestId("q_1")))
        await driven.settle()
        assert (driven.app.status.view.word, driven.app.status.view.detail) == ("ready", "1 message held")
        turn(driven, 2, "the next thing", "two")
        driven.session.feed(TurnFinished(turn=2, reason="interrupted", duration_ms=5.0))
        await driven.settle()
        assert driven.app.status.view.word == "stopped"


async def test_undo_gives_the_message_back_to_the_prompt() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        assert [type(one) for one in driven.session.submitted] == [Undo]
        assert driven.app.prompt.editor.text == "the first thing"


async def test_undo_gives_a_long_paste_back_folded_as_it_was_typed() -> None:
    async with open_app(session=begun()) as driven:
        editor = driven.app.prompt.editor
        await driven.type("why ")
        editor.paste("line of a log\n" * 60)
        await driven.type("?")
        written, message = editor.text, editor.message
        await driven.press("enter")
        for _ in range(2):
            turn(driven, 1, message, "one")
            await driven.settle()
            await driven.type("/undo")
            await driven.press("enter")
            await driven.until(lambda: bool(editor.text))
            assert (editor.text, editor.message) == (written, message)
            assert written == "why [pasted 60 lines]?" and editor.untouched
            editor.put_text("")


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
        await driven.type("/redo")  # no filter: the text would match the first row
        assert "conversation only" in driven.text()
        await driven.press("down", "down", "down", "enter")  # the text deselected the first row
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.files) == (second - 1, False, True)


async def test_the_messages_to_revert_to_have_ages_as_sessions_have_in_their_list() -> None:
    async with open_app(session=begun()) as driven:
        driven.session.feed(UserMessageReceived(text="the first thing"), after=-150)
        await driven.settle()
        await driven.type("/revert")
        await driven.press("enter")
        assert re.search(r"the first thing +2 min(?! \d)(?! ago)", driven.text())


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
        assert re.search(r"node_modules/ +also changed by you or another session +3 files$", kept)


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


async def test_a_command_typed_into_the_question_of_a_revert_runs_and_reverts_nothing() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        turn(driven, 2, "the second thing", "two")
        await driven.settle()
        await driven.type("/undo turn 1")
        await driven.press("enter")
        await driven.type("/und")
        await driven.settle()
        driven.session.feed(CheckpointPlanned(to_seq=first - 1))
        await driven.settle()
        assert "Your message  /und" in driven.text() and "no file would change" in driven.text()
        assert "Enter send message" in driven.rows()[-1]
        await driven.type("o")
        await driven.press("enter")
        await driven.settle()
        assert [type(command) for command in driven.session.submitted] == [PlanRevert, Undo]
        assert "conversation and files" not in driven.text()


async def test_a_command_typed_into_the_question_of_a_revert_can_open_a_sheet() -> None:
    for keys in (("enter",), ("escape", "enter")):
        async with open_app(session=begun()) as driven:
            turn(driven, 1, "the first thing", "one")
            turn(driven, 2, "the second thing", "two")
            await driven.settle()
            await driven.type("/undo turn 1")
            await driven.press("enter")
            await driven.type("/policy")
            await driven.press(*keys)
            await driven.settle()
            assert isinstance(driven.app.screen, PolicySheet)
            await driven.press("escape")
            assert driven.app.screen is driven.app.screen_stack[0]
            assert [type(command) for command in driven.session.submitted] == [PlanRevert]


async def test_a_row_of_the_question_of_a_revert_can_be_chosen_after_typing() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        turn(driven, 2, "the second thing", "two")
        await driven.settle()
        await driven.type("/undo turn 1")
        await driven.press("enter")
        await driven.type("not yet")
        await driven.press("down", "down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.files) == (first - 1, True, False)
        assert driven.app.prompt.editor.text == "not yet"


async def test_an_unsent_message_does_not_get_the_keys_of_the_question_of_a_revert() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        chat = driven.app.controller.chat if driven.app.controller is not None else None
        assert chat is not None and chat.widget is not None
        await driven.type("a draft")
        chat.widget.post_message(EntryAction(chat.entries[0].id, "revert"))
        await driven.pilot.pause()
        assert "Revert to before “the first thing”" in driven.text()
        await driven.press("enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, driven.app.prompt.editor.text) == (first - 1, "a draft")


async def test_undo_of_a_turn_that_does_not_exist_says_so() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        await driven.settle()
        await driven.type("/undo turn 7")
        await driven.press("enter")
        assert 'No turn to undo matches "turn 7".' in driven.text()
        assert driven.session.submitted == []
