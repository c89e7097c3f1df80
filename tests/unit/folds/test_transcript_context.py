"""What the chat says of the context: of what goes on at each step one notice, and what was told is not told again."""

from tests.stubs.story import Story, compacted, requested, responded
from tui_agent.folds.text.labels import MAP_COMES_LATER, MAP_SENT_LATER
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.context import (
    ContextReduced,
    ContextWindowInferred,
    RepomapBuilt,
    RepomapUsed,
    Truncation,
)
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.stored_text import BlobText

WHOLE = Artifact.from_blob(
    "task", BlobText(preview="", blob_sha256="a" * 64, size=9), lines=1, preview_size=1
)
CUT = Truncation(label="the task", raw_chars=20_000, chars=900, artifact=WHOLE)


def notices(*events: Payload) -> list[NoticeEntry]:
    story, fold = Story(), Transcript()
    for event in (TurnStarted(turn=1), *events):
        fold.apply(story(event))
    return [one for one in fold.view().entries if isinstance(one, NoticeEntry)]


def reduced(before: int, after: int) -> ContextReduced:
    return ContextReduced(
        call_ids=(CallId("c"),),
        artifacts=(WHOLE,),
        removed_seqs=(1,),
        before_tokens=before,
        after_tokens=after,
    )


def test_outputs_that_are_put_away_step_by_step_are_one_notice_until_the_next_summary() -> None:
    steps = [reduced(9_000, 8_000), reduced(8_900, 7_900), reduced(8_800, 7_800)]
    (told,) = notices(*steps)
    assert told.lines[0] == "3 old outputs shortened in the last requests"
    again = notices(
        *steps, compacted(before_tokens=9_000, after_tokens=5_000, truncations=(CUT,)), reduced(6_000, 5_000)
    )
    assert [notice.lines[0].split(":")[0] for notice in again] == [
        "3 old outputs shortened in the last requests",
        "1 turn summarised",
        "1 old output shortened",
    ]
    assert len(notices(reduced(9_000, 8_000), TurnStarted(turn=2), reduced(9_000, 8_000))) == 2


def refused(at: int) -> list[Payload]:
    request = RequestId(f"r{at}")
    return [
        requested(request),
        ModelFailed(request_id=request, fault="overflow", message="400", hint="Use /compact."),
    ]


def test_a_request_that_is_made_smaller_and_sent_again_is_no_failure() -> None:
    (told,) = notices(*refused(1), *refused(2), responded("r3", "ok"))
    assert told.level == "info" and told.lines == (
        "The request was too long for the provider 2 times; it is shortened and sent again.",
    )


def test_one_that_stays_too_long_ends_the_turn_with_what_fills_the_window() -> None:
    end = TurnFinished(turn=1, reason="model_error", detail="Still it holds: your messages 5,001 tokens.")
    *_, told = notices(*refused(1), *refused(2), end)
    assert told.level == "error" and any("your messages 5,001" in line for line in told.lines)
    assert any("/model" in line for line in told.lines)


def test_what_a_summary_has_no_room_for_is_told_once() -> None:
    first, second = notices(
        compacted(before_tokens=9_000, after_tokens=5_000, truncations=(CUT,)),
        compacted(before_tokens=9_000, after_tokens=5_000, truncations=(CUT,)),
    )
    assert first.level == "warning" and any("the task" in line for line in first.lines)
    assert second.level == "info" and not any("the task" in line for line in second.lines)


def test_a_learnt_window_is_told_with_the_way_to_say_it_better() -> None:
    (guessed,) = notices(ContextWindowInferred(profile="local", window=9_000, refused_tokens=12_000))
    assert "9.0k tokens" in guessed.lines[0] and "12.0k" in guessed.lines[0]
    assert "context_window" in guessed.lines[1]
    (said,) = notices(
        ContextWindowInferred(profile="local", window=9_000, refused_tokens=12_000, stated_by_provider=True)
    )
    assert "the provider stated this size" in said.lines[0]


def late() -> RepomapBuilt:
    return RepomapBuilt(files=0, skipped=0, partial=True, duration_ms=3_000, delay_reason="not there yet")


def map_given(*, injected: bool) -> RepomapUsed:
    return RepomapUsed(query="find", tokens=4, files=("a.py",), injected=injected, text="a.py")


def test_a_request_that_goes_without_its_map_is_told_once_and_whether_the_map_came() -> None:
    built = RepomapBuilt(files=9, skipped=0, partial=False, duration_ms=20_000)
    (told,) = notices(late(), late(), map_given(injected=False))
    assert told.lines == (
        "The request was sent without the repository map, which was not ready after 3.0 s.",
        MAP_COMES_LATER,
    )
    (told,) = notices(late(), TurnStarted(turn=2), late(), built, map_given(injected=True))
    assert told.lines == (
        "The request was sent without the repository map, which was not ready after 3.0 s.",
        MAP_SENT_LATER,
    )
    assert not notices(built, map_given(injected=True))
    assert len(notices(late(), map_given(injected=True), late())) == 2
