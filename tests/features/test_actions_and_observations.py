"""The log as actions and observations, and their forms for people, programs and models."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.golden import golden
from tests.stubs.story import Story
from tui_agent.errors import ToolError
from tui_agent.folds import actions
from tui_agent.folds.actions import (
    ActionBase,
    AnyAction,
    AnyObservation,
    ObservationBase,
    action_from_dict,
    build_tool_calls,
    list_history,
    observation_from_dict,
)
from tui_agent.plugin_api import TodoItem, TodoUpdated
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import TextContent

WORDS = st.text(max_size=30)
EXCEPTION = st.just("") | WORDS
ACTIONS: st.SearchStrategy[AnyAction] = st.one_of(
    st.builds(actions.CmdRun, command=WORDS, shell=st.none() | st.booleans(), exception=EXCEPTION),
    st.builds(actions.IPythonRunCell, code=WORDS, exception=EXCEPTION),
    st.builds(
        actions.FileRead,
        path=WORDS,
        offset=st.integers(1, 9),
        limit=st.none() | st.integers(1, 9),
        exception=EXCEPTION,
    ),
    st.builds(actions.FileWrite, path=WORDS, content=WORDS, exception=EXCEPTION),
    st.builds(actions.BrowseURL, url=WORDS, exception=EXCEPTION),
    st.builds(actions.AddTask, goal=WORDS, parent=WORDS, subtasks=st.tuples(WORDS), id=WORDS),
    st.builds(actions.ModifyTask, id=WORDS, state=st.sampled_from(["open", "completed", "verified"])),
    st.builds(actions.AgentFinish, text=WORDS),
    st.builds(actions.AgentReject, reason=WORDS),
    st.builds(actions.Message, text=WORDS, source=st.sampled_from(["agent", "user"])),
    st.builds(actions.ToolRun, name=WORDS, arguments=st.dictionaries(WORDS, st.integers()), exception=WORDS),
)
OBSERVATIONS: st.SearchStrategy[AnyObservation] = st.one_of(
    st.builds(actions.CmdOutput, content=WORDS, command=WORDS, exit_code=st.none() | st.integers(0, 255)),
    st.builds(actions.BrowserOutput, content=WORDS, url=WORDS),
    st.builds(actions.FileReadOutput, content=WORDS, path=WORDS),
    st.builds(actions.FileWriteOutput, content=WORDS, path=WORDS),
    st.builds(actions.Error, content=WORDS, tool=WORDS, status=st.sampled_from(["failed", "lost"])),
    st.builds(actions.Success, content=WORDS, tool=WORDS),
)


@given(ACTIONS)
def test_an_action_comes_back_from_its_plain_form(action: AnyAction) -> None:
    assert action_from_dict(action.to_dict()) == action


@given(ACTIONS)
def test_what_a_model_remembers_of_an_action_has_the_raw_exception(action: AnyAction) -> None:
    memory = action.to_memory()
    assert memory.get("exception", "") == action.exception
    assert "message" not in memory and memory["action"] == action.action


@given(OBSERVATIONS)
def test_an_observation_comes_back_from_its_plain_form(seen: AnyObservation) -> None:
    assert observation_from_dict(seen.to_dict()) == seen
    assert seen.to_memory()["content"] == seen.content


def test_every_kind_of_action_and_observation_has_friendly_words() -> None:
    made: list[ActionBase | ObservationBase] = [
        actions.CmdRun(command="make"),
        actions.IPythonRunCell(code="1"),
        actions.FileRead(path="a"),
        actions.FileWrite(path="a", content=""),
        actions.BrowseURL(url="u"),
        actions.AddTask(goal="g"),
        actions.ModifyTask(id="1", state="in_progress"),
        actions.AgentFinish(),
        actions.AgentReject(),
        actions.Message(text="m"),
        actions.ToolRun(name="grep"),
        actions.CmdOutput(command="make", exit_code=2),
        actions.BrowserOutput(url="u"),
        actions.FileReadOutput(path="a"),
        actions.FileWriteOutput(path="a"),
        actions.Error(tool="grep", status="invalid"),
        actions.Success(tool="grep"),
    ]
    assert [each.to_dict()["message"] for each in made] == [
        "Running: make",
        "Running a notebook cell",
        "Reading a",
        "Writing a",
        "Browsing u",
        "Added the task: g",
        "Task 1 is now in progress",
        "The task is done.",
        "The task was rejected.",
        "m",
        "Calling grep",
        "The command ended with exit status 2: make",
        "Read u",
        "Read a",
        "Wrote a",
        "grep was called with invalid arguments",
        "grep is done",
    ]


def test_a_log_reads_as_actions_each_answered_by_its_observation() -> None:
    entries = list_history(golden("night_shift"))
    by_seq = {entry.seq: entry for entry in entries if isinstance(entry.item, ActionBase)}
    answered = [entry for entry in entries if entry.action_seq is not None]
    assert answered and all(entry.action_seq in by_seq for entry in answered)
    kinds = {type(entry.item).__name__ for entry in entries}
    assert {"Message", "CmdRun", "FileRead", "CmdOutput", "AddTask", "ModifyTask"} <= kinds
    for entry in entries:
        back = action_from_dict if isinstance(entry.item, ActionBase) else observation_from_dict
        assert back(entry.item.to_dict()) == entry.item


def test_any_stretch_of_a_session_can_be_asked_for_by_event_numbers() -> None:
    records = golden("night_shift")
    whole = list_history(records)
    first, last = whole[2].seq, whole[-3].seq
    assert list_history(records, first, last) == [entry for entry in whole if first <= entry.seq <= last]


def test_each_tool_has_its_action_and_its_observation() -> None:
    story = Story()
    records = []
    for number, (name, arguments, data) in enumerate(
        [
            ("run_command", {"command": "false"}, {"exit_code": 1}),
            ("read_file", {"path": "a.py"}, {}),
            ("write_file", {"path": "b.py", "content": "x"}, {}),
            ("edit_file", {"path": "c.py"}, {}),
            ("run_cell", {"code": "1"}, {"exit_code": 0}),
            ("browse_url", {"url": "http://x/"}, {}),
            ("grep", {"pattern": "x"}, {}),
        ]
    ):
        call_id = CallId(f"c{number}")
        records.append(
            story(
                ToolCalled(call_id=call_id, name=name, arguments=arguments, iteration=1, verb="", target="")  # type: ignore[arg-type]
            )
        )
        status = "failed" if data.get("exit_code") == 1 else "ok"
        records.append(
            story(
                ToolFinished(
                    call_id=call_id,
                    name=name,
                    status=status,  # type: ignore[arg-type]
                    part=number,
                    content=(TextContent(text="words"),),
                    data=data,  # type: ignore[arg-type]
                )
            )
        )
    found = [type(entry.item).__name__ for entry in list_history(records)]
    assert found[::2] == [
        "CmdRun",
        "FileRead",
        "FileWrite",
        "ToolRun",
        "IPythonRunCell",
        "BrowseURL",
        "ToolRun",
    ]
    assert found[1::2] == [
        "CmdOutput",
        "FileReadOutput",
        "FileWriteOutput",
        "FileWriteOutput",
        "CmdOutput",
        "BrowserOutput",
        "Success",
    ]


async def test_a_call_that_failed_carries_its_exception_for_the_model(tmp_path: Path) -> None:
    def fail(words: str) -> None:
        raise ToolError("no such thing")

    answers = [call(("echo", '{"words":"x"}')), say("Sad.")]
    async with running(tmp_path, answers, [EchoTool(before=fail)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    entries = [entry.item for entry in list_history(bench.events)]
    failed = next(item for item in entries if isinstance(item, actions.ToolRun))
    error = next(item for item in entries if isinstance(item, actions.Error))
    assert failed.to_memory()["exception"] == error.to_memory()["content"] == "no such thing"


def test_tasks_make_a_tree_of_five_states_and_come_back_as_actions() -> None:
    known = (TodoItem(id="1", content="Ship", status="in_progress"),)
    added, changed = build_tool_calls(
        [
            actions.AddTask(goal="Test", parent="1", subtasks=("Unit", "End to end")),
            actions.ModifyTask(id="1", state="verified"),
        ],
        known,
    )
    todos = changed.arguments["todos"]
    assert added.name == changed.name == "write_todos" and isinstance(todos, list)
    items = tuple(TodoItem.model_validate(item) for item in todos)
    assert [(item.id, item.content, item.status, item.parent) for item in items] == [
        ("1", "Ship", "verified", None),
        ("2", "Test", "pending", "1"),
        ("3", "Unit", "pending", "2"),
        ("4", "End to end", "pending", "2"),
    ]
    story = Story()
    seen = [
        entry.item
        for entry in list_history([story(TodoUpdated(items=known)), story(TodoUpdated(items=items))])
    ]
    assert seen == [
        actions.AddTask(goal="Ship", id="1"),
        actions.ModifyTask(id="1", state="in_progress"),
        actions.ModifyTask(id="1", state="verified"),
        actions.AddTask(goal="Test", parent="1", id="2"),
        actions.AddTask(goal="Unit", parent="2", id="3"),
        actions.AddTask(goal="End to end", parent="2", id="4"),
    ]
