"""The task list as text: `[x]`, `[>]`, `[ ]`, children indented below their parent."""

from collections.abc import Sequence

from tui_agent.plugin_api import TodoItem

DONE = frozenset({"completed", "verified"})
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "verified": "[x]", "abandoned": "[-]"}


def rows(items: Sequence[TodoItem], *, ids: bool = False) -> str:
    """One line an item, in order, a child below its parent and two blanks further in."""
    known = {item.id for item in items}
    below: dict[str | None, list[TodoItem]] = {}
    for item in items:
        below.setdefault(item.parent if item.parent in known else None, []).append(item)
    lines: list[str] = []
    waiting = [(item, 0) for item in reversed(below.get(None, []))]
    while waiting:
        item, depth = waiting.pop()
        word = " (verified)" if item.status == "verified" else ""
        name = f"{item.id}: " if ids else ""
        lines.append(f"{'  ' * depth}{_MARKS[item.status]} {name}{item.content}{word}")
        waiting += [(child, depth + 1) for child in reversed(below.get(item.id, []))]
    return "\n".join(lines)


def progress(items: Sequence[TodoItem]) -> str:
    """`2/5 done`; abandoned items do not count."""
    counted = [item for item in items if item.status != "abandoned"]
    return f"{sum(item.status in DONE for item in counted)}/{len(counted)} done"
