"""What the chat shows as events come in, entry by entry."""

import hashlib
from typing import Any

import pytest

from tests.stubs.story import (
    MODEL,
    Story,
    called,
    decision,
    delta,
    finished,
    requested,
    responded,
    started,
    tool_call,
)
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.display_blocks import DiffBlock, TerminalBlock
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelFailed, ModelRetried
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import (
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserUnqueued,
)
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.protocol.parts import ReasoningPart, TextPart
from tui_agent.protocol.stored_text import BlobText


class Chat:
    """A transcript and its story; remembers what `drain` said."""

    def __init__(self) -> None:
        self.fold = Transcript()
        self.story = Story()

    def tell(self, *payloads: Any, agent: str = "main") -> list[int]:
        for payload in payloads:
            self.fold.apply(self.story(payload, agent))
        return self.fold.drain()

    def __getitem__(self, index: int) -> Entry:
        return self.fold.view().entries[index]

    def only(self, kind: type[Entry]) -> list[Any]:
        return [entry for entry in self.fold.view().entries if isinstance(entry, kind)]


def test_an_answer_grows_and_is_reported_once_a_drain() -> None:
    chat = Chat()
    assert chat.tell(requested("r1"), delta("r1", "Hel"), delta("r1", "lo")) == [0]
    first = chat[0]
    assert isinstance(first, AnswerEntry)
    assert (first.text, first.streaming) == ("Hello", True)
    assert chat.tell() == []
    assert chat.tell(delta("r1", " you")) == [0]
    grown = chat[0]
    assert isinstance(grown, AnswerEntry)
    assert grown.text == "Hello you"
    assert grown.revision > first.revision
    assert (grown.id, grown.seq) == (first.id, first.seq)
    assert chat.tell(responded("r1", "Hello you.")) == [0]
    done = chat[0]
    assert isinstance(done, AnswerEntry)
    assert (done.text, done.streaming, done.stopped) == ("Hello you.", False, False)


def test_reasoning_and_words_of_one_answer_are_entries_of_their_own() -> None:
    chat = Chat()
    chat.tell(delta("r1", "hm", 0, "reasoning"), delta("r1", "a", 1), delta("r1", "{", 2, "tool_call"))
    chat.tell(
        responded("r1", ReasoningPart(text="hm."), TextPart(text="a."), tool_call("c1"), TextPart(text="b."))
    )
    kinds = [(type(entry).__name__, getattr(entry, "text", "")) for entry in chat.fold.view().entries]
    assert kinds == [("ReasoningEntry", "hm."), ("AnswerEntry", "a."), ("AnswerEntry", "b.")]


def test_twenty_thousand_pieces_cost_no_more_than_their_length() -> None:
    chat = Chat()
    for _ in range(20_000):
        chat.fold.apply(chat.story(delta("r1", "word ")))
    assert chat.fold.drain() == [0]
    entry = chat[0]
    assert isinstance(entry, AnswerEntry)
    assert entry.text == "word " * 20_000
    assert chat[0] is entry


def test_a_kept_text_that_was_streamed_stays_whole() -> None:
    text = "long " * 3_000
    kept = BlobText(
        blob_sha256=hashlib.sha256(text.encode()).hexdigest(), size=len(text), preview=text[:1_024]
    )
    chat = Chat()
    chat.tell(delta("r1", text[:7_000]), delta("r1", text[7_000:]), responded("r1", TextPart(text=kept)))
    other = kept.model_copy(update={"blob_sha256": "0" * 64})
    chat.tell(delta("r2", text), responded("r2", TextPart(text=other)))
    assert [entry.text for entry in chat.only(AnswerEntry)] == [text, other]


def test_a_retry_voids_the_partial_answer_and_counts_in_one_notice() -> None:
    chat = Chat()

    def retried(attempt: int) -> ModelRetried:
        return ModelRetried(
            request_id=RequestId("r1"),
            attempt=attempt,
            fault="overloaded",
            message="529",
            wait_s=2.0 * attempt,
        )

    chat.tell(requested("r1"), delta("r1", "Half"), retried(1))
    assert [entry.text for entry in chat.only(AnswerEntry)] == [""]
    chat.tell(retried(2), delta("r1", "Whole"), delta("r1", " now"))
    assert [entry.text for entry in chat.only(AnswerEntry)] == ["", "Whole now"]
    notices = chat.only(NoticeEntry)
    assert [(notice.kind, notice.level) for notice in notices] == [("retry", "running")]
    assert notices[0].lines[-1] == "Attempt 3 in 4 s."
    chat.tell(responded("r1", "Whole now"))
    assert chat.only(NoticeEntry)[0].level == "info"


def test_a_cancelled_answer_is_marked_as_stopped() -> None:
    chat = Chat()
    cancelled = ModelFailed(request_id=RequestId("r1"), fault="cancelled", message="", partial="Half")
    chat.tell(delta("r1", "Half"), cancelled)
    chat.tell(cancelled.model_copy(update={"request_id": RequestId("r2")}))
    assert [(entry.text, entry.stopped, entry.streaming) for entry in chat.only(AnswerEntry)] == [
        ("Half", True, False),
        ("Half", True, False),
    ]
    assert chat.only(NoticeEntry) == []


def test_a_model_that_failed_says_why_and_what_to_do() -> None:
    chat = Chat()
    chat.tell(
        ModelFailed(
            request_id=RequestId("r1"), fault="transport", message="refused", hint="Start it.", attempts=4
        )
    )
    notice = chat.only(NoticeEntry)[0]
    assert (notice.kind, notice.level) == ("model_failed", "error")
    assert notice.lines == (
        "The model server cannot be reached.",
        "refused",
        "Tried 4 times.",
        "Start it.",
    )


def permission(call: str) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId(f"p-{call}"),
        call_id=CallId(call),
        tool="edit_file",
        verb="edit",
        target="a.py",
        effects=(),
        digest="d",
        preview=(DiffBlock(path="a.py", diff="@@", added=1, removed=0),),
        choices=(),
    )


def test_a_call_goes_from_queued_over_waiting_and_running_to_done() -> None:
    chat, states = Chat(), []
    for payload in (
        called("c1"),
        permission("c1"),
        decision("c1"),
        started("c1"),
        ToolProgress(call_id=CallId("c1"), text="one\ntwo"),
        finished("c1"),
    ):
        assert chat.tell(payload) == [0]
        entry = chat[0]
        assert isinstance(entry, ToolEntry)
        states.append(entry.state)
    assert states == ["queued", "waiting", "queued", "running", "running", "done"]
    assert isinstance(entry, ToolEntry)
    assert (entry.outcome, entry.duration_ms, entry.output, entry.output_lines) == (
        "sum c1",
        5.0,
        "one\ntwo",
        2,
    )


@pytest.mark.parametrize(
    ("by", "message", "denial", "by_user"),
    [
        ("user", "not now", "You said no: not now", True),
        ("user", "", "You said no", True),
        ("rule", "", "the reason", False),
        ("engine", "", "the reason", False),
    ],
)
def test_a_denied_call_keeps_what_it_would_have_done_and_the_users_words(
    by: str, message: str, denial: str, by_user: bool
) -> None:
    chat = Chat()
    chat.tell(
        called("c1"),
        permission("c1"),
        decision("c1", decision="deny", decided_by=by, reason="the reason", message=message),
        finished("c1", "denied"),
    )
    entry = chat[0]
    assert isinstance(entry, ToolEntry)
    assert (entry.state, entry.denial, entry.denied_by_user) == ("denied", denial, by_user)
    assert isinstance(entry.blocks[0], DiffBlock)


def test_the_users_words_stay_when_a_call_ran_once_and_may_not_run_again() -> None:
    chat = Chat()
    chat.tell(called("c1"), decision("c1", decided_by="rule"), permission("c1"))
    chat.tell(
        decision("c1", decision="deny", decided_by="user", message="use a venv"), finished("c1", "failed")
    )
    entry = chat[0]
    assert isinstance(entry, ToolEntry)
    assert (entry.state, entry.outcome, entry.denial) == ("failed", "sum c1", "You said no: use a venv")


def test_calls_end_as_their_status_says() -> None:
    chat = Chat()
    for status in ("failed", "invalid", "interrupted", "lost"):
        chat.tell(called(status), finished(status, status))  # type: ignore[arg-type]
    chat.tell(finished("never-called", "interrupted", part=None))
    assert [entry.state for entry in chat.only(ToolEntry)] == [
        "failed",
        "failed",
        "interrupted",
        "lost",
        "interrupted",
    ]


def test_live_output_keeps_its_tail_and_counts_its_lines() -> None:
    chat = Chat()
    chat.tell(called("c1"), started("c1"))
    for number in range(20_000):
        chat.fold.apply(chat.story(ToolProgress(call_id=CallId("c1"), text=f"line {number}\n")))
    entry = chat[0]
    assert isinstance(entry, ToolEntry)
    assert entry.output_lines == 20_000
    assert len(entry.output) == 16 * 1024
    assert entry.output.endswith("line 19999\n")


def test_a_queued_message_is_taken_back_or_becomes_a_new_entry() -> None:
    chat = Chat()
    chat.tell(TurnStarted(turn=1), UserQueued(queue_id=RequestId("q1"), text="later"))
    chat.tell(UserQueued(queue_id=RequestId("q2"), text="never"), UserUnqueued(queue_id=RequestId("q2")))
    chat.tell(TurnFinished(turn=1, reason="finished"))
    chat.tell(
        UserMessageReceived(text="later", source="queue", queue_id=RequestId("q1")), TurnStarted(turn=2)
    )
    assert [(entry.text, entry.state, entry.turn) for entry in chat.only(UserEntry)] == [
        ("later", "removed", 1),
        ("never", "removed", 1),
        ("later", "sent", 2),
    ]


def test_the_end_row_sums_its_own_turn_only() -> None:
    chat = Chat()
    change = FileChanged(
        path="a.py",
        before=None,
        after="0",
        before_size=0,
        after_size=1,
        mode=None,
        author="agent",
        added=3,
        removed=1,
    )
    first = IterationStarted(iteration=1, local_iteration=1)
    inner = IterationStarted(iteration=2, local_iteration=1, delegate_level=1)
    chat.tell(
        TurnStarted(turn=1),
        first,
        inner,
        change,
        change.model_copy(update={"path": "b.py"}),
        responded("r1", "x"),
        TurnFinished(turn=1, reason="finished"),
    )
    chat.tell(TurnStarted(turn=2), TurnFinished(turn=2, reason="interrupted", detail="by you"))
    chat.tell(TurnStarted(turn=3), change, change, TurnFinished(turn=3, reason="finished"))
    removal = change.model_copy(update={"before": "0", "after": None, "added": 0, "removed": 3})
    chat.tell(TurnStarted(turn=4), change, removal, TurnFinished(turn=4, reason="interrupted"))
    rows = chat.only(TurnEntry)
    assert [(row.iterations, row.files_text, row.added, row.removed, row.cost_usd) for row in rows] == [
        (1, "2 files", 6, 2, 0.5),
        (0, "0 files", 0, 0, None),
        (0, "1 file, 2 edits", 0, 0, None),
        (0, "0 files", 0, 0, None),
    ]
    assert (rows[1].reason, rows[1].detail) == ("interrupted", "by you")


def test_a_call_of_a_delegate_that_did_not_succeed_says_so_on_its_line() -> None:
    chat = Chat()
    chat.tell(called("c1", "[Subtask]", "helper: write"), started("c1"))
    spawned = AgentSpawned(
        name="helper",
        parent_agent=AgentId("main"),
        delegate_level=1,
        task="write",
        tools=(),
        model=MODEL,
        call_id=CallId("c1"),
    )
    chat.tell(
        spawned,
        called("c2", "write", "a.md"),
        called("c3", "write", "docs/a.md"),
        called("c4", "write", "a.md"),
        finished("c2"),
        finished("c3", "failed"),
        finished("c4", "denied"),
        agent="helper-2",
    )
    entry = chat[0]
    assert isinstance(entry, ToolEntry)
    assert entry.output == "write a.md\nwrite docs/a.md (failed)\nwrite a.md (denied)\n"


def test_a_delegate_shows_on_the_row_of_its_call_only() -> None:
    chat = Chat()
    chat.tell(called("c1", "[Subtask]", "helper: count"), started("c1"))
    spawned = AgentSpawned(
        name="helper",
        parent_agent=AgentId("main"),
        delegate_level=1,
        task="count",
        tools=(),
        model=MODEL,
        call_id=CallId("c1"),
    )
    chat.tell(
        spawned,
        UserMessageReceived(text="count", source="agent"),
        requested("r9"),
        delta("r9", "I look"),
        responded("r9", "I look", tool_call("c2")),
        called("c2", "search", "files"),
        permission("c2"),
        agent="helper-2",
    )
    entry = chat[0]
    assert isinstance(entry, ToolEntry)
    assert (entry.state, entry.outcome, entry.output) == ("waiting", "1 tool call", "search files\n")
    assert entry.target == "helper-2: count"
    chat.tell(
        decision("c2"),
        finished("c2"),
        AgentFinished(success=True, summary="3", reason="completed"),
        agent="helper-2",
    )
    chat.tell(finished("c1"))
    assert len(chat.fold.view().entries) == 1
    done = chat[0]
    assert isinstance(done, ToolEntry)
    assert done.state == "done"


def test_a_question_gets_its_answer() -> None:
    chat = Chat()
    chat.tell(QuestionAsked(question_id=RequestId("q"), text="Which?", form="choice", options=("a", "b")))
    assert chat.tell(QuestionAnswered(question_id=RequestId("q"), answer="b", choice=1)) == [0]
    assert chat.only(QuestionEntry)[0].answer == "b"


def test_a_call_that_only_asks_is_its_question() -> None:
    chat = Chat()
    asked = QuestionAsked(question_id=RequestId("q"), text="Which?", form="choice", options=("a", "b"))
    chat.tell(called("c1", "ask", "Which?").model_copy(update={"name": "ask_user"}), started("c1"), asked)
    assert chat.only(ToolEntry)[0].is_question
    chat.tell(QuestionAnswered(question_id=RequestId("q"), answer="b", choice=1), finished("c1"))
    question = chat.only(QuestionEntry)[0]
    assert (question.answer, question.choice, question.is_void) == ("b", 1, False)
    chat.tell(called("c2", "run", "make"), started("c2"))
    chat.tell(QuestionAsked(question_id=RequestId("r"), text="Go on?", form="stuck"))
    assert not chat.only(ToolEntry)[1].is_question


def test_a_question_whose_call_or_turn_ended_no_longer_waits() -> None:
    chat = Chat()
    chat.tell(
        TurnStarted(turn=1),
        called("c1", "plan", "Do it").model_copy(update={"name": "present_plan"}),
        started("c1"),
    )
    chat.tell(QuestionAsked(question_id=RequestId("q"), text="# Do it", form="plan"))
    assert chat.tell(finished("c1", "interrupted"))
    assert chat.only(QuestionEntry)[0].is_void
    chat.tell(QuestionAsked(question_id=RequestId("r"), text="Go on?", form="stuck"))
    chat.tell(TurnFinished(turn=1, reason="interrupted"))
    assert chat.only(QuestionEntry)[1].is_void


def test_an_error_shows_its_detail_as_a_block() -> None:
    chat = Chat()
    chat.tell(ErrorRaised(where="engine", message="It broke.", hint="Go on.", detail="Traceback"))
    notice = chat.only(NoticeEntry)[0]
    assert notice.lines == ("It broke.", "Go on.")
    assert notice.blocks == (TerminalBlock(text="Traceback"),)


def test_entries_can_be_read_from_either_end_and_by_slice() -> None:
    chat = Chat()
    chat.tell(delta("r1", "a"), delta("r2", "b", 0, "reasoning"), delta("r3", "c"))
    entries = chat.fold.view().entries
    assert isinstance(entries[-2], ReasoningEntry)
    assert [getattr(entry, "text", "") for entry in entries[1:]] == ["b", "c"]
    assert len(list(entries)) == 3
