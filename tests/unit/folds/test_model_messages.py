"""The history that a model sees, at the moments that are easy to get wrong."""

from collections.abc import Iterable, Iterator

import pytest

from tests.stubs.legal_history import check_pairs
from tests.stubs.story import (
    MODEL,
    Story,
    called,
    compacted,
    delta,
    finished,
    requested,
    responded,
    started,
    tool_call,
)
from tui_agent.folds.context.model_messages import CONTINUED, INTERRUPTED, ModelMessages
from tui_agent.folds.projection import copy_state
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.model import FaultKind, ModelFailed
from tui_agent.protocol.events.session import ForkChange, SessionContextLoaded, SessionForked
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserShellFinished,
    UserSteered,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import AgentId, RequestId, SessionId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import ImageContent, TextContent, TextPart
from tui_agent.protocol.stored_text import BlobText


def said(text: str, source: str = "prompt") -> UserMessageReceived:
    return UserMessageReceived(text=text, source=source)  # type: ignore[arg-type]


def told(*payloads: Payload, agent: str = "main") -> tuple[Message, ...]:
    fold, story = ModelMessages(AgentId(agent)), Story()
    for payload in payloads:
        fold.apply(story(payload, agent))
    return fold.view()


def outline(messages: tuple[Message, ...]) -> list[str]:
    found = []
    for message in messages:
        match message:
            case UserMessage(content=content):
                found.append(
                    "user " + " ".join(item.text for item in content if isinstance(item, TextContent))
                )  # type: ignore[misc]
            case AssistantMessage(parts=parts):
                found.append(
                    "model " + " ".join(getattr(part, "text", getattr(part, "call_id", "")) for part in parts)
                )
            case ToolMessage(call_id=call, ok=ok):
                found.append(f"result {call}{'' if ok else ' failed'}")
            case SummaryMessage(text=text):
                found.append(f"summary {text}")
    return found


def test_the_model_is_told_which_mentioned_file_was_not_attached_and_why() -> None:
    mentions = (
        Mention(reference="a.py", kind="file", path="a.py", text="<file>"),
        Mention(reference=".env", kind="refused", path=".env", note=".env may hold secrets"),
        Mention(reference="old.py", kind="missing", note="file not found"),
    )
    assert outline(told(UserMessageReceived(text="Use @a.py and @.env.", mentions=mentions))) == [
        "user Use @a.py and @.env.",
        "user <file> [.env was not attached: .env may hold secrets]",
    ]


def cancelled(request: str, partial: str, fault: FaultKind | str = "cancelled") -> ModelFailed:
    return ModelFailed(request_id=RequestId(request), fault=fault, message="m", partial=partial)  # type: ignore[arg-type]


def notes(messages: Iterable[Message]) -> Iterator[set[str]]:
    for message in messages:
        for one in (message, *getattr(message, "parts", ()), *getattr(message, "content", ())):
            yield one.__pydantic_fields_set__


def test_messages_that_are_kept_share_the_note_of_their_fields_and_a_copy_has_its_own() -> None:
    fold, story = ModelMessages(), Story()
    turn: list[Payload] = [
        requested("r1"),
        responded("r1", TextPart(text="yes"), tool_call("c1")),
        called("c1"),
    ]
    turn += [started("c1"), finished("c1")]
    for payload in (said("one"), *turn, said("two"), *turn):
        fold.apply(story(payload, "main"))
    messages = fold.view()
    for held in (messages, copy_state(fold).view()):
        found = list(notes(held))
        assert len(found) == 14 and len({id(note) for note in found}) == 6
    first = messages[0]
    copied = first.model_copy(update={"seq": 99})
    assert isinstance(copied, UserMessage) and copied != first
    assert next(notes([copied])) is not next(notes([first]))


def forked(folder: str, *left_out: str) -> SessionForked:
    place: dict[str, object] = {"workspace": "/w", "workspace_kind": folder, "left_out_folders": left_out}
    changes = ForkChange.model_validate(place)
    return SessionForked(parent_session=SessionId("ses_p"), at_seq=1, parent_crc="0", changes=changes)


@pytest.mark.parametrize(
    ("kind", "words", "other_words"),
    [
        ("copy", "a copy of its folder", ".git"),
        ("copy_without_git", "no .git", "work tree"),
        ("worktree", "a new git work tree", "no .git"),
    ],
)
def test_a_fork_in_another_folder_says_once_what_is_missing_there(
    kind: str, words: str, other_words: str
) -> None:
    end = TurnFinished(turn=1, reason="finished")
    messages = told(
        said("one"),
        end,
        forked(kind),
        said("two"),
        TurnStarted(turn=2),
        end,
        said("three"),
        TurnStarted(turn=3),
    )
    first, note, *others = outline(messages)
    assert (first, others) == ("user one", ["user two", "user three"])
    assert words in note and "without ignored files" in note and other_words not in note


def test_the_note_about_a_fork_names_the_generated_folders_that_it_lacks() -> None:
    folders = (".venv/", "a\nb/node_modules/", *(f"{number}/target/" for number in range(7)))
    _, note, _ = outline(told(said("one"), forked("copy", *folders), said("two"), TurnStarted(turn=2)))
    named = ", ".join((".venv/", "a\\nb/node_modules/", *folders[2:8]))
    assert (
        f"a copy of its folder, without ignored files and the generated folders {named} and 1 more.]" in note
    )


def test_a_fork_that_continues_without_a_message_says_so_before_the_next_request() -> None:
    continued = TurnStarted(turn=2, is_continuation=True)
    start = said("one"), TurnStarted(turn=1), TurnFinished(turn=1, reason="interrupted"), forked("worktree")
    assert outline(told(*start)) == ["user one", f"user {INTERRUPTED}"], (
        "it alone is nothing to continue from"
    )
    assert [words[:30] for words in outline(told(*start, continued))][1:] == [
        f"user {CONTINUED}"[:30],
        "user [This session now works in"[:30],
    ]


def test_a_fork_in_the_same_folder_or_of_an_older_version_has_no_note() -> None:
    assert outline(told(said("one"), forked(""), said("two"))) == ["user one", "user two"]


def test_a_turn_with_a_tool_is_question_answer_result_answer() -> None:
    messages = told(
        said("hi"),
        requested("r1"),
        delta("r1", "I "),
        responded("r1", "I run", tool_call("c1")),
        called("c1"),
        started("c1"),
        finished("c1", "failed"),
        requested("r2"),
        responded("r2", "Done"),
    )
    assert outline(messages) == ["user hi", "model I run c1", "result c1 failed", "model Done"]
    assert [message.model for message in messages if isinstance(message, AssistantMessage)] == [
        MODEL.profile
    ] * 2
    assert [message.seq for message in messages] == [0, 3, 6, 8]


def test_steering_waits_behind_the_results_until_the_next_request() -> None:
    before = (
        said("hi"),
        requested("r1"),
        responded("r1", tool_call("c1"), tool_call("c2")),
        called("c1"),
        UserSteered(text="faster"),
        finished("c1"),
    )
    assert outline(told(*before))[-1] == "user faster"
    after = told(*before, finished("c2"), requested("r2"), responded("r2", "ok"))
    assert outline(after)[-4:] == ["result c1", "result c2", "user faster", "model ok"]
    assert check_pairs(after) == []


def test_steering_that_comes_during_an_answer_goes_behind_it() -> None:
    messages = told(
        said("hi"), requested("r1"), UserSteered(text="wait"), responded("r1", "ok"), requested("r2")
    )
    assert outline(messages) == ["user hi", "model ok", "user wait"]


def test_an_interrupted_turn_keeps_the_partial_answer_and_a_note() -> None:
    messages = told(
        said("hi"),
        requested("r1"),
        cancelled("r1", "Half an"),
        TurnFinished(turn=1, reason="interrupted"),
        said("go on"),
    )
    assert outline(messages) == ["user hi", "model Half an", f"user {INTERRUPTED}", "user go on"]


def test_a_failed_request_and_an_empty_partial_leave_nothing() -> None:
    messages = told(
        said("hi"), requested("r1"), cancelled("r1", "  "), requested("r2"), cancelled("r2", "text", "cut")
    )
    assert outline(messages) == ["user hi"]


def test_a_result_that_nobody_asked_for_is_left_out() -> None:
    messages = told(
        said("hi"), called("c9"), finished("c9"), requested("r1"), responded("r1", tool_call("c1"))
    )
    twice = told(
        said("hi"), requested("r1"), responded("r1", tool_call("c1")), finished("c1"), finished("c1")
    )
    assert outline(messages) == ["user hi", "model c1"]
    assert outline(twice) == ["user hi", "model c1", "result c1"]


def test_an_answer_without_parts_is_no_message() -> None:
    assert outline(told(said("hi"), requested("r1"), responded("r1"))) == ["user hi"]


def test_a_shell_command_of_the_user_is_shown_unless_hidden() -> None:
    seen = UserShellFinished(command="ls", output="a.txt", exit_code=0, duration_ms=1.0)
    hidden = seen.model_copy(update={"hidden": True})
    kept = seen.model_copy(update={"output": BlobText(blob_sha256="0" * 64, size=9_000, preview="a")})
    messages = told(seen, hidden, kept)
    assert len(messages) == 2
    assert outline(messages[:1]) == ["user [The user ran a command: ls (exit status 0). Its output:]\na.txt"]
    silent = outline(told(seen.model_copy(update={"output": ""})))
    assert silent == ["user [The user ran a command: ls (exit status 0). It printed nothing.]"]
    assert isinstance(messages[1], UserMessage)
    assert isinstance(messages[1].content[1], TextContent)
    assert messages[1].content[1].text == kept.output


def test_images_go_with_their_message() -> None:
    image = ImageContent(media_type="image/png", blob_sha256="0" * 64, size=4)
    both = told(UserMessageReceived(text="look", attachments=(image,)))
    alone = told(UserMessageReceived(text="", attachments=(image,)))
    assert both[0].content == (TextContent(text="look"), image)  # type: ignore[union-attr]
    assert alone[0].content == (image,)  # type: ignore[union-attr]


def test_compaction_puts_a_summary_in_place_of_what_it_forgets() -> None:
    story = (
        said("hi"),
        requested("r1"),
        responded("r1", tool_call("c1")),
        finished("c1"),
        requested("r2"),
        responded("r2", "ok"),
        compacted(2, removed_seqs=(0, 2)),
        said("more"),
    )
    messages = told(*story)
    assert outline(messages) == ["summary short", "model ok", "user more"]
    assert check_pairs(messages) == []


def test_a_second_compaction_replaces_the_first_summary() -> None:
    assert outline(told(said("a"), compacted(0, "one"), said("b"), compacted(2, "two"), said("c"))) == [
        "summary two",
        "user c",
    ]


def test_an_earlier_session_stands_first() -> None:
    loaded = SessionContextLoaded(from_session=SessionId("s0"), turns=3, summary="before")
    assert outline(told(said("hi"), loaded)) == ["summary before", "user hi"]


def test_a_delegate_sees_its_task_once_and_nothing_of_the_others() -> None:
    fold, story = ModelMessages(AgentId("helper")), Story()
    spawned = AgentSpawned(
        name="helper", parent_agent=AgentId("main"), delegate_level=1, task="count", tools=(), model=MODEL
    )
    fold.apply(story(said("for main")))
    fold.apply(story(spawned, "helper"))
    fold.apply(story(said("count", "agent"), "helper"))
    fold.apply(story(requested("r1"), "helper"))
    fold.apply(story(responded("r1", "three"), "helper"))
    fold.apply(story(responded("r2", "for main")))
    assert outline(fold.view()) == ["user count", "model three"]


def test_a_view_is_not_made_anew_while_nothing_changes() -> None:
    fold, story = ModelMessages(), Story()
    assert fold.apply(story(said("hi")))
    view = fold.view()
    assert not fold.apply(story(delta("r1", "x")))
    assert fold.view() is view
    assert isinstance(TextPart(text="x"), TextPart)
