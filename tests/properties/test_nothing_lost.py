"""For any history and room: what must not be lost stands whole in the request, or the record says so and an artifact has it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.context.compaction import summary_facts
from tui_agent.context.compaction.summary_facts import (
    LONG_MESSAGE_CHARS,
    LONG_MESSAGE_LABEL,
    LONG_MESSAGE_LINES,
    Facts,
)
from tui_agent.context.compaction.summary_text import Summary, build_summary
from tui_agent.context.request_assembly import Assembly, RequestInput
from tui_agent.context.truncation import artifact_id
from tui_agent.protocol.events.todo import TodoItem, TodoStatus
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import LongText, text_preview

STATUS: tuple[TodoStatus, ...] = ("pending", "in_progress", "completed")


def plain(text: LongText) -> str:
    return text_preview(text)


def lined(name: str, size: int) -> str:
    """A text of about so many characters, each line of which is another one."""
    return "\n".join(f"{name} line {at} ü" for at in range(1 + size // 20))


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    sizes = draw(st.lists(st.integers(0, 6_000), min_size=1, max_size=25))
    said = [
        UserMessage(content=(TextContent(text=lined(f"m{at}", size)),), seq=at)
        for at, size in enumerate(sizes)
    ]
    held: list[Message] = [*said]
    for at in range(draw(st.integers(0, 60))):
        part = ToolCallPart(
            call_id=CallId(f"c{at}"), name="write_file", arguments={"path": f"src/p{at % 7}/f{at}.py"}
        )
        held.append(AssistantMessage(parts=(TextPart(text=f"Because of {at}."), part), seq=100 + 2 * at))
        held.append(
            ToolMessage(
                call_id=part.call_id, name=part.name, content=(TextContent(text="ok"),), seq=101 + 2 * at
            )
        )
    pinned = draw(st.sets(st.integers(0, 230), max_size=5))
    todo = [
        TodoItem(id=str(at), content=f"todo{at} " + "t" * draw(st.integers(0, 100)), status=STATUS[at % 3])
        for at in range(draw(st.integers(0, 40)))
    ]
    failing = [f"tests/test_x.py::test_it[{at}]" for at in range(draw(st.integers(0, 60)))]
    return Facts(held, dict.fromkeys(range(len(said)), ""), pinned, todo, (), 1_000, failing)


def is_long(words: str) -> bool:
    return len(words) > LONG_MESSAGE_CHARS and words.count("\n") >= LONG_MESSAGE_LINES


def missing(of: Facts, made: Summary) -> dict[str, str]:
    """What is not whole in the summary: what it is, and the whole of it."""
    own = [plain(one.content[0].text) for one in of.originals if isinstance(one, UserMessage)]  # type: ignore[union-attr]
    told = {
        "the task": own[:1],
        "your later messages": ["> " + one.replace("\n", "\n> ") for one in own[1:] if not is_long(one)],
        "tasks": [one.content for one in of.todo if one.status != "completed"],
        "tests that fail": [f"- {one}\n" for one in of.failing[:-1]],
        "files that were changed": [
            f"f{at}.py" for at in range(sum(isinstance(one, ToolMessage) for one in of.originals))
        ],
    }
    return {name: lost for name, pieces in told.items() for lost in pieces if lost not in f"{made.text}\n"}


@settings(max_examples=example_count(120), deadline=None)
@given(facts(), st.integers(3_000, 90_000), st.floats(0.2, 1.0))
def test_all_that_must_not_be_lost_is_whole_or_cut_with_an_artifact_and_a_record(
    of: Facts, room: int, wished: float
) -> None:
    made = build_summary(of, "The story.", room, round(room * wished), plain)
    cut = {one.label: one for one in made.cuts}
    excerpts = cut.keys() & {LONG_MESSAGE_LABEL}
    blocks = [one for one in made.cuts if one.label not in excerpts]
    assert missing(of, made).keys() <= cut.keys()
    stored = "".join([made.text, *(one.full_text for one in blocks)])
    for one in made.cuts:
        assert artifact_id(one.full_text) in (stored if one.label in excerpts else made.text)
        assert one.chars < len(one.full_text)
    assert len(made.text) < room + 3_000
    if blocks:
        assert len(made.text) + sum(len(one.full_text) - one.chars for one in blocks) > room - 2_000
    by = {one.section: one for one in made.shares}
    assert sum(one.chars for one in made.shares) == len(made.text)
    assert (by["task_contract"].raw_chars > by["task_contract"].chars) == bool(
        cut.keys() & {"the task", "your later messages", LONG_MESSAGE_LABEL}
    )


@settings(max_examples=example_count(60), deadline=None)
@given(facts(), st.integers(8_000, 60_000), st.integers(2_000, 40_000))
def test_a_request_tells_in_its_record_what_its_summary_has_no_room_for(
    of: Facts, room: int, window: int
) -> None:
    made = build_summary(of, "The story.", room, room // 2, plain)
    summary = SummaryMessage(text=made.text, seq=1_000, shares=made.shares)
    model = ModelInfo(profile="m", provider="scripted", model="m", window=window)
    newest = UserMessage(content=(TextContent(text="go on"),), seq=1_001)
    found = Assembly().pack(RequestInput(RequestId("r"), model, (), [summary, newest], (), 1_000))
    by = {one.name: one for one in found.manifest.sections}
    users = {"the task", "your later messages", LONG_MESSAGE_LABEL}
    own = users & {one.label for one in made.cuts}
    assert by["task_contract"].reduced == bool(own or found.cuts)
    assert by["packed_context"].reduced or not [one for one in made.cuts if one.label not in own]
    sent = str(found.messages[0])
    blocks = [one for one in made.cuts if one.label != LONG_MESSAGE_LABEL]
    assert all(artifact_id(one.full_text) in sent or found.cuts for one in blocks)
    assert all(artifact_id(one.full_text) in sent for one in found.cuts)
    assert found.manifest.total_tokens <= max(window, 700)


def test_a_text_that_would_grow_by_being_cut_stays_whole() -> None:
    words = "one short line\n" * 27
    fitted = summary_facts._head_and_tail(words, 380, has_artifact=True)
    assert (fitted.text, fitted.cut) == (words, False)
