from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import ToolError
from tui_agent.protocol.effects import InternalEffect
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("todo"))


def todo(content: str, status: str = "pending", **more: str) -> dict[str, str]:
    return {"content": content, "status": status, **more}


async def test_the_list_is_shown_with_its_marks_and_recorded(bench):
    result = await bench.run(
        "write_todos",
        todos=[
            todo("one", "completed"),
            todo("two", "in_progress"),
            todo("three"),
            todo("four", "abandoned"),
        ],
    )
    assert result.display[0].text == "[x] one\n[>] two\n[ ] three\n[-] four"
    assert (result.summary, text(result).split("\n")[0]) == ("1/3 done", "1/3 done")
    event = bench.events[0]
    assert isinstance(event, TodoUpdated)
    assert [item.id for item in event.items] == ["1", "2", "3", "4"]


async def test_of_several_in_progress_the_first_stays_and_the_model_is_told(bench):
    result = await bench.run(
        "write_todos", todos=[todo("a", "in_progress"), todo("b", "in_progress"), todo("c")]
    )
    assert [item.status for item in bench.state.todo] == ["in_progress", "pending", "pending"]
    assert text(result).startswith("Only one item can be in progress: “a” stays")
    assert bench.events[0].note != ""


async def test_an_item_keeps_its_id_while_its_words_stay(bench):
    await bench.run("write_todos", todos=[todo("a"), todo("b")])
    await bench.run("write_todos", todos=[todo("new"), todo("b", "completed"), todo("a"), todo("a")])
    assert [(item.id, item.content) for item in bench.state.todo] == [
        ("3", "new"),
        ("2", "b"),
        ("1", "a"),
        ("4", "a"),
    ]


async def test_the_list_may_be_a_tree(bench):
    items = [
        todo("root", id="r"),
        todo("leaf", "verified", id="l", parent="m"),
        todo("mid", id="m", parent="r"),
    ]
    result = await bench.run("write_todos", todos=items)
    assert result.display[0].text == "[ ] root\n  [ ] mid\n    [x] leaf (verified)"
    assert bench.state.todo[1] == TodoItem(id="l", content="leaf", status="verified", parent="m")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([todo("a", id="1"), todo("b", id="1")], "used twice"),
        ([todo("a", parent="x")], "not in the list"),
        ([todo("a", id="1", parent="2"), todo("b", id="2", parent="1")], "its own ancestor"),
        ([todo("a", id="1", parent="1")], "its own ancestor"),
        ([todo("  \n ")], "no content"),
        ([todo("x" * 501)], "too long"),
        ([todo(str(n)) for n in range(101)], "too many"),
    ],
)
async def test_a_list_that_makes_no_sense_is_refused(bench, items, words):
    with pytest.raises(ToolError, match=words):
        await bench.run("write_todos", todos=items)
    assert bench.events == []


async def test_items_get_ids_and_fields_of_other_programs_are_ignored(bench):
    item = {**todo("b"), "activeForm": "Doing b", "priority": "high"}
    result = await bench.run("write_todos", todos=[todo("a", "completed"), item])
    assert text(result) == "1/2 done\n[x] a\n[ ] b"
    assert [(item.id, item.content) for item in bench.state.todo] == [("1", "a"), ("2", "b")]


async def test_the_list_can_be_emptied(bench):
    await bench.run("write_todos", todos=[todo("a")])
    assert text(await bench.run("write_todos", todos=[])) == "The list is empty now."
    assert bench.state.todo == ()


def test_todos_touch_only_the_session(bench):
    assert bench.effects("write_todos", todos=[]) == (InternalEffect(subject="todos"),)
