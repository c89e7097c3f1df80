"""Notices of the transcript: limits, settings, the map, unknown events, what opening repaired."""

from tests.stubs.story import (
    MODEL,
    Story,
)
from tests.unit.folds.test_transcript import Chat
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import SCHEMA_VERSION, UnknownEvent
from tui_agent.protocol.events.context import ContextWarned
from tui_agent.protocol.events.hook import REFUSED_MESSAGE, HookRan
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.session import CommandRejected, LogRepaired, SessionStarted, SettingsChanged
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import AgentId, RequestId
from tui_agent.protocol.settings import Budgets, SessionSettings


def test_a_cost_limit_that_cannot_hold_is_told_where_it_or_the_model_is_set() -> None:
    unpriced = MODEL.model_copy(update={"input_price": None})
    started = SessionStarted(
        workspace="/w",
        product="p",
        settings=SessionSettings(model=unpriced, budgets=Budgets(max_cost_usd=1.0)),
    )
    story, fold = Story(), Transcript()

    def warnings() -> int:
        return sum("cost limit of $1.00 cannot be enforced" in str(entry) for entry in fold.view().entries)

    fold.apply(story(started))
    assert warnings() == 1
    fold.apply(story(SettingsChanged(key="model", previous=None, value=MODEL.model_dump(mode="json"))))
    assert warnings() == 1
    fold.apply(story(SettingsChanged(key="model", previous=None, value=unpriced.model_dump(mode="json"))))
    assert warnings() == 2
    fold.apply(story(SettingsChanged(key="budgets", previous=None, value=Budgets().model_dump(mode="json"))))
    assert warnings() == 2


def test_changed_limits_are_told_in_words() -> None:
    story, fold = Story(), Transcript()
    limits = Budgets(max_cost_usd=0.05, max_iterations=20, timeout_seconds=90).model_dump(mode="json")
    fold.apply(story(SettingsChanged(key="budgets", previous=None, value=limits)))
    (entry,) = fold.view().entries
    assert isinstance(entry, NoticeEntry)
    assert entry.lines == ("limits 20 iterations, 90 s, cost $0.050",)


def test_every_setting_of_a_session_can_change_and_is_told_in_a_line() -> None:
    values = SessionSettings(model=MODEL).model_dump(mode="json")
    for key, value in values.items():
        views, story = Views(), Story()
        changed = {"key": key, "previous": value, "value": value}
        views.apply(story(SettingsChanged.model_validate(changed)))
        (entry,) = views.transcript.view().entries
        assert isinstance(entry, NoticeEntry) and entry.kind == "settings", key
        if key == "map_options":
            assert entry.lines == ("map 1.2k tokens",)


def test_what_became_of_the_map_is_told_in_words() -> None:
    views, story = Views(), Story()
    choice = {"pinned": ["a.py"], "hidden": ["b.py", "c.py"], "max_tokens": 2_400}
    views.apply(story(SettingsChanged(key="map_options", previous=None, value=choice)))
    (entry,) = views.transcript.view().entries
    assert isinstance(entry, NoticeEntry) and entry.lines == ("map 2.4k tokens, 1 pinned, 2 hidden",)


def test_a_share_of_the_context_is_written_as_everywhere_else() -> None:
    views, story = Views(), Story()
    views.apply(story(ContextWarned(level="near", fraction=0.334)))
    (entry,) = views.transcript.view().entries
    assert isinstance(entry, NoticeEntry) and entry.lines[0].endswith("33 % is used.")


def unknown(seq: int, version: int = SCHEMA_VERSION) -> UnknownEvent:
    return UnknownEvent(
        seq=seq, time=1.0, agent=AgentId("main"), parent=seq - 1, kind="dream.dreamt", raw={"v": version}
    )


def test_events_of_unknown_kinds_are_counted_in_one_notice_where_the_first_stands() -> None:
    views = Views()
    story = Story()
    views.apply(story(UserMessageReceived(text="hi")))
    for seq, words in ((1, "1 event of"), (2, "2 events of")):
        views.apply(unknown(seq))
        assert views.pop_changed() >= {"transcript"}
        (notice,) = [one for one in views.transcript.view().entries if isinstance(one, NoticeEntry)]
        assert notice.lines == (f"{words} a kind that this version of tui-agent does not know.",)
    assert (notice.kind, notice.level, notice.seq, views.seq) == ("repair", "warning", 1, 2)
    views.apply(unknown(3, version=99))
    newest = views.copy().transcript.view().entries[-1]
    assert isinstance(newest, NoticeEntry)
    assert newest.lines == ("1 event of a log version that this version of tui-agent does not know.",)


def test_what_opening_repaired_is_told_with_the_right_numbers() -> None:
    chat = Chat()
    chat.tell(LogRepaired(moved_bytes=1, side_file="events.torn-1", bad_lines=(3,)))
    chat.tell(LogRepaired(moved_bytes=20, side_file="events.torn-2", bad_lines=(3, 4)))
    first, second = chat.only(NoticeEntry)
    assert first.lines[1:] == (
        "An incomplete line at the end of the log (1 B) was moved to events.torn-1.",
        "1 damaged line was skipped.",
    )
    assert second.lines[1:] == (
        "An incomplete line at the end of the log (20 B) was moved to events.torn-2.",
        "2 damaged lines were skipped.",
    )


def test_a_message_that_a_hook_refused_is_told_once_with_the_hook_and_what_to_do() -> None:
    views, story = Views(), Story()
    command = "grep -q forbidden"
    views.apply(
        story(
            HookRan(
                event="before_prompt", command=command, source="user", decision="deny", reason="No words."
            )
        )
    )
    hint = "Your message is in the prompt's history."
    reason = f"{REFUSED_MESSAGE}: No words."
    views.apply(story(CommandRejected(command="submit_prompt", reason=reason, hint=hint)))
    [notice] = views.transcript.view().entries
    assert isinstance(notice, NoticeEntry) and (notice.kind, notice.command) == ("rejected", "submit_prompt")
    assert notice.lines == (reason, f"hook: {command} (before_prompt)", hint)


def test_after_a_refused_key_the_place_to_enter_a_key_is_named() -> None:
    for fault, ways in (("auth", "/provider enter a key"), ("timeout", "/trace see the attempts")):
        views, story = Views(), Story()
        for payload in (
            UserMessageReceived(text="hi"),
            TurnStarted(turn=1),
            ModelFailed(request_id=RequestId("r"), fault=fault, message="no"),  # type: ignore[arg-type]
            TurnFinished(turn=1, reason="model_error", duration_ms=1.0),
        ):
            views.apply(story(payload))
        [notice] = [one for one in views.transcript.view().entries if isinstance(one, NoticeEntry)]
        assert ways in notice.lines[-1]
