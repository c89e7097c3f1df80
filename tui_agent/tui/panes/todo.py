"""The todo list as rows.

Invariant: the states of items differ in mark and weight, not only in colour.
"""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.rows import Pen, wrap

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.session.todo_list import TodoView
    from tui_agent.protocol.events.todo import TodoItem

MAX_ITEMS = 8
EMPTY = "No tasks yet. The agent writes them for longer work."


def progress(view: "TodoView") -> str:
    """Return the number of done tasks as `4/5 done`; empty if there are no tasks."""
    return f"{view.done}/{view.total} done" if view.items else ""


def todo_rows(view: "TodoView", looks: Looks, width: int, limit: int) -> list[Strip]:
    """Return the todo list as at most `limit` rows: a title and the items.

    If space is short, done items are left out first.
    """
    pen = Pen(looks, "s1")
    indent = pen.part("  ")
    title = [indent, pen.part("Todo", bold=True, intent="todo")]
    rows = [pen.line(width, title, [pen.part(progress(view), "t2")])]
    if not view.items:
        return [*rows, *pen.hanging_rows(width, [indent], wrap(EMPTY, width - 4), pen.style("t3"))]
    shown, hidden = _choose_items(view.items, limit)
    for item in shown:
        rows += item_rows(item, _depth(item, view.items), looks, width, "s1", in_one_row=True)
    if hidden:
        rows.append(pen.line(width, [indent, pen.part(f"+{hidden} more", "t3", intent="todo")]))
    return rows


def item_rows(
    item: "TodoItem", depth: int, looks: Looks, width: int, ground: Role, *, in_one_row: bool = False
) -> list[Strip]:
    """Draw an item of the todo list, indented by its depth. `in_one_row`: True to cut off a long text."""
    pen, symbols = Pen(looks, ground), looks.symbols
    styles: dict[str, tuple[str, Role, Role]] = {
        "completed": (symbols.todo_done, "success", "t3"),
        "verified": (symbols.todo_done, "success", "t3"),
        "in_progress": (symbols.todo_now, "accent", "t1"),
        "pending": (symbols.todo_open, "t2", "t2"),
        "abandoned": ("[-]", "t3", "t3"),
    }
    mark, mark_role, role = styles[item.status]
    bold = item.status == "in_progress"
    text = clean_line(item.content) + (", dropped" if item.status == "abandoned" else "")
    room = width - 8 - 2 * depth
    pieces = [fit(text, room, symbols.ellipsis)] if in_one_row else wrap(text, room)
    first = [pen.part("  " * (depth + 1)), pen.part(f"{mark} ", mark_role, bold=bold)]
    return pen.hanging_rows(width, first, pieces, pen.style(role, bold=bold))


def _depth(item: "TodoItem", items: "tuple[TodoItem, ...]") -> int:
    parents = {other.id: other.parent for other in items}
    # The limit bounds the indent, and ends the loop if tasks are each other's parents.
    depth, parent = 0, item.parent
    while parent is not None and depth < 3:
        depth, parent = depth + 1, parents.get(parent)
    return depth


def _choose_items(items: "tuple[TodoItem, ...]", limit: int) -> "tuple[list[TodoItem], int]":
    """Return the items to show in `limit` rows, and the number of hidden items.

    Hide done items first, from the top; then other items from the end, but never an item in progress.
    """
    if len(items) <= limit:
        return list(items), 0
    room = max(1, limit - 1)  # the last row says how many items are hidden
    keep = set(range(len(items)))
    for index, item in enumerate(items):
        if len(keep) <= room:
            break
        if item.status in ("completed", "verified", "abandoned"):
            keep.discard(index)
    for index in sorted(keep, reverse=True):
        if len(keep) <= room:
            break
        if items[index].status != "in_progress":
            keep.discard(index)
    shown = [items[index] for index in sorted(keep)]
    return shown, len(items) - len(shown)
