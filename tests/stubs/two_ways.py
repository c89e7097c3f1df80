"""The what-if of the design pictures as real sessions: one finds the cause of a bug and fixes it; a fork of it, with
another model, goes on from there and fixes it wrongly."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.stubs.clock import FakeClock
from tui_agent.folds.text.line_diff import count_changes
from tui_agent.protocol.effects import Effect, RunEffect, WriteEffect, digest_effects
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import (
    ForkChange,
    RunResumed,
    RunStarted,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
)
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import CallId, RequestId, RunId
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore

MAIN, FORK = "ses_000000night0001", "ses_000000night0002"
SONNET = ModelInfo(
    profile="claude", provider="anthropic", model="claude-sonnet-4-5", effort="high", window=200_000
)
QWEN = ModelInfo(
    profile="qwen",
    provider="ollama",
    model="qwen3-coder:30b",
    base_url="http://localhost:11434/v1",
    window=128_000,
)
PROMPT = "timesheet report --week 13 shows -32.5 h for the night shift. Find out why and fix it."
CAUSE = "Cause: Entry.duration ignores the date; a night shift comes out negative."
ENTRY, TEST_ENTRY, TEST_REPORT = "src/timesheet/entry.py", "tests/test_entry.py", "tests/test_report.py"
HEAD = "".join(f"# line {number}\n" for number in range(1, 23))
BEFORE = f"{HEAD}    def duration(self) -> timedelta:\n        return self.end - self.start\n"
RIGHT = (
    f"{HEAD}    def duration(self) -> timedelta:\n        end = self.end\n"
    "        if end < self.start:  # the shift ends on the next day\n"
    "            end += timedelta(days=1)\n        return end - self.start\n"
)
WRONG = f"{HEAD}    def duration(self) -> timedelta:\n        return abs(self.end - self.start)\n"
TESTS = "".join(f"def test_{number}():\n    assert True\n" for number in range(8))
MORE_TESTS = TESTS + "".join(
    f"\n\ndef test_midnight_{number}():\n    entry = night({number})\n    assert hours(entry) == 8.5\n"
    for number in range(3)
)
REPORT = "def test_week_total():\n    assert week_total(13) == 15.5\n"
GOOD = "**A shift that ends before it starts now ends on the next day.**\n\nweek 13 shows +15.5 h"
BAD = "Durations are now always positive.\n\nweek 13 shows +32.5 h"


@dataclass
class Way:
    """One log that is written to, with the seconds that pass."""

    log: SessionLog
    clock: FakeClock
    model: ModelInfo
    parts: int = 0
    iteration: int = 0
    calls: int = 0

    def think(
        self, seconds: float, tokens: tuple[int, int], cost: float | None, text: str, *calls: str
    ) -> list[ToolCallPart]:
        """An iteration begins: a request and its answer."""
        self.iteration += 1
        self.log.append(IterationStarted(iteration=self.iteration, local_iteration=self.iteration))
        request = RequestId(f"req_{self.iteration:08x}")
        self.log.append(
            ModelRequested(
                request_id=request,
                iteration=self.iteration,
                local_iteration=self.iteration,
                model=self.model,
                tools=calls,
                messages=1,
                max_tokens=1000,
            )
        )
        self.clock.advance(seconds)
        parts = [ToolCallPart(call_id=self._call(), name=name, arguments={}) for name in calls]
        said = (TextPart(text=text),) if text else ()
        self.log.append(
            ModelResponded(
                request_id=request,
                first_part=self.parts,
                parts=(*said, *parts),
                finish="tool_calls" if calls else "stop",
                usage=Usage(input_tokens=tokens[0], output_tokens=tokens[1]),
                cost_usd=cost,
                duration_ms=seconds * 1000,
            )
        )
        self.parts += len(said) + len(parts)
        return parts

    def _call(self) -> CallId:
        self.calls += 1
        return CallId(f"call_{self.calls:08x}_{self.log.folder.name[-1]}")

    def call(
        self, part: ToolCallPart, verb: str, target: str, *, asks: float = 0.0, denied: bool = False
    ) -> None:
        """A call up to its start; `asks` are the seconds until the user has answered."""
        effects: tuple[Effect, ...] = (
            WriteEffect(path=target) if verb == "edit" else RunEffect(script=target),
        )
        self.log.append(
            ToolCalled(
                call_id=part.call_id,
                name=part.name,
                arguments={},
                iteration=self.iteration,
                verb=verb,
                target=target,
            )
        )
        mark = digest_effects(part.name, effects)
        asked = RequestId(f"perm_{part.call_id}") if asks else None
        if asked:
            self.log.append(
                PermissionRequested(
                    request_id=asked,
                    call_id=part.call_id,
                    tool=part.name,
                    verb=verb,
                    target=target,
                    effects=effects,
                    digest=mark,
                    preview=(),
                    choices=(),
                )
            )
            self.clock.advance(asks)
        self.log.append(
            PermissionDecided(
                call_id=part.call_id,
                request_id=asked,
                decision="deny" if denied else "allow",
                decided_by="user" if asks else "rule",
                policy="ask",
                rule_id="ask",
                reason="",
                digest=mark,
                effects=effects,
            )
        )
        if denied:
            self.done(part, "denied", "denied by you")
        else:
            self.log.append(ToolStarted(call_id=part.call_id, writes=True))

    def done(self, part: ToolCallPart, status: str, summary: str, seconds: float = 0.1) -> None:
        """The call's end."""
        self.clock.advance(seconds)
        self.log.append(
            ToolFinished(
                call_id=part.call_id,
                name=part.name,
                status=status,  # type: ignore[arg-type]
                part=self.parts,
                content=(TextContent(text=summary),),
                summary=summary,
                duration_ms=seconds * 1000,
            )
        )
        self.parts += 1

    def edit(
        self, part: ToolCallPart, path: str, before: str | None, after: str | None, *, asks: float = 0.0
    ) -> None:
        """A file becomes another."""
        self.call(part, "edit", path, asks=asks)
        old, new = (
            None if text is None else self.log.blobs.put_bytes(text.encode()) for text in (before, after)
        )
        added, removed = count_changes(before or "", after or "")
        self.log.append(
            FileChanged(
                path=path,
                before=old,
                after=new,
                before_size=len(before or ""),
                after_size=len(after or ""),
                mode=0o644,
                author="agent",
                added=added,
                removed=removed,
                call_id=part.call_id,
            )
        )
        self.done(part, "ok", f"+{added} -{removed}")

    def test(self, part: ToolCallPart, passed: int, failures: Sequence[str], *, asks: float = 0.0) -> None:
        """The tests run."""
        self.call(part, "run", "pytest -q", asks=asks)
        self.clock.advance(2.0)
        self.log.append(
            TestFinished(
                framework="pytest",
                command="pytest -q",
                passed=passed,
                failed=len(failures),
                skipped=0,
                exit_code=1 if failures else 0,
                failures=tuple(failures),
                call_id=part.call_id,
            )
        )
        self.done(part, "failed" if failures else "ok", "exit 1" if failures else "32 passed")

    def end(self, reason: str = "finished") -> None:
        """The turn is over."""
        self.log.append(TurnFinished(turn=1, reason=reason))  # type: ignore[arg-type]
        self.log.close()


def two_ways(root: Path, *, workspace: str = "/home/ada/timesheet") -> tuple[SessionStore, int]:
    """The store with both sessions below `root`, and the event that both share last."""
    clock = FakeClock(1_711_634_571.0)
    store = SessionStore(root / "sessions", clock, Redactor())
    main = Way(store.create(MAIN), clock, SONNET)
    at = _beginning(main, workspace)
    _right(main)
    clock.advance(3_600.0)
    store.fork(MAIN, at, FORK, ForkChange(model="qwen3-coder:30b"))
    _wrong(Way(store.open(FORK), clock, QWEN, main_parts(), 1, 1))
    return store, at


def main_parts() -> int:
    """How many parts there are where the two ways part."""
    return 3


def _beginning(way: Way, workspace: str) -> int:
    log = way.log
    log.append(SessionStarted(workspace=workspace, product="p", settings=SessionSettings(model=SONNET)))
    log.append(RunStarted(run_id=RunId("run_1"), pid=1, client="headless", product="p", model=SONNET))
    log.append(UserMessageReceived(text=PROMPT))
    log.append(SessionTitled(title="night-shift-hours", titled_by="auto"))
    log.append(TurnStarted(turn=1))
    (read,) = way.think(4.0, (33_900, 300), 0.014, CAUSE, "read_file")
    way.done(read, "ok", "61 lines")
    return log.last_seq


def _right(way: Way) -> None:
    """24 s, $0.031, 121k / 1.4k in three iterations, asked twice, 3 files."""
    entry, tests, run = way.think(5.2, (40_000, 700), 0.013, "", "edit_file", "write_file", "run_tests")
    way.edit(entry, ENTRY, BEFORE, RIGHT, asks=1.5)
    way.edit(tests, TEST_ENTRY, TESTS, MORE_TESTS)
    way.test(run, 31, ["tests/test_report.py::test_week_total"], asks=1.0)
    report, run = way.think(5.0, (40_300, 200), 0.008, "", "edit_file", "run_tests")
    way.edit(report, TEST_REPORT, REPORT, REPORT.replace("15.5", "39.5"))
    way.test(run, 32, [])
    way.think(6.8, (40_700, 500), 0.010, GOOD)
    way.end()


def _wrong(way: Way) -> None:
    """1 min 14 s, no cost, 254k / 2.9k in nine iterations, asked 3 times, denied once, 2 files."""
    log = way.log
    log.append(RunResumed(run_id=RunId("run_2"), after_seq=log.last_seq, clean=True))
    log.append(
        SettingsChanged(
            key="model", value=QWEN.model_dump(mode="json"), previous=SONNET.model_dump(mode="json")
        )
    )
    log.append(TurnStarted(turn=2))
    failing = ["tests/test_entry.py::test_midnight", "tests/test_report.py::test_week_total"]
    (entry,) = way.think(8.0, (28_000, 400), 0.0, "", "edit_file")
    way.edit(entry, ENTRY, BEFORE, WRONG, asks=1.5)
    for number in range(2):
        (run,) = way.think(6.0, (28_100, 300), 0.0, "", "run_tests")
        way.test(run, 30, failing, asks=0.0 if number else 1.2)
    (tests,) = way.think(7.0, (28_200, 500), 0.0, "", "write_file")
    way.edit(tests, TEST_REPORT, REPORT, "".join(f"# {n}\n" for n in range(8)))
    (reset,) = way.think(6.0, (28_200, 200), 0.0, "", "run_command")
    way.call(reset, "run", "git checkout .", asks=2.0, denied=True)
    for _ in range(3):
        (run,) = way.think(6.1, (28_300, 300), 0.0, "", "run_tests")
        way.test(run, 30, failing)
    way.think(7.2, (28_500, 300), 0.0, BAD)
    way.end()
