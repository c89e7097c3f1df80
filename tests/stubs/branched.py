"""A session that went two ways, with a fork that goes a third one: night_shift and what could have come after it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.golden.scribe import SONNET
from tests.stubs.clock import FakeClock
from tests.stubs.golden import GOLDEN
from tui_agent.cli.sessions.tree import nodes
from tui_agent.folds.projection import fold
from tui_agent.folds.session.checkpoints import Checkpoints
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import Author, CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import ForkChange, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore

SESSION = "ses_0000night0shift"
FORK = "ses_00000000000fork"
SECOND_MESSAGE = 47
"""The event of night_shift's second message."""
END = 1_711_634_700.0


class Branched:
    """The store with both, below `root`. `records` are the session's, where its head stands now."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock(END)
        self.store = SessionStore(root / "sessions", self.clock, Redactor())
        folder = self.store.root / SESSION
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
        log = self.store.open(SESSION)
        self.main_end = log.last_seq
        self._move(log, SECOND_MESSAGE - 1)
        self._turn(log, 3, "Show -32.5 h as 32.5 h in the report, leave entry.py alone.", failed=2)
        self.branch_end = log.last_seq
        self._move(log, self.main_end)
        self._turn(log, 4, "Now round every duration to five minutes.", failed=0)
        self.end = log.last_seq
        log.close()
        self.store.fork(SESSION, SECOND_MESSAGE, FORK, ForkChange(model="ollama/qwen3-coder:30b"))
        fork = self.store.open(FORK)
        self._turn(fork, 2, "", failed=1)
        fork.close()

    @property
    def records(self) -> Sequence[Record]:
        """Every event of the session."""
        return self.store.read(SESSION)

    def tree(self, session: str = SESSION) -> str:
        """What `sessions tree --json` says."""
        found = nodes(self.store.folder(session), self.store.folders())
        return "\n".join(json.dumps(node.as_json()) for node in found)

    def checkpoints(self) -> str:
        """What `sessions checkpoints --json` says."""
        return "\n".join(json.dumps(asdict(one)) for one in fold(Checkpoints(), self.records))

    def _move(self, log: SessionLog, to_seq: int) -> None:
        self._add(log, 30.0, SessionHeadMoved(to_seq=to_seq, from_seq=log.last_seq, reason="revert"))

    def _add(self, log: SessionLog, after: float, *payloads: Payload) -> None:
        for payload in payloads:
            self.clock.advance(after)
            log.append(payload)

    def _turn(self, log: SessionLog, number: int, text: str, *, failed: int) -> None:
        if text:
            self._add(log, 2.0, UserMessageReceived(text=text))
        self._add(log, 1.0, TurnStarted(turn=number))
        self._edit(log, f"src/timesheet/{'report' if failed else 'entry'}.py", 40 + number, 3, 1, "agent")
        self._edit(log, "tests/test_report.py", 50 + number, 9, 0, "agent")
        if failed:
            self._edit(log, ".pytest_cache/lastfailed", 60 + number, 2, 0, "command")
        counts = {"passed": 32 - failed, "failed": failed, "skipped": 0, "exit_code": 1 if failed else 0}
        self._add(
            log, 4.0, TestFinished.model_validate({"framework": "pytest", "command": "pytest -q", **counts})
        )
        answer = (
            "The report now shows positive hours. Two tests expect the negative ones; they are left as they are."
            if failed
            else "Every duration is rounded to five minutes, and the tests say so."
        )
        responded = ModelResponded(
            request_id=RequestId(f"req_more_{number}"),
            first_part=70 + number,
            parts=(TextPart(text=answer),),
            finish="stop",
            usage=Usage(input_tokens=12_000, output_tokens=400),
            cost_usd=0.031,
            duration_ms=3000.0,
        )
        self._add(log, 6.0, responded, TurnFinished(turn=number, reason="finished", duration_ms=21_000.0))

    def _edit(self, log: SessionLog, path: str, part: int, added: int, removed: int, author: Author) -> None:
        call_id = CallId(f"call_{part}")
        changed = FileChanged(
            path=path,
            before=f"{part:064x}",
            after=f"{part + 1000:064x}",
            before_size=100,
            after_size=200,
            mode=0o644,
            author=author,
            added=added,
            removed=removed,
            call_id=call_id,
        )
        self._add(log, 1.5, changed)
        taken = CheckpointTaken(
            part=part, commit=f"{part:040x}", author=author, paths=(path,), call_id=call_id
        )
        self._add(log, 0.1, taken)


MODEL = SONNET.model
BEFORE = "def week_total(entries):\n    total = 0\n    for entry in entries:\n        total += entry.hours\n    return total\n"
AFTER = "def week_total(entries):\n    total = 0\n    for entry in entries:\n        total += abs(entry.hours)\n        total = round(total, 1)\n    return total\n"
"""Contents for the digests of changed files."""
