"""What a task's working memory takes from tool results, block by block."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tui_agent.context.memory import TEST_COMMANDS, render_memory, start_turn, update_from_result
from tui_agent.folds.context.memory import (
    MAX_CHANGED_FILES,
    MAX_ITEMS,
    TITLES,
    apply_file_change,
    apply_update,
    block_lines,
)
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import Author, FileChanged, FileRead
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.protocol.stored_text import JsonMap


def a_call(name: str, **arguments: str) -> ToolCallPart:
    return ToolCallPart(call_id=CallId("c"), name=name, arguments=dict(arguments))


def read(path: str, text: str = "") -> ToolResult:
    event = FileRead(path=path, digest="0" * 64, size=len(text), complete=True, first_line=1, last_line=1)
    return ToolResult(ok=True, content=(TextContent(text=text),), data={"path": path}, events=(event,))


NUMBERS = itertools.count(1000)


def changed(
    memory: JsonMap,
    path: str,
    added: int = 1,
    removed: int = 0,
    *,
    author: Author = "agent",
    gone: bool = False,
    before: str | None = "a" * 64,
    after: str = "",
) -> JsonMap:
    event = FileChanged(
        path=path,
        before=before,
        after=None if gone else after or f"{next(NUMBERS):012}{'0' * 52}",
        before_size=1,
        after_size=1,
        mode=None,
        author=author,
        added=added,
        removed=removed,
    )
    return apply_file_change(memory, event)


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
    update = update_from_result(memory, a_call(name, **arguments), result)
    return memory if update is None else apply_update(memory, update)


def test_the_first_words_stay_the_goal() -> None:
    memory = start_turn({}, "Build a parser")
    assert block_lines(memory, "task") == ["goal: Build a parser"]
    memory = {**memory, **start_turn(memory, "Now test it")}
    assert block_lines(memory, "task") == ["goal: Build a parser", "now: Now test it"]
    assert start_turn(memory, "Now test it") == {}


def test_files_that_were_read_and_the_symbols_in_them() -> None:
    text = "1\tclass Parser:\n2\t    def parse(self):\n3\t        pass\n"
    memory = after({}, "read_file", read("src/parser.py", text))
    memory = after(memory, "read_file", read("src/main.go", "func (s *Server) Listen() error {"))
    memory = after(memory, "read_file", read("src/parser.py"))
    assert block_lines(memory, "explored_files") == ["src/main.go", "src/parser.py"]
    assert block_lines(memory, "relevant_symbols") == [
        "Parser (src/parser.py)",
        "parse (src/parser.py)",
        "Listen (src/main.go)",
    ]


def test_the_changed_files_are_those_of_the_agents() -> None:
    memory = changed({}, "a.py", 3, 1)
    memory = changed(memory, "b.py", 10, 0, author="command", before=None)
    memory = changed(memory, "mine.py", 5, 5, author="human")
    memory = changed(memory, "a.py", 2, 2)
    assert block_lines(memory, "patch_summary") == ["b.py", "a.py"]
    memory = changed(memory, "b.py", 0, 10, gone=True)
    memory = changed(memory, "old.py", 0, 7, gone=True)
    assert block_lines(memory, "patch_summary") == ["a.py", "old.py"]


def test_a_change_that_the_user_takes_back_is_no_longer_listed() -> None:
    first, second = "1" * 64, "2" * 64
    memory = changed({}, "new.py", 4, 0, before=None, after=first)
    memory = changed(memory, "a.py", 3, 1, after=first)
    memory = changed(memory, "a.py", 2, 2, after=second)
    assert block_lines(memory, "patch_summary") == ["new.py", "a.py"]
    memory = changed(memory, "new.py", 0, 4, author="human", gone=True)
    assert block_lines(memory, "patch_summary") == ["a.py"]
    memory = changed(memory, "a.py", 2, 2, author="human", after=first)
    memory = changed(memory, "a.py", 1, 3, author="human", after="a" * 64)
    assert block_lines(memory, "patch_summary") == []


def test_a_file_that_is_gone_was_not_looked_at_and_defines_nothing() -> None:
    memory = after({}, "read_file", read("lib/a.py", "def first():"))
    memory = after(memory, "read_file", read("a.py", "def second():"))
    memory = changed(memory, "a.py", 0, 1, gone=True)
    assert block_lines(memory, "explored_files") == ["lib/a.py"]
    assert block_lines(memory, "relevant_symbols") == ["first (lib/a.py)"]


def test_failing_tests_stand_until_they_pass() -> None:
    memory = after({}, "run_tests", a_run(1, "test_one", "test_two"))
    assert block_lines(memory, "failing_tests") == ["test_one", "test_two"]
    assert block_lines(memory, "verified_facts") == []
    memory = after(memory, "run_tests", a_run(0, passed=12))
    assert block_lines(memory, "failing_tests") == []
    assert block_lines(memory, "verified_facts") == ["`pytest -q` passed (12 tests)"]
    memory = after(memory, "run_tests", a_run(2))
    assert block_lines(memory, "failing_tests") == ["`pytest -q` failed"]
    assert block_lines(memory, "verified_facts") == []


def test_a_run_without_any_test_is_not_a_failing_test() -> None:
    memory = after({}, "run_tests", a_run(1, "test_one"))
    for status, command in ((4, "pytest tests/nope.py"), (5, "pytest -k nope")):
        memory = after(memory, "run_tests", a_run(status, command=command, passed=0))
    assert block_lines(memory, "failing_tests") == ["test_one"]
    memory = after(memory, "run_tests", a_run(4, command="pytest tests/x", passed=-1))
    assert block_lines(memory, "failing_tests") == ["`pytest tests/x` failed", "test_one"]


def test_a_failing_test_stays_where_a_run_of_others_passes() -> None:
    name = "test_x.py::test_one"
    memory = after({}, "run_tests", a_run(1, name, command="python -m pytest -q test_x.py"))
    memory = after(memory, "run_tests", a_run(0, command="python -m pytest test_ok.py"))
    assert block_lines(memory, "failing_tests") == [name]
    memory = after(memory, "run_tests", a_run(1, "test_y.py::test_two", command="pytest -k two"))
    assert block_lines(memory, "failing_tests") == ["test_y.py::test_two", name]
    memory = after(memory, "run_tests", a_run(0, command="pytest -n 2 ./test_x.py::test_one"))
    assert block_lines(memory, "failing_tests") == ["test_y.py::test_two"]
    memory = after(memory, "run_tests", a_run(2, command="cargo test"))
    assert block_lines(memory, "failing_tests") == ["`cargo test` failed", "test_y.py::test_two"]
    memory = after(memory, "run_tests", a_run(0, command="cargo test one"))
    assert block_lines(memory, "failing_tests") == ["`cargo test` failed", "test_y.py::test_two"]
    memory = after(memory, "run_tests", a_run(0))
    assert block_lines(memory, "failing_tests") == ["`cargo test` failed"]
    assert block_lines(after(memory, "run_tests", a_run(0, command="cargo test")), "failing_tests") == []


@pytest.mark.parametrize(
    ("name", "command", "later"),
    [
        ("test_calc.T.test_add", "python -m unittest -v test_calc.py", "python -m unittest -v test_calc.py"),
        (
            "tests.test_calc.T.test_add",
            "python -m unittest discover -v",
            "python -m unittest tests/test_calc.py",
        ),
        (
            "test_calc.T.test_add",
            "python -m unittest discover -s tests",
            "python -m unittest tests/test_calc.py",
        ),
        (
            "test_calc.T.test_add",
            "python -m unittest discover -s tests",
            "python -m unittest discover -s tests",
        ),
        ("TestAdd", "go test -v ./calc/...", "go test -v ./calc/..."),
        ("calc › adds", "npm test -- calc.test.js", "npm test -- calc.test.js"),
    ],
)
def test_a_run_of_the_same_tests_clears_the_failures_that_it_does_not_repeat(
    name: str, command: str, later: str
) -> None:
    memory = after({}, "run_tests", a_run(1, name, command=command))
    memory = after(memory, "run_tests", a_run(1, "test_other.U.test_b", command="make test_other"))
    assert block_lines(memory, "failing_tests") == ["test_other.U.test_b", name]
    memory = after(memory, "run_tests", a_run(0, command=later))
    assert block_lines(memory, "failing_tests") == ["test_other.U.test_b"]
    memory = after(memory, "run_tests", a_run(0, command="make test_other"))
    assert block_lines(memory, "failing_tests") == []


def test_a_file_of_the_same_name_in_a_folder_does_not_clear_a_failure() -> None:
    memory = after({}, "run_tests", a_run(1, "test_x.py::test_one", command="pytest -q test_x.py"))
    memory = after(memory, "run_tests", a_run(0, command="pytest -q lib/test_x.py"))
    assert block_lines(memory, "failing_tests") == ["test_x.py::test_one"]


def test_a_command_that_failed_is_open_until_it_runs() -> None:
    memory = after({}, "run_command", ran(2, "make: *** no rule\n\n"), command="make all")
    assert block_lines(memory, "open_questions") == ["`make all` ended with 2: make: *** no rule"]
    assert block_lines(after(memory, "run_command", ran(0), command="make all"), "open_questions") == []


def test_a_search_that_finds_nothing_is_no_open_question() -> None:
    for command, output in (
        ("grep -rn foo src", ""),
        ("test -f x", ""),
        ("cat a | diff - b", "1c1"),
        ("true", ""),
    ):
        assert update_from_result({}, a_call("run_command", command=command), ran(1, output)) is None
    memory = after({}, "run_command", ran(2, "grep: src: No such file"), command="grep -rn foo src")
    assert block_lines(memory, "open_questions") == [
        "`grep -rn foo src` ended with 2: grep: src: No such file"
    ]


def test_what_checks_the_code_and_what_failed_before_holds_once_it_ends_well() -> None:
    memory = after({}, "run_command", ran(0), command="ls")
    memory = after(memory, "run_command", ran(0), command="cd web && npm run build")
    memory = after(memory, "run_command", ran(0), command="mypy src | tail")
    memory = after(memory, "run_command", ran(1, "no module"), command="python setup.py")
    memory = after(memory, "run_command", ran(0), command="python setup.py")
    assert block_lines(memory, "verified_facts") == [
        "`cd web && npm run build` ended with 0",
        "`python setup.py` ended with 0",
    ]
    assert block_lines(memory, "open_questions") == []
    memory = after(memory, "run_command", ran(1, "no module"), command="python setup.py")
    assert block_lines(memory, "verified_facts") == ["`cd web && npm run build` ended with 0"]


def test_what_passed_before_a_file_was_changed_says_so_until_it_passes_again() -> None:
    memory = after({}, "run_tests", a_run(0, passed=1))
    memory = after(memory, "ask_user", answered("8080"), question="Which port?")
    memory = changed(memory, "src/a.py")
    memory = changed(memory, "src/b.py", author="human")
    assert block_lines(memory, "verified_facts") == [
        "`pytest -q` passed (1 test); src/a.py was changed since",
        "asked “Which port?”, the user answered: 8080",
    ]
    memory = after(memory, "run_tests", a_run(0, passed=2))
    assert block_lines(memory, "verified_facts") == [
        "asked “Which port?”, the user answered: 8080",
        "`pytest -q` passed (2 tests)",
    ]
    again = changed(memory, "src/a.py")
    assert block_lines(after(again, "run_tests", a_run(0, passed=2)), "verified_facts") == block_lines(
        memory, "verified_facts"
    )


def test_where_all_tests_pass_those_of_a_part_need_no_line_that_doubts_them() -> None:
    memory = after({}, "run_tests", a_run(0, command="pytest test_a.py"))
    memory = changed(memory, "a.py")
    memory = after(memory, "run_tests", a_run(0, command="pytest test_b.py"))
    assert len(block_lines(memory, "verified_facts")) == 2
    memory = after(memory, "run_tests", a_run(0))
    assert block_lines(memory, "verified_facts") == [
        "`pytest test_b.py` passed (3 tests)",
        "`pytest -q` passed (3 tests)",
    ]


def test_of_many_facts_those_that_may_hold_no_more_go_first() -> None:
    memory: JsonMap = {}
    for at in range(4):
        memory = after(memory, "ask_user", answered(f"{at}"), question=f"What is {at}?")
        memory = after(memory, "run_tests", a_run(0, command=f"pytest a{at}.py"))
    memory = changed(memory, "a.py")
    for at in range(4, 12):
        memory = after(memory, "ask_user", answered(f"{at}"), question=f"What is {at}?")
    facts = block_lines(memory, "verified_facts")
    assert len(facts) == MAX_ITEMS["verified_facts"] and all(fact.startswith("asked “What") for fact in facts)


def answered(words: str) -> ToolResult:
    return ToolResult(ok=True, content=(TextContent(text=words or "nothing"),), data={"answer": words})


def found(
    ok: bool = True, confidence: str = "high", questions: tuple[str, ...] = (), summary: str = "It is."
) -> ToolResult:
    evidence: list[JsonValue] = [
        {"path": "src/app.py", "lines": "10-24", "what": "it"},
        {"path": "src/app.py", "lines": "900", "what": "", "not_found": "not found: the file has 30 lines"},
        {"path": "b.py", "lines": "", "what": ""},
    ]
    data: JsonMap = {
        "summary": summary,
        "evidence": evidence,
        "confidence": confidence,
        "open_questions": list(questions),
    }
    return ToolResult(ok=ok, content=(), data=data)


def test_what_the_user_answers_holds_and_a_newer_answer_takes_its_place() -> None:
    memory = after({}, "ask_user", answered(""), question="Which port\n is it?")
    assert block_lines(memory, "open_questions") == ["the user gave no answer to: Which port is it?"]
    memory = after(memory, "ask_user", answered("80"), question="Which port is it?")
    memory = after(memory, "ask_user", answered("8080"), question="Which port is it?")
    assert block_lines(memory, "open_questions") == []
    assert block_lines(memory, "verified_facts") == ["asked “Which port is it?”, the user answered: 8080"]
    lost = ToolResult(ok=False, content=(TextContent(text="No one is there"),))
    assert update_from_result({}, a_call("ask_user", question="Which?"), lost) is None


def test_what_an_investigator_leaves_open_is_open_until_it_is_taken_up() -> None:
    asked = ("Who calls it?", "Is the cache shared?")
    memory = after({}, "delegate_readonly", found(questions=asked), task="Find the parser")
    memory = after(memory, "delegate_readonly", found(questions=asked[:1]), task="Find the parser again")
    assert block_lines(memory, "open_questions") == ["Is the cache shared?", "Who calls it?"]
    memory = after(memory, "ask_user", answered("No."), question="Is the cache shared?")
    memory = after(memory, "delegate_readonly", found(False), task="Who calls it? Look in src.")
    assert block_lines(memory, "open_questions") == ["Who calls it?"]
    memory = after(memory, "delegate_readonly", found(), task="Who calls it? Look in src.")
    assert block_lines(memory, "open_questions") == []


@pytest.mark.parametrize(
    ("question", "open_questions"), [("Who calls it now?", 1), ("Who calls it right now?", 0)]
)
def test_only_an_answered_question_of_five_words_closes_longer_open_ones(
    question: str, open_questions: int
) -> None:
    longer = f"{question} I found nobody in src."
    memory = after({}, "delegate_readonly", found(questions=[longer]), task="Find the parser")
    memory = after(memory, "ask_user", answered("The parser."), question=question)
    assert len(block_lines(memory, "open_questions")) == open_questions


def test_what_an_investigator_is_sure_of_holds_until_one_of_its_files_is_changed() -> None:
    memory = after({}, "delegate_readonly", found(summary="The parser\nis there."), task="Find")
    memory = after(memory, "delegate_readonly", found(confidence="medium", summary="Guessed."), task="Find")
    memory = after(memory, "delegate_readonly", found(False, summary="Failed."), task="Find")
    fact = "The parser is there. [src/app.py:10-24, b.py]"
    assert block_lines(memory, "verified_facts") == [fact]
    memory = changed(memory, "c.py")
    assert block_lines(memory, "verified_facts") == [fact]
    assert block_lines(changed(memory, "b.py"), "verified_facts") == [f"{fact}; b.py was changed since"]
    assert block_lines(changed(memory, "src/app.py"), "verified_facts") == [
        f"{fact}; src/app.py was changed since"
    ]


def test_a_subtask_that_did_not_go_well_is_open_until_one_of_its_task_does() -> None:
    stopped = ToolResult(ok=False, content=(), data={"reason": "budget", "success": False})
    memory = after({}, "spawn_subtask", stopped, prompt="Write it.")
    assert block_lines(memory, "open_questions") == ["subtask “Write it.” failed: budget"]
    done = ToolResult(ok=True, content=(), data={"reason": "completed", "success": True})
    assert block_lines(after(memory, "spawn_subtask", done, prompt="Write it."), "open_questions") == []


def test_what_changes_nothing_is_not_told() -> None:
    memory = after({}, "read_file", read("a.py"))
    assert update_from_result(memory, a_call("read_file"), read("a.py")) is None
    assert update_from_result(memory, a_call("glob"), ToolResult(ok=True, content=())) is None
    assert update_from_result({}, a_call("run_command", command="ls"), ran(0)) is None


def test_a_model_reads_only_blocks_that_hold_something() -> None:
    assert render_memory({}) == ""
    memory = changed(start_turn({}, "Fix it"), "a.py", 1, 0)
    assert render_memory(memory) == (
        "<working_memory>\nTask:\n- goal: Fix it\nChanged so far:\n- a.py\n</working_memory>"
    )


@pytest.mark.slow
@given(
    names=st.lists(st.text(max_size=40), max_size=120),
    texts=st.lists(st.text(max_size=2_000), min_size=1, max_size=4),
)
def test_it_stays_small_whatever_comes(names: list[str], texts: list[str]) -> None:
    memory: JsonMap = start_turn({}, texts[0])
    for at, name in enumerate(names):
        text = texts[at % len(texts)]
        memory = changed(memory, name, at, at)
        for result in (read(name, text), a_run(at % 2, *names), ran(at % 3, text)):
            memory = after(memory, "run_command", result, command=name)
        memory = after(memory, "delegate_readonly", found(questions=tuple(names), summary=text), task=name)
    assert set(memory) <= {*TITLES, TEST_COMMANDS}
    assert all(
        len(block_lines(memory, block)) <= most
        for block, most in (*MAX_ITEMS.items(), ("patch_summary", MAX_CHANGED_FILES))
    )
    assert len(render_memory(memory)) < 40_000


def test_of_a_long_block_the_model_is_shown_the_ends_though_all_is_kept() -> None:
    text = render_memory({"failing_tests": [f"test_{at}" for at in range(60)]})
    assert (
        "- test_0\n" in text and "- test_59\n" in text and "(and 30 more)" in text and "test_30\n" not in text
    )
