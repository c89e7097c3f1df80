"""The check of a model's summary. Invariant: pure; a fault is a phrase for the user."""

from tui_agent.ports.model import ModelReply
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.parts import TextPart, ToolCallPart


def judged(reply: ModelReply, room: int) -> tuple[str, str]:
    """Return the summary in a reply and "", or "" and the fault. `room` is the maximum in characters."""
    summary = "\n".join(text_preview(part.text) for part in reply.parts if isinstance(part, TextPart)).strip()
    if reply.finish == "refusal":
        return "", "it refused"
    if any(isinstance(part, ToolCallPart) for part in reply.parts) or not summary:
        return "", "it gave no summary"
    if reply.finish == "length" or len(summary) > room:
        return "", "its summary was too long"
    return summary, ""
