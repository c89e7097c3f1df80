"""AGENTS.md files: which are read, when, what the model is sent of them, and what is left out with a note."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.context.instructions import MAX_FILE_CHARS, InstructionFiles, joined
from tui_agent.engine.recorder import Recorder
from tui_agent.environments.local import LocalEnvironment
from tui_agent.middleware.instructions import Instructions
from tui_agent.ports.middleware import Middleware
from tui_agent.protocol.base import LongText
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.store.blobs import BlobStore


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def _reading(tmp_path: Path, *, project: bool = True) -> Callable[[Recorder], Middleware]:
    """The middleware over the bench's workspace, its user folder and its session's blobs."""
    files = InstructionFiles(LocalEnvironment(tmp_path / "workspace"), tmp_path / "config", project=project)

    def whole(text: LongText) -> str:
        return BlobStore(tmp_path / "sessions" / "ses_test" / "blobs").text(text)

    return lambda recorder: Instructions(files, lambda: recorder.state, whole)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def _notes(tmp_path: Path, *, project: bool = True) -> tuple[list[str], tuple[str, ...]]:
    files = InstructionFiles(LocalEnvironment(tmp_path / "workspace"), tmp_path / "config", project=project)
    found = await files.all()
    return [one.path for one in found.files], found.notes


async def test_the_users_the_repositorys_and_the_workspaces_are_sent_in_this_order(
    tmp_path: Path, workspace: Path
) -> None:
    (tmp_path / ".git").mkdir()
    _put(tmp_path / "config" / "AGENTS.md", "Speak briefly.")
    _put(tmp_path / "AGENTS.md", "The top's rules.")
    _put(workspace / "AGENTS.md", "The workspace's rules.")
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    system = bench.model.requests[0].system
    places = [system.index(text) for text in ("Speak briefly.", "The top's rules.", "The workspace's rules.")]
    assert places == sorted(places)
    state = bench.recorder.state
    assert [(one.path, one.scope) for one in state.instructions] == [
        (str(tmp_path / "config" / "AGENTS.md"), "user"),
        ("../AGENTS.md", "project"),
        ("AGENTS.md", "project"),
    ]
    packed = next(event for event in bench.of(ContextPacked) if isinstance(event, ContextPacked))
    assert {one.id for one in packed.fragments if one.section == "instructions"} >= {
        "AGENTS.md",
        "../AGENTS.md",
    }
    assert any(section.name == "instructions" and section.tokens for section in packed.sections)


async def test_one_below_the_workspace_joins_once_a_file_of_its_folder_is_read(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Root rules.")
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    _put(workspace / "src" / "deep" / "AGENTS.md", "Rules of deep.")
    _put(workspace / "src" / "deep" / "a.py", "x = 1\n")
    answers = [call(("read_file", '{"path": "src/deep/a.py"}')), say("read"), say("again")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="more"))
        await bench.until("turn.finished", 2)
    first, second, third = (request.system for request in bench.model.requests)
    assert "Rules of src." not in first
    assert second.index("Root rules.") < second.index("Rules of src.") < second.index("Rules of deep.")
    assert second.startswith(first), "what was sent before stays the beginning: the provider's cache holds"
    assert third == second
    loaded = [event for event in bench.of(InstructionsLoaded) if isinstance(event, InstructionsLoaded)]
    assert [event.why for event in loaded] == ["turn", "nested"]
    assert loaded[1].order == ("AGENTS.md", "src/AGENTS.md", "src/deep/AGENTS.md")


async def test_one_that_is_changed_holds_from_the_next_turn_on_and_one_that_is_gone_no_more(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Old rules.")
    answers = [say("1"), say("2"), say("3")]
    async with running(tmp_path, answers, middlewares=[_reading(tmp_path)]) as bench:
        for count, change in enumerate((None, "New rules.", ""), start=1):
            if change:
                _put(workspace / "AGENTS.md", change)
            elif change == "":
                (workspace / "AGENTS.md").unlink()
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    sent = [request.system for request in bench.model.requests]
    assert "Old rules." in sent[0]
    assert "New rules." in sent[1] and "Old rules." not in sent[1]
    assert "rules" not in sent[2]
    assert len(bench.of(InstructionsLoaded)) == 3


async def test_a_long_one_is_kept_as_a_blob_and_sent_whole_up_to_its_limit(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Keep this line.\n" * 1_500)
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert bench.model.requests[0].system.count("Keep this line.") == 1_500
    _put(workspace / "AGENTS.md", "Keep this line.\n" * 4_000)
    found = await InstructionFiles(LocalEnvironment(workspace), tmp_path / "config").all()
    assert found.files[0].cut and len(str(found.files[0].text)) <= MAX_FILE_CHARS
    assert "AGENTS.md is cut" in found.notes[0]
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert "[AGENTS.md goes on: " in bench.model.requests[0].system


async def test_of_an_untrusted_folder_only_the_users_own_are_sent_and_the_note_says_so(
    tmp_path: Path, workspace: Path
) -> None:
    _put(tmp_path / "config" / "AGENTS.md", "Mine.")
    _put(workspace / "AGENTS.md", "Theirs.")
    paths, notes = await _notes(tmp_path, project=False)
    assert paths == [str(tmp_path / "config" / "AGENTS.md")]
    assert notes == ("The instructions of this folder are left out: its own files are not trusted (/trust).",)


def _latin(folder: Path) -> None:
    (folder / "AGENTS.md").write_bytes(b"caf\xe9")


def _huge(folder: Path) -> None:
    (folder / "AGENTS.md").write_bytes(b"x" * 1_000_001)


def _outside(folder: Path) -> None:
    _put(folder.parent / "elsewhere.md", "out")
    (folder / "AGENTS.md").symlink_to("../elsewhere.md")


def _secret(folder: Path) -> None:
    _put(folder / ".env", "KEY=1")
    (folder / "AGENTS.md").symlink_to(".env")


def _folder(folder: Path) -> None:
    (folder / "AGENTS.md").mkdir()


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "AGENTS.md")


@pytest.mark.parametrize("make", [_latin, _huge, _outside, _secret, _folder, _pipe])
async def test_what_is_no_plain_text_of_the_workspace_is_left_out_with_a_note(
    tmp_path: Path, workspace: Path, make: Callable[[Path], None]
) -> None:
    make(workspace)
    paths, notes = await _notes(tmp_path)
    assert paths == []
    assert len(notes) == 1 and notes[0].startswith("AGENTS.md is left out: ")


async def test_a_link_to_another_text_of_the_workspace_is_followed_and_imports_are_not(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "docs" / "guide.md", "@secrets.md\nUse tabs.")
    _put(workspace / "secrets.md", "hidden")
    (workspace / "AGENTS.md").symlink_to("docs/guide.md")
    found = await InstructionFiles(LocalEnvironment(workspace), tmp_path / "config").all()
    assert [one.text for one in found.files] == ["@secrets.md\nUse tabs."]


async def test_claude_md_stands_in_where_there_is_no_agents_md(tmp_path: Path, workspace: Path) -> None:
    _put(workspace / "CLAUDE.md", "Theirs.")
    assert (await _notes(tmp_path))[0] == ["CLAUDE.md"]
    _put(workspace / "AGENTS.md", "Ours.")
    assert (await _notes(tmp_path))[0] == ["AGENTS.md"]


async def test_together_they_are_bounded_and_the_nearest_stay(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / ".git").mkdir()
    places: Sequence[Path] = (tmp_path / "config", tmp_path, workspace)
    for number, folder in enumerate(places):
        _put(folder / "AGENTS.md", f"{number}" * (MAX_FILE_CHARS - 1))
    files = InstructionFiles(LocalEnvironment(workspace), tmp_path / "config")
    assert len((await files.all()).files) == 3
    _put(workspace / "src" / "AGENTS.md", "n" * 500)
    known = (await files.all()).files
    held = joined(known, await files.below(["src"], known))
    for found in (held, await files.all(["src/AGENTS.md"])):
        assert [one.path for one in found.files] == ["../AGENTS.md", "AGENTS.md", "src/AGENTS.md"]
        assert "config/AGENTS.md is left out" in found.notes[0] and "too long together" in found.notes[0]


async def test_one_that_joins_late_stands_before_those_of_the_folders_below_its_own(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "src" / "deep" / "AGENTS.md", "Rules of deep.")
    for name in ("src/deep/a.py", "src/b.py", "docs/c.py"):
        _put(workspace / name, "x = 1\n")
    answers = [
        call(("read_file", '{"path": "src/deep/a.py"}')),
        say("read"),
        call(("read_file", '{"path": "docs/c.py"}'), ("read_file", '{"path": "src/b.py"}')),
        say("again"),
        say("more"),
    ]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        _put(workspace / "src" / "AGENTS.md", "Rules of src.")
        _put(workspace / "docs" / "AGENTS.md", "Rules of docs.")
        for count in (2, 3):
            bench.submit(SubmitPrompt(text="more"))
            await bench.until("turn.finished", count)
    order = [one.path for one in bench.recorder.state.instructions]
    assert order.index("src/AGENTS.md") < order.index("src/deep/AGENTS.md") and len(order) == 3
    for request in bench.model.requests[-2:]:
        assert request.system.index("Rules of src.") < request.system.index("Rules of deep.")


async def test_they_come_back_with_the_session(tmp_path: Path, workspace: Path) -> None:
    _put(workspace / "AGENTS.md", "Stay.")
    async with running(tmp_path, [say("1")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    async with running(tmp_path, [say("2")], middlewares=[_reading(tmp_path)]) as bench:
        assert [one.path for one in bench.recorder.state.instructions] == ["AGENTS.md"]
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert bench.of(InstructionsLoaded) == [], "nothing changed, so nothing is recorded"
    assert "Stay." in bench.model.requests[0].system
