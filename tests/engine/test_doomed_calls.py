"""Nobody is asked about a call that would fail whatever the answer; an existing file is never called a new one."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.engine.harness import Bench, ask, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.protocol.effects import WriteEffect
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished


@asynccontextmanager
async def _asked(tmp_path: Path, calls: Sequence[tuple[str, str]]) -> AsyncIterator[Bench]:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "there.txt").write_text("old\n")
    (tmp_path / "outside.txt").write_text("old\n")
    tools = list(tools_of("files").values())
    async with running(tmp_path, [call(*calls), say("Oh.")], tools, policy=ask) as bench:
        bench.submit(SubmitPrompt(text="go"))
        yield bench


async def test_a_call_in_the_workspace_that_must_fail_is_told_and_not_asked_about(tmp_path: Path) -> None:
    calls = [
        ("write_file", '{"path": "there.txt", "content": "new"}'),
        ("edit_file", '{"path": "there.txt", "old_text": "absent", "new_text": "x"}'),
    ]
    async with _asked(tmp_path, calls) as bench:
        await bench.until("turn.finished")
        told = str(bench.model.requests[1].messages)
    assert bench.of(PermissionRequested) == []
    assert [end.status for end in bench.of(ToolFinished)] == ["failed"] * 2
    assert "there.txt already exists" in told


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_text": "old", "new_text": "new", "replace_all": True}),
        ("write_file", {"content": "new", "overwrite": True}),
    ],
)
async def test_a_change_of_a_file_that_was_not_read_is_not_asked_about(
    tmp_path: Path, name: str, arguments: dict[str, object]
) -> None:
    async with _asked(tmp_path, [(name, json.dumps({"path": "there.txt", **arguments}))]) as bench:
        await bench.until("turn.finished")
        assert "has not been read" in str(bench.model.requests[1].messages)
    assert bench.of(PermissionRequested) == []


async def test_a_file_that_changed_while_its_change_was_asked_about_is_not_asked_about_again(
    tmp_path: Path,
) -> None:
    calls = [
        ("read_file", '{"path": "there.txt"}'),
        ("edit_file", '{"path": "there.txt", "old_text": "old", "new_text": "new", "replace_all": true}'),
    ]
    async with _asked(tmp_path, calls) as bench:
        for count in (1, 2):
            await bench.until("permission.requested", count)
            request = bench.of(PermissionRequested)[-1]
            if count == 2:
                (tmp_path / "workspace" / "there.txt").write_text("old and more\n")
            bench.submit(DecidePermission(request_id=request.request_id, decision="allow"))
        await bench.until("turn.finished")
        assert "has changed since it was read" in str(bench.model.requests[1].messages)
        assert len(bench.of(PermissionRequested)) == 2


async def test_an_existing_file_outside_is_not_called_new_and_nothing_of_it_is_told_unasked(
    tmp_path: Path,
) -> None:
    target = tmp_path / "outside.txt"
    async with _asked(tmp_path, [("write_file", f'{{"path": "{target}", "content": "new"}}')]) as bench:
        await bench.until("permission.requested")
        (request,) = bench.of(PermissionRequested)
        assert request.effects == (WriteEffect(path=str(target), creates=False),)
        assert "already exists" in str(request.preview)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
        assert "already exists" not in str(bench.model.requests[1].messages)


async def test_replacing_a_file_outside_shows_the_difference(tmp_path: Path) -> None:
    target = tmp_path / "outside.txt"
    calls = [("write_file", f'{{"path": "{target}", "content": "new\\n", "overwrite": true}}')]
    async with _asked(tmp_path, calls) as bench:
        await bench.until("permission.requested")
        (request,) = bench.of(PermissionRequested)
        (block,) = request.preview
        assert isinstance(block, DiffBlock) and (block.added, block.removed) == (1, 1)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
