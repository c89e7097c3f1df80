"""Every sheet and screen over a turn that runs: opened and closed twice in quick succession, it stops no view."""

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.sessions_story import Programs, told
from tests.tui.app.test_nothing_is_silent import ARGUMENTS, OF_THE_APP
from tui_agent.folds.screen_folds import ALL_VIEWS
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.session import SessionEnded, SessionHeadMoved
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.keys_and_commands import Action

RUNNING = 40
"""Events of the golden log after which its first turn runs."""
KEYS = ("down", "tab", "end"), ()
"""What is pressed on it, at each time that it is open."""
SIZES = (80, 24), (120, 40)
NOT_STREAMED = SessionHeadMoved, SessionEnded, TurnFinished


def story() -> list[Payload]:
    """Something of every kind that can happen in a running turn, with words that stream in between."""
    happened = [
        one.payload
        for one in golden("every_kind")
        if isinstance(one, Envelope) and not isinstance(one.payload, NOT_STREAMED)
    ]
    word = ModelDelta(request_id=RequestId("req_streams"), part_kind="text", part_index=0, text="word ")
    return [one for payload in happened for one in (payload, word)]


class Streamed:
    """A turn that goes on between the keys."""

    def __init__(self, driven: Driven, times: int) -> None:
        self.driven = driven
        self.left = story()
        self.share = len(self.left) // times + 1

    def on(self) -> None:
        """Some of it comes now, and a frame of it at once."""
        controller = self.driven.app.controller
        assert controller is not None
        self.driven.session.feed(*self.left[: self.share])
        del self.left[: self.share]
        controller.panes.show(ALL_VIEWS)


@pytest.mark.slow
@pytest.mark.parametrize("action", OF_THE_APP, ids=lambda one: one.name)
async def test_no_screen_over_a_running_turn_stops_a_view(action: Action) -> None:
    session = FakeSession(golden("night_shift")[:RUNNING])
    programs = Programs([told(1, "b", "x", 60, id="ses_b")])
    async with open_app(session=session, size=(80, 24), outside=programs) as driven:
        said, say = list[str](), driven.app.say
        controller = driven.app.controller
        assert controller is not None and controller.is_running
        driven.app.say = lambda text, *how, **kept: (said.append(text), say(text, *how, **kept))[0]  # type: ignore
        streamed = Streamed(driven, len(SIZES) * len(KEYS) * 4)
        for size in SIZES:
            await driven.pilot.resize_terminal(*size)
            for keys in KEYS:
                controller.act(action.name, ARGUMENTS.get(action.name, ""))
                streamed.on()
                if keys:
                    await driven.pilot.pause()
                streamed.on()
                await driven.pilot.press(*keys)
                streamed.on()
                await driven.pilot.press("escape")
                streamed.on()
            await driven.settle()
        assert controller.views.seq == len(session.records) - 1
        assert not [text for text in said if " failed: " in text]
