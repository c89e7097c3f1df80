"""The session as lines: one line an event, answers by number."""

from pathlib import Path

import anyio

from tests.stubs.fake_session import FakeSession
from tests.stubs.killed import asked
from tests.stubs.story import compacted, decision
from tests.tui.app.driving import golden
from tui_agent.errors import PluginError, SessionLocked
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.protocol.commands import (
    AnswerQuestion,
    ContinueTurn,
    DecidePermission,
    Interrupt,
    Redo,
    Steer,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.effects import WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextStuck, RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelResponded
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered, OfferedCommand
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserSteered,
)
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.tui.linear.app import LinePrinter, talk


def told(name: str) -> tuple[LinePrinter, list[str], FakeSession]:
    session, said = FakeSession(golden(name)), list[str]()
    linear = LinePrinter(session, said.append)
    for record in session.records:
        if isinstance(record, Envelope):
            linear.write_event(record)
    return linear, said, session


def test_a_turn_reads_as_lines() -> None:
    _, said, _ = told("night_shift")
    assert "tool run, pytest -q, failed, exit 1, 2.1 s" in said
    assert any(line.startswith("task ") for line in said)
    assert any(line.startswith("answer, **Fixed.**") for line in said)
    assert said[-1] == "turn 2, finished, 51 s"
    assert not any("\x1b" in line for line in said)


async def test_undo_redo_and_the_changes_can_be_had_without_a_screen() -> None:
    linear, said, session = told("night_shift")
    assert isinstance(linear.interpret_line("/undo"), Undo) and isinstance(
        linear.interpret_line("/redo"), Redo
    )
    assert linear.interpret_line("/help") is None and any(line.startswith("Type a message") for line in said)
    for number, file in enumerate(fold(FilesChanged(), session.records).files):
        session.blobs |= {file.before or "": b"same\nold\n", file.after or "": b"same\nnew %d\n" % number}
    lines = await linear.changes.lines()
    assert lines[:5] == [
        "3 changed files",
        "src/timesheet/entry.py, 1 added, 1 removed",
        "line 1, same",
        "line 2, removed, old",
        "line 2, added, new 0",
    ]
    session.feed(
        SessionHeadMoved(from_seq=9, to_seq=3, reason="undo", files=True, kept_commits=("1a2b3c4 Add a",)),
        CheckpointRestored(source="a", commit="b", paths=("a.py", "b.py"), skipped_paths=("mine.py",)),
    )
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[-3:] == [
        "undo done",
        "Commit 1a2b3c4 “Add a” stays. To undo it in git and keep all files: git reset 1a2b3c4~1",
        "2 files restored. 1 file kept, changed by you or another session: mine.py.",
    ]


def test_a_slash_command_goes_to_the_engine_and_its_answer_is_a_line() -> None:
    linear, said, session = told("night_shift")
    for line in ("/standup on Monday", "/no_such", "/tmp/notes is a folder"):
        command = linear.interpret_line(line)
        assert isinstance(command, SubmitPrompt) and command.text == line
    standup = OfferedCommand(name="standup", arguments="[DAY]", help="Report on a day")
    session.feed(
        CommandsOffered(owner="demo", items=(standup,)),
        CommandRan(name="standup", display=(TextBlock(text="Nothing was done."),)),
    )
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[-1] == "Nothing was done."
    assert linear.interpret_line("/help") is None and said[-1] == "/standup [DAY], Report on a day"
    assert "/reload, reload plugins that have changed" in said


def test_what_a_compaction_did_is_a_line() -> None:
    linear, said, session = told("night_shift")
    done = compacted(5, before_tokens=52_000, after_tokens=9_000, turns=3)
    session.feed(done, ContextStuck(message="There is too little to summarise yet."))
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[-2:] == [
        "Summarised 3 turns: 52k to 9k tokens.",
        "There is too little to summarise yet.",
    ]


def test_the_reason_why_a_turn_ended_is_told_once() -> None:
    linear, said, session = told("night_shift")
    said.clear()
    limit = "The limit of 3 iterations is reached."
    session.feed(
        TurnStarted(turn=3),
        TurnFinished(turn=3, reason="model_error", detail="No model is set."),
        TurnStarted(turn=4),
        ModelFailed(request_id=RequestId("r"), fault="auth", message="Refused.", hint="Check the key."),
        TurnFinished(turn=4, reason="model_error", detail="Refused. Check the key."),
        TurnStarted(turn=5),
        TurnFinished(turn=5, reason="iteration_limit", detail=limit),
    )
    for record in session.records[-7:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert [line for line in said if not line.startswith("turn ")] == [
        "No model is set.",
        "model failed, Refused. Check the key.",
        limit,
    ]


def test_changes_of_plugins_are_lines() -> None:
    linear, said, session = told("night_shift")
    said.clear()
    loaded = PluginLoaded(
        plugin="greeter", version="1", source="user", contributions=("tool:greet",), while_running=True
    )
    session.feed(
        loaded,
        loaded.model_copy(update={"while_running": False}),
        PluginUnloaded(plugin="greeter"),
        PluginFailed(plugin="greeter", message="line 1: '(' was never\x1b[2J closed"),
        CommandRan(name="reload", display=(TextBlock(text="Failed: greeter."),)),
    )
    for record in session.records[-5:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said == [
        "The plugin greeter was loaded. It adds: tool:greet.",
        "The plugin greeter is no longer used.",
        "The plugin greeter failed.",
        "line 1: '(' was never closed",
        "Failed: greeter.",
    ]


def test_a_subtask_is_told_under_its_name_and_its_words_are_no_answer() -> None:
    _, said, session = told("night_shift")
    own = [line for line in said if line.startswith("investigator-1")]
    assert own[0].startswith("investigator-1 begins, ") and own[-1] == "investigator-1 is done"
    assert any(line.startswith("investigator-1, tool ") and "denied" in line for line in own)
    answers = [
        record.payload
        for record in session.records
        if isinstance(record, Envelope)
        and isinstance(record.payload, ModelResponded)
        and record.agent == "investigator-1"
    ]
    words = [part.text for one in answers for part in one.parts if isinstance(part, TextPart)]
    assert words and not any(str(text) in line for text in words for line in said)


def test_an_approval_is_a_numbered_list_and_a_number_answers_it() -> None:
    linear, said, session = told("night_shift")
    said.clear()
    session.feed(
        TurnStarted(turn=3),
        PermissionRequested(
            request_id=RequestId("p"),
            call_id=CallId("c"),
            tool="edit_file",
            verb="edit",
            target="src/\u202ea.py",
            effects=(WriteEffect(path="src/a.py"),),
            digest="0" * 32,
            preview=(),
            choices=(
                PermissionChoice(reach="session", rule="edit src/**"),
                PermissionChoice(
                    reach="always",
                    rule="",
                    offered=False,
                    explanation="not available for commands that delete",
                ),
            ),
        ),
    )
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[0] == "Change a file? edit src/<U+202E>a.py"
    assert "2. Yes, this session: edit src/**" in said
    assert "3. Always, this project: not available for commands that delete" in said
    for message in ("yes please", "3 files are too many", "1 moment"):
        steer = linear.interpret_line(message)
        assert isinstance(steer, Steer) and steer.text == message
        assert said[-1] == "Sent to the agent. The approval is still open. Type 1, 2, 3 or 4."
    assert (
        linear.interpret_line("3") is None
        and said[-1] == "That answer is not available for commands that delete."
    )
    once, session_wide, no = (
        linear.interpret_line("1"),
        linear.interpret_line("2"),
        linear.interpret_line("4 use datetime"),
    )
    assert isinstance(once, DecidePermission) and (once.decision, once.reach) == ("allow", "once")
    assert isinstance(session_wide, DecidePermission) and session_wide.reach == "session"
    assert isinstance(no, DecidePermission) and (no.decision, no.message) == ("deny", "use datetime")


def test_always_for_every_project_is_an_answer_of_its_own_and_the_saved_rule_is_said() -> None:
    linear, said, session = told("night_shift")
    said.clear()
    request = PermissionRequested(
        request_id=RequestId("p"),
        call_id=CallId("c"),
        tool="run_command",
        verb="run",
        target="pytest -q",
        effects=(),
        digest="0" * 32,
        preview=(),
        choices=(PermissionChoice(reach="always", rule="allow run pytest -q"),),
    )
    session.feed(TurnStarted(turn=3), request)
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert "3. Always, this project: allow run pytest -q" in said
    assert said[-1] == "5. Always, every project: allow run pytest -q"
    assert linear.interpret_line("6") is None and said[-1] == "Type 1, 2, 3, 4 or 5."
    here, everywhere = linear.interpret_line("3"), linear.interpret_line("5")
    assert isinstance(here, DecidePermission) and here.reach == "always"
    assert isinstance(everywhere, DecidePermission) and everywhere.reach == "everywhere"
    session.feed(decision("c", reach="everywhere", rule="allow run pytest -q"))
    record = session.records[-1]
    assert isinstance(record, Envelope)
    linear.write_event(record)
    rule = "In every project, `pytest -q` now runs without asking."
    assert said[-1] == f"{rule} /policy shows the rule and its file."


def test_what_a_message_mentions_is_told_with_what_was_sent_of_it() -> None:
    linear, said, session = told("night_shift")
    sent = Mention(reference="a.py", kind="file", path="a.py", tokens=1_204)
    kept = Mention(reference=".env", kind="refused", path=".env", note="it may hold secrets")
    session.feed(
        UserMessageReceived(text="Read both", mentions=(sent,)), UserSteered(text="x", mentions=(kept,))
    )
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[-3:] == [
        "you, Read both",
        "mentions a.py, 1.2k tokens",
        "mentions .env, not sent: it may hold secrets",
    ]


def test_questions_messages_steering_and_stopping() -> None:
    linear, _, session = told("night_shift")
    assert isinstance(linear.interpret_line("fix it"), SubmitPrompt)
    session.feed(TurnStarted(turn=3))
    question = QuestionAsked(
        question_id=RequestId("q"), text="Which?", form="choice", options=("csv", "json")
    )
    session.feed(question, TurnFinished(turn=3, reason="finished"))
    for record in session.records[-3:-1]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    answer = linear.interpret_line("2")
    assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == ("json", 1)
    assert isinstance(linear.interpret_line("/stop"), Interrupt)
    last = session.records[-1]
    assert isinstance(last, Envelope)
    linear.write_event(last)
    session.feed(TurnStarted(turn=4))
    started = session.records[-1]
    assert isinstance(started, Envelope)
    linear.write_event(started)
    assert isinstance(linear.interpret_line("also this"), Steer)


def test_a_number_answers_a_question_for_a_text_and_its_options_are_typed() -> None:
    linear, said, session = told("night_shift")
    question = QuestionAsked(question_id=RequestId("q"), text="Age?", form="text", options=("Decline",))
    session.feed(TurnStarted(turn=3), question)
    for record in session.records[-2:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said[-2:] == ["question, Age?", "Type your answer, or: Decline."]
    answer = linear.interpret_line("1")
    assert isinstance(answer, AnswerQuestion) and (answer.answer, answer.choice) == ("1", None)


async def test_an_answer_is_told_line_by_line_as_it_comes_and_once() -> None:
    session, said = FakeSession(golden("night_shift")), list[str]()
    linear = LinePrinter(session, said.append)
    request = RequestId("req_new")
    answer = ModelResponded(
        request_id=request,
        first_part=0,
        parts=(TextPart(text="One line.\nTwo lines.\nThe rest."),),
        finish="stop",
        usage=Usage(),
        cost_usd=None,
        duration_ms=1.0,
    )
    for text in ("One li", "ne.\nTwo", " lines.\nThe"):
        session.feed(ModelDelta(request_id=request, part_kind="text", part_index=0, text=text))
    session.feed(answer)
    for record in session.records[-4:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert said == ["answer, One line.", "Two lines.", "The rest."]


async def test_that_the_map_is_not_there_yet_is_said_once() -> None:
    session, said = FakeSession(golden("night_shift")), list[str]()
    linear = LinePrinter(session, said.append)
    late = RepomapBuilt(files=0, skipped=0, partial=True, duration_ms=3_000, delay_reason="not there")
    given = RepomapUsed(query="", tokens=1, files=("a.py",), injected=True, text="a.py")
    for event in (late, late, given, late):
        session.feed(event)
    for record in session.records[-4:]:
        assert isinstance(record, Envelope)
        linear.write_event(record)
    assert (
        said
        == [
            "The request was sent without the repository map, which was not ready after 3.0 s. A later request will include it."
        ]
        * 2
    )


async def test_a_talk_opens_takes_lines_and_closes(tmp_path: Path) -> None:
    folder = tmp_path / "ses_1"
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"")
    session, said = FakeSession(golden("night_shift"), folder=str(folder)), list[str]()
    lines = iter(["hello", "/quit"])

    async def read_line() -> str | None:
        return next(lines)

    assert await talk(session, read_line, said.append, prompt="first") == 0
    assert [getattr(command, "text", "") for command in session.submitted] == ["first", "hello"]
    assert session.is_closed and said[-1].startswith("To come back:  tui-agent --session ses_")


async def test_the_end_of_the_engine_ends_the_app_with_the_reason() -> None:
    called = ToolCalled(call_id=CallId("c"), name="hung", arguments={}, iteration=1, verb="hung", target="")
    hung = PluginError("The function hung blocked the session.", hint="Turn it off.")
    for failure, end in (
        (hung, "The engine stopped. The function hung blocked the session. Turn it off."),
        (None, "The engine stopped."),
    ):
        session, said = FakeSession(golden("night_shift")), list[str]()

        async def read_line(session: FakeSession = session, failure: PluginError | None = failure) -> str:
            session.feed(TurnStarted(turn=3), called)
            session.failure = failure
            session.end()
            await anyio.sleep_forever()
            raise AssertionError

        with anyio.fail_after(30):
            assert await talk(session, read_line, said.append) == 1
        assert said[-2:] == ["tool hung, not finished", end]


async def test_a_session_that_cannot_be_opened_is_said() -> None:
    session, said = FakeSession(failure=SessionLocked("Held elsewhere.", hint="Close it.")), list[str]()

    async def read_line() -> str | None:
        return None

    assert await talk(session, read_line, said.append) == 2
    assert said == ["Held elsewhere. Close it."]


async def test_what_was_asked_when_the_program_was_killed_is_asked_again(tmp_path: Path) -> None:
    session, said = FakeSession(await asked(tmp_path)), list[str]()
    gone_on = anyio.Event()
    session.react = lambda command: gone_on.set() if isinstance(command, ContinueTurn) else None

    async def read_line() -> str | None:
        await gone_on.wait()
        return None

    with anyio.fail_after(30):
        assert await talk(session, read_line, said.append) == 0
    assert [type(one) for one in session.submitted] == [ContinueTurn]
