"""What fills the context: by message, tool and file, and how one request differs from another."""

from tests.stubs.story import Story, finished, responded, tool_call
from tui_agent.folds.ledger import REQUESTS, Ledger, LedgerView
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    CountedMessage,
    Section,
    SectionName,
)
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import CallId, RequestId


def packed(
    request: str, added: dict[int, int], ratio: float = 1.0, prefix: str = "a", **sections: int
) -> ContextPacked:
    whole = sum(sections.values())
    names: dict[SectionName, int] = sections  # type: ignore[assignment]
    return ContextPacked(
        request_id=RequestId(request),
        window=1_000,
        total_tokens=round(whole * ratio),
        counted_tokens=whole,
        total_chars=0,
        prefix_digest=prefix,
        added=tuple(CountedMessage(seq=seq, tokens=tokens) for seq, tokens in added.items()),
        sections=tuple(
            Section(name=name, raw_chars=1, chars=1, tokens=tokens) for name, tokens in names.items()
        ),
    )


def read(call: str, path: str) -> ToolCalled:
    return ToolCalled(
        call_id=CallId(call),
        name="read_file",
        arguments={"path": path},
        iteration=1,
        verb="read",
        target=path,
    )


def told(*payloads: Payload) -> LedgerView:
    fold, story = Ledger(), Story()
    for payload in payloads:
        fold.apply(story(payload))
    return fold.view()


ASKED = UserMessageReceived(text="Do it", source="prompt")


def test_each_message_has_its_tool_and_its_file() -> None:
    view = told(
        ASKED,
        packed("r1", {0: 10}, messages=10),
        responded("r1", tool_call("c1"), tokens=12),
        read("c1", "src/a.py"),
        finished("c1"),
        packed("r2", {2: 5, 4: 400}, ratio=2.0, messages=415),
    )
    assert [(one.who, one.what, one.tokens) for one in view.messages] == [
        ("read_file", "src/a.py", 800),
        ("you", "Do it", 20),
        ("answer", "run_command", 10),
    ]
    assert [(one.name, one.count, one.tokens) for one in view.files] == [("src/a.py", 1, 800)]
    assert [one.name for one in view.tools] == ["read_file", "you", "answer"]


def test_two_requests_differ_by_their_sections_and_what_the_provider_counted_is_told() -> None:
    view = told(
        ASKED,
        packed("r1", {0: 10}, system=50, messages=10),
        responded("r1", "hello", tokens=66),
        packed("r2", {}, prefix="b", system=70, messages=10, tool_results=30),
    )
    first, second = view.requests
    assert (first.input_tokens, first.broken, second.input_tokens) == (66, "", None)
    assert second.broken == "the instructions before the conversation changed"
    assert view.difference(0, 1) == {"system": 20, "tool_results": 30}
    assert view.difference(1, 0) == {"system": -20, "tool_results": -30}


def test_what_was_compacted_away_is_gone_and_what_stayed_keeps_its_name() -> None:
    gone = ContextCompacted(
        through_seq=0, summary="s", forgets=(0,), turns=1, before_tokens=9, after_tokens=3, by="user"
    )
    view = told(
        ASKED,
        read("c1", "b.py"),
        finished("c1"),
        packed("r1", {0: 10, 2: 20}, messages=30),
        gone,
        packed("r2", {4: 3, 2: 20}, messages=23),
    )
    assert [(one.who, one.what) for one in view.messages] == [("read_file", "b.py"), ("summary", "")]


def test_a_long_session_holds_only_its_newest_requests() -> None:
    view = told(*(packed(f"r{number}", {number: 1}, messages=1) for number in range(REQUESTS * 3)))
    assert len(view.requests) == REQUESTS and view.requests[-1].request_id == f"r{REQUESTS * 3 - 1}"
