"""For any history: what a cut leaves is legal, and the summary has the task, the rules, pins, tasks and failing tests."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.legal_history import check_pairs
from tui_agent.context.compaction.offloadable_results import (
    needed_calls,
    newest_readings,
    offloadable_results,
)
from tui_agent.context.compaction.summarised_messages import chars_of, summary_cut
from tui_agent.context.compaction.summary_facts import Facts
from tui_agent.context.compaction.summary_text import (
    STORY,
    build_summary,
    story_from_record,
    story_of,
    transcript,
    transcript_within,
)
from tui_agent.folds.context.compacted_history import call_ids
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.stored_text import LongText, text_preview

TASK = "Port the parser. Never touch vendor/."
TODO = TodoItem(id="1", content="Port the lexer", status="in_progress")
NAMES = ("read_file", "edit_file", "run_tests", "run_command", "write_todos")
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.integers(1, 3_000)),
        st.tuples(st.just("late"), st.integers(1, 200)),
        st.tuples(st.just("work"), st.lists(st.sampled_from(NAMES), min_size=0, max_size=3), st.booleans()),
    ),
    max_size=30,
)


def plain(text: LongText) -> str:
    return text_preview(text)


def history(acts: list[tuple[object, ...]]) -> tuple[list[Message], set[int]]:
    """Messages as the fold makes them: results in their order, what was said meanwhile behind them with an earlier seq."""
    made: list[Message] = [UserMessage(content=(TextContent(text=TASK),), seq=0)]
    spoken, seq, calls = {0}, 0, 0
    for act in acts:
        seq += 2
        match act:
            case ("user", int(size)):
                made.append(UserMessage(content=(TextContent(text=f"said {seq} " + "w" * size),), seq=seq))
                spoken.add(seq)
            case ("late", int(size)):
                made.append(
                    UserMessage(content=(TextContent(text=f"late {seq} " + "w" * size),), seq=seq - 3)
                )
                spoken.add(seq - 3)
            case ("work", list(names), bool(ok)):
                parts = tuple(
                    ToolCallPart(call_id=CallId(f"c{calls + at}"), name=name, arguments={"path": f"f{at}.py"})
                    for at, name in enumerate(names)
                )
                calls += len(parts)
                made.append(AssistantMessage(parts=(TextPart(text="I work."), *parts), seq=seq))
                for part in parts:
                    seq += 2
                    body = (TextContent(text=f"came of {part.call_id} \n$ pytest\n" + "o" * 2_500),)
                    made.append(
                        ToolMessage(call_id=part.call_id, name=part.name, content=body, ok=ok, seq=seq)
                    )
    return made, spoken


@settings(max_examples=example_count(200))
@given(ACTS, st.integers(100, 40_000))
def test_what_stays_behind_a_cut_is_legal_and_newer_than_all_before(
    acts: list[tuple[object, ...]], keep: int
) -> None:
    messages, _ = history(acts)
    cut = summary_cut(messages, keep)
    if not cut:
        return
    gone, rest = messages[:cut], messages[cut:]
    assert rest and max(one.seq for one in gone) < min(one.seq for one in rest)
    assert not check_pairs([SummaryMessage(text="s"), *rest]) and not check_pairs(gone)
    assert sum(map(chars_of, rest)) <= keep or len(rest) <= 8 or cut == 1


@settings(max_examples=example_count(100))
@given(ACTS, st.integers(0, 30), st.integers(8_000, 40_000))
def test_a_summary_has_all_that_must_not_be_lost_and_its_size_is_bounded(
    acts: list[tuple[object, ...]], pin: int, room: int
) -> None:
    messages, spoken = history(acts)
    pinned = {messages[min(pin, len(messages) - 1)].seq}
    facts = Facts(messages, spoken, pinned, (TODO,), (), max(one.seq for one in messages))
    text = build_summary(facts, "## Heading\nThe story.", room, room, plain).text
    assert TASK in text and TODO.content in text and text.count(f"## {STORY}\n") == 1
    assert story_of(text) == "### Heading\nThe story."
    assert len(text) < room * 3 + 4_000
    tests = [one for one in messages if isinstance(one, ToolMessage) and one.name == "run_tests"]
    if tests and not tests[-1].ok:
        assert f"came of {tests[-1].call_id} " in text
    one = next(one for one in messages if one.seq in pinned)
    if isinstance(one, ToolMessage):
        assert f"came of {one.call_id} " in text
    newest = [one for one in messages[1:] if isinstance(one, UserMessage)]
    if newest:
        assert str(newest[-1].content[0].text).split(" w")[0] in text  # type: ignore[union-attr]
    again = build_summary(facts, story_of(text), room, room, plain).text
    assert len(again) <= len(text) + 200


@settings(max_examples=example_count(100))
@given(ACTS, st.integers(100, 40_000), st.integers(300, 20_000))
def test_only_old_outputs_are_put_away_and_what_is_told_of_them_is_bounded(
    acts: list[tuple[object, ...]], keep: int, room: int
) -> None:
    messages, _ = history(acts)
    needed = needed_calls(messages) | newest_readings(messages)
    away = offloadable_results(messages, keep, needed)
    assert all(isinstance(one, ToolMessage) and one.name != "write_todos" for one in away)
    assert not {one.call_id for one in away} & needed
    newest = [one for one in messages if isinstance(one, AssistantMessage)][-2:]
    assert not {one.call_id for one in away} & call_ids(newest)
    assert len(story_from_record(messages, room, plain)) <= room + 300
    assert len(transcript(messages, room, plain)) <= room + 300


@settings(max_examples=example_count(60))
@given(ACTS, st.integers(2_000, 40_000), st.integers(1_500, 20_000))
def test_what_is_to_be_summarised_fits_also_where_the_newest_of_it_is_dense(
    acts: list[tuple[object, ...]], room: int, most: int
) -> None:
    messages, _ = history(acts)
    dense = UserMessage(content=(TextContent(text="0123456789 " * 900),), seq=10_000)

    def count(text: str) -> int:
        return sum(2 if one.isdigit() else 0 for one in text) + len(text) // 4

    words = transcript_within([*messages, dense], room, plain, count, most)
    assert count(words) <= most + 200 and len(words) <= room + 300
