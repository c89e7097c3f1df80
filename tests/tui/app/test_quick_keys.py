"""Two keys so quick that the second comes while the first still closes a screen: what lies below stays."""

from pathlib import Path

import pytest
from textual.events import Key

from tests.tui.app.branching import walk
from tui_agent.tui.screens.replay.live_log import open_live_replay
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.screens.tree.screen import TreeScreen


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("kind", "key"),
    [(TraceScreen, "escape"), (TraceScreen, "enter"), (SessionsScreen, "escape"), (ReplayScreen, "escape")],
)
async def test_a_second_quick_key_closes_nothing_that_lies_below(
    tmp_path: Path, kind: type[TraceScreen | SessionsScreen | ReplayScreen], key: str
) -> None:
    async with walk(tmp_path, size=(160, 45)) as walked:
        await walked.slash("/tree")
        controller = walked.app.controller
        assert controller is not None
        if kind is ReplayScreen:
            open_live_replay(controller, tmp_path / "sessions" / walked.session.id)
        else:
            walked.app.push_screen(
                TraceScreen(controller) if kind is TraceScreen else SessionsScreen(controller)
            )
        await walked.pilot.pause()
        over = walked.app.screen
        assert isinstance(over, kind)
        for _ in range(2):
            over.post_message(Key(key, None))
        await walked.quiet()
        assert isinstance(walked.app.screen, TreeScreen)
