"""A command that names an ignored file which it writes: the file is in the turn's changes, and an undo restores it."""

from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.engine.test_restorable_files import _run
from tests.engine.test_rewind import files, go, shell, told, tools, turn
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import Redo, SubmitPrompt, Undo
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import TurnFinished

BEFORE = {".gitignore": "*.json\n", "a.txt": "a\n", "coverage/lcov.json": "mine\n"}
TOO_LARGE_BYTES = 6_000_000
"""More than the setting `checkpoints.file_mb` allows for a new file."""


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    for name, text in BEFORE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("script", "path", "text"),
    [
        ("echo APP3 > coverage/lcov.json", "coverage/lcov.json", "APP3\n"),
        ("echo x >> coverage/lcov.json", "coverage/lcov.json", "mine\nx\n"),
        ("cp a.txt coverage/lcov.json", "coverage/lcov.json", "a\n"),
        ("mv coverage/lcov.json other.json", "other.json", "mine\n"),
        ("sed -i s/mine/yours/ cov*/*.json", "coverage/lcov.json", "yours\n"),
        ("echo new > made.json", "made.json", "new\n"),
    ],
)
async def test_an_undo_restores_it(tmp_path: Path, script: str, path: str, text: str) -> None:
    async with told(tmp_path, shell(script), say("Done.")) as bench:
        await turn(bench, "go")
        after = files(tmp_path)
        assert after[path] == text
        assert path in bench.of(CheckpointTaken)[-1].paths
        assert [change.author for change in bench.of(FileChanged) if change.path == path][-1:] == ["command"]
        await go(bench, Undo())
        assert files(tmp_path) == BEFORE
        await go(bench, Redo())
        assert files(tmp_path) == after


async def test_a_file_in_the_folder_that_a_command_copies_into_is_restored(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "lcov.json").write_text("other\n")
    before = files(tmp_path)
    async with told(tmp_path, shell("cp lcov.json coverage/"), say("Done.")) as bench:
        await turn(bench, "go")
        assert files(tmp_path)["coverage/lcov.json"] == "other\n"
        await go(bench, Undo())
        assert files(tmp_path) == before


async def test_an_ignored_file_that_the_command_made_is_not_the_users(tmp_path: Path) -> None:
    answers = [shell("echo a > out.json"), shell("echo b >> out.json"), say("Done.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "go")
        assert [change.author for change in bench.of(FileChanged) if change.path == "out.json"] == [
            "command"
        ] * 2
        await go(bench, Undo())
        assert files(tmp_path) == BEFORE


async def _first_request(tmp_path: Path, script: str) -> PermissionRequested | None:
    """Return the approval that the command needs, or None if the turn ends without one."""
    async with running(
        tmp_path,
        [call(_run(script)), say("Done.")],
        tools(),
        policy=RulePolicy().decide,
        policy_name="ask",
        interactive=True,
        checkpoints=True,
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until_so(lambda: bench.of(PermissionRequested) or bench.of(TurnFinished))
        return next(iter(bench.of(PermissionRequested)), None)


async def test_an_approval_names_the_file_that_no_checkpoint_can_hold(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "large.json").write_bytes(b"l" * TOO_LARGE_BYTES)
    asked = await _first_request(tmp_path, "echo x > large.json; cp a.txt coverage/lcov.json")
    assert asked is not None and asked.unrestorable == ("large.json",)
    assert asked.default_no and "/undo cannot restore" in asked.risk


async def test_an_approval_names_no_file_that_the_checkpoint_before_the_command_will_hold(
    tmp_path: Path,
) -> None:
    asked = await _first_request(tmp_path, "echo x > coverage/lcov.json")
    assert asked is not None and asked.unrestorable == () and not asked.risk
