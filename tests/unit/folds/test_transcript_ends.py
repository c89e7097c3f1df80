"""How the transcript says what broke off, failed, or came again: times, words, and each fact once."""

from typing import Any

import pytest

from tests.stubs.rows import rows
from tests.stubs.story import MODEL, Story, called, decision, delta, requested, responded, started, tool_call
from tests.unit.folds.test_transcript import Chat
from tui_agent.folds.context.model_messages import CRASHED, ModelMessages
from tui_agent.folds.session.branches import MoveReason
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.transcript.entries import AnswerEntry, NoticeEntry, ToolEntry, TurnEntry, UserEntry
from tui_agent.protocol.display_blocks import DiffBlock, TerminalBlock, TextBlock
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.job import JobFinished, JobStarted
from tui_agent.protocol.events.model import FaultKind, ModelFailed, ModelRetried
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import (
    ForkChange,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
    SettingsChanged,
)
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress, ToolStatus
from tui_agent.protocol.events.turn import (
    IterationStarted,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserShellFinished,
    UserShellStarted,
)
from tui_agent.protocol.ids import CallId, JobId, RequestId, RunId, SessionId
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import AgentState

RUN = RunStarted(run_id=RunId("run_2"), pid=2, client="app", product="tui-agent", model=MODEL)
STEP = IterationStarted(iteration=1, local_iteration=1, delegate_level=0)
BROKEN = TurnFinished(turn=1, reason="interrupted", detail="The program ended in this turn.")


def ended(call: str, status: ToolStatus) -> ToolFinished:
    content = (TextContent(text="no result"),)
    return ToolFinished(call_id=CallId(call), name="run_command", status=status, part=None, content=content)


def asked(call: str, target: str, *preview: Any) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId("p1"), call_id=CallId(call), tool="run_command", verb="run", target=target,
        effects=(), digest="d", preview=preview, choices=(), reason="",
    )  # fmt: skip


def test_stopped_calls_say_how_long_they_ran_and_others_say_no_time() -> None:
    chat = Chat()
    chat.tell(TurnStarted(turn=1), called("c1"), called("c2"), started("c1"))
    chat.tell(ended("c1", "interrupted"), ended("c2", "interrupted"))
    assert [entry.duration_ms for entry in chat.only(ToolEntry)] == [1_000.0, None]


def test_what_a_crash_left_open_ended_with_the_run_and_not_when_the_next_one_came() -> None:
    chat, trace = Chat(), Trace()
    events = [
        TurnStarted(turn=1),
        STEP,
        called("c1"),
        started("c1"),
        ToolProgress(call_id=CallId("c1"), text="x\n"),
    ]
    chat.tell(*events)
    chat.story.seq += 1_000
    chat.tell(
        RUN,
        ended("c1", "lost"),
        BROKEN,
        RunResumed(run_id=RunId("run_2"), after_seq=4, clean=False, closed_calls=1),
    )
    assert chat.only(ToolEntry)[0].duration_ms == 1_000.0
    assert chat.only(TurnEntry)[0].duration_ms == 4_000.0
    assert chat.only(NoticeEntry)[0].lines[-1] == "1 unfinished tool call was ended."
    story = Story()
    for event in events:
        trace.apply(story(event))
    story.seq += 1_000
    for event in (RUN, ended("c1", "lost"), BROKEN):
        trace.apply(story(event))
    assert [span.duration_ms for span in trace.view().spans] == [4_000.0, 3_000.0, 1_000.0]


def test_the_model_is_told_that_the_program_ended_and_not_that_the_user_interrupted() -> None:
    fold, story = ModelMessages(), Story()
    hello = UserMessageReceived(text="hi")
    for event in (hello, TurnStarted(turn=1), requested("r1"), RUN, BROKEN):
        fold.apply(story(event))
    assert [getattr(message.content[0], "text", "") for message in fold.view()] == ["hi", CRASHED]  # type: ignore[union-attr]


def test_a_call_that_was_asked_about_shows_its_live_output_and_its_command_once() -> None:
    chat = Chat()
    chat.tell(called("c1"))
    target = chat.only(ToolEntry)[0].target
    chat.tell(asked("c1", target, TextBlock(text=target)))
    assert chat.only(ToolEntry)[0].blocks == ()
    chat.tell(asked("c1", target, TextBlock(text="cd x\n" + target)))
    assert len(chat.only(ToolEntry)[0].blocks) == 1
    chat.tell(started("c1"), ToolProgress(call_id=CallId("c1"), text="begin\n"))
    assert (chat.only(ToolEntry)[0].blocks, chat.only(ToolEntry)[0].output) == ((), "begin\n")


def test_a_diff_stays_while_its_change_is_made() -> None:
    chat = Chat()
    diff = DiffBlock(path="a.py", diff="@@ -1 +1 @@\n-a\n+b\n", added=1, removed=1)
    chat.tell(called("c1"), asked("c1", "a.py", diff), started("c1"))
    assert chat.only(ToolEntry)[0].blocks == (diff,)


def test_a_failure_takes_the_place_of_its_tries_and_says_what_is_kept() -> None:
    chat = Chat()
    retried = ModelRetried(
        request_id=RequestId("r1"), attempt=1, fault="transport", message="refused", wait_s=1.0
    )
    failed = ModelFailed(request_id=RequestId("r1"), fault="transport", message="refused", attempts=2)
    chat.tell(TurnStarted(turn=1), requested("r1"), retried, failed)
    chat.tell(TurnFinished(turn=1, reason="model_error", detail="refused"))
    (notice,) = chat.only(NoticeEntry)
    assert (notice.kind, notice.level, notice.command) == ("model_failed", "error", MODEL.model)
    assert notice.lines[:3] == (
        "The model server cannot be reached.",
        "refused",
        "Tried 2 times.",
    )
    assert notice.lines[3] == "Your message is kept. No file was changed in this turn."
    assert notice.lines[4].startswith("send an empty message to try again · ")
    assert chat.only(TurnEntry)[0].detail == ""


def test_a_retry_that_helped_no_longer_announces_a_try() -> None:
    chat = Chat()
    retried = ModelRetried(request_id=RequestId("r1"), attempt=3, fault="cut", message="m", wait_s=5.0)
    chat.tell(requested("r1"), retried, responded("r1", "Whole", tool_call("c1")))
    assert chat.only(NoticeEntry)[0].lines == ("The answer was cut off.", "m", "Attempt 4 succeeded.")


def test_an_attempt_that_is_running_is_no_longer_announced() -> None:
    chat = Chat()
    throttled, running = (
        AgentStateChanged(state=AgentState.THROTTLED),
        AgentStateChanged(state=AgentState.RUNNING),
    )
    for attempt in (1, 2):
        retried = ModelRetried(
            request_id=RequestId("r1"), attempt=attempt, fault="cut", message="m", wait_s=1.0
        )
        chat.tell(*([requested("r1")] if attempt == 1 else []), retried, throttled)
        assert chat.only(NoticeEntry)[0].lines[-1] == f"Attempt {attempt + 1} in 1 s."
        chat.tell(running)
        lines = ("The answer was cut off.", "m", f"Attempt {attempt + 1} is running.")
        assert chat.only(NoticeEntry)[0].lines == lines
    chat.tell(responded("r1", "Whole"))
    assert chat.only(NoticeEntry)[0].lines[-1] == "Attempt 3 succeeded."
    chat.tell(running)
    assert chat.only(NoticeEntry)[0].lines[-1] == "Attempt 3 succeeded."


def test_the_notice_about_a_repeated_request_stands_above_the_answer_live_and_reopened() -> None:
    retried = [
        ModelRetried(request_id=RequestId("r1"), attempt=attempt, fault="cut", message="m", wait_s=5.0)
        for attempt in (1, 2)
    ]
    live, reopened = Chat(), Chat()
    live.tell(requested("r1"), delta("r1", "Half"), retried[0], delta("r1", "Half ag"), retried[1])
    live.tell(delta("r1", "Whole"), responded("r1", "Whole"))
    reopened.tell(requested("r1"), *retried, responded("r1", "Whole"))
    shown = [
        [
            entry
            for entry in chat.fold.view().entries
            if not (isinstance(entry, AnswerEntry) and not entry.text)
        ]
        for chat in (live, reopened)
    ]
    for entries in shown:
        assert [type(entry) for entry in entries] == [NoticeEntry, AnswerEntry]
    assert shown[0][1].id == shown[1][1].id
    ids = [entry.id for entry in live.fold.view().entries]
    assert len(ids) == len(set(ids))


def test_a_retry_notice_becomes_the_failure_although_a_later_attempt_had_begun() -> None:
    chat = Chat()
    retried = [
        ModelRetried(request_id=RequestId("r1"), attempt=attempt, fault="cut", message="m", wait_s=5.0)
        for attempt in (1, 2)
    ]
    failed = ModelFailed(request_id=RequestId("r1"), fault="cut", message="m", attempts=3)
    chat.tell(requested("r1"), retried[0], delta("r1", "Half"), retried[1], failed)
    assert [notice.kind for notice in chat.only(NoticeEntry)] == ["model_failed"]


def test_a_retry_that_helped_names_every_kind_of_fault() -> None:
    chat = Chat()
    faults: list[FaultKind] = ["server_error", "cut", "cut", "rate_limit"]
    tries = [
        ModelRetried(request_id=RequestId("r1"), attempt=attempt, fault=fault, message="m", wait_s=5.0)
        for attempt, fault in enumerate(faults, 1)
    ]
    chat.tell(requested("r1"), *tries)
    assert chat.only(NoticeEntry)[0].lines[0] == "The provider's rate limit was reached."
    chat.tell(responded("r1", "Whole", tool_call("c1")))
    assert chat.only(NoticeEntry)[0].lines == (
        "The provider's server failed. The answer was cut off. The provider's rate limit was reached.",
        "Attempt 5 succeeded.",
    )


def test_settings_that_change_in_a_row_stay_one_notice_each() -> None:
    chat = Chat()
    for key, value in (("policy", "plan"), ("policy", "ask"), ("agent", "reader"), ("policy", "plan")):
        chat.tell(SettingsChanged(key=key, value=value, previous="", changed_by="user"))
    assert [entry.lines for entry in chat.only(NoticeEntry)] == [
        ("policy ask",),
        ("agent reader",),
        ("policy plan",),
    ]


def test_an_answer_that_broke_off_lasted_as_long_as_its_turn_with_the_deltas_or_without() -> None:
    for pieces in (3, 0):
        trace, story = Trace(), Story()
        for event in (TurnStarted(turn=1), STEP, requested("r1"), *(delta("r1", "x") for _ in range(pieces))):
            trace.apply(story(event))
        story.seq += 1_000
        cut = ModelFailed(request_id=RequestId("r1"), fault="cancelled", message="")
        for event in (RUN, cut, BROKEN.model_copy(update={"duration_ms": 5_000.0})):
            trace.apply(story(event))
        assert [span.duration_ms for span in trace.view().spans] == [5_000.0, 4_000.0, 3_000.0]
        assert {span.state for span in trace.view().spans} == {"interrupted"}


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ({"end": "lost"}, "ended with the program"),
        ({"end": "session"}, "ended with the session"),
        ({"end": "exited", "exit_code": 2}, "ended, exit 2"),
        ({"end": "stopped", "stopped_by": "user"}, "stopped by you"),
        ({"end": "stopped", "stopped_by": "agent"}, "stopped by the agent"),
        (
            {"end": "stopped", "stopped_by": "rewind"},
            "stopped by an undo",
        ),
    ],
)
def test_the_call_that_started_a_job_says_how_the_job_ended(end: dict[str, Any], outcome: str) -> None:
    chat, job = Chat(), JobId("job-1")
    chat.tell(called("c1"), started("c1"), JobStarted(job_id=job, command="make serve", call_id=CallId("c1")))
    chat.tell(ended("c1", "ok").model_copy(update={"summary": "job-1, running"}))
    assert chat.only(ToolEntry)[0].outcome == "job-1, running"
    chat.tell(RUN, JobFinished(job_id=job, **end))
    assert chat.only(ToolEntry)[0].outcome == f"job-1, {outcome}"
    assert chat.only(NoticeEntry)[-1].lines == (f"job-1 make serve: {outcome}",)


@pytest.mark.parametrize(("state", "notices"), [("exited", 0), ("running", 1)])
def test_a_job_that_ends_during_its_call_has_a_notice_only_if_the_result_does_not_name_the_end(
    state: str, notices: int
) -> None:
    chat, job = Chat(), JobId("job-1")
    chat.tell(called("c1"), started("c1"), JobStarted(job_id=job, command="make serve", call_id=CallId("c1")))
    chat.tell(JobFinished(job_id=job, end="exited", exit_code=1))
    assert chat.only(NoticeEntry) == []
    chat.tell(ended("c1", "ok").model_copy(update={"summary": f"job-1, {state}", "data": {"state": state}}))
    assert [entry.lines for entry in chat.only(NoticeEntry)] == [
        ("job-1 make serve: ended, exit 1",)
    ] * notices
    assert chat.only(ToolEntry)[0].outcome == ("job-1, ended, exit 1" if notices else "job-1, exited")


def test_reverting_and_forking_name_the_turn_by_its_message() -> None:
    chat = Chat()
    chat.tell(UserMessageReceived(text="fix the\nnight shift, and then " + "x" * 40), TurnStarted(turn=1))
    chat.tell(TurnFinished(turn=1, reason="finished"), UserMessageReceived(text="and the docs"))
    chat.tell(
        *(SessionHeadMoved(from_seq=9, to_seq=2, reason=reason) for reason in ("undo", "revert", "branch"))
    )
    chat.tell(SessionHeadMoved(from_seq=9, to_seq=-1, reason="revert"))
    chat.tell(SessionForked(parent_session=SessionId("ses_a"), parent_crc="0", at_seq=5))
    turn = "the turn “fix the night shift, and then xxxxxxxxxx…”"
    assert [entry.lines[0] for entry in chat.only(NoticeEntry)] == [
        "Undid the last turn. /redo restores it.",
        f"Reverted to {turn}. /redo restores the newer state.",
        f"Switched to another branch, at {turn}. /redo switches back.",
        "Reverted to the beginning. /redo restores the newer state.",
        "Forked from ses_a at the turn “and the docs”. /tree shows both sessions.",
    ]


def test_a_fork_names_the_generated_folders_that_it_lacks() -> None:
    chat = Chat()
    changes = ForkChange(workspace="/w", left_out_folders=(".venv/", "a\nb/target/", "c/build/", "d/dist/"))
    chat.tell(SessionForked(parent_session=SessionId("ses_a"), parent_crc="0", at_seq=5, changes=changes))
    assert chat.only(NoticeEntry)[0].lines[2] == (
        "Left out: .venv/, a\\nb/target/, c/build/ and 1 more (installed or generated files). "
        "Install or build them again in the fork's folder."
    )


def test_a_turn_is_named_by_the_words_that_the_user_typed_around_a_paste() -> None:
    chat = Chat()
    pasted = "line of a log\n" * 60
    chat.tell(UserMessageReceived(text=f"{pasted}why does\nit fail?", own_words="why does it fail?"))
    chat.tell(TurnStarted(turn=1), SessionHeadMoved(from_seq=9, to_seq=2, reason="revert"))
    assert chat.only(UserEntry)[0].headline == "why does it fail?"
    assert "Reverted to the turn “why does it fail?”." in chat.only(NoticeEntry)[-1].lines[0]


def test_an_undo_without_files_does_not_say_that_the_turn_changed_nothing() -> None:
    """A command can have removed an empty folder, which no checkpoint has."""
    chat = Chat()
    moves = [
        SessionHeadMoved(from_seq=9, to_seq=-1, reason=reason, files=False) for reason in ("undo", "revert")
    ]
    chat.tell(*moves)
    assert [entry.lines[1] for entry in chat.only(NoticeEntry)] == [
        "No file was restored.",
        "Files were not changed.",
    ]


@rows(
    "redone, turns, said",
    [
        ("undo", 1, "Restored the turn “two”."),
        ("revert", 1, "Restored the turn “two”."),
        ("revert", 2, "Restored 2 turns, up to the turn “two”."),
        ("revert", 9, "Restored 9 turns, up to the turn “two”."),
        ("revert", 0, "Restored the rest of the turn “two”."),
        ("branch", 2, "Switched back to the branch with the turn “two”."),
    ],
)
def test_a_redo_says_what_it_brought_back(redone: MoveReason, turns: int, said: str) -> None:
    chat = Chat()
    chat.tell(UserMessageReceived(text="one"), TurnStarted(turn=1), TurnFinished(turn=1, reason="finished"))
    chat.tell(UserMessageReceived(text="two"), TurnStarted(turn=2), TurnFinished(turn=2, reason="finished"))
    chat.tell(
        SessionHeadMoved(from_seq=9, to_seq=5, reason="redo", redone=redone, restored_turns=turns, files=True)
    )
    assert chat.only(NoticeEntry)[0].lines == (said,)


RESTORED = CheckpointRestored(source="c", commit="d", paths=("helpers.py",))


UNCHANGED = (
    "the conversation is unchanged. To reverse this, use /redo or, after your next message, /checkpoints."
)


@pytest.mark.parametrize(
    ("move", "restored", "lines"),
    [
        (
            {"reason": "hunk"},
            RESTORED,
            ["Reverted one change in helpers.py. /redo restores it."],
        ),
        (
            {"reason": "redo", "redone": "hunk"},
            RESTORED,
            ["Restored the change in helpers.py that you had reverted."],
        ),
        (
            {"reason": "files"},
            RESTORED,
            [f"Restored helpers.py; {UNCHANGED}"],
        ),
        (
            {"reason": "files"},
            RESTORED.model_copy(update={"removed_count": 1}),
            [f"Removed helpers.py; {UNCHANGED}"],
        ),
        (
            {"reason": "files"},
            RESTORED.model_copy(update={"paths": ("a", "b"), "removed_count": 1}),
            [f"1 file restored: a; 1 file removed: b; {UNCHANGED}"],
        ),
        (
            {"reason": "redo", "redone": "files"},
            RESTORED,
            ["Restored the newer version of helpers.py."],
        ),
        (
            {"reason": "redo", "redone": "files"},
            RESTORED.model_copy(update={"removed_count": 1}),
            ["Removed helpers.py again."],
        ),
        (
            {"reason": "redo", "redone": "files"},
            RESTORED.model_copy(update={"paths": ("a", "b"), "removed_count": 1}),
            ["Restored the newer versions. 1 file restored: a; 1 file removed: b."],
        ),
        (
            {"reason": "redo", "redone": "undo"},
            RESTORED.model_copy(update={"paths": ("a", "b", "c", "d"), "removed_count": 1}),
            ["Restored the turn “fix it”.", "3 files restored: a, b, c; 1 file removed: d"],
        ),
    ],
)
def test_moves_of_files_name_up_to_three_files(
    move: dict[str, Any], restored: CheckpointRestored, lines: list[str]
) -> None:
    chat = Chat()
    chat.tell(
        UserMessageReceived(text="fix it"), TurnStarted(turn=1), TurnFinished(turn=1, reason="finished")
    )
    chat.tell(SessionHeadMoved(from_seq=9, to_seq=2, files=True, **move), restored)
    assert [entry.lines[0] for entry in chat.only(NoticeEntry)] == lines


def test_undoing_a_kept_file_too_is_told_from_a_revert_of_files() -> None:
    chat = Chat()
    chat.tell(SessionHeadMoved(from_seq=9, to_seq=2, files=True, reason="undo"))
    chat.tell(RESTORED.model_copy(update={"paths": (), "skipped_paths": ("helpers.py",)}))
    chat.tell(SessionHeadMoved(from_seq=11, to_seq=12, files=True, reason="files"), RESTORED)
    assert chat.only(NoticeEntry)[-1].lines == (
        "Undid the changes in helpers.py too. /redo brings your version back.",
    )


def test_redoing_a_kept_file_too_and_taking_it_back_says_whose_version_is_there() -> None:
    for move, line in (
        ({"reason": "files"}, "Redid the changes in helpers.py too. /redo brings your version back."),
        ({"reason": "redo", "redone": "files"}, "Restored your version of helpers.py."),
    ):
        chat = Chat()  # after the second move, the branch no longer has the first
        chat.tell(SessionHeadMoved(from_seq=9, to_seq=2, files=True, reason="redo", redone="revert"))
        chat.tell(RESTORED.model_copy(update={"paths": (), "skipped_paths": ("helpers.py",)}))
        chat.tell(
            SessionHeadMoved.model_validate({"from_seq": 11, "to_seq": 12, "files": True, **move}), RESTORED
        )
        assert chat.only(NoticeEntry)[-1].lines == (line,)


@pytest.mark.parametrize(
    ("reach", "rule", "said"),
    [
        ("always", "allow run pytest -q", "In this project, `pytest -q` now runs without asking. {}"),
        (
            "everywhere",
            "allow edit src/**",
            "In every project, `edit src/**` is now allowed without asking. {}",
        ),
        ("always", "sandbox read /opt", "Saved in config.toml: sandbox read /opt."),
        ("session", "allow pytest -q", ""),
        ("once", "", ""),
    ],
)
def test_a_rule_that_was_saved_is_said_with_where_it_holds(reach: str, rule: str, said: str) -> None:
    chat = Chat()
    chat.tell(called("c1"), decision("c1", reach=reach, rule=rule))
    lines = [entry.lines for entry in chat.only(NoticeEntry)]
    assert lines == ([(said.format("/policy shows the rule and its file."),)] if said else [])


def test_the_text_of_a_slash_command_begins_at_its_first_line_and_has_no_exit_status() -> None:
    chat = Chat()
    text = "\n".join(f"{number}\tline {number}" for number in range(1, 82))
    for exit_code in (0, 1):
        chat.tell(
            UserShellStarted(command="cat -n -- a.py", typed="/read a.py"),
            UserShellFinished(command="cat -n -- a.py", output=text, exit_code=exit_code, duration_ms=3.0),
        )
    read, failed = chat.only(NoticeEntry)
    assert (read.command, read.level, read.lines) == ("/read a.py", "info", ())
    assert read.blocks == (TextBlock(text=text),)
    assert (failed.lines, failed.blocks) == (("exit 1",), (TerminalBlock(text=text),))
