"""Sheets that several commands open: a list to choose from, and output of `tui-agent` itself."""

from collections.abc import Awaitable, Callable, Sequence

from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import show


def open_picker(
    context: AppContext,
    title: str,
    items: Sequence[Item],
    choose: Callable[[str], None],
    *,
    empty: str = "",
    free: str = "",
    back: Callable[[], None] = lambda: None,
) -> Picker:
    """Open a list, and call `choose` with the value of the chosen item; closing the list calls `back`.

    `empty` is shown instead of an empty list. If `free` is set, the list also offers the typed text itself, in a row
    that begins with `free`, such as `Use the model named`.
    """
    picker = Picker(lambda: context.app.looks, title, items, empty=empty, free=free)
    context.app.push_screen(picker, lambda value: back() if value is None else choose(value))
    return picker


def show_answer(context: AppContext, title: str, ask: Callable[[], Awaitable[str]]) -> None:
    """Open a sheet at once, and fill it with the text that `ask` returns later."""
    text = "looking …"
    viewer = show(context, title, lambda facts: facts.text(text))

    async def fill() -> None:
        nonlocal text
        text = viewer.plain = await ask()
        viewer.redraw()

    context.worker(fill(), title)
