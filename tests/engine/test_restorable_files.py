"""Without a user, accept-edits deletes single files that the session can restore, and no others."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import SubmitPrompt


def _run(command: str) -> tuple[str, str]:
    return "run_command", json.dumps({"command": command})


async def _statuses(tmp_path: Path, *calls: tuple[str, str], checkpoints: bool = True) -> list[str]:
    """Return the calls' statuses; each call is an answer of its own."""
    return await _play(tmp_path, [*(call(each) for each in calls), say("Done.")], checkpoints=checkpoints)


async def _play(tmp_path: Path, answers: list[Any], *, checkpoints: bool = True) -> list[str]:
    """Play the model's answers under accept-edits without a user; return the statuses of all calls."""
    tools = [*tools_of("files").values(), *tools_of("shell").values()]
    async with running(
        tmp_path,
        answers,
        tools,
        policy=RulePolicy().decide,
        policy_name="accept-edits",
        interactive=False,
        checkpoints=checkpoints,
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        return [result.status for result in bench.results()]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "user.log").write_text("only here\n")
    return folder


async def test_files_that_the_session_made_or_that_a_checkpoint_holds_are_deleted(
    tmp_path: Path, workspace: Path
) -> None:
    made = ("write_file", '{"path": "new.txt", "content": "new"}')
    ignored = ("write_file", '{"path": "new.log", "content": "new"}')
    statuses = await _statuses(
        tmp_path, _run("rm old.txt"), made, _run("rm new.txt"), ignored, _run("rm new.log")
    )
    assert statuses == ["ok"] * 5
    assert sorted(os.listdir(workspace)) == [".gitignore", "user.log"]  # noqa: PTH208 - names are enough


@pytest.mark.parametrize(
    "command", ["rm user.log", "rm -r old.txt", "rm *.txt", "rm old.txt user.log", "rm link"]
)
async def test_other_files_are_not(tmp_path: Path, workspace: Path, command: str) -> None:
    (workspace / "link").symlink_to("old.txt")
    assert await _statuses(tmp_path, _run(command)) == ["denied"]
    assert (workspace / "user.log").exists() and (workspace / "old.txt").exists()


MADE = ("write_file", '{"path": "made/a.txt", "content": "new"}')


@pytest.mark.parametrize("command", ["rm -r made", "rm made/*.txt", "rm -rf made/a.txt"])
async def test_a_folder_that_the_agent_made_and_a_wildcard_are_still_asked_about(
    tmp_path: Path, workspace: Path, command: str
) -> None:
    assert await _statuses(tmp_path, MADE, _run(command)) == ["ok", "denied"]
    assert (workspace / "made/a.txt").exists()
    tools = [*tools_of("files").values(), *tools_of("shell").values()]
    answers = [call(MADE), call(_run(command)), say("Done.")]
    profile = {"policy": RulePolicy().decide, "policy_name": "accept-edits"}
    async with running(
        tmp_path / "app", answers, tools, interactive=True, checkpoints=True, **profile
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        assert [result.status for result in bench.results()] == ["ok"]
        assert (tmp_path / "app/workspace/made/a.txt").exists()


async def test_without_checkpoints_nothing_is_deleted(tmp_path: Path, workspace: Path) -> None:
    assert await _statuses(tmp_path, _run("rm old.txt"), checkpoints=False) == ["denied"]


async def test_a_file_that_the_user_changed_meanwhile_is_not_deleted(tmp_path: Path, workspace: Path) -> None:
    made = ("write_file", '{"path": "new.txt", "content": "new"}')

    async def change() -> None:
        (workspace / "new.txt").write_text("the user's")

    answers = [call(made), [change, *call(_run("rm new.txt"))], say("Done.")]
    assert await _play(tmp_path, answers) == ["ok", "denied"]
    assert (workspace / "new.txt").read_text() == "the user's"


@pytest.mark.parametrize(
    ("command", "warns"),
    [
        ("rm old.txt .gitignore", False),
        ("rm old.txt && ls", False),
        ("rm old.txt user.log", True),
        ("rm -r made", True),
        ("rm ../outside.txt", True),
        ("rm $FILE", True),
        ("rm old.txt; git clean -fdx", True),
    ],
)
async def test_an_approval_warns_only_of_deletions_that_undo_may_not_restore(
    tmp_path: Path, workspace: Path, command: str, warns: bool
) -> None:
    tools = [*tools_of("files").values(), *tools_of("shell").values()]
    profile = {"policy": RulePolicy().decide, "policy_name": "ask", "interactive": True}
    async with running(
        tmp_path, [call(_run(command)), say("Done.")], tools, checkpoints=True, **profile
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        asked = await bench.until("permission.requested")
        assert asked.payload.risk if warns else not asked.payload.risk
        assert asked.payload.default_no == warns
