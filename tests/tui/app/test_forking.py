"""Forks and what-ifs from the app: asked where, made by the command line, opened where nothing runs."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Paste

from tests.stubs.branched import FORK, SECOND_MESSAGE, SESSION
from tests.stubs.fake_session import FakeSession
from tests.tui.app.branching import Walked, walk
from tests.tui.app.driving import golden, open_app
from tests.tui.app.replaying import FakeCommandLine, open_replay
from tui_agent.protocol.commands import ContinueTurn, Rename, SubmitPrompt
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.stored_text import BlobText
from tui_agent.tui.controller.drafts import DraftFile
from tui_agent.tui.controller.rewind import KeptFilesPicker
from tui_agent.tui.modals.fork_form import ForkDraft, ForkForm
from tui_agent.tui.modals.fork_request import (
    ForkPoint,
    ForkRequest,
    Workplaces,
    find_workplaces,
    fork_arguments,
)
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.transcript.transcript_messages import EntryAction

POINT = ForkPoint(session="ses_a", at_seq=88, workspace="/work/timesheet", message_seq=40, message="fix it")


def form(walked: Walked) -> ForkForm:
    shown = walked.app.screen
    assert isinstance(shown, ForkForm)
    return shown


async def test_a_fork_works_in_an_own_folder_by_default_and_is_opened(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/fork")
        assert "a new folder with the files as they were at that event" in walked.text()
        await walked.keys("enter")
        (asked,) = walked.told.forks
        at = str(walked.told.branched.end)
        folder = f"--folder=/home/ada/timesheet-fork-{at}"
        assert asked == ("sessions", "fork", SESSION, "--at", at, folder, "--json")
        assert [(one.session, one.model) for one in walked.opened] == [(FORK, None)]
        assert not walked.app.notice.display, "the chat says what was forked"
        assert walked.newest.submitted == [], "it waits for what is said in it"


async def test_what_is_typed_while_a_fork_is_made_waits_for_the_fork(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/fork")
        walked.told.may_fork.clear()
        await walked.press("enter")
        await walked.until(lambda: walked.told.forks)
        for text in ("go on here", "/rename my fork"):
            await walked.type(text)
            await walked.press("escape", "enter")
        assert walked.session.submitted == [] and walked.opened == []
        walked.told.may_fork.set()
        await walked.until(lambda: len(walked.newest.submitted) == 2)
        message, rename = walked.newest.submitted
        assert isinstance(message, SubmitPrompt) and message.text == "go on here"
        assert isinstance(rename, Rename) and rename.title == "my fork"


async def test_a_fork_is_opened_while_a_question_about_kept_files_is_open(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        end = len(walked.session.records) - 1
        walked.session.feed(SessionHeadMoved(to_seq=SECOND_MESSAGE - 1, from_seq=end, reason="undo"))
        walked.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
        )
        await walked.until(lambda: isinstance(walked.app.screen, KeptFilesPicker))
        await walked.slash("/fork")
        await walked.keys("enter")
        await walked.until(lambda: walked.opened)
        await walked.quiet()
        assert len(walked.app.screen_stack) == 1 and "fork failed" not in walked.text()
        await walked.type("go on")
        await walked.press("enter")
        await walked.until(lambda: walked.newest.submitted)
        assert not any(isinstance(command, SubmitPrompt) for command in walked.session.submitted)


@pytest.mark.slow_variants
@pytest.mark.parametrize("at", ["", str(SECOND_MESSAGE - 1)])
async def test_what_you_were_writing_goes_into_the_fork_unless_it_has_a_message_of_its_own(
    tmp_path: Path, at: str
) -> None:
    async with walk(tmp_path) as walked:
        controller, prompt = walked.app.controller, walked.app.prompt
        assert controller is not None
        prompt.editor.put_text("half a thought")
        controller.drafts.save_draft()
        controller.act("fork", at)
        await walked.quiet()
        await walked.keys("enter")
        controller.drafts.save_draft()
        old, new = (DraftFile(tmp_path / "sessions" / name / "draft").load() for name in (SESSION, FORK))
        if at:
            assert "half a thought" not in prompt.editor.text and prompt.editor.text
            assert "half a thought" in old and "half a thought" not in new
        else:
            assert prompt.editor.text == "half a thought"
            assert old == "" and "half a thought" in new


async def test_a_fork_at_an_event_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        for command in ("/fork 9999", "/fork soon", "/what-if 9999"):
            await walked.slash(command)
            assert f"{command.split()[0]} needs the number of an event, up to 218." in walked.text()
        assert walked.told.forks == []


async def test_an_own_folder_is_proposed_beside_the_workspace_and_can_be_another(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/fork 100")
        assert form(walked).draft.folder.text == "/home/ada/timesheet-fork-100"
        assert "A git work tree needs" in walked.text()
        await walked.keys("right")
        assert form(walked).draft.request() == ForkRequest("here", ""), (
            "both sessions in one folder is a choice"
        )
        assert "both sessions change them" in walked.text()
        await walked.keys("right")
        assert form(walked).draft.workplace == "folder", (
            "a work tree cannot be chosen where there is no repository"
        )
        await walked.keys("down", *["backspace"] * 3, *"99", "enter")
        assert walked.told.forks[0][-2:] == ("--folder=/home/ada/timesheet-fork-99", "--json")


async def test_without_a_folder_it_asks_for_one_and_esc_makes_nothing(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/fork")
        await walked.keys("down", "ctrl+k", "ctrl+u", "enter")
        assert "Enter the folder for the fork." in walked.text()
        await walked.keys("escape")
        assert walked.told.forks == [] and len(walked.app.screen_stack) == 1


async def test_what_the_command_line_refuses_is_said_and_the_session_stays(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        walked.told.refuses = "git worktree failed in /home/ada: not a git repository."
        await walked.slash("/fork")
        await walked.keys("enter")
        assert "git worktree failed in /home/ada: not a git repository." in walked.text()
        assert walked.opened == []


async def test_while_a_turn_runs_a_fork_is_made_and_named_but_not_opened(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        walked.session.feed(TurnStarted(turn=9))
        await walked.settle()
        await walked.slash("/fork 100")
        await walked.keys("enter")
        assert len(walked.told.forks) == 1 and walked.opened == []
        assert walked.app.notice.text == f"Forked. /sessions {FORK} opens the fork when the turn has ended."
        await walked.slash("/what-if")
        assert "A turn is running." in walked.text() and len(walked.app.screen_stack) == 1


async def test_fork_on_a_message_leaves_it_out_and_gives_it_to_the_prompt_of_the_fork(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        chat = walked.app.controller.chat if walked.app.controller is not None else None
        assert chat is not None and chat.widget is not None
        entry = chat.entry_at(SECOND_MESSAGE)
        assert entry is not None
        chat.widget.post_message(EntryAction(entry.id, "fork"))
        await walked.quiet()
        assert "before “timesheet report --week 13" in walked.text()
        await walked.keys("enter")
        assert walked.told.forks[0][4] == str(SECOND_MESSAGE - 1)
        assert walked.app.prompt.editor.text.startswith("timesheet report --week 13")


async def test_a_what_if_with_another_model_is_chosen_from_the_list_and_goes_on(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")
        await walked.keys("enter")
        assert isinstance(walked.app.screen, Picker), "a model is needed first"
        await walked.keys(*"ollama/qwen", "enter")
        assert form(walked).draft.value == "ollama/qwen"
        await walked.keys("enter")
        (asked,) = walked.told.forks
        assert asked[:6] == ("sessions", "fork", SESSION, "--at", "210", "--model=ollama/qwen")
        assert [type(one) for one in walked.newest.submitted] == [ContinueTurn]


async def test_a_what_if_with_another_message_stands_before_the_old_one(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")
        await walked.keys("right", "right", "right", "down")
        assert "in place of “Now round every duration to five minutes.”" in walked.text()
        await walked.keys("ctrl+u", *"Leave it.", "enter")
        (asked,) = walked.told.forks
        assert asked[3:6] == ("--at", "209", "--message=-")
        assert walked.told.texts == ["Leave it."]


async def test_a_pasted_text_of_several_lines_is_kept_and_shown(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")
        await walked.keys("left", "down", "ctrl+u")
        shown = form(walked)
        assert shown.draft.change == "message"
        shown.post_message(Paste("first\n" + "\n".join(str(number) for number in range(9))))
        await walked.quiet()
        assert "first" in walked.text() and "5 more lines. Ctrl+G edits the text" in walked.text()
        await walked.keys("x")
        assert "Ctrl+G opens your editor." in walked.text(), "a typed key is not ignored silently"
        await walked.keys("enter")
        assert walked.told.forks[0][5] == "--message=-" and walked.told.texts[0].startswith("first\n0\n1")


async def test_a_what_if_with_the_same_message_is_refused_because_nothing_changes(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")
        await walked.keys("right", "right", "right", "enter")
        assert "The message has not changed. Edit it, or choose another change." in walked.text()
        assert walked.told.forks == []
        await walked.keys("!", "enter")
        assert walked.told.texts[0].endswith("minutes.!")


async def test_a_what_if_offers_the_whole_of_a_long_message(tmp_path: Path) -> None:
    whole = "a long message\n" * 700
    stored = BlobText(blob_sha256="f" * 64, size=len(whole), preview=whole[:1_000])
    async with walk(tmp_path) as walked:
        walked.session.blobs[stored.blob_sha256] = whole.encode()
        walked.session.feed(UserMessageReceived(text=stored), TurnStarted(turn=9))
        walked.session.feed(TurnFinished(turn=9, reason="finished", duration_ms=1.0))
        await walked.settle()
        await walked.slash("/what-if")
        await walked.keys("right", "right", "right")
        assert form(walked).draft.value == whole


async def test_a_tools_result_can_be_another_only_at_an_event_of_a_tool(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if 47")
        assert "result" not in form(walked).draft.changes
        await walked.keys("escape")
        finished = next(one for one in walked.session.records if _is_result(one))
        await walked.slash(f"/what-if {finished.seq}")
        assert "result" in form(walked).draft.changes
        await walked.keys("left", "down", *"nothing", "enter")
        assert walked.told.forks[0][3:6] == ("--at", str(finished.seq), "--result=-")
        assert walked.told.texts == ["nothing"]


def _is_result(record: object) -> bool:
    payload = getattr(record, "payload", None)
    return getattr(payload, "kind", "") == "tool.finished"


def test_a_what_if_offers_only_efforts_that_can_be_sent() -> None:
    workplaces = Workplaces(repository=True, folder="~/timesheet-fork")
    some = ForkDraft(replace(POINT, efforts=("none", "low")), workplaces, what_if=True)
    some.choose("change", "effort")
    assert list(some.options("value")) == ["none", "low"] and some.value == "low"
    none = ForkDraft(replace(POINT, efforts=()), workplaces, what_if=True)
    assert "effort" not in none.options("change")


async def test_the_mouse_fills_the_form(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")

        async def press(text: str) -> None:
            y, row = next((at, row) for at, row in enumerate(walked.rows()) if text in row)
            await walked.pilot.click(offset=(row.index(text) + 1, y))
            await walked.quiet()

        await press("reasoning")
        await press("low")
        await press("this folder")
        assert form(walked).draft.request() == ForkRequest("here", "", "effort", "low")


async def test_in_a_replay_the_same_is_asked_and_without_an_open_session_the_fork_is_named() -> None:
    child = "ses_1m8pyh7c6zq4v0k2j9x5w3t8rn"
    ask = FakeCommandLine(json.dumps({"id": child, "note": "Left out: 2 files over 5 MB."}))
    async with open_replay(golden("night_shift"), to_seq=150, ask=ask, size=(80, 24)) as shown:
        await shown.press("w")
        assert len(shown.app.screen_stack) == 1, "without an engine nothing can go on"
        await shown.press("f", "enter")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert ask.asked[0][:5] == ("sessions", "fork", "ses_0000000000000001", "--at", "150")
        await shown.until(lambda: f"tui-agent --session {child} " in shown.text())
        assert "Left out: 2 files over 5 MB." in shown.text()
        await shown.press("escape")
        assert "Forked." in shown.text() and child not in shown.text()


async def test_the_command_that_opens_a_fork_is_copied_in_a_replay() -> None:
    ask = FakeCommandLine(json.dumps({"id": "ses_new", "note": ""}))
    async with open_replay(golden("night_shift"), to_seq=150, ask=ask, size=(80, 24)) as shown:
        await shown.press("f", "enter")
        await shown.until(lambda: "This command opens the fork" in shown.text())
        await shown.press("c")
        assert "Copied 1 line." in shown.text()


async def test_inside_a_call_the_form_names_the_event_after_it_and_forks_there() -> None:
    ask = FakeCommandLine(json.dumps({"id": "ses_new"}))
    async with open_replay(golden("night_shift"), to_seq=127, ask=ask, size=(160, 45)) as shown:
        await shown.press("f")
        await shown.until(lambda: "after event 133" in shown.text())
        assert "after edit src/timesheet/entry.py" in shown.text(), "not the call that the answer names last"
        assert "Event 127 is inside a call; the fork starts after the call" in shown.text()
        await shown.press("enter")
        await shown.until(lambda: ask.asked)
        assert ask.asked[0][3:5] == ("--at", "133")


@pytest.mark.slow
async def test_inside_a_call_slash_fork_moves_but_another_result_keeps_the_call(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/fork 127")
        assert "after event 133" in walked.text()
        await walked.keys("escape")
        await walked.slash("/what-if 126")
        assert "after event 133" in walked.text()
        await walked.keys("left")
        assert "before the result of edit src/timesheet/entry.py" in walked.text()
        await walked.keys("down", *"nothing", "enter")
        assert walked.told.forks[0][3:6] == ("--at", "126", "--result=-")


async def test_the_notice_after_a_fork_says_what_was_left_out(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        walked.told.note = "Left out: 2 files over 5 MB (12 MB in total) in .venv/."
        await walked.slash("/fork")
        await walked.keys("enter")
        assert [one.session for one in walked.opened] == [FORK]
        assert "Left out: 2 files over 5 MB (12 MB in total) in .venv/." in walked.text()


@pytest.mark.slow
async def test_in_a_replay_of_the_open_session_the_fork_is_opened_and_w_goes_on(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/replay 150")
        await walked.keys("f", "enter")
        assert [one.session for one in walked.opened] == [FORK] and len(walked.app.screen_stack) == 1
        assert walked.told.forks[0][3:5] == ("--at", "150")
    async with walk(tmp_path / "again") as walked:
        await walked.slash("/replay 47")
        await walked.keys("w", "right", "enter")
        assert walked.told.forks[0][3:6] == ("--at", "47", "--reasoning-effort=xhigh")
        assert [type(one) for one in walked.newest.submitted] == [ContinueTurn]


async def test_before_anything_is_stored_there_is_nothing_to_fork() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        for command in ("/fork", "/what-if"):
            await driven.type(command)
            await driven.press("enter")
            await driven.until(lambda: "Nothing to fork yet: send a message first." in driven.text())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (ForkRequest("here", ""), ["--at", "88", "--here"]),
        (ForkRequest("worktree", "../try"), ["--at", "88", "--worktree=/work/timesheet/../try"]),
        (ForkRequest("folder", "/tmp/x", "model", "a/b"), ["--at", "88", "--model=a/b", "--folder=/tmp/x"]),
        (ForkRequest("here", "", "message", "-x"), ["--at", "39", "--message=-", "--here"]),
        (ForkRequest("here", "", "context", "none"), ["--at", "88", "--context-mode=none", "--here"]),
    ],
)
def test_a_request_as_arguments_of_the_command_line(wanted: ForkRequest, expected: list[str]) -> None:
    assert fork_arguments(POINT, wanted) == ["sessions", "fork", "ses_a", *expected, "--json"]


def test_a_folder_that_is_there_is_not_proposed_and_a_repository_is_seen(tmp_path: Path) -> None:
    work = tmp_path / "work" / "deep"
    work.mkdir(parents=True)
    assert find_workplaces(work, "fork-8") == (False, f"{work}-fork-8")
    (tmp_path / "work" / "deep-fork-8").mkdir()
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, check=True)
    assert find_workplaces(work, "fork-8") == (True, f"{work}-fork-8-2")
