"""Names a session after its first prompt. Invariant: a name that was given is never replaced."""

from tui_agent.engine.model.init_agent import SOURCE
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived

TITLE_LENGTH = 48


def title_after(recorder: Recorder, message: UserMessageReceived) -> None:
    """Record a name for a session that has none."""
    if recorder.state.title or not isinstance(message.text, str) or message.source == SOURCE:
        return
    words = " ".join(message.text.split())
    if not words:
        return
    cut = words if len(words) <= TITLE_LENGTH else words[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
    recorder.append(SessionTitled(title=cut, by="auto"))
