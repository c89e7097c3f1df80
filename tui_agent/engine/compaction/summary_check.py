"""Whether what a model answered is a summary.

Invariant: pure; what is wrong with it is told in words.
"""

from tui_agent.ports.model import ModelReply
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.parts import TextPart, ToolCallPart


def judged(reply: ModelReply, room: int) -> tuple[str, str]:
    """What an answer tells, and what is wrong with it as a summary."""
    story = "\n".join(text_preview(part.text) for part in reply.parts if isinstance(part, TextPart)).strip()
    if reply.finish == "refusal":
        return "", "it refused"
    if any(isinstance(part, ToolCallPart) for part in reply.parts) or not story:
        return "", "it gave no summary"
    if reply.finish == "length" or len(story) > room:
        return "", "its summary was too long"
    return story, ""
