"""A request put together of sections: what is kept whole, what gives way first, and what the manifest says of it."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.legal_history import check_pairs
from tui_agent.context.request_assembly import Assembly, PackedRequest, RequestInput
from tui_agent.context.token_counter import Tokens
from tui_agent.ports.middleware import Fragment
from tui_agent.protocol.events.context import Section, SectionName
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.settings import ContextMode, ModelInfo

RULE = Fragment(id="identity", text="You are careful.", priority=1)
RULES = Fragment(id="agents_md", text="Never push. " * 50, section="instructions", priority=2)
MEMORY = Fragment(id="memory", text="failing: test_one" * 10, section="working_memory", priority=4)
EACH = (RULE, RULES, MEMORY)
MAP = UserMessage(content=(TextContent(text="src/one.py: def one" * 40),), seq=1, origin="map")


def model(window: int) -> ModelInfo:
    return ModelInfo(profile="m", provider="scripted", model="m", window=window)


def said(text: str, seq: int = 0) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), seq=seq)


def called(number: int, result: str) -> list[Message]:
    part = ToolCallPart(call_id=CallId(f"c{number}"), name="run_command", arguments={"command": "ls"})
    answer = AssistantMessage(parts=(TextPart(text="Looking."), part), model="m", seq=number * 10)
    found = ToolMessage(
        call_id=part.call_id, name=part.name, content=(TextContent(text=result),), seq=number * 10 + 1
    )
    return [answer, found]


def packed(
    messages: Sequence[Message],
    window: int = 0,
    mode: ContextMode = "memory",
    fragments: Sequence[Fragment] = EACH,
    assembly: Assembly | None = None,
    carried: str = "",
) -> PackedRequest:
    wanted = RequestInput(RequestId("r"), model(window), fragments, messages, (), 100, mode, carried)
    return (assembly or Assembly()).pack(wanted)


def section(found: PackedRequest, name: SectionName) -> Section:
    return next(one for one in found.manifest.sections if one.name == name)


def names(found: PackedRequest) -> set[str]:
    return {one.name for one in found.manifest.sections}


def test_a_history_that_was_counted_ahead_is_not_counted_again_and_packed_as_ever() -> None:
    class Counting(Tokens):
        seen = 0

        def count(self, text: str) -> int:
            Counting.seen += len(text)
            return super().count(text)

    history = [said("do it"), *called(1, "x" * 9_000), *called(2, "y" * 9_000)]
    ahead = Assembly(Counting(lambda: None))
    ahead.prepare(RequestInput(RequestId(""), model(0), (), history, ()))
    counted = Counting.seen
    again = [*history, said("and now", 90)]
    found = packed(again, assembly=ahead)
    assert ahead.tokens.ready and counted > 18_000 and Counting.seen - counted < 2_000
    assert found == packed(again) and len(found.manifest.added) == len(again)


def test_each_mode_leaves_out_what_it_says() -> None:
    carried = SummaryMessage(text="an earlier session", seq=0)
    history = [carried, said("do it"), MAP, *called(1, "a.py"), SummaryMessage(text="compacted", seq=50)]
    said_and_done = {"system", "task_contract", "messages", "recent_observations", "packed_context"}
    more = said_and_done | {"instructions", "repo_map", "session_context"}
    found = {
        mode: packed(history, mode=mode, carried="an earlier session") for mode in ("none", "pack", "memory")
    }
    assert names(found["memory"]) == more | {"working_memory"}
    assert names(found["pack"]) == more
    assert names(found["none"]) == said_and_done
    assert found["none"].system == RULE.text and not found["none"].manifest.session_context_injected
    assert list(found["none"].messages) == [one for one in history if one not in (carried, MAP)]


def test_what_changes_within_a_turn_stands_behind_the_history() -> None:
    found = packed([said("do it"), *called(1, "a.py")])
    *before, last = found.messages
    assert isinstance(last, UserMessage) and last.origin == "transient"
    assert [piece.text for piece in last.content if isinstance(piece, TextContent)] == [
        MEMORY.text,
    ]
    assert not any(getattr(one, "origin", "") == "transient" for one in before)
    assert found.system.startswith(RULE.text) and RULES.text.strip() in found.system


def test_a_history_has_its_sections() -> None:
    history = [
        SummaryMessage(text="an earlier session", seq=0),
        said("one", 1),
        *called(1, "older"),
        said("two", 30),
        *called(4, "newer"),
        SummaryMessage(text="compacted", seq=50),
    ]
    found = packed(history, fragments=(), carried="an earlier session")
    assert names(found) == {
        "session_context",
        "task_contract",
        "messages",
        "tool_results",
        "recent_observations",
        "packed_context",
    }
    assert found.manifest.session_context_injected
    assert found.manifest.total_tokens == sum(one.tokens for one in found.manifest.sections)


def test_where_all_fits_nothing_is_changed() -> None:
    history = [said("do it"), *called(1, "x" * 4000)]
    found = packed(history, window=100_000)
    assert list(found.messages[:-1]) == history
    assert all(one.preserved and not one.reduced for one in found.manifest.sections)
    assert found.manifest.raw_chars == found.manifest.total_chars
    assert section(found, "instructions").rule == "never shortened"
    assert found.manifest.input_budget == 97_900


def test_the_manifest_has_each_sections_size_before_and_after_its_budget_and_what_was_done_to_it() -> None:
    lines = "\n".join(f"src/file{number}.py: def one, def two" for number in range(200))
    text = "\n".join(f"line {number} of the output" for number in range(600))
    history = [
        SummaryMessage(text="an earlier session", seq=0),
        said("do it"),
        UserMessage(content=(TextContent(text=lines),), seq=1, origin="map"),
        *called(1, text),
        said("two", 30),
        SummaryMessage(text="compacted", seq=40),
        *called(5, "short"),
    ]
    found = packed(history, window=4_000, carried="an earlier session")
    never, shortened = "never shortened", "shortened the oldest 1 to fit"
    assert [
        (one.name, one.raw_chars, one.budget, one.reduced, one.dropped_blocks, one.rule)
        for one in found.manifest.sections
    ] == [
        ("system", len(RULE.text), None, False, 0, never),
        ("task_contract", len("do it" + "two"), None, False, 0, never),
        ("instructions", len(RULES.text.strip()), 382, False, 0, never),
        ("session_context", len("an earlier session"), 191, False, 0, ""),
        ("working_memory", len(MEMORY.text), 115, True, 1, "left out: no room"),
        ("packed_context", len("compacted"), 955, False, 0, ""),
        ("repo_map", len(lines), 115, True, 0, shortened),
        ("recent_observations", len("short"), 1_528, False, 0, ""),
        ("messages", 72, None, False, 0, ""),
        ("tool_results", len(text), 1_528, True, 0, shortened),
    ]
    sizes = {one.name: (one.chars, one.raw_chars) for one in found.manifest.sections}
    assert sizes.pop("working_memory")[0] == 0
    assert all(0 < sizes[name][0] < sizes.pop(name)[1] for name in ("repo_map", "tool_results"))
    assert all(chars == raw for chars, raw in sizes.values())
    assert all(one.preserved == (one.chars == one.raw_chars) for one in found.manifest.sections)
    assert found.manifest.raw_chars == sum(one.raw_chars for one in found.manifest.sections)
    assert found.manifest.total_chars == sum(one.chars for one in found.manifest.sections)
    assert found.manifest.total_tokens == sum(one.tokens for one in found.manifest.sections) <= 3_820
    assert found.manifest.input_budget == 3_820


def test_the_memory_goes_first_and_then_the_map_is_shortened() -> None:
    lines = "\n".join(f"src/file{at}.py: def one, def two" for at in range(200))
    large = UserMessage(content=(TextContent(text=lines),), seq=1, origin="map")
    history = [said("do it"), large, *called(1, "short")]
    found = packed(history, window=1_500)
    assert section(found, "working_memory").dropped_blocks == 1
    assert section(found, "working_memory").tokens == 0
    assert section(found, "working_memory").rule == "left out: no room"
    assert "shortened" in section(found, "repo_map").rule and section(found, "instructions").preserved
    assert [found.messages[0], *found.messages[2:]] == [history[0], *history[2:]]


def test_then_the_oldest_results_are_shortened_and_say_so() -> None:
    text = "\n".join(f"line {number} of the output" for number in range(600))
    history = [said("one"), *called(1, text), *called(2, text), said("two", 90), *called(10, text)]
    found = packed(history, window=9_000, fragments=(RULE,))
    older = [one for one in found.messages if isinstance(one, ToolMessage)]
    assert "left out" in str(older[0].content) and older[-1].content == history[-1].content  # type: ignore[union-attr]
    assert section(found, "tool_results").reduced
    assert "shortened" in section(found, "tool_results").rule
    assert found.manifest.total_tokens <= (found.manifest.input_budget or 0)
    assert check_pairs(found.messages) == []


def test_the_task_and_the_rules_are_whole_in_the_smallest_window() -> None:
    task = "Keep this contract. " * 100
    found = packed([said(task), *called(1, "y" * 90_000)], window=1_500)
    assert found.messages[0] == said(task) and RULES.text.strip() in found.system
    assert section(found, "task_contract").preserved and section(found, "instructions").preserved


def test_a_model_without_a_known_window_is_sent_everything() -> None:
    history = [said("do it"), *called(1, "z" * 500_000)]
    found = packed(history, window=0)
    assert list(found.messages[:-1]) == history
    assert found.manifest.input_budget is None and section(found, "working_memory").budget is None


def test_a_message_is_counted_once() -> None:
    assembly = Assembly()
    history: list[Message] = [said("do it", 1), *called(1, "a")]
    first = packed(history, assembly=assembly).manifest
    assert [one.seq for one in first.added] == [1, 10, 11]
    history += called(2, "b")
    second = packed(history, assembly=assembly).manifest
    assert [one.seq for one in second.added] == [20, 21]
    compacted = [SummaryMessage(text="short", seq=30), *history[-2:]]
    third = packed(compacted, assembly=assembly).manifest
    assert [one.seq for one in third.added] == [30, 20, 21]


def test_the_same_input_gives_the_same_bytes_and_the_prefix_stays() -> None:
    history: list[Message] = [said("do it", 1)]
    assembly, digests, sent = Assembly(), set(), []
    for number in range(1, 12):
        found = packed(history, window=50_000, assembly=assembly)
        assert packed(history, window=50_000).messages == found.messages
        digests.add(found.manifest.prefix_digest)
        sent.append([one for one in found.messages if getattr(one, "origin", "") != "transient"])
        history = [*history, *called(number, "result " * 20)]
    assert len(digests) == 1
    assert all(later[: len(before)] == before for before, later in pairwise(sent))


def test_a_history_that_does_not_fit_keeps_its_beginning_over_many_requests() -> None:
    history: list[Message] = [said("do it", 1)]
    assembly, beginnings = Assembly(), []
    for number in range(1, 60):
        history = [*history, *called(number, "some line of the output\n" * 100)]
        found = packed(history, window=12_000, fragments=(), assembly=assembly)
        assert found.manifest.total_tokens <= (found.manifest.input_budget or 0)
        beginnings.append([one for one in found.messages if isinstance(one, ToolMessage)])
    changed = [later[: len(before)] != before for before, later in pairwise(beginnings)]
    assert 0 < sum(changed) < 15


def test_a_fragment_is_cut_to_its_own_limit_and_the_manifest_says_so() -> None:
    long = Fragment(id="skills", text="word " * 500, section="instructions", max_tokens=100)
    found = packed([said("do it")], fragments=(long,))
    cut = section(found, "instructions")
    assert (cut.raw_chars, cut.chars, cut.reduced) == (2499, 400, True)
    assert cut.rule == "skills is cut to 100 tokens"


@settings(max_examples=example_count(60))
@given(
    sizes=st.lists(st.tuples(st.booleans(), st.integers(0, 6_000)), max_size=12),
    window=st.integers(200, 20_000),
)
def test_whatever_the_history_the_request_is_legal_and_the_words_of_the_user_are_whole_or_an_artifact(
    sizes: list[tuple[bool, int]], window: int
) -> None:
    history: list[Message] = [said("the task", 0)]
    for number, (asks, size) in enumerate(sizes, start=1):
        text = "\n".join(["some output here"] * (size // 16))
        history += [said(text, number * 10)] if asks else called(number, text)
    found = packed(history, window=window)
    assert check_pairs(found.messages) == []
    kept = [one for one in found.messages if isinstance(one, UserMessage) and one.origin != "transient"]
    own = [one for one in history if isinstance(one, UserMessage)]
    cut = [one for one, was in zip(kept, own, strict=True) if one != was]
    assert all("left out: read_file or grep artifact:" in str(one.content) for one in cut)
    manifest = found.manifest
    task = section(found, "task_contract")
    assert (task.reduced, sum(one.label == "your message" for one in found.cuts)) == (bool(cut), len(cut))
    assert bool(cut) == (task.raw_chars > task.chars)
    whole = sum(one.chars for one in manifest.sections if one.name != "task_contract") + task.raw_chars
    assert not cut or whole > window * 2, "words are cut that have room"
    assert manifest.total_chars == sum(one.chars for one in manifest.sections)
    assert all(0 <= one.chars <= one.raw_chars for one in manifest.sections)
    over = manifest.total_tokens - (manifest.input_budget or 0)
    if over > 0:  # then nothing is left that could give way
        assert not [
            one for one in manifest.sections if one.name in ("repo_map", "working_memory") and one.chars
        ]
