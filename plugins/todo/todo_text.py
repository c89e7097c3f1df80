"""The todo list as text: `[x]`, `[>]`, `[ ]`, subtasks indented below their parent."""

from collections.abc import Sequence

from tui_agent.plugin_api import TodoItem

DONE = frozenset({"completed", "verified"})
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "verified": "[x]", "abandoned": "[-]"}


def format_items(items: Sequence[TodoItem], *, ids: bool = False) -> str:
    """Return one line per item, in order; subtasks are indented by two spaces below their parent."""
    known = {item.id for item in items}
    children: dict[str | None, list[TodoItem]] = {}
    for item in items:
        children.setdefault(item.parent if item.parent in known else None, []).append(item)
    lines: list[str] = []
    pending = [(item, 0) for item in reversed(children.get(None, []))]
    while pending:
        item, depth = pending.pop()
        word = " (verified)" if item.status == "verified" else ""
        name = f"{item.id}: " if ids else ""
        lines.append(f"{'  ' * depth}{_MARKS[item.status]} {name}{item.content}{word}")
        pending += [(child, depth + 1) for child in reversed(children.get(item.id, []))]
    return "\n".join(lines)


def format_progress(items: Sequence[TodoItem]) -> str:
    """Format progress as `2/5 done`; abandoned items do not count."""
    relevant = [item for item in items if item.status != "abandoned"]
    return f"{sum(item.status in DONE for item in relevant)}/{len(relevant)} done"
