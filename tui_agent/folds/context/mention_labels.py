"""Labels for mentions, the same in every pane, export and prompt."""

from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.unicode_text import counted


def mention_name(one: Mention) -> str:
    """Return the name of a mention: its path, or the text in the message."""
    return one.given if one.kind in ("missing", "symbol") else one.path


def mention_sent(one: Mention, size: str, tokens: str) -> str:
    """Return what the model was sent of a mention, or why nothing.

    `size` and `tokens` are formatted by the caller.
    """
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
