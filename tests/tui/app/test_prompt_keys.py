"""Writing and sending: lines, history, paste, completion, steering, queueing, drafts."""

import asyncio
import errno
import stat
from pathlib import Path

import pytest
from textual import events

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import (
    Interrupt,
    Queue,
    Rename,
    RunUserShell,
    SendQueued,
    Steer,
    SubmitPrompt,
    Unqueue,
)
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellStarted,
    UserSteered,
)
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.stored_text import BlobText
from tui_agent.tui.controller.drafts import DraftFile
from tui_agent.tui.terminal.keyboard import Keyboard

PASTE = "\n".join(f"line {number}" for number in range(312))


async def test_enter_sends_and_empties_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("fix the test")
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "fix the test"
        assert driven.app.prompt.editor.text == ""


@pytest.mark.slow
async def test_the_next_start_finds_what_was_sent_each_once_also_after_an_undo() -> None:
    async with open_app(golden("night_shift")) as driven:
        end = driven.session.records[-1].seq
        for number, text in enumerate(("fix the test", "/status", "and the docs", "!ls", "fix the test")):
            await driven.type(text)
            await driven.press("enter")
            match text[0]:
                case "!":
                    driven.session.feed(
                        UserShellStarted(command="ls"),
                        UserShellFinished(command="ls", output="", exit_code=0, duration_ms=1.0),
                    )
                case "a":
                    driven.session.feed(UserSteered(text=text))
                case "f":
                    driven.session.feed(
                        UserMessageReceived(text=text),
                        TurnStarted(turn=number),
                        TurnFinished(turn=number, reason="finished"),
                    )
            await driven.settle()
        sent = ["and the docs", "!ls", "fix the test"]
        driven.session.feed(
            SessionHeadMoved(to_seq=end, from_seq=driven.session.records[-1].seq, reason="undo")
        )
        await driven.settle()
        history = driven.app.prompt.editor.history_of_messages
        await driven.until(lambda: history.load() == sent)
        assert history.path is not None and len(history.path.read_text().splitlines()) == 4


async def test_a_long_message_is_recalled_whole_also_at_the_next_start() -> None:
    message = "\n".join(f"line {number} of a long message" for number in range(400))
    blob = BlobText(blob_sha256="a" * 64, preview=message[:1_024], size=len(message))
    session = FakeSession(golden("night_shift"))
    session.blobs[blob.blob_sha256] = message.encode()
    async with open_app(session=session) as driven:
        history = driven.app.prompt.editor.history_of_messages
        session.feed(UserMessageReceived(text=blob), UserSteered(text="and the docs"))
        await driven.until(lambda: history.load() == [message, "and the docs"])
        await driven.press("up", "up")
        assert driven.app.prompt.editor.text == message
        assert history.search("399") == [message]


async def burst(driven: Driven, *reads: str) -> None:
    """Bytes of the terminal, all of them there before the first key is looked at."""
    parser = Keyboard()
    for message in [message for read in reads for message in parser.feed(read)]:
        driven.app.post_message(message)
    for _ in range(3):
        await driven.pilot.pause()


async def test_each_enter_sends_what_was_typed_before_it_also_where_all_came_at_once() -> None:
    async with open_app(golden("night_shift")) as driven:
        await burst(driven, "one\rtwo\r/rename night\rthree\tfour")
        one, two, rename, three = driven.session.submitted
        assert isinstance(one, SubmitPrompt) and one.text == "one"
        assert isinstance(two, Steer) and two.text == "two"
        assert isinstance(rename, Rename) and rename.title == "night"
        assert isinstance(three, Steer | Queue) and three.text == "three"
        assert driven.app.prompt.editor.text == "four"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        ("abc\x7fXY", "abXY"),
        ("abc\x01Z\x05!", "Zabc!"),
        ("abc\x1b[DQ\x1b[CR", "abQcR"),
        ("abc\x1b[H1\x1b[3~\x1b[F2", "1bc2"),
        ("one two\x17three\x15four\x19", "fourone three"),
        ("ab\x01\x0bcd\x19", "cdab"),
        ("one two\x1b[1;5DX\x1b[1;2D\x1b[1;2DY", "oneYtwo"),
        ("ab\x1ac\x1b[1;2HX", "X"),
        ("a\nb\x1b[Ac\x1b[Bd", "ac\nbd"),
    ],
)
async def test_editing_keys_in_one_go_with_letters_are_applied_in_their_order(bytes_: str, text: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await burst(driven, bytes_)
        assert driven.app.prompt.editor.text == text


async def test_esc_that_was_typed_ahead_interrupts() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await burst(driven, "five\r\x1bsix")
        steer, stop = driven.session.submitted
        assert isinstance(steer, Steer) and steer.text == "five"
        assert isinstance(stop, Interrupt)
        assert driven.app.prompt.editor.text == "six"


async def test_a_name_is_completed_before_the_keys_that_follow_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        await burst(driven, "/ren\tNights\rand more")
        [rename] = driven.session.submitted
        assert isinstance(rename, Rename) and rename.title == "Nights"
        assert driven.app.prompt.editor.text == "and more"


async def test_new_lines_grow_the_prompt_and_only_typing_does() -> None:
    async with open_app(golden("night_shift")) as driven:
        before = driven.app.prompt.size.height
        for key in ("a", "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d", "backslash", "enter", "e"):
            await driven.press(key)
        assert driven.app.prompt.editor.text == "a\nb\nc\nd\ne"
        assert driven.app.prompt.size.height == before + 4
        await driven.press("enter")
        assert driven.app.prompt.size.height == before
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "a\nb\nc\nd\ne"


async def test_while_a_turn_runs_enter_steers_tab_queues_and_esc_interrupts() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await driven.type("also this")
        assert "steers this turn" in driven.text()
        await driven.press("enter")
        await driven.type("later")
        await driven.press("tab")
        await driven.press("escape")
        steer, queue, stop = driven.session.submitted
        assert isinstance(steer, Steer) and steer.text == "also this"
        assert isinstance(queue, Queue) and queue.text == "later"
        assert isinstance(stop, Interrupt)


async def test_tab_sends_nothing_while_no_turn_runs() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("half a mess")
        await driven.press("tab")
        await driven.type("age")
        assert driven.session.submitted == [] and driven.app.prompt.editor.text == "half a message"


@pytest.mark.slow_variants
@pytest.mark.parametrize("lines", [6, 8, 30])
async def test_a_text_that_has_a_scrollbar_is_undone_and_redone(lines: int) -> None:
    text = "".join(f"{number}\n" for number in range(lines))
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        editor = driven.app.prompt.editor
        editor.put_text("before")
        editor.history.checkpoint()
        editor.put_text(text)
        await driven.settle()
        await driven.press("ctrl+z")
        await driven.settle()
        assert editor.text == "before"
        editor.action_redo()
        await driven.settle()
        assert editor.text == text
        editor.put_text("")
        await driven.settle()
        editor.action_undo()
        await driven.settle()
        editor.action_redo()
        await driven.settle()
        assert editor.text == ""


LONG = "one two three " * 30


async def test_the_keys_of_the_line_editor_mean_the_whole_line_however_many_rows_it_takes() -> None:
    async with open_app(golden("night_shift")) as driven:
        editor = driven.app.prompt.editor
        editor.put_text(f"first\n{LONG}end")
        await driven.press("ctrl+a")
        assert editor.cursor_location == (1, 0)
        await driven.press("ctrl+e")
        assert editor.cursor_location == (1, len(LONG) + 3)
        await driven.press("ctrl+u")
        assert editor.text == "first\n"
        await driven.press("ctrl+y")
        assert editor.text == f"first\n{LONG}end"
        await driven.press("ctrl+w", "ctrl+a", "ctrl+k")
        assert editor.text == "first\n"
        await driven.press("x", "ctrl+y", "ctrl+z", "ctrl+z")
        assert editor.text.startswith("first\n")
        editor.put_text("one\ntwo")
        editor.move_cursor((0, 3))
        await driven.press("ctrl+k")
        assert editor.text == "onetwo"


async def test_a_shell_line_runs_and_two_marks_hide_its_output() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("!git status")
        await driven.press("enter")
        await driven.type("!!env")
        await driven.press("enter")
        first, second = driven.session.submitted
        assert isinstance(first, RunUserShell) and (first.command, first.hidden) == ("git status", False)
        assert isinstance(second, RunUserShell) and (second.command, second.hidden) == ("env", True)


async def test_up_and_down_walk_through_the_messages_of_the_session() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("unfinished")
        await driven.press("up")
        assert driven.app.prompt.editor.text.startswith("timesheet report --week 13")
        await driven.press("up")
        assert driven.app.prompt.editor.text == "How is the weekly report put together?"
        await driven.press("down", "down")
        assert driven.app.prompt.editor.text == "unfinished"


async def test_history_search_finds_and_esc_gives_the_written_text_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("mine")
        await driven.press("ctrl+r")
        await driven.type("weekly")
        assert "How is the weekly report put together?" in driven.text()
        await driven.press("escape")
        assert driven.app.prompt.editor.text == "mine"
        await driven.press("ctrl+r")
        await driven.type("weekly")
        await driven.press("enter")
        assert driven.app.prompt.editor.text == "How is the weekly report put together?"
        assert driven.session.submitted == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("fixture", ["night_shift", "running"])
async def test_a_history_search_without_a_match_sends_nothing(fixture: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        if fixture == "running":
            driven.session.feed(TurnStarted(turn=3))
        await driven.press("ctrl+r")
        await driven.type("nowhere")
        assert "history: 0 found" in driven.text()
        assert driven.rows()[-1].split() == ["Esc", "close", "F1", "help"]
        await driven.press("enter", "tab")
        assert driven.session.submitted == [] and driven.app.prompt.editor.text == "nowhere"
        await driven.press("escape")
        assert driven.app.prompt.editor.text == ""


async def test_what_is_typed_before_the_session_is_open_is_kept_and_sent() -> None:
    session = FakeSession(golden("night_shift"))
    session.gate = asyncio.Event()
    async with open_app(session=session) as driven:
        await driven.type("first words")
        await driven.press("enter")
        assert session.submitted == []
        session.gate.set()
        while not session.submitted:
            await driven.pilot.pause(0.01)
        [command] = session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "first words"


async def test_the_unsent_text_survives_in_a_private_side_file(tmp_path: Path) -> None:
    session = FakeSession(golden("night_shift"), folder=str(tmp_path))
    async with open_app(session=session) as driven:
        await driven.type("not sent yet")
        driven.app.prompt.editor.paste(PASTE)
        assert driven.app.controller is not None
        driven.app.controller.drafts.save_draft()
        assert stat.S_IMODE((tmp_path / "draft").stat().st_mode) == 0o600
    again = FakeSession(golden("night_shift"), folder=str(tmp_path))
    async with open_app(session=again) as driven:
        assert driven.app.prompt.editor.message == "not sent yet" + PASTE
        await driven.press("enter")
        assert not (tmp_path / "draft").exists()


async def test_unsent_text_that_cannot_be_saved_is_warned_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: DraftFile, text: str, *, create_folder: bool = False) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    session = FakeSession(golden("night_shift"), folder=str(tmp_path))
    async with open_app(session=session) as driven:
        monkeypatch.setattr(DraftFile, "save", refuse)
        await driven.type("not sent yet")
        await driven.until(lambda: "cannot be saved for the next start: No space" in driven.app.notice.text)
        driven.app.hide_notice()
        assert driven.app.controller is not None
        driven.app.controller.drafts.save_draft()
        assert not driven.app.notice.display


async def test_what_was_typed_before_anything_was_said_comes_back_in_the_next_session(tmp_path: Path) -> None:
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    first = FakeSession(golden("night_shift")[:3], folder=str(tmp_path / "ses_1"))
    async with open_app(session=first, options=options) as driven:
        await driven.type("half a thought")
        assert driven.app.controller is not None
        driven.app.controller.drafts.save_draft()
        [draft] = (tmp_path / "data" / "drafts").iterdir()
    assert not (tmp_path / "ses_1").exists()
    held = draft.read_text()
    draft.unlink(missing_ok=True)
    draft.with_name(draft.name.rpartition("-")[0] + "-4194305").write_text(held)
    second = FakeSession(golden("night_shift")[:3], folder=str(tmp_path / "ses_2"))
    async with open_app(session=second, options=options) as driven:
        assert driven.app.prompt.editor.text == "half a thought"
        (tmp_path / "ses_2").mkdir()
        await driven.press("x")
        assert driven.app.controller is not None
        driven.app.controller.drafts.save_draft()
        assert list((tmp_path / "data" / "drafts").iterdir()) == []
        assert (tmp_path / "ses_2" / "draft").exists()


async def test_vim_keys_edit_in_normal_mode() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.use_vim(on=True)
        await driven.type("one two")
        await driven.press("escape", "0", "d", "w", "i")
        await driven.type("x")
        assert driven.app.prompt.editor.text == "xtwo"
        await driven.press("escape", "d", "d", "p")
        assert "xtwo" in driven.app.prompt.editor.text
        assert driven.session.submitted == []


async def test_a_command_typed_in_one_go_with_its_enter_is_run() -> None:
    async with open_app(golden("night_shift")) as driven:
        for key in [*"/rename one", "enter"]:
            driven.app.prompt.editor.post_message(
                events.Key({"/": "slash", " ": "space"}.get(key, key), key if len(key) == 1 else None)
            )
        await driven.pilot.pause()
        [command] = driven.session.submitted
        assert isinstance(command, Rename) and command.title == "one"


async def test_a_queued_message_offers_no_enter_while_the_users_command_runs() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            UserShellStarted(command="sleep 30"), UserQueued(queue_id=RequestId("q1"), text="later")
        )
        await driven.settle()
        (row,) = (row for row in driven.rows() if "later" in row)
        assert "after your command   Up edits or removes" in row and "Enter" not in row


async def test_a_command_line_typed_while_a_turn_runs_offers_no_steering() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await driven.type("!!echo x")
        await driven.until(lambda: "steer now" not in driven.text())
        assert "not while a turn runs" in driven.text()
        assert "steers this turn" not in driven.text() and "queue for after" not in driven.text()
        await driven.press("home", "delete", "delete")
        await driven.until(lambda: "steer now" in driven.text() and "steers this turn" in driven.text())


async def test_queued_messages_stand_above_the_prompt_and_say_what_can_be_done() -> None:
    async with open_app(golden("night_shift")) as driven:
        queued = [UserQueued(queue_id=RequestId(f"q{at}"), text=f"later {at}") for at in range(1, 6)]
        driven.session.feed(TurnStarted(turn=3), *queued)
        await driven.settle()
        rows = driven.rows()
        [first] = [at for at, row in enumerate(rows) if "later 1" in row]
        assert "after this turn   Enter sends it now" in rows[first]
        assert "later 3" in rows[first + 2] and "+2 more   Up edits or removes" in rows[first + 2]
        assert "Ask for a change" in rows[first + 3]
        driven.session.feed(TurnFinished(turn=3, reason="interrupted"))
        await driven.settle()
        assert any("later 1" in row and "waits   Enter sends it now" in row for row in driven.rows())
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SendQueued) and command.queue_id == "q1"
        await driven.type("/unqueue 2")
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], Unqueue)
        assert driven.app.prompt.editor.text == "later 2"


@pytest.mark.slow
async def test_the_policys_words_stand_whole_or_not_at_all() -> None:
    async with open_app(golden("night_shift"), size=(72, 24)) as driven:
        driven.app.prompt.set_state(
            "ask", lambda _: "next turn 43k tokens, $0.02, a longer note", running=False
        )
        await driven.pilot.pause()
        [row] = [row for row in driven.rows() if "a longer note" in row]
        assert row.split("next")[0].split() in (
            ["▌", "ask"],
            ["▌", "ask", "asks", "before", "writing", "or", "running"],
        )


async def test_a_second_message_sent_at_once_steers_and_is_not_refused() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("one")
        await driven.press("enter")
        await driven.type("two")
        await driven.press("enter")
        first, second = driven.session.submitted
        assert isinstance(first, SubmitPrompt) and isinstance(second, Steer)
        driven.session.feed(TurnStarted(turn=3), TurnFinished(turn=3, reason="finished"))
        await driven.settle()
        await driven.type("three")
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], SubmitPrompt)
