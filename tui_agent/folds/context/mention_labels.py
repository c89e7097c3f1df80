"""What a message mentions, in the words of every pane, export and reader."""

from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.unicode_text import counted


def mention_name(one: Mention) -> str:
    """What it is called: its path, or what stands in the message."""
    return one.given if one.kind in ("missing", "symbol") else one.path


def mention_sent(one: Mention, size: str, tokens: str) -> str:
    """What the model was sent of it, or why nothing; `size` and `tokens` as the caller writes such numbers."""
    match one.kind:
        case "missing":
            return f"left as text: {one.note}"
        case "refused":
            return f"not sent: {one.note}"
        case "directory":
            return counted(one.size, "entry", "entries")
        case "image":
            return size
        case "symbol":
            return f"{one.path}:{one.first_line}" + (f", {one.note}" if one.note else "")
        case "file":
            lines = f"lines {one.first_line}–{one.last_line}, " if one.first_line else ""
            return f"{lines}{one.note + ', ' if one.note else ''}{tokens} tokens"
