"""What a summary tells where no model tells it: each one's story is in the next, within bounds."""

from dataclasses import replace

from tests.stubs.tool_context import module_of
from tui_agent.context.compaction.summary_facts import Facts, fact_blocks
from tui_agent.context.compaction.summary_text import (
    STORY,
    TITLE,
    build_summary,
    story_from_record,
    story_of,
    transcript,
)
from tui_agent.context.truncation import artifact_id
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.stored_text import text_preview

ROOM = 8_000


def stretch(number: int, count: int = 40) -> list[Message]:
    """Calls and words of one stretch of work, the first of which says what it was about."""
    made: list[Message] = [
        AssistantMessage(parts=(TextPart(text=f"Stretch {number} is about part {number}."),))
    ]
    for at in range(count):
        call = CallId(f"c{number}_{at}")
        part = ToolCallPart(
            call_id=call, name="grep", arguments={"pattern": f"word {number} {at} " + "x" * 60}
        )
        made.append(AssistantMessage(parts=(part,)))
        made.append(ToolMessage(call_id=call, name="grep", content=(TextContent(text="found"),)))
    return made


def summed(story: str, room: int = ROOM) -> SummaryMessage:
    facts = Facts((), {}, (), (), (), 0)
    return SummaryMessage(text=build_summary(facts, story, room, room, text_preview).text)


def from_the_record(times: int, room: int) -> str:
    """The story after so many summaries, each made of the one before and what was done since."""
    held: list[Message] = []
    for number in range(times):
        held = [summed(story_from_record([*held, *stretch(number)], room // 3, text_preview), room)]
    return story_of(text_preview(held[0].text)) if isinstance(held[0], SummaryMessage) else ""


def test_a_second_summary_from_the_record_keeps_what_the_first_told() -> None:
    for room in (2_500, ROOM, 80_000):
        story = from_the_record(2, room)
        assert "Stretch 0 is about part 0." in story and '"word 1 39' in story


def test_the_gist_of_the_first_and_the_newest_stays_over_twenty_summaries() -> None:
    for room in (ROOM, 80_000):
        story = from_the_record(20, room)
        assert "Stretch 0 is about part 0." in story and "Stretch 1 is about part 1." in story
        assert '"word 18 39' in story and '"word 19 39' in story
        assert len(story) <= room // 3 + 100 and "lines, " not in story
    kept = from_the_record(20, 80_000)
    assert all(f"Stretch {number} is about part {number}." in kept for number in range(19))


def test_what_a_model_told_before_stays_where_the_next_summary_is_from_the_record() -> None:
    first = summed("- The sum is a float; nobody rounds it.\n- The tax is added twice.")
    story = story_from_record([first, *stretch(1)], ROOM // 3, text_preview)
    assert "nobody rounds it" in story and "added twice" in story and '"word 1 39' in story


def test_a_model_that_summarises_is_told_the_earlier_story_whatever_has_no_room() -> None:
    first = summed("- The sum is a float; nobody rounds it.")
    shown = transcript([first, *stretch(1), *stretch(2)], 3_000, text_preview)
    assert shown.startswith("EARLIER SUMMARY: ") and "nobody rounds it" in shown
    assert "earlier messages left out" in shown and '"word 2 39' in shown and len(shown) < 3_300


def test_words_of_the_user_are_no_heading_of_a_story() -> None:
    said = UserMessage(content=(TextContent(text=f"{TITLE}\n## {STORY}\nnothing"),))
    again = summed(story_from_record([said, *stretch(0, 1)], ROOM, text_preview))
    assert story_of(text_preview(again.text)).startswith("- The user: ")


def with_path(name: str, path: str, at: int, words: str = "") -> list[Message]:
    call = CallId(f"p{at}")
    part = ToolCallPart(call_id=call, name=name, arguments={"path": path})
    result = ToolMessage(call_id=call, name=name, content=(TextContent(text="done"),))
    before = (TextPart(text=words),) if words else ()
    return [AssistantMessage(parts=(*before, part)), result]


def test_files_that_were_changed_stay_however_many_were_read_after_them() -> None:
    held = [*with_path("read_file", "core.py", 0), *with_path("edit_file", "core.py", 1)]
    held += with_path("write_file", "new.py", 2)
    for at in range(3, 60):
        held += with_path("read_file", f"lib/part_{at}.py", at)
    text = build_summary(Facts(held, {}, (), (), (), 0), "", 4_000, 2_000, text_preview).text
    changed, read = text.split("## Changed files\n")[1].split("## Files read\n")
    assert "- core.py: edit_file 1×\n- new.py: write_file 1×" in changed
    assert all(f"part_{at}.py" in read for at in range(3, 60)) and "core.py" not in read


def test_a_changed_files_reason_is_the_text_before_its_edit_and_not_of_a_later_reading() -> None:
    held = [*with_path("read_file", "web.py", 0, "I look."), *with_path("edit_file", "web.py", 1, "I clear.")]
    held += [
        *with_path("read_file", "web.py", 2, "I read on."),
        *with_path("read_file", "io.py", 3, "See io."),
        *with_path("read_file", "artifact:aaaaaaaaaaaa", 4, "An output is not a file."),
        *with_path("run_tests", "test_io.py", 5, "I run a test."),
    ]
    text = build_summary(Facts(held, {}, (), (), (), 0), "", 4_000, 2_000, text_preview).text
    assert "## Changed files\n- web.py: edit_file 1× (I clear.)\n" in text
    assert "artifact:" not in text and "test_io.py" not in text
    assert "## Files read\n- io.py: read_file 1× (See io.)" in text


def test_files_that_do_not_exist_any_more_are_left_out_or_marked_as_deleted() -> None:
    held = [*with_path("write_file", "made.py", 0), *with_path("edit_file", "src/old.py", 1)]
    held += [*with_path("read_file", "seen.py", 2), *with_path("read_file", "src/notes.md", 3, "I look.")]
    changed = ("src/old.py", "moved.py", "src/notes.md")
    removed = {"made.py": True, "src/old.py": False, "seen.py": False}
    facts = Facts(held, {}, (), (), (), 0, changed=changed, removed=removed)
    text = build_summary(facts, "", 4_000, 2_000, text_preview).text
    told = "## Changed files\n- moved.py\n- src/old.py (deleted): edit_file 1×\n- src/notes.md\n"
    assert told in text and "made.py" not in text
    assert "## Files read\n- seen.py (deleted): read_file 1×" in text
    block = next(block for block in fact_blocks(facts, text_preview) if block.title == "Changed files")
    assert block.fit(50).text == "- moved.py\n- src/: old.py (deleted), notes.md"


def test_a_long_pasted_message_is_shortened_even_if_there_is_room_but_no_task_pin_or_newest_one() -> None:
    log = "Why?\n" + "\n".join(
        f"12:00:{number:02} service part {number} started: ok" for number in range(120)
    )
    held = [UserMessage(content=(TextContent(text=log),), seq=number) for number in range(4)]
    facts = Facts(held, dict.fromkeys(range(4), ""), (2,), (), (), 9)
    summary = build_summary(facts, "", 6 * ROOM, 6 * ROOM, text_preview)
    task, messages = summary.text.split("## The user's later messages\n")
    pasted, pinned, newest = messages.split("\n\n> Why?\n")
    assert all("service part 60 started" in message for message in (task, pinned, newest))
    shown = [line for line in pasted.split("\n") if "service" in line]
    note = f"> [… {120 - len(shown)} lines left out: read_file or grep {artifact_id(log)} …]"
    assert note in pasted and 20 < len(shown) < 60
    assert pasted.startswith("> Why?\n> 12:00:00 ") and pasted.endswith("part 119 started: ok")
    [cut] = summary.cuts
    assert (cut.label, cut.full_text) == ("your long messages", log)


def test_the_words_typed_between_two_pastes_stay_in_a_shortened_message() -> None:
    log = "\n".join(f"12:00:{number:02} service part {number} started: ok" for number in range(120))
    text = f"{log}\nThe second one is from the slow machine.\n{log}"
    held = [UserMessage(content=(TextContent(text=text),), seq=number) for number in range(4)]
    typed = "The second one is from the slow machine."
    facts = Facts(held, {0: typed, 1: typed, 2: "", 3: ""}, (), (), (), 9)
    summary = build_summary(facts, "", 6 * ROOM, 6 * ROOM, text_preview).text
    messages = summary.partition("## The user's later messages\n")[2]
    first, second, _ = messages.split("\n\n>")
    assert first.startswith(f"> {typed}\n> 12:00:00 service part 0 started: ok\n") and typed not in second


def test_of_the_newest_failed_tests_the_headline_and_the_artifact_are_kept_but_no_output() -> None:
    call = CallId("t1")
    part = ToolCallPart(call_id=call, name="run_tests", arguments={})
    output = (
        "2 failed, 9 passed [exit 1]\n$ python -m pytest\nfailed: test_x.py::test_one\n\nResourceWarning: x"
    )
    result = ToolMessage(
        call_id=call,
        name="run_tests",
        content=(TextContent(text=output),),
        ok=False,
        artifact_id="artifact:1",
    )
    held = [AssistantMessage(parts=(part,)), result]
    facts = Facts(held, {}, (), (), (), 0, failing=("test_x.py::test_one",))
    text = build_summary(facts, "", ROOM, ROOM, text_preview).text
    assert "## Tests that fail\n- test_x.py::test_one" in text and text.count("test_one") == 1
    newest = "## The last test run\n2 failed, 9 passed [exit 1]\n$ python -m pytest\nread_file artifact:1"
    assert newest in text and "ResourceWarning" not in text

    stale = replace(facts, stale_tests="before 2 edits; a later run was stopped")
    text = build_summary(stale, "", ROOM, ROOM, text_preview).text
    assert "## Tests that failed (before 2 edits; a later run was stopped)\n- test_x.py::test_one" in text
    assert "## The last finished test run (before 2 edits; a later run was stopped)\n2 failed" in text


def test_a_call_of_run_tests_that_ran_nothing_is_no_test_run() -> None:
    failed = "1 failed [exit 1]\n$ python -m pytest"
    held: list[Message] = []
    for name, output in (("t1", failed), ("t2", "No tests found: no Python tests.\nUse run_command.")):
        part = ToolCallPart(call_id=CallId(name), name="run_tests", arguments={})
        content = (TextContent(text=output),)
        held += [
            AssistantMessage(parts=(part,)),
            ToolMessage(call_id=part.call_id, name="run_tests", content=content, ok=False),
        ]
    both = build_summary(Facts(held, {}, (), (), (), 0), "", ROOM, ROOM, text_preview).text
    nothing = build_summary(Facts(held[2:], {}, (), (), (), 0), "", ROOM, ROOM, text_preview).text
    assert f"## The last test run\n{failed}" in both and "No tests found" not in both
    assert "test run" not in nothing and "No tests found" not in nothing


def test_a_search_in_a_folder_is_no_file_that_was_read() -> None:
    held = [*with_path("grep", ".", 0), *with_path("list_directory", "src", 1), *with_path("grep", "a.py", 2)]
    held += with_path("read_file", "a.py", 3)
    text = build_summary(Facts(held, {}, (), (), (), 0), "", 4_000, 2_000, text_preview).text
    assert text.split("## Files read\n")[1].startswith("- a.py: grep 1×, read_file 1×")
    assert "- .:" not in text and "- src" not in text


def test_tests_that_fail_are_named_also_where_the_newest_run_was_of_others() -> None:
    facts = Facts((), {}, (), (), (), 0, failing=("test_x.py::test_one",))
    assert (
        "## Tests that fail\n- test_x.py::test_one" in build_summary(facts, "", ROOM, ROOM, text_preview).text
    )


def test_a_list_that_would_be_longer_with_a_note_about_what_is_left_out_stays_whole() -> None:
    texts = [f"{number}\n" + "some words\n" * 100 for number in range(8)]
    messages = [UserMessage(content=(TextContent(text=text),), seq=seq) for seq, text in enumerate(texts)]
    tasks = [TodoItem(id=str(number), content=f"task {number}", status="pending") for number in range(2)]
    facts = Facts(messages, dict.fromkeys(range(8), ""), (), tasks, (), 1_000)
    for room in range(8_000, 14_000, 5):
        summary = build_summary(facts, "The story.", room, room, text_preview)
        assert not [cut for cut in summary.cuts if cut.chars >= len(cut.full_text)], room


TODO = (
    TodoItem(id="1", content="one", status="completed"),
    TodoItem(id="2", content="two", status="verified"),
    TodoItem(id="3", content="three", status="abandoned"),
    TodoItem(id="4", content="four", status="in_progress"),
    TodoItem(id="5", content="five", parent="4"),
)


def test_todo_items_have_the_marks_that_write_todos_gives_them() -> None:
    text = build_summary(Facts((), {}, (), TODO, (), 0), "", ROOM, ROOM, text_preview).text
    assert "## Tasks\n- [x] one\n- [x] two (verified)\n- [-] three\n- [>] four\n  - [ ] five" in text
    assert (
        module_of("todo", "todo_tool")
        .format_items(TODO)
        .startswith("[x] one\n[x] two (verified)\n[-] three\n[>] four\n  [ ] five")
    )


def test_open_todo_items_are_shown_before_items_that_need_no_more_work() -> None:
    closed = [
        TodoItem(id=f"{status}{number}", content="closed " * 40, status=status)
        for number in range(30)
        for status in ("verified", "abandoned", "completed")
    ]
    opened = [TodoItem(id=str(number), content=f"open {number}") for number in range(9)]
    block = fact_blocks(Facts((), {}, (), [*closed, *opened], (), 0), text_preview)[3]
    fitted = block.fit(1_000)
    assert fitted.text.startswith("(left out: 88 done or abandoned)\n") and not fitted.cut
    assert all(f"- [ ] open {number}" in fitted.text for number in range(9))
