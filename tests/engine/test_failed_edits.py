"""After a failed edit, later commands and tests of the same answer do not run; everything else does."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import allow, ask, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.parts import TextContent

NOT_RUN = "Not run, because an earlier edit in this answer was not applied."
GOOD = ("edit_file", '{"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"}')
FAILED = {
    "no match": ("edit_file", '{"path": "a.py", "old_text": "absent", "new_text": "x"}'),
    "invalid": ("edit_file", '{"path": "a.py", "old_text": "x = 1"}'),
    "cut": ("edit_file", '{"path": "a.py", "old_text": "x = 1", "new_te'),
    "exists": ("write_file", '{"path": "a.py", "content": "x = 3"}'),
}
COMMANDS = (("run_command", '{"command": "touch ran"}'), ("run_tests", '{"command": "pytest"}'))


def _tools() -> list[object]:
    return [*tools_of("files").values(), *tools_of("shell").values()]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    return folder


@pytest.mark.parametrize("kind", FAILED)
async def test_commands_and_tests_after_a_failed_edit_are_not_run(
    tmp_path: Path, workspace: Path, kind: str
) -> None:
    answers = [call(FAILED[kind], *COMMANDS, GOOD, ("read_file", '{"path": "a.py"}')), say("Oh.")]
    async with running(tmp_path, answers, _tools()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        results = bench.results()
        decided = {one.call_id for one in bench.of(PermissionDecided)}  # type: ignore[attr-defined]
    assert [one.status for one in results][1:] == ["interrupted", "interrupted", "ok", "ok"]
    for result in results[1:3]:
        assert (result.content, result.summary) == ((TextContent(text=NOT_RUN),), "not run")
        assert result.display == (TextBlock(text=NOT_RUN),)
        assert result.call_id not in decided
    assert (workspace / "a.py").read_text() == "x = 2\n" and not (workspace / "ran").exists()


async def test_commands_before_a_failed_edit_and_in_the_next_answer_run(
    tmp_path: Path, workspace: Path
) -> None:
    touch = ("run_command", '{"command": "touch first"}')
    answers = [call(GOOD, touch, FAILED["no match"]), call(COMMANDS[0]), say("Done.")]
    async with running(tmp_path, answers, _tools()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [one.status for one in bench.results()] == ["ok", "ok", "failed", "ok"]
    assert (workspace / "first").exists() and (workspace / "ran").exists()


async def test_an_edit_that_the_user_denies_counts_as_failed(tmp_path: Path, workspace: Path) -> None:
    async with running(tmp_path, [call(GOOD, COMMANDS[0]), say("Oh.")], _tools(), policy=ask) as bench:

        def deny(event: Envelope) -> None:
            if isinstance(event.payload, PermissionRequested):
                bench.submit(DecidePermission(request_id=event.payload.request_id, decision="deny"))

        bench.on_event = deny
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert len(bench.of(PermissionRequested)) == 1
        assert [one.status for one in bench.results()] == ["denied", "interrupted"]
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("asked_tool", ["", "edit_file"])
async def test_the_advice_to_replace_all_says_that_an_unread_file_is_read_first(
    tmp_path: Path, workspace: Path, asked_tool: str
) -> None:
    (workspace / "a.py").write_text("x = 1\n" * 2)
    answers = [call(GOOD), call(("read_file", '{"path": "a.py"}')), call(GOOD), say("Oh.")]

    def policy(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        return (ask if tool == asked_tool else allow)(tool, effects, facts)

    async with running(tmp_path, answers, _tools(), policy=policy) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        unread, _, read = bench.results()
    assert "unique, or read the file with read_file, then set replace_all=true." in str(unread.content)
    assert "unique, or set replace_all=true." in str(read.content)


async def test_the_first_line_of_an_error_is_whole_in_the_row_of_its_call(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "a.py").write_text("x = 1\n" * 30)
    async with running(tmp_path, [call(GOOD), say("Oh.")], _tools()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        [result] = bench.results()
    lines = ", ".join(map(str, range(1, 21)))
    assert result.summary == f"old_text occurs 30 times in a.py: lines {lines}, …."
