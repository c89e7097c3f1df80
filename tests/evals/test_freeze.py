"""A session becomes a case: with a subtask, a denied call, an undone turn, a queued message, and a fork of it."""

import shutil
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.frozen.freeze import freeze_session
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Command, DecidePermission, Queue, Revert, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.session.fork_workspace import load_state
from tui_agent.wiring.session import open_session

SCRIPT = """\
answers:
  - calls: [{{read_file: {{path: {workspace}/a.py}}}}]
  - calls: [{{delegate_readonly: {{task: Find the bug}}}}]
  - calls: [{{edit_file: {{path: a.py, old_text: x = 1, new_text: x = 2}}}}]
  - calls: [{{write_file: {{path: ../outside, content: x}}}}]
  - text: Fixed.
  - calls: [{{write_file: {{path: b.txt, content: b}}}}]
  - text: Wrote b.
  - calls: [{{write_file: {{path: c.txt, content: c}}}}]
  - text: Wrote c.
conversations:
  - match: {{first_user: Find the bug}}
    answers:
      - calls: [{{read_file: {{path: a.py}}}}]
      - text: x must be 2.
"""


async def wait(session: Session, follower: Follower, kind: type, command: Command | None = None) -> int:
    """Send a command, deny what is asked, and return the number of the first event of this kind."""
    if command is not None:
        session.submit(command)
    while True:
        for record in await follower.next_batch():
            if not isinstance(record, Envelope) or record.agent != MAIN_AGENT:
                continue
            if isinstance(record.payload, PermissionRequested):
                request_id = record.payload.request_id
                session.submit(DecidePermission(request_id=request_id, decision="deny", message="Not there."))
            if isinstance(record.payload, kind):
                return record.seq


@pytest.fixture
async def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a session whose second turn was undone; its workspace is gone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = tmp_path / "alice" / "project"
    workspace.mkdir(parents=True)
    (workspace / "a.py").write_text("x = 1\n")
    (tmp_path / "s.yaml").write_text(SCRIPT.format(workspace=workspace))
    options = SessionOptions(
        cwd=workspace,
        client="api",
        policy="accept-edits",
        model=f"scripted:{tmp_path / 's.yaml'}",
        data_dir=tmp_path / "data",
    )
    async with open_session(options) as opened:
        follower = opened.follow()
        first = await wait(opened, follower, TurnFinished, SubmitPrompt(text="Fix x"))
        await wait(opened, follower, TurnFinished, SubmitPrompt(text="Write b"))
        await wait(opened, follower, SessionHeadMoved, Revert(to_seq=first))
        await wait(opened, follower, AgentStateChanged)
        opened.submit(SubmitPrompt(text="Write b again"))
        await wait(opened, follower, TurnFinished, Queue(text="Write c"))
        await wait(opened, follower, TurnFinished)
    shutil.rmtree(tmp_path / "alice")
    return tmp_path / "data" / "sessions" / opened.id


async def replay(folder: Path, name: str) -> CellResult:
    """Run a frozen case by its oracle."""
    (case,) = load_suite(str(folder), folder).cases
    arm = Arm(name=ORACLE, model=ORACLE)
    plan = Plan(suite=str(folder), suite_name="frozen", here=folder, arms=(arm,), cases=(case.id,))
    (cell,) = plan.cells()
    return await run_cell(plan, RunFolder(folder.parent / name), case, cell)


@pytest.mark.slow
async def test_a_frozen_session_passes_until_what_it_uses_changes(session: Path, tmp_path: Path) -> None:
    frozen = await freeze_session(session, tmp_path / "case")
    assert (frozen.turns, frozen.calls, frozen.notes) == (3, 7, [])
    (case,) = load_suite(str(tmp_path / "case"), tmp_path).cases
    assert (case.prompt, case.follow_ups) == ("Fix x", ("Write b again", "Write c"))
    assert case.expected is not None
    assert sorted(case.expected.files) == ["a.py", "b.txt", "c.txt"]
    result = await replay(tmp_path / "case", "first")
    assert (result.passed, result.end, result.detail) == (True, "solved", "")
    replayed = load_state(RunFolder(tmp_path / "first").session_folder(result.session))
    assert case.budgets.max_parts == 2 * replayed.used.parts  # the subtask's parts included

    (tmp_path / "case" / "fixture" / "a.py").write_text("y = 1\n")
    (tmp_path / "case" / "expected" / "c.txt").write_text("other")
    changed = await replay(tmp_path / "case", "second")
    assert (changed.passed, changed.failure, changed.verifier) == (False, "tool", False)
    assert "read_file): its result has '1\\ty = 1', but the recording has '1\\tx = 1'" in changed.detail
    assert changed.detail.startswith("event ")
    assert "(turn 1, " in changed.detail
    assert "c.txt differs from expected/c.txt" in changed.test_output
