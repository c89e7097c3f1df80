"""What a task's working memory takes from tool results, block by block."""

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.context.memory import MOST, begun, explored, learnt, rendered
from tui_agent.folds.memory_words import BLOCKS, lines, with_newest
from tui_agent.folds.memory_words import MOST as LISTS
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart


def a_call(name: str, **arguments: str) -> ToolCallPart:
    return ToolCallPart(call_id=CallId("c"), name=name, arguments=dict(arguments))


def read(path: str, text: str = "") -> ToolResult:
    event = FileRead(path=path, digest="0" * 64, size=len(text), whole=True, first_line=1, last_line=1)
    return ToolResult(ok=True, content=(TextContent(text=text),), data={"path": path}, events=(event,))


def changed(path: str, added: int, removed: int) -> ToolResult:
    return ToolResult(ok=True, content=(), data={"path": path, "added": added, "removed": removed})


def a_run(status: int, *failures: str, passed: int = 3, command: str = "pytest -q") -> ToolResult:
    event = TestFinished(
        framework="pytest",
        command=command,
        passed=passed,
        failed=len(failures),
        skipped=0,
        exit_code=status,
        failures=failures,
    )
    return ToolResult(ok=status == 0, content=(), events=(event,))


def ran(status: int, output: str = "") -> ToolResult:
    return ToolResult(ok=status == 0, content=(TextContent(text=output),), data={"exit_code": status})


def after(memory: JsonMap, name: str, result: ToolResult, **arguments: str) -> JsonMap:
    new = learnt(memory, a_call(name, **arguments), result)
    return with_newest({**memory, **new}, explored(memory, result))


def test_the_first_words_stay_the_goal() -> None:
    memory = begun({}, "Build a parser")
    assert lines(memory, "task") == ["goal: Build a parser"]
    memory = {**memory, **begun(memory, "Now test it")}
    assert lines(memory, "task") == ["goal: Build a parser", "now: Now test it"]
    assert begun(memory, "Now test it") == {}


def test_files_that_were_read_and_the_symbols_in_them() -> None:
    text = "1\tclass Parser:\n2\t    def parse(self):\n3\t        pass\n"
    memory = after({}, "read_file", read("src/parser.py", text))
    memory = after(memory, "read_file", read("src/main.go", "func (s *Server) Listen() error {"))
    memory = after(memory, "read_file", read("src/parser.py"))
    assert lines(memory, "explored_files") == ["src/main.go", "src/parser.py"]
    assert lines(memory, "relevant_symbols") == [
        "Parser (src/parser.py)",
        "parse (src/parser.py)",
        "Listen (src/main.go)",
    ]


def test_the_patch_adds_up_by_file() -> None:
    memory = after({}, "edit_file", changed("a.py", 3, 1))
    memory = after(memory, "write_file", changed("b.py", 10, 0))
    memory = after(memory, "edit_file", changed("a.py", 2, 2))
    assert lines(memory, "patch_summary") == ["b.py +10 -0", "a.py +5 -3"]


def test_failing_tests_stand_until_they_pass() -> None:
    memory = after({}, "run_tests", a_run(1, "test_one", "test_two"))
    assert lines(memory, "failing_tests") == ["test_one", "test_two"]
    assert lines(memory, "verified_facts") == []
    memory = after(memory, "run_tests", a_run(0, passed=12))
    assert lines(memory, "failing_tests") == []
    assert lines(memory, "verified_facts") == ["`pytest -q` passed (12 tests)"]
    memory = after(memory, "run_tests", a_run(2))
    assert lines(memory, "failing_tests") == ["`pytest -q` failed"]
    assert lines(memory, "verified_facts") == []


def test_a_failing_test_stays_where_a_run_of_others_passes() -> None:
    name = "test_x.py::test_one"
    memory = after({}, "run_tests", a_run(1, name, command="python -m pytest -q test_x.py"))
    memory = after(memory, "run_tests", a_run(0, command="python -m pytest test_ok.py"))
    assert lines(memory, "failing_tests") == [name]
    memory = after(memory, "run_tests", a_run(1, "test_y.py::test_two", command="pytest -k two"))
    assert lines(memory, "failing_tests") == ["test_y.py::test_two", name]
    memory = after(memory, "run_tests", a_run(0, command="pytest -n 2 ./test_x.py::test_one"))
    assert lines(memory, "failing_tests") == ["test_y.py::test_two"]
    memory = after(memory, "run_tests", a_run(2, command="cargo test"))
    assert lines(memory, "failing_tests") == ["`cargo test` failed", "test_y.py::test_two"]
    memory = after(memory, "run_tests", a_run(0, command="cargo test one"))
    assert lines(memory, "failing_tests") == ["`cargo test` failed", "test_y.py::test_two"]
    assert lines(after(memory, "run_tests", a_run(0)), "failing_tests") == []


def test_a_command_that_failed_is_open_until_it_runs() -> None:
    memory = after({}, "run_command", ran(2, "make: *** no rule\n\n"), command="make all")
    assert lines(memory, "open_questions") == ["`make all` ended with 2: make: *** no rule"]
    assert lines(after(memory, "run_command", ran(0), command="make all"), "open_questions") == []


def test_what_changes_nothing_is_not_told() -> None:
    memory = after({}, "read_file", read("a.py"))
    assert learnt(memory, a_call("read_file"), read("a.py")) == {}
    assert learnt(memory, a_call("glob"), ToolResult(ok=True, content=())) == {}


def test_a_model_reads_only_blocks_that_hold_something() -> None:
    assert rendered({}) == ""
    memory = after(begun({}, "Fix it"), "edit_file", changed("a.py", 1, 0))
    assert rendered(memory) == (
        "<working_memory>\nTask:\n- goal: Fix it\nChanged so far:\n- a.py +1 -0\n</working_memory>"
    )


@given(
    names=st.lists(st.text(max_size=40), max_size=120),
    texts=st.lists(st.text(max_size=2_000), min_size=1, max_size=4),
)
def test_it_stays_small_whatever_comes(names: list[str], texts: list[str]) -> None:
    memory: JsonMap = begun({}, texts[0])
    for at, name in enumerate(names):
        text = texts[at % len(texts)]
        for result in (read(name, text), changed(name, at, at), a_run(at % 2, *names), ran(at % 3, text)):
            memory = after(memory, "run_command", result, command=name)
    assert set(memory) <= set(BLOCKS)
    assert all(len(lines(memory, block)) <= most for block, most in (*MOST.items(), *LISTS.items()))
    assert len(rendered(memory)) < 40_000


def test_of_a_long_block_the_model_is_shown_the_ends_though_all_is_kept() -> None:
    text = rendered({"failing_tests": [f"test_{at}" for at in range(60)]})
    assert (
        "- test_0\n" in text and "- test_59\n" in text and "(and 30 more)" in text and "test_30\n" not in text
    )
