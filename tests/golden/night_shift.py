"""The session of the design pictures: a question, then a bug that is found and fixed.

Sums agree with each other: two turns cost $0.021 and $0.076; the last request fills 42.2k of 200k tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.golden.scribe import MIMO, SONNET, Scribe, fingerprint
from tui_agent.protocol.display_blocks import DiffBlock, TextBlock
from tui_agent.protocol.effects import Effect, ReadEffect, RunEffect, WriteEffect, digest_effects
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.context import SectionName
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged, FileRead
from tui_agent.protocol.events.policy import PermissionChoice, PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import RunFinished, RunStarted, SessionStarted, SessionTitled
from tui_agent.protocol.events.todo import TodoItem, TodoStatus, TodoUpdated
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import AgentId, RequestId, RunId
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.protocol.settings import AgentState, SessionSettings

TURN_2 = 1_711_634_571.718
"""2024-03-28 14:02:51.718 UTC."""
TURN_1 = TURN_2 - 21.4
TOOLS = (
    "read_file",
    "write_file",
    "edit_file",
    "list_directory",
    "glob",
    "grep",
    "run_command",
    "run_tests",
    "write_todos",
    "ask_user",
    "spawn_subtask",
)
ENTRY, REPORT, CLI = "src/timesheet/entry.py", "src/timesheet/report.py", "src/timesheet/cli.py"
TEST_ENTRY, TEST_REPORT = "tests/test_entry.py", "tests/test_report.py"

WEEK_BEFORE = (
    "Mon 25 Mar   night   22:00-06:30   -15.5 h\n"
    "Tue 26 Mar   night   23:00-06:00   -17.0 h\n"
    "                                  --------\n"
    "week 13      night                 -32.5 h\n"
)
PYTEST_PROGRESS = (
    "============================= test session starts ==============================\n"
    "platform linux -- Python 3.11.9, pytest-8.1.1, pluggy-1.4.0\n"
    "rootdir: /home/ada/timesheet\n"
    "configfile: pyproject.toml\n"
    "testpaths: tests\n"
    "plugins: anyio-4.3.0\n"
    "collected 32 items\n"
    "\n"
    "tests/test_args.py ..                                          [  6%]\n"
    "tests/test_clock.py .                                          [  9%]\n"
    "tests/test_config.py .                                         [ 12%]\n"
    "tests/test_money.py ..                                         [ 18%]\n"
)
PYTEST_TAIL = (
    "tests/test_cli.py ......                                       [ 18%]\n"
    "tests/test_entry.py .............                              [ 59%]\n"
    "tests/test_parse.py ........                                   [ 84%]\n"
    "tests/test_report.py .."
)
PYTEST_FAILED = (
    ".........................                                        [ 78%]\n"
    "..F....                                                          [100%]\n"
    "FAILED tests/test_report.py::test_week_total - assert 39.5 == 15.5\n"
    "1 failed, 31 passed in 1.74 s\n"
)
PYTEST_PASSED = (
    "................................                                 [100%]\n32 passed in 1.69 s\n"
)
HUNK = (
    "     def duration(self) -> timedelta:\n"
    "-        return self.end - self.start\n"
    "+        end = self.end\n"
    "+        if end < self.start:  # the shift ends on the next day\n"
    "+            end += timedelta(days=1)\n"
    "+        return end - self.start\n"
)
ENTRY_DIFF = "@@ -23,2 +23,5 @@\n" + HUNK
ENTRY_DIFF_WIDE = "@@ -22,3 +22,6 @@\n     @property\n" + HUNK
TEST_ENTRY_LINES = (
    "",
    "",
    "def test_a_shift_over_midnight_ends_on_the_next_day():",
    '    assert hours(entry("22:00", "06:30")) == 8.5',
    '    assert hours(entry("23:00", "06:00")) == 7.0',
    "",
    "",
    "def test_a_shift_of_exactly_24_hours_stays_24_hours():",
    '    whole_day = entry("08:00", "08:00", days=1)',
    "    assert hours(whole_day) == 24.0",
    "",
    "",
    "def test_an_entry_of_no_length_stays_empty():",
    '    empty = entry("08:00", "08:00")',
    "    assert hours(empty) == 0.0",
)
TEST_ENTRY_DIFF = "@@ -88,0 +89,15 @@\n" + "".join(f"+{line}\n" for line in TEST_ENTRY_LINES)
TEST_REPORT_DIFF = (
    "@@ -41,1 +41,1 @@\n-    assert week_total(13) == 15.5\n+    assert week_total(13) == 39.5\n"
)
ANSWER_1 = (
    "`cli.report` reads the week's lines, `parse_line` turns each into an `Entry`, and "
    "`report.week_total` adds up their hours by shift. Nothing is kept between two runs."
)
CAUSE = "Cause: Entry.duration ignores the date; a night shift comes out negative."
ANSWER_2 = (
    "**Fixed.** A shift whose end is before its start counts as ending the next day.\n\n"
    "- week 13 shows **+15.5 h** for the night shift instead of -32.5 h\n"
    "- the file format is unchanged; old sheets give right totals without editing\n"
    "- 3 new tests cover midnight, exactly 24 h, and a zero-length entry\n"
)
PROMPT = (
    "timesheet report --week 13 shows -32.5 h for the night shift. Find out why and fix it. "
    "Keep the file format."
)
TODOS = (
    "Reproduce the negative hours",
    "Find callers of duration()",
    "Fix shifts over midnight",
    "Add tests and run them",
    "Say what changed and why",
)
FINDING = "Nobody. 3 callers: report.py:41, report.py:88, cli.py:57; all only add hours up."


@dataclass(frozen=True)
class Change:
    """An edit of one file."""

    path: str
    diff: str
    added: int
    removed: int

    def block(self) -> DiffBlock:
        return DiffBlock(path=self.path, diff=self.diff, added=self.added, removed=self.removed)


EDIT_ENTRY = Change(ENTRY, ENTRY_DIFF, 4, 1)
EDIT_TESTS = Change(TEST_ENTRY, TEST_ENTRY_DIFF, 15, 0)
EDIT_REPORT = Change(TEST_REPORT, TEST_REPORT_DIFF, 1, 1)


def sections(messages: int, results: int) -> tuple[tuple[SectionName, int], ...]:
    """A request's shares: what is always there, and what has grown."""
    return (
        ("system", 3_900),
        ("available_tools", 5_200),
        ("instructions", 1_100),
        ("repo_map", 4_000),
        ("messages", messages),
        ("tool_results", results),
    )


def todo(s: Scribe, done: int, *, current: bool = True) -> None:
    def status(index: int) -> TodoStatus:
        if index < done:
            return "completed"
        return "in_progress" if index == done and current else "pending"

    items = tuple(
        TodoItem(id=str(index + 1), content=content, status=status(index))
        for index, content in enumerate(TODOS)
    )
    s.emit(TodoUpdated(items=items))


def opening(s: Scribe) -> None:
    s.emit(
        SessionStarted(
            workspace="/home/ada/timesheet",
            product="tui-agent 0.1.0",
            settings=SessionSettings(model=SONNET, policy="ask"),
        )
    )
    s.emit(
        RunStarted(
            run_id=RunId("run_00000000a11c"), pid=4_711, client="app", product="tui-agent 0.1.0", model=SONNET
        )
    )
    s.emit(EnvStarted(environment="local", root="/home/ada/timesheet"))
    s.emit(AgentStateChanged(state=AgentState.IDLE))


def begin_turn(s: Scribe, turn: int, text: str) -> float:
    s.emit(UserMessageReceived(text=text))
    s.emit(TurnStarted(turn=turn))
    s.emit(AgentStateChanged(state=AgentState.RUNNING))
    s.local = 0
    return s.clock.time


def end_turn(s: Scribe, turn: int, begun: float, seconds: float) -> None:
    s.until(round(begun + seconds, 6))
    s.emit(TurnFinished(turn=turn, reason="finished", duration_ms=round(seconds * 1_000, 3)))
    s.emit(AgentStateChanged(state=AgentState.IDLE))


def read(s: Scribe, part: ToolCallPart, lines: int, ms: float) -> None:
    path = str(part.arguments["path"])
    s.allow(part, (ReadEffect(path=path),))
    s.start(part)
    s.emit(
        FileRead(
            path=path,
            digest=fingerprint(path),
            size=lines * 34,
            first_line=1,
            last_line=lines,
            complete=True,
            call_id=part.call_id,
        )
    )
    s.finish(part, f"[{lines} lines of {path}]", ms=ms, summary=f"{lines} lines")


def reads(s: Scribe, files: Sequence[tuple[str, int, float]]) -> list[tuple[ToolCallPart, int, float]]:
    return [(s.call("read_file", {"path": path}), lines, ms) for path, lines, ms in files]


def run_reads(s: Scribe, parts: Sequence[tuple[ToolCallPart, int, float]]) -> None:
    for part, lines, _ in parts:
        s.called(part, "read", f"{part.arguments['path']}  1–{lines}")
    for part, lines, ms in parts:
        read(s, part, lines, ms)


def search(s: Scribe, part: ToolCallPart, hits: int, ms: float) -> None:
    s.allow(part)
    s.start(part)
    s.finish(part, f"[{hits} hits]", ms=ms, summary=f"{hits} hits")


def first_turn(s: Scribe, *, searches: bool = False) -> None:
    """How is the weekly report put together?"""
    begun = begin_turn(s, 1, "How is the weekly report put together?")
    at = s.begin_iteration()
    parts = reads(s, [(CLI, 96, 6.0), (REPORT, 118, 5.0), (ENTRY, 61, 5.0)])
    more = [s.call("grep", {"pattern": "parse_line", "paths": ["src"]})] if searches else []
    request = s.ask(27_600, sections(6_100, 7_300), TOOLS)
    calls = [part for part, _, _ in parts] + more
    s.reply(request, thoughts=2, calls=calls, usage=(27_600, 188, 0), cost=0.011, seconds=5.9)
    run_reads(s, parts)
    for part in more:
        s.called(part, "search", "parse_line  in src")
        search(s, part, 4, 8.0)
    s.emit(SessionTitled(title="night-shift-hours", titled_by="auto"))
    s.end_iteration(at, 6.0)
    at = s.begin_iteration()
    request = s.ask(30_800, sections(6_600, 10_000), TOOLS)
    s.reply(
        request, thoughts=2, text=ANSWER_1, usage=(30_800, 208, 27_400), cost=0.010, seconds=8.1, pieces=12
    )
    s.end_iteration(at, 8.2, "message")
    end_turn(s, 1, begun, 14.2)


def reproduce(s: Scribe) -> None:
    """Iteration 3: the report is run, and callers are searched for."""
    at = s.begin_iteration()
    todo(s, 0)
    run = s.call("run_command", {"command": "timesheet report --week 13"})
    find = s.call("grep", {"pattern": r"\.duration\b", "paths": ["src", "tests"]})
    request = s.ask(31_200, sections(7_000, 10_000), TOOLS)
    s.reply(request, thoughts=2, calls=[run, find], usage=(31_200, 212, 30_600), cost=0.012, seconds=3.1)
    s.called(run, "run", "timesheet report --week 13")
    s.called(find, "search", r"\.duration\b  in src, tests")
    effects = (RunEffect(script="timesheet report --week 13"),)
    s.allow(run, effects, "allow run timesheet report *")
    s.start(run, writes=True)
    s.wait(0.2)
    s.emit(ToolProgress(call_id=run.call_id, text=WEEK_BEFORE))
    s.wait(-0.2)
    s.finish(run, WEEK_BEFORE, ms=400, summary="exit 0", terminal=True)
    search(s, find, 7, 9.0)
    todo(s, 1)
    s.end_iteration(at, 3.6)


def look(s: Scribe) -> None:
    """Iteration 4: the two files are read."""
    at = s.begin_iteration()
    parts = reads(s, [(ENTRY, 61, 6.0), (REPORT, 118, 5.0)])
    request = s.ask(33_900, sections(7_300, 12_400), TOOLS)
    calls = [part for part, _, _ in parts]
    s.reply(request, thoughts=1, calls=calls, usage=(33_900, 140, 31_000), cost=0.014, seconds=4.9)
    run_reads(s, parts)
    s.end_iteration(at, 5.0)


def delegate(s: Scribe, question: str) -> None:
    """Iteration 5: a subtask looks at the callers, and is refused to write."""
    at = s.begin_iteration()
    part = s.call("spawn_subtask", {"task": question})
    request = s.ask(36_000, sections(7_700, 14_100), TOOLS)
    s.reply(request, calls=[part], usage=(36_000, 318, 33_600), cost=0.015, seconds=4.7)
    s.called(part, "[Subtask]", question)
    s.allow(part, (ReadEffect(path=".", recursive=True),), "allow subtasks that only read")
    s.start(part)
    started = s.clock.time
    investigate(s, part, question)
    s.until(round(started + 11.2, 6))
    s.wait(-11.2)
    s.finish(part, FINDING, ms=11_200, summary="2 tool calls", display=(TextBlock(text=FINDING),))
    todo(s, 2)
    s.end_iteration(at, 15.9)


def investigate(s: Scribe, part: ToolCallPart, question: str) -> None:
    s.agent, s.model = AgentId("investigator-1"), MIMO
    s.emit(
        AgentSpawned(
            name="investigator",
            parent_agent=AgentId("main"),
            delegate_level=1,
            task=question,
            tools=("read_file", "grep"),
            model=MIMO,
            call_id=part.call_id,
        )
    )
    find = s.call("grep", {"pattern": "duration"})
    note = s.call("write_file", {"path": "notes.md", "content": "3 callers"})
    mine: tuple[tuple[SectionName, int], ...] = (("system", 1_200), ("available_tools", 900))
    request = s.ask(3_900, (*mine, ("messages", 1_800)), ("read_file", "grep"))
    s.reply(request, calls=[find, note], usage=(3_900, 96, 0), cost=0.001, seconds=3.8)
    s.called(find, "search", "duration")
    s.called(note, "write_file", "notes.md")
    search(s, find, 9, 8.0)
    s.decide(
        note,
        "deny",
        (WriteEffect(path="notes.md", creates=True),),
        "deny writes of an investigator",
        reason="A subtask that investigates does not write.",
    )
    s.finish(
        note, "Denied: a subtask that investigates does not write.", ms=1, summary="denied", status="denied"
    )
    request = s.ask(8_100, (*mine, ("messages", 2_100), ("tool_results", 3_900)), ("read_file", "grep"))
    s.reply(request, text=FINDING, usage=(8_100, 306, 0), cost=0.003, seconds=7.3, pieces=3)
    s.emit(AgentFinished(success=True, summary=FINDING, reason="completed"))
    s.agent, s.model = AgentId("main"), SONNET


def edit_call(s: Scribe, change: Change) -> ToolCallPart:
    return s.call("edit_file", {"path": change.path, "old": "[old lines]", "new": "[new lines]"})


def request_permission(s: Scribe, part: ToolCallPart, change: Change, number: int) -> PermissionRequested:
    effects: tuple[Effect, ...] = (WriteEffect(path=change.path),)
    folder = change.path.rsplit("/", 1)[0]
    asked = PermissionRequested(
        request_id=RequestId(f"perm_{number:08x}"),
        call_id=part.call_id,
        tool=part.name,
        verb="edit",
        target=change.path,
        effects=effects,
        digest=digest_effects(part.name, effects, change.diff),
        preview=(change.block(),),
        choices=(
            PermissionChoice(reach="once", rule=f"edit {change.path}"),
            PermissionChoice(reach="session", rule=f"allow edit {folder}/**"),
            PermissionChoice(reach="always", rule=f"allow edit {folder}/**"),
        ),
        reason="because policy ask requires approval for every write",
    )
    s.emit(asked)
    return asked


def decide(s: Scribe, asked: PermissionRequested) -> None:
    s.emit(
        PermissionDecided(
            call_id=asked.call_id,
            request_id=asked.request_id,
            decision="allow",
            decided_by="user",
            policy="ask",
            rule_id="ask before writes",
            reason="allowed once by the user",
            digest=asked.digest,
            effects=asked.effects,
        )
    )


def apply_edit(s: Scribe, part: ToolCallPart, change: Change, ms: float, summary: str = "") -> None:
    s.emit(CheckpointTaken(part=s.parts - 1, commit=fingerprint(change.path)[:40], paths=(change.path,)))
    s.start(part, writes=True)
    s.emit(
        FileChanged(
            path=change.path,
            before=fingerprint(change.path),
            after=fingerprint(change.path + change.diff),
            before_size=2_074,
            after_size=2_074 + len(change.diff),
            mode=0o644,
            author="agent",
            added=change.added,
            removed=change.removed,
            call_id=part.call_id,
        )
    )
    s.finish(part, f"Edited {change.path}.", ms=ms, summary=summary, display=(change.block(),))


def fix(s: Scribe) -> None:
    """Iteration 6: two edits, each allowed by the user after a moment."""
    at = s.begin_iteration()
    edits = [(edit_call(s, EDIT_ENTRY), EDIT_ENTRY, 8.0), (edit_call(s, EDIT_TESTS), EDIT_TESTS, 7.0)]
    request = s.ask(38_100, sections(8_300, 15_600), TOOLS)
    calls = [part for part, _, _ in edits]
    s.reply(request, text=CAUSE, calls=calls, usage=(38_100, 655, 35_700), cost=0.011, seconds=3.4)
    for part, change, _ in edits:
        s.called(part, "edit", change.path)
    for number, (part, change, ms) in enumerate(edits, start=1):
        asked = request_permission(s, part, change, number)
        s.emit(AgentStateChanged(state=AgentState.WAITING, reason="a permission"))
        s.wait(1.4)
        decide(s, asked)
        s.emit(AgentStateChanged(state=AgentState.RUNNING))
        apply_edit(s, part, change, ms)
    todo(s, 3)
    s.end_iteration(at, 6.4)


def run_tests(s: Scribe, part: ToolCallPart, output: str, failed: int, ms: float) -> None:
    effects = (
        ReadEffect(path="src", recursive=True),
        ReadEffect(path="tests", recursive=True),
        RunEffect(script="pytest -q"),
    )
    s.allow(part, effects, "allow run pytest *")
    s.start(part, writes=True)
    summary = "exit 1" if failed else "32 passed"
    status = "failed" if failed else "ok"
    s.finish(part, output, ms=ms, summary=summary, status=status, terminal=True)  # type: ignore[arg-type]
    s.emit(
        TestFinished(
            framework="pytest",
            command="pytest -q",
            passed=32 - failed,
            failed=failed,
            skipped=0,
            exit_code=int(failed > 0),
            failures=("tests/test_report.py::test_week_total",) if failed else (),
            call_id=part.call_id,
        )
    )


def check(s: Scribe) -> None:
    """Iteration 7: the tests fail."""
    at = s.begin_iteration()
    part = s.call("run_tests", {"command": "pytest -q"})
    request = s.ask(40_200, sections(9_200, 16_800), TOOLS)
    s.reply(request, thoughts=2, calls=[part], usage=(40_200, 190, 37_800), cost=0.009, seconds=6.1)
    s.called(part, "run", "pytest -q")
    run_tests(s, part, PYTEST_FAILED, 1, 2_100)
    s.end_iteration(at, 8.2)


def correct(s: Scribe) -> None:
    """Iteration 8: the wrong expectation is put right, and the tests pass."""
    at = s.begin_iteration()
    edit = edit_call(s, EDIT_REPORT)
    tests = s.call("run_tests", {"command": "pytest -q"})
    request = s.ask(42_000, sections(10_100, 17_700), TOOLS)
    s.reply(request, calls=[edit, tests], usage=(42_000, 185, 39_900), cost=0.006, seconds=2.9)
    s.called(edit, "edit", TEST_REPORT)
    s.called(tests, "run", "pytest -q")
    s.allow(edit, (WriteEffect(path=TEST_REPORT),), "allow edit tests/**")
    apply_edit(s, edit, EDIT_REPORT, 7.0, "expected total was the wrong one")
    run_tests(s, tests, PYTEST_PASSED, 0, 2_000)
    todo(s, 4)
    s.end_iteration(at, 5.0)


def answer(s: Scribe) -> None:
    """Iteration 9: what changed and why."""
    at = s.begin_iteration()
    request = s.ask(42_200, sections(10_200, 17_800), TOOLS)
    s.reply(request, text=ANSWER_2, usage=(42_200, 400, 38_000), cost=0.005, seconds=3.9, pieces=24)
    todo(s, 5, current=False)
    s.end_iteration(at, 4.0, "message")


def up_to_the_cause(s: Scribe, question: str, *, searches: bool = False) -> float:
    """Everything before the first edit."""
    opening(s)
    s.until(TURN_1)
    first_turn(s, searches=searches)
    s.until(TURN_2)
    begun = begin_turn(s, 2, PROMPT)
    reproduce(s)
    look(s)
    delegate(s, question)
    return begun


def night_shift() -> Scribe:
    """The whole session; it is idle at the end."""
    s = Scribe("ses_0000night0shift", TURN_1 - 4.0)
    begun = up_to_the_cause(s, "Who relies on duration() being negative?")
    s.wait(0.4)
    fix(s)
    check(s)
    s.wait(2.0)
    correct(s)
    answer(s)
    end_turn(s, 2, begun, 51.0)
    return s


def streaming() -> Scribe:
    """Cut in the middle of iteration 6: a command runs and another one is queued."""
    s = Scribe("ses_000000streaming", TURN_1 - 4.0)
    up_to_the_cause(s, "Who relies on it being negative?")
    s.begin_iteration()
    edits = [(edit_call(s, EDIT_ENTRY), EDIT_ENTRY, 8.0), (edit_call(s, EDIT_TESTS), EDIT_TESTS, 7.0)]
    tests = s.call("run_tests", {"command": "pytest -q"})
    again = s.call("run_command", {"command": "timesheet report --week 13"})
    request = s.ask(40_600, sections(9_600, 16_800), TOOLS)
    calls = [*(part for part, _, _ in edits), tests, again]
    s.reply(request, text=CAUSE, calls=calls, usage=(40_600, 655, 35_700), cost=0.017, seconds=3.4)
    for part, change, _ in edits:
        s.called(part, "edit", change.path)
    s.called(tests, "run", "pytest -q")
    s.called(again, "run", "timesheet report --week 13")
    for part, change, ms in edits:
        s.allow(part, (WriteEffect(path=change.path),), "allow edits in this session")
        apply_edit(s, part, change, ms)
    todo(s, 3)
    s.allow(tests, (RunEffect(script="pytest -q"),), "allow run pytest *")
    s.start(tests, writes=True)
    output = PYTEST_PROGRESS + PYTEST_TAIL
    pieces = [output[at : at + 160] for at in range(0, len(output), 160)]
    for piece in pieces:
        s.wait(4.1 / len(pieces))
        s.emit(ToolProgress(call_id=tests.call_id, text=piece))
    return s


def approval() -> Scribe:
    """Two edits wait for the user's word."""
    s = Scribe("ses_0000000approval", TURN_1 - 4.0)
    up_to_the_cause(s, "Who relies on duration() being negative?", searches=True)
    s.begin_iteration()
    wide = Change(ENTRY, ENTRY_DIFF_WIDE, 4, 1)
    edits = [(edit_call(s, wide), wide), (edit_call(s, EDIT_TESTS), EDIT_TESTS)]
    request = s.ask(38_100, sections(8_300, 15_600), TOOLS)
    calls = [part for part, _ in edits]
    s.reply(request, text=CAUSE, calls=calls, usage=(38_100, 655, 35_700), cost=0.017, seconds=3.4)
    for part, change in edits:
        s.called(part, "edit", change.path)
    for number, (part, change) in enumerate(edits, start=1):
        request_permission(s, part, change, number)
    s.emit(AgentStateChanged(state=AgentState.WAITING, reason="a permission"))
    return s


def finish_run(s: Scribe) -> None:
    """The user leaves."""
    s.emit(RunFinished(run_id=RunId("run_00000000a11c"), reason="quit"))
