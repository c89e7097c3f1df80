"""The history of a simulation: the words and actions of user and agent, as each viewer sees them.

Invariant: the agent never sees a simulated user's thoughts, commands, or output.
"""

from typing import Literal, NamedTuple

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.simulation import SimulationMessage, Viewer
from tui_agent.protocol.stored_text import text_preview

OVERSEERS: tuple[Viewer, ...] = ("orchestrator", "system")
"""Viewers that see all fields of a message."""


class SeenMessage(NamedTuple):
    """A message as a viewer sees it. `role`: `assistant` for the viewer's own messages."""

    role: Literal["user", "assistant"]
    text: str


class SimulationHistory:
    """The messages of a simulation in order."""

    def __init__(self) -> None:
        self.messages: list[SimulationMessage] = []

    def apply(self, event: Envelope) -> None:
        """Add the message of an event."""
        if isinstance(event.payload, SimulationMessage):
            self.append(event.payload)

    def append(self, message: SimulationMessage) -> None:
        """Add a message."""
        self.messages.append(message)

    def get(self, viewer: Viewer) -> list[SeenMessage]:
        """Return the messages as a viewer sees them."""
        seen = []
        for message in self.messages:
            text = seen_text(message, viewer) if viewer in message.visible_to else ""
            if text:
                seen.append(SeenMessage("assistant" if message.role == viewer else "user", text))
        return seen


def seen_text(message: SimulationMessage, viewer: Viewer) -> str:
    """Return the part of the message's text that the viewer sees."""
    reasoning, action, response = (
        text_preview(text).strip() for text in (message.reasoning, message.action, message.response)
    )
    if message.role == viewer == "user":
        return _own_answer(message, reasoning, action, response)
    if viewer in OVERSEERS:
        lines = [f"{message.role}:", f"(thinks) {reasoning}" * bool(reasoning), f"$ {action}" * bool(action)]
        return "\n".join(filter(None, [*lines, response])) if reasoning or action or response else ""
    return response


def _own_answer(message: SimulationMessage, reasoning: str, action: str, response: str) -> str:
    """Return an earlier answer of the simulated user, in the format that the simulated user's answers must have."""
    if action:
        response = f"```bash\n{action}\n```"
    elif "agent" in message.visible_to:
        response = f"```request\n{response}\n```"
    if not reasoning:
        return response
    return f"<think>\n{reasoning}\n</think>\n<response>\n{response}\n</response>"
