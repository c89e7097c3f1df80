"""Instructions that join a conversation: what the model's history, the transcript and the ledger have of them."""

from collections.abc import Sequence

from tui_agent.folds.context.context_breakdown import Ledger
from tui_agent.folds.context.instructions import AgentInstructions, joined_content
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked, CountedMessage
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded
from tui_agent.protocol.events.union import CorePayload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, RequestId, SessionId
from tui_agent.protocol.parts import TextContent


def file(path: str, *, cut: bool = False) -> InstructionFile:
    scope = "nested" if "/" in path else "project"
    return InstructionFile(
        path=path, scope=scope, sha256=path, size=9, tokens=3, text=f"Rules of {path}.", truncated=cut
    )


def loaded(
    why: str, paths: Sequence[str], order: Sequence[str], gone: Sequence[str] = ()
) -> InstructionsLoaded:
    files = tuple(map(file, paths))
    return InstructionsLoaded(trigger=why, files=files, order=tuple(order), removed=tuple(gone))


def event(seq: int, payload: CorePayload, agent: AgentId = MAIN_AGENT) -> Envelope:
    return Envelope.model_construct(
        v=1,
        seq=seq,
        time=0.0,
        session=SessionId("ses_x"),
        agent=agent,
        parent=None,
        cause=None,
        payload=payload,
    )


def test_what_joins_is_held_with_the_event_that_told_it_and_what_begins_a_turn_is_not() -> None:
    has = AgentInstructions().with_event(loaded("turn", ["AGENTS.md"], ["AGENTS.md"]), 3)
    has = has.with_event(loaded("nested", ["src/AGENTS.md"], ["AGENTS.md", "src/AGENTS.md"]), 9)
    assert ([one.path for one in has.files], has.joined) == (
        ["AGENTS.md", "src/AGENTS.md"],
        {"src/AGENTS.md": 9},
    )
    again = has.with_event(
        loaded("nested", ["src/AGENTS.md"], ["AGENTS.md", "src/AGENTS.md"], ["src/AGENTS.md"]), 20
    )
    assert again.joined == {"src/AGENTS.md": 20}
    assert again.with_event(loaded("nested", [], ["AGENTS.md"], ["src/AGENTS.md"]), 30).joined == {}
    assert has.for_delegate().joined == {} and has.for_delegate().files == has.files


def test_the_history_is_told_of_what_joins_alone_and_that_a_cut_one_goes_on() -> None:
    assert joined_content(loaded("turn", ["AGENTS.md"], ["AGENTS.md"])) == ()
    assert joined_content(loaded("nested", [], ["AGENTS.md"])) == ()
    cut = InstructionsLoaded(
        trigger="nested", files=(file("src/AGENTS.md", cut=True),), order=("src/AGENTS.md",)
    )
    words = "\n".join(str(one.text) for one in joined_content(cut) if isinstance(one, TextContent))
    assert words.startswith("# Instructions from src/AGENTS.md, for everything below src/")
    assert "Rules of src/AGENTS.md." in words and words.endswith(
        "The rest applies too: read it before you work.]"
    )


def test_a_person_reads_in_the_transcript_what_joined_and_what_holds_no_more() -> None:
    fold = Transcript()
    fold.apply(event(1, loaded("turn", ["AGENTS.md"], ["AGENTS.md"])))
    fold.apply(event(2, loaded("nested", ["src/AGENTS.md"], ["AGENTS.md", "src/AGENTS.md"])))
    fold.apply(event(3, loaded("nested", ["docs/AGENTS.md"], ["docs/AGENTS.md"]), AgentId("subtask-1")))
    fold.apply(event(4, loaded("nested", [], ["AGENTS.md"], ["src/AGENTS.md"])))
    said = [one.lines for one in fold.view().entries if isinstance(one, NoticeEntry)]
    assert said == [("src/AGENTS.md applies from here on",), ("src/AGENTS.md no longer applies",)]


def test_the_ledger_names_the_message_that_brought_them() -> None:
    ledger = Ledger()
    ledger.apply(event(4, loaded("nested", ["src/AGENTS.md"], ["src/AGENTS.md"])))
    packed = ContextPacked(
        request_id=RequestId("r"),
        window=1_000,
        total_tokens=30,
        counted_tokens=30,
        total_chars=99,
        sections=(),
        added=(CountedMessage(seq=4, tokens=30),),
    )
    ledger.apply(event(5, packed))
    [message] = ledger.view().messages
    assert (message.sender, message.subject, message.files) == (
        "instructions",
        "src/AGENTS.md",
        {"src/AGENTS.md": 1.0},
    )
