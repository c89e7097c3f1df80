"""What a history lets go of, and how it comes back."""

from tests.stubs.legal_history import check_pairs
from tests.stubs.story import Story, called, compacted, finished, requested, responded, started, tool_call
from tui_agent.folds.context.compacted_history import MAX_FULL_MESSAGES, RESTORED_PREFIX, calls_by_id
from tui_agent.folds.context.compacted_rows import CountedTokens, TurnNumbers, compacted_view
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import copy_state
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.context import (
    ContextPacked,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    CountedMessage,
    Section,
    SectionName,
)
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived, UserSteered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import COMPACTION_AGENT, CallId, RequestId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.messages import Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart
from tui_agent.protocol.stored_text import BlobText


def artifact(call: str) -> Artifact:
    whole = BlobText(blob_sha256="a" * 64, size=9_000, preview="begin")
    return Artifact.from_blob("run_command", whole, lines=90, preview_size=0)


TURN: tuple[Payload, ...] = (
    UserMessageReceived(text="look"),  # 0
    requested("r1"),  # 1
    responded("r1", TextPart(text="I look"), tool_call("c1")),  # 2
    called("c1"),  # 3
    started("c1"),  # 4
    finished("c1", "ok", "all of it"),  # 5
    requested("r2"),  # 6
    responded("r2", "done", first_part=3),  # 7
    UserMessageReceived(text="and now"),  # 8
)


def folded(*payloads: Payload) -> ModelMessages:
    fold, story = ModelMessages(), Story()
    for payload in payloads:
        fold.apply(story(payload))
    return fold


def words(message: Message) -> str:
    if isinstance(message, SummaryMessage):
        return str(message.text)
    assert isinstance(message, UserMessage | ToolMessage)
    return " ".join(str(one.text) for one in message.content if isinstance(one, TextContent))


MENTION = Mention(reference="a.py", kind="file", path="a.py", text="<file>" + "x" * 900)
ASKED = UserMessageReceived(text="look at @a.py", mentions=(MENTION,))


def test_what_a_message_mentions_is_a_row_of_its_own_and_no_turn() -> None:
    view = compacted_view(folded(ASKED, *TURN[1:], compacted(7)), CountedTokens())
    assert [(one.turn, one.sender, one.tokens) for one in view.items][:2] == [
        (1, "you", 3),
        (1, "mentions", 226),
    ]
    assert {one.turn for one in view.items} == {1}


def test_a_row_has_the_number_of_its_turn_in_the_chat() -> None:
    payloads: list[Payload] = [
        UserMessageReceived(text="one"),  # 0
        TurnStarted(turn=1),
        UserSteered(text="and this"),  # 2
        requested("r1"),
        responded("r1", "done"),  # 4
        UserMessageReceived(text="four"),  # 5; the turns 2 and 3 were undone
        TurnStarted(turn=4),
        requested("r2"),
        responded("r2", "done", first_part=1),  # 8
        compacted(8),
    ]
    fold, turns, story = ModelMessages(), TurnNumbers(), Story()
    for payload in payloads:
        event = story(payload)
        fold.apply(event)
        turns.apply(event)
    rows = compacted_view(fold, CountedTokens(), turns=turns).items
    assert [(row.seq, row.turn) for row in rows] == [(0, 1), (2, 1), (4, 1), (5, 4), (8, 4)]


def test_what_a_hook_adds_is_not_a_message_of_the_user() -> None:
    ran = HookRan(event="before_prompt", command="x", source="user", context="remember the milk")
    fold = folded(ASKED, ran)
    assert [one.origin for one in fold.view() if isinstance(one, UserMessage)] == [
        "prompt",
        "mentions",
        "hook",
    ]


def test_the_row_of_a_long_message_is_cut_between_two_words() -> None:
    asked = UserMessageReceived(text="look closely " * 40)
    row = compacted_view(folded(asked, *TURN[1:], compacted(7)), CountedTokens()).items[0]
    assert len(row.text) <= 200 and row.text.endswith((" look…", " closely…"))


def test_what_was_brought_back_is_told_so_and_comes_once_until_a_summary_takes_it() -> None:
    twice = folded(*TURN, compacted(7), ContextRestored(seqs=(0,)), ContextRestored(seqs=(0,)))
    assert [words(one).startswith(RESTORED_PREFIX) for one in twice.view()].count(True) == 1
    assert next(one.place for one in compacted_view(twice, CountedTokens()).items) == "back"
    again = folded(*TURN, compacted(7), ContextRestored(seqs=(0,)), compacted(10), ContextRestored(seqs=(0,)))
    assert words(again.view()[-1]).startswith(RESTORED_PREFIX)
    gone = folded(*TURN, compacted(7), ContextRestored(seqs=(0,)), compacted(10))
    assert next(one.place for one in compacted_view(gone, CountedTokens()).items) == "summary"


def test_what_a_message_mentions_is_not_held_far_back_as_its_words_are() -> None:
    payloads = list[Payload]()
    for _ in range(3):
        payloads += [
            ASKED,
            *(UserMessageReceived(text="x") for _ in range(MAX_FULL_MESSAGES // 2)),
            compacted(len(payloads) + 50),
        ]
    fold = folded(*payloads)
    thin = fold.removed.layers[0]
    assert thin.is_thinned and {one.origin for one in thin.messages if isinstance(one, UserMessage)} == {
        "prompt"
    }


def test_the_newest_tests_are_held_however_far_back() -> None:
    calls = [*(("run_tests", f"tests{at}", "failed") for at in range(2)), ("grep", "grep0", "ok")]
    payloads: list[Payload] = [UserMessageReceived(text="look")]
    for name, call, status in calls:
        payloads += [requested(call), responded(call, tool_call(call, name)), finished(call, status)]  # type: ignore[arg-type]
    for _ in range(3):
        payloads += [UserMessageReceived(text="x") for _ in range(MAX_FULL_MESSAGES - 20)]
        payloads += [compacted(len(payloads) - 1)]
    fold = folded(*payloads)
    held = [one.call_id for one in fold.originals() if isinstance(one, ToolMessage)]
    assert fold.removed.layers[0].is_thinned and held == ["tests1"]
    assert set(calls_by_id(fold.originals())) == {"tests1"}


def test_a_compaction_that_is_taken_back_leaves_the_history_as_it_was() -> None:
    plain = folded(*TURN).view()
    assert folded(*TURN, compacted(7), ContextRestored(compaction=9)).view() == plain


def test_only_the_newest_compaction_can_be_taken_back_and_then_the_one_before() -> None:
    plain = folded(*TURN).view()
    twice = (*TURN, compacted(5, "one"), compacted(7, "two"))
    assert [words(one) for one in folded(*twice).view()] == ["two", "and now"]
    assert folded(*twice, ContextRestored(compaction=9)).view() == folded(*twice).view()
    back = folded(*twice, ContextRestored(compaction=10))
    assert words(back.view()[0]) == "one"
    both = folded(*twice, ContextRestored(compaction=10), ContextRestored(compaction=9))
    assert both.view() == plain


def test_the_originals_are_the_whole_history_whatever_stands_for_it() -> None:
    plain = folded(*TURN).view()
    for more in ((compacted(7),), (compacted(5, "one"), compacted(7, "two"))):
        assert folded(*TURN, *more).originals() == plain
    reduced = ContextReduced(
        call_ids=(CallId("c1"),),
        artifacts=(artifact("c1"),),
        removed_seqs=(5,),
        before_tokens=9,
        after_tokens=1,
    )
    assert folded(*TURN, reduced, compacted(7)).originals() == plain


def test_an_output_that_is_put_away_is_a_line_with_its_artifact_and_comes_back_in_its_place() -> None:
    reduced = ContextReduced(
        call_ids=(CallId("c1"),),
        artifacts=(artifact("c1"),),
        removed_seqs=(5,),
        before_tokens=9,
        after_tokens=1,
    )
    plain, fold = folded(*TURN).view(), folded(*TURN, reduced)
    line = fold.view()[2]
    assert isinstance(line, ToolMessage) and line.call_id == "c1"
    assert words(line) == "all of it\n[… 89 lines left out: read_file or grep artifact:aaaaaaaaaaaa …]"
    assert not check_pairs(fold.view())
    assert folded(*TURN, reduced, ContextRestored(seqs=(5,))).view() == plain


def test_a_rows_tokens_are_those_that_were_counted_when_it_was_first_sent() -> None:
    def packed(*added: tuple[int, int], total: int = 1_200) -> ContextPacked:
        return ContextPacked(
            request_id=RequestId("r1"),
            window=10_000,
            total_tokens=total,
            counted_tokens=1_000,
            total_chars=1,
            sections=(),
            added=tuple(CountedMessage(seq=seq, tokens=tokens) for seq, tokens in added),
        )

    counted, story = CountedTokens(), Story()
    for one in (packed((0, 10), (0, 300), (2, 40)), packed((5, 900)), packed((5, 20), total=1_100)):
        counted.apply(story(one))
    view = compacted_view(folded(ASKED, *TURN[1:], compacted(7)), counted)
    by_counter = {(one.seq, one.sender): one.tokens for one in view.items}
    assert by_counter[0, "you"] == 11 and by_counter[0, "mentions"] == 330
    assert by_counter[2, "agent"] == 44 and by_counter[5, "run_command"] == 990
    assert by_counter[7, "agent"] == 1, "never sent: four characters a token"


def test_one_item_of_a_summary_comes_back_as_a_message_at_the_end() -> None:
    fold = folded(*TURN, compacted(7), ContextRestored(seqs=(5,)))
    back = fold.view()[-1]
    assert (
        isinstance(back, UserMessage)
        and words(back).startswith(RESTORED_PREFIX)
        and "all of it" in words(back)
    )
    assert not check_pairs(fold.view())


BARE: tuple[Payload, ...] = (
    UserMessageReceived(text="write it"),  # 0
    requested("r1"),  # 1
    responded("r1", tool_call("c1", "write_file", path="a.py", content="x = 1\n" * 100)),  # 2
    called("c1"),  # 3
    started("c1"),  # 4
    finished("c1", "ok", "written"),  # 5
    requested("r2"),  # 6
    responded("r2", "done", first_part=3),  # 7
)


def test_a_call_and_its_result_are_one_row() -> None:
    view = compacted_view(folded(*BARE, compacted(7)), CountedTokens())
    assert [(one.seq, one.sender) for one in view.items] == [(0, "you"), (5, "run_command"), (7, "agent")]
    whole = "\n".join(map(str, view.items[1].texts))
    assert whole.startswith("write_file\npath: a.py\ncontent: x = 1\n") and whole.endswith("written")
    spoken = compacted_view(folded(*TURN, compacted(7)), CountedTokens())
    assert [one.seq for one in spoken.items] == [0, 2, 5, 7], "what was said beside a call is a row"


def test_a_result_that_comes_back_says_what_was_called_and_with_what() -> None:
    back = folded(*BARE, compacted(7), ContextRestored(seqs=(5,))).view()[-1]
    said = words(back)
    assert "the result of run_command" in said and "written" in said
    assert '"path": "a.py"' in said and said.count("x = 1") == 100


def test_the_meter_falls_with_a_summary_and_rises_where_it_is_taken_back() -> None:
    def part(name: SectionName, tokens: int) -> Section:
        return Section(name=name, raw_chars=4 * tokens, chars=4 * tokens, tokens=tokens)

    before = (part("system", 400), part("messages", 1_600), part("tool_results", 3_000))
    packed = ContextPacked(
        request_id=RequestId("r1"), window=10_000, total_tokens=5_000, total_chars=20_000, sections=before
    )
    summed = (part("system", 400), part("packed_context", 300), part("messages", 200))
    made = compacted(1).model_copy(update={"after_tokens": 900, "sections": summed})
    meter, story = ContextMeter(), Story()
    meter.apply(story(packed))
    whole = meter.view()
    for payload in (requested("r1"), responded("r1", "so", tokens=5_000)):
        meter.apply(story(payload))
    assert meter.view().used == 5_010
    meter.apply(story(made))
    view = meter.view()
    assert view.used == 900 and view.estimated
    assert [(one.name, one.tokens) for one in view.sections] == [
        ("system", 400),
        ("summaries", 300),
        ("answers", 200),
    ]
    meter.apply(story(ContextRestored(compaction=3, after_tokens=5_000, sections=before)))
    assert meter.view().used == 5_000 and meter.view().sections == whole.sections


def test_outputs_that_are_put_away_leave_the_meters_other_sections() -> None:
    parts = [
        Section(name=name, raw_chars=1, chars=1, tokens=tokens)
        for name, tokens in (("system", 400), ("recent_observations", 1_000), ("tool_results", 3_000))
    ]
    packed = ContextPacked(
        request_id=RequestId("r1"), window=9_000, total_tokens=4_400, total_chars=3, sections=tuple(parts)
    )
    away = ContextReduced(
        call_ids=(CallId("c1"),),
        artifacts=(artifact("c1"),),
        removed_seqs=(1,),
        before_tokens=4_400,
        after_tokens=900,
    )
    meter, story = ContextMeter(), Story()
    meter.apply(story(packed))
    meter.apply(story(away))
    assert [(one.name, one.tokens) for one in meter.view().sections] == [
        ("system", 400),
        ("new results", 500),
    ]


def test_pins_and_a_persons_own_words_are_known() -> None:
    fold = folded(*TURN, ContextPinned(seqs=(5, 7)), ContextPinned(seqs=(7,), pinned=False))
    assert list(fold.removed.pinned) == [5]
    assert list(fold.removed.user_seqs) == [0, 8]
    message = {"text": "Why?\nlog\nFix it.", "own_words": "Why? Fix it."}
    fold = folded(UserMessageReceived(**message), UserSteered(**message))
    assert fold.removed.user_seqs == {0: "Why? Fix it.", 1: "Why? Fix it."}


def test_a_history_that_is_taken_up_again_can_bring_the_same_back() -> None:
    fold = folded(*TURN, ContextPinned(seqs=(5,)), compacted(7))
    again = copy_state(fold)
    assert again.view() == fold.view() and again.originals() == fold.originals()
    assert again.history == fold.history


def test_the_request_for_a_summary_leaves_nothing_in_the_history_also_where_it_broke_off() -> None:
    fold, story = folded(*TURN), Story()
    before = fold.view()
    fold.apply(story(requested("s1"), COMPACTION_AGENT))
    fold.apply(story(responded("s1", "the summary"), COMPACTION_AGENT))
    cut = ModelFailed(
        request_id=RequestId("s2"), fault="cancelled", message="the program ended", partial="the s"
    )
    fold.apply(story(cut))
    assert fold.view() == before


def test_what_a_hook_says_before_a_compaction_is_for_the_summary_alone() -> None:
    fold = folded(*TURN)
    before = fold.view()
    fold.apply(
        Story()(HookRan(event="before_compaction", command="x", source="user", context="keep the names"))
    )
    assert fold.view() == before


def test_a_session_that_goes_on_for_weeks_holds_only_what_is_near() -> None:
    fold, story = ModelMessages(), Story()
    seq = last = 0
    for round_ in range(60):
        last = seq
        for payload in (
            UserMessageReceived(text=f"please {round_}", source="prompt"),
            *(
                one
                for call in range(25)
                for one in (
                    requested(f"r{round_}.{call}"),
                    responded(f"r{round_}.{call}", tool_call(f"c{round_}.{call}")),
                    finished(f"c{round_}.{call}"),
                )
            ),
            compacted(last),
        ):
            fold.apply(story(payload))
            seq += 1
    whole = [layer for layer in fold.removed.layers if not layer.is_thinned]
    assert sum(len(layer.messages) for layer in whole) <= MAX_FULL_MESSAGES + 60
    assert len(fold.removed.layers) == len(whole) + 1
    held = [words(one) for one in fold.originals() if isinstance(one, UserMessage)]
    assert held[:2] == ["please 0", "please 1"] and held[-1] == "please 59" and len(held) == 60
    assert check_pairs(fold.view()) == []
    for layer in reversed(whole):
        assert fold.removed.newest_compaction == layer.seq
        fold.apply(story(ContextRestored(seqs=(), compaction=layer.seq)))
        assert check_pairs(fold.view()) == []
    before = fold.view()
    assert fold.removed.newest_compaction is None
    fold.apply(story(ContextRestored(seqs=(), compaction=fold.removed.layers[-1].seq)))
    assert fold.view() == before
