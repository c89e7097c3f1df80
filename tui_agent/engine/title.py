"""Automatic titles: a session gets the beginning of its first prompt. Invariant: a title is never replaced."""

from tui_agent.engine.model.init_agent import SOURCE
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived

TITLE_LENGTH = 48


def title_after(recorder: Recorder, message: UserMessageReceived) -> None:
    """Record a title for a session that has none."""
    if recorder.state.title or not isinstance(message.text, str) or message.source == SOURCE:
        return
    text = " ".join(message.text.split())
    if not text:
        return
    title = text if len(text) <= TITLE_LENGTH else text[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
    recorder.append(SessionTitled(title=title, by="auto"))
