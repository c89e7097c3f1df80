"""/skills, /init and /memory in the app."""

import re
from pathlib import Path

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.folds.screen_folds import ALL_VIEWS
from tui_agent.protocol.commands import SubmitPrompt, WriteGuide
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.instructions import (
    InstructionFile,
    InstructionsLoaded,
    SkillRecord,
    SkillsLoaded,
)
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded
from tui_agent.protocol.events.session import SettingsChanged, WorkspaceMoved
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.commands.skills_and_notes import GUIDE
from tui_agent.tui.modals.viewer import Viewer

SKILLS = SkillsLoaded(
    skills=(
        SkillRecord(name="broken", description="", origin="project", path="y", fault="it has no description"),
        SkillRecord(name="pdf", description="Reads [bold]PDF[/] files.", origin="user", path="/x/pdf"),
    )
)


async def _command(driven: Driven, words: str) -> None:
    await driven.type(words)
    await driven.press("escape", "enter")


async def test_plugins_are_listed_with_their_state_and_what_they_offer_by_kind() -> None:
    offered = ("tool:read_file", "tool:glob", "policy_table:make", "pane:tests")
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            PluginLoaded(plugin="files", version="0.1.0", source="bundled", contributions=offered),
            PluginLoaded(plugin="mine", version="2.1", source="user", contributions=("command:deploy",)),
            PluginFailed(plugin="tickets", message="No module named jira.", where="tickets.py:3"),
            PluginFailed(plugin="mine", message="It failed.", part="middleware guard"),
        )
        await driven.settle()
        await _command(driven, "/plugins")
        await driven.until(lambda: "Plugins" in driven.text())
        text = " ".join(driven.text().split())
        assert text.index("tickets failed No module named jira. tickets.py:3") < text.index("files on tools ")
        assert "files on tools read_file, glob; policy table make; pane tests" in text
        assert "mine on user 2.1: command deploy" in text and "mine: middleware guard" in text
        assert "The middleware guard of the plugin mine failed." in text
        assert "/plugins enable NAME enables one." in driven.text()


async def test_a_plugin_is_enabled_by_the_command_line_and_used_at_once() -> None:
    asked: list[tuple[str, ...]] = []

    async def outside(*words: str) -> tuple[int, str]:
        asked.append(words)
        return (0, "git is now on.\n") if "git" in words else (2, "tui-agent: Unknown plugin 'gti'.\n")

    async with open_app(golden("night_shift"), outside=outside) as driven:
        for typed, said in (
            ("/plugins enable git", "git is now on."),
            ("/plugins disable gti", "Unknown plugin 'gti'."),
            ("/plugins enable", "/plugins enable NAME"),
        ):
            await _command(driven, typed)
            await driven.until(lambda said=said: said in driven.text())  # type: ignore[misc]
        switched = [words for words in asked if words[0] == "plugins"]
        assert switched == [("plugins", "enable", "git"), ("plugins", "disable", "gti")]
        assert [command.kind for command in driven.session.submitted] == ["reload_plugins"]


async def test_skills_are_listed_with_their_origin_and_faults_and_one_goes_into_the_message() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            driven.session.feed(SKILLS)
            await driven.settle()
            await driven.type("Read the form")
            driven.app.controller.act("skills", "")  # type: ignore[union-attr]
            await driven.until(lambda: "Skills" in driven.text())
            shown = driven.text()
            assert "Reads [bold]PDF[/] files." in shown and "user" in shown
            assert "it has no description" in shown
            await driven.press("enter")
            await driven.until(lambda: driven.app.prompt.editor.text != "Read the form")
            assert driven.app.prompt.editor.text == "Use the skill pdf: Read the form"


async def test_without_skills_the_sheet_says_where_one_goes() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _command(driven, "/skills")
        await driven.until(lambda: "SKILL.md" in driven.text())


async def test_init_asks_the_model_where_there_is_one_and_else_the_program_itself() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _command(driven, "/init")
        assert driven.session.submitted == [SubmitPrompt(id=driven.session.submitted[0].id, text=GUIDE)]
        none = ModelInfo(profile="", provider="none", model="", window=0).model_dump(mode="json")
        driven.session.feed(SettingsChanged(key="model", value=none, previous=None))
        await driven.settle()
        await _command(driven, "/init")
        assert isinstance(driven.session.submitted[-1], WriteGuide)


async def test_memory_lists_the_notes_and_shows_one(tmp_path: Path) -> None:
    for name in ("shop", "start"):
        (tmp_path / name).mkdir()
    options = SessionOptions(cwd=tmp_path / "start", data_dir=tmp_path / "data")
    config = load_config(options, {"HOME": str(tmp_path)})
    folder = notes_folder(config, tmp_path / "shop")
    assert folder.parent == tmp_path / "data" / "notes" and folder.name.startswith("shop-")
    async with open_app(golden("night_shift"), options=options) as driven:
        driven.session.feed(WorkspaceMoved(workspace=str(tmp_path / "shop"), previous="/w"))
        await driven.settle()
        await _command(driven, "/memory")
        await driven.until(lambda: "No notes yet." in driven.text())
        await driven.press("escape")
        folder.mkdir(parents=True)
        (folder / "payments.md").write_text("# How [b]payments[/b] work\n\nRefunds go through the ledger.\n")
        await _command(driven, "/memory")
        await driven.until(lambda: "How [b]payments[/b] work" in driven.text())
        assert "payments" in driven.text() and "1970" not in driven.text()
        await driven.press("escape")
        await _command(driven, "/memory payments")
        await driven.until(lambda: "Refunds go through the ledger." in driven.text())
        await driven.press("escape")
        await _command(driven, "/memory nope")
        await driven.until(lambda: "There is no note nope." in driven.text())


@pytest.mark.slow
async def test_memory_shows_what_is_noted_of_the_task_as_it_changes() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("streaming"), size=size) as driven:
            await _command(driven, "/memory")
            await driven.until(lambda: "only with --context-mode memory" in driven.text())
            driven.session.feed(
                MemoryUpdated(
                    blocks={
                        "failing_tests": ["test_[b]a[/]", "test_b"],
                        "patch_summary": {"a.py": "1f"},
                    }
                )
            )
            driven.session.feed(SettingsChanged(key="context_mode", value="memory", previous="pack"))
            await driven.until(lambda: "Sent to the model with each request." in driven.text())
            shown = driven.text()
            assert "Failing tests" in shown and "test_[b]a[/]" in shown
            assert re.search(r"Changed so far +a\.py\s", shown)
            assert shown.index("Failing tests") < shown.index("Changed so far")


async def test_a_live_sheet_takes_what_comes_before_it_is_composed_and_after_it_is_closed() -> None:
    async with open_app(golden("streaming")) as driven:
        controller = driven.app.controller
        assert controller is not None
        for _ in range(2):
            controller.act("memory", "")
            sheet = driven.app.screen
            assert isinstance(sheet, Viewer) and sheet.follows
            controller.panes.show(ALL_VIEWS)
            await driven.until(lambda: "This task" in driven.text())
            await driven.press("escape")
            await driven.until(lambda: not isinstance(driven.app.screen, Viewer))
            sheet.redraw()
            controller.panes.show(ALL_VIEWS)


@pytest.mark.slow
async def test_status_lists_the_instructions_and_what_was_left_out() -> None:
    guide = InstructionFile(
        path="AGENTS.md", scope="project", sha256="a" * 64, size=9, tokens=1_300, text="Use tabs."
    )
    loaded = InstructionsLoaded(
        trigger="turn", files=(guide,), order=("AGENTS.md",), notes=("x/AGENTS.md is cut.",)
    )
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(loaded)
        await driven.settle()
        await _command(driven, "/status")
        await driven.until(lambda: "AGENTS.md (1k tokens)" in driven.text())
        assert "x/AGENTS.md is cut." in driven.text()
