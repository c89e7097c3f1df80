"""Sheets that several commands open: a list to choose from, and a text that is shown when it arrives."""

from collections.abc import Awaitable, Callable, Sequence

from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import show


def open_picker(
    context: AppContext,
    title: str,
    items: Sequence[Item],
    choose: Callable[[str], None],
    *,
    empty: str = "",
    typed_prefix: str = "",
    address_prefix: str = "",
    back: Callable[[], None] = lambda: None,
    has_filter: bool = True,
) -> Picker:
    """Open a list. If the user chooses an item, call `choose` with the item's value.

    - `empty`: text to show if the list is empty
    - `typed_prefix`: if given, the list ends with a row that chooses the typed text itself, e.g. `Use the model named
      gpt-x`; these are the words before the text
    - `address_prefix`: the words to use instead if the typed text is a URL
    - `back`: called if the user closes the list without a choice
    - `has_filter`: False if a row undoes or discards something (see `Picker`)
    """
    picker = Picker(
        title,
        items,
        empty=empty,
        typed_prefix=typed_prefix,
        address_prefix=address_prefix,
        has_filter=has_filter,
    )
    context.app.push_screen(picker, lambda value: back() if value is None else choose(value))
    return picker


def show_answer(context: AppContext, title: str, ask: Callable[[], Awaitable[str]]) -> None:
    """Open a sheet at once, and show the text from `ask` when it arrives."""
    text = "loading …"
    viewer = show(context, title, lambda facts: facts.text(text))

    async def fill() -> None:
        nonlocal text
        text = viewer.plain = await ask()
        viewer.redraw()

    context.worker(fill(), title)
