"""The history of a simulation on the screen: every message, what one viewer sees, and moving from message to message."""

from pathlib import Path

from tests.stubs.quick_pilot import piloted
from tests.tui.app.driving import ENVIRON, NOWHERE
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.tui.screens.simulation_history import HistoryApp

MESSAGES = [
    SimulationMessage(role="user", visible_to=("user", "system"), reasoning="I look first.", action="ls"),
    SimulationMessage(role="environment", visible_to=("user", "system"), response="a.py"),
    SimulationMessage(role="orchestrator", visible_to=("user", "system"), response="On your mind: tests."),
    SimulationMessage(
        role="user", visible_to=("user", "agent", "system"), reasoning="Ask.", response="fix a.py"
    ),
    SimulationMessage(
        role="agent", visible_to=("agent", "system"), action="edit_file {}", response="Editing."
    ),
    SimulationMessage(role="agent", visible_to=("user", "agent", "system"), response="**Done.** \x1b[31mred"),
]


def text(app: HistoryApp) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.history.scrolled.strips)


async def test_every_viewer_sees_its_own_part() -> None:
    options = SessionOptions(cwd=NOWHERE, client="app", interactive=False)
    app = HistoryApp(options, "history.json", MESSAGES, ENVIRON)
    async with piloted(app, (80, 24)) as pilot:
        while not app.history.scrolled.strips:
            await pilot.pause(0.01)
        shown = text(app)
        for part in (
            "I look first.",
            "$ ls",
            "a.py",
            "On your mind: tests.",
            "edit_file {}",
            "private",
            "seen by agent",
        ):
            assert part in shown
        assert "\x1b" not in shown and "Done." in shown and "**" not in shown
        await pilot.press("n", "n")
        assert app.history.scrolled.scroll_offset.y > 0
        await pilot.press("v", "v")
        agents = text(app)
        assert "fix a.py" in agents and "Editing." in agents
        assert not any(hidden in agents for hidden in ("I look first.", "$ ls", "On your mind", "Ask."))
        assert app.history.scrolled.scroll_offset.y == 0
        await pilot.press("escape")
        await pilot.pause()
    assert app.return_value == 0


async def test_a_history_without_messages_says_so() -> None:
    app = HistoryApp(SessionOptions(cwd=Path("/"), interactive=False), "history.json", [], ENVIRON)
    async with piloted(app, (120, 40)) as pilot:
        while not app.history.scrolled.strips:
            await pilot.pause(0.01)
        assert "No messages." in text(app)


async def test_wrong_keys_of_the_configuration_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "tui-agent"
    folder.mkdir()
    (folder / "config.toml").write_text('[keys]\nnosuch = "f9"\n')
    options = SessionOptions(cwd=NOWHERE, client="app", interactive=False)
    app = HistoryApp(options, "history.json", MESSAGES, {**ENVIRON, "XDG_CONFIG_HOME": str(tmp_path)})
    async with piloted(app, (80, 24)) as pilot:
        await pilot.pause(0.01)
        assert "[keys] in config.toml" in str(app.history.notice.text)
