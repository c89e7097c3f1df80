"""A list from which the user chooses one item: type to filter, arrows or a click to select, Enter to choose.

Invariant: the result is the value of the chosen item, or None after Esc. A list has no filter if one of its rows undoes
or discards something. Otherwise, the filter could hide the safe row, or typed text could select a row by accident.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from textual.strip import Strip

from tui_agent.config.settings.base_url import is_web_address
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.prompt.completion import match
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line, fit, fit_path, width
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, Pen, cut_parts, wrap
from tui_agent.tui.widgets.rows import cells as cells_of
from tui_agent.tui.widgets.sheet import ChoiceSheet


@dataclass(frozen=True, slots=True)
class Item:
    """A row of the list.

    - `about`: a description, or the reason why the row cannot be chosen
    - `right`: a short text at the right end
    - `offered`: False if the row cannot be chosen now; it is dimmed
    - `only_informs`: True for a row that is only to be read; it cannot be chosen, but is not dimmed
    - `found_by`: hidden words for the filter
    - `more`: further description, shown only in the selected row
    """

    value: str
    label: str
    about: str = ""
    right: str = ""
    group: str = ""
    offered: bool = True
    current: bool = False
    """True for the item that is in use now."""
    more: str = ""
    found_by: str = ""
    is_path: bool = False
    """True if the label is a path. It is shortened in its middle."""
    only_informs: bool = False

    @property
    def can_be_chosen(self) -> bool:
        """True if Enter chooses the row."""
        return self.offered and not self.only_informs


def _pattern_of(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches any word that begins with one of `words`."""
    return re.compile(f"(?<![^\\W_])(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)


def score_words(words: Sequence[str], item: Item) -> int | None:
    """Return how well the words match an item: 0 is best, None is no match.

    Every word must match the beginning of some word in the item.
    """
    names = f"{item.label} {item.found_by}".casefold()
    others = f"{item.about} {item.right} {item.group} {item.more}".casefold()
    label, found_by = (
        {name.removeprefix("/") for name in text.casefold().split()} for text in (item.label, item.found_by)
    )
    score = 0
    for word in words:
        pattern, bare = _pattern_of([word]), word.removeprefix("/")
        ranks = bare in label, bare in found_by, pattern.search(names), pattern.search(others)
        rank = next((number for number, is_match in enumerate(ranks) if is_match), None)
        if rank is None:
            return None
        score += rank
    return score


def _right_text(item: Item, *, is_filtered: bool) -> str:
    """Return the text on the right side of a row.

    If an item has no such text, a filtered list shows the item's group.
    """
    return clean_line(item.right or (item.group if is_filtered else ""))


def _right_room(cells: int, item: Item) -> int:
    """Return the width in cells for `item.right` and the blanks before it.

    `cells`: width of the row after the label.
    """
    return cells - min(MIN_ABOUT_CELLS, width(clean_line(item.about)))


KEYS = "list_open", "list_choose", "list_close"
"""The actions whose keys are shown below the list."""
PAGE_ROWS = 8
MIN_ABOUT_CELLS = 24
"""Minimum width, in cells, for `Item.about` next to `Item.right`."""
MIN_RIGHT_CELLS = 11
"""Minimum width, in cells, for a cut-off `Item.right`."""


class Picker(ChoiceSheet[str | None]):
    """Sheet with a list; the result is the value of the chosen item.

    - `preview`: called with each selected item
    - `has_filter`: False to ignore typed text, which would otherwise filter the list
    """

    scope = "list"
    give_action = "list_open"

    def __init__(
        self,
        title: str,
        items: Sequence[Item],
        *,
        empty: str = "",
        preview: Callable[[str], None] | None = None,
        typed_prefix: str = "",
        address_prefix: str = "",
        has_filter: bool = True,
    ) -> None:
        super().__init__()
        self._has_filter = has_filter
        # Moving the cursor in a long list redraws only the two rows that change.
        self._row_cache: dict[tuple[object, ...], list[Strip]] = {}
        self._filtered: tuple[str, list[Item]] | None = None
        """The typed text, and the items that match the text."""
        self._crowded = False
        """True if most rows have too little room to show a description and the text on the right side by side."""
        self._marks: re.Pattern[str] | None = None
        """Pattern of the typed words, to underline them in the rows. None: underline nothing."""
        self.title_text = title
        self.items = list(items)
        self.field = Field()
        self.empty = empty
        self.typed_prefix = typed_prefix
        """Text before the typed words, in the row for a typed value, e.g. `Use the model named`.

        Empty if only listed items can be chosen.
        """
        self.address_prefix = address_prefix or typed_prefix
        """Text used instead of `typed_prefix` if the user typed a URL."""
        self.is_typed_first = False
        """True if the row for a typed value comes before the matching items."""
        self.total: str | None = None
        """Text at the right of the title; None to show the number of rows."""
        self._preview = preview
        self.chosen = self._current_index()

    def _current_index(self) -> int:
        return next((index for index, item in enumerate(self.items) if item.current), 0)

    def set_items(self, items: Sequence[Item]) -> None:
        """Replace the items; the selected item stays selected if it is among the new items.

        If no row is selected because the user is writing a message, no row becomes selected.
        """
        chosen = self.chosen_item
        self.items, self._filtered = list(items), None
        self._row_cache.clear()
        values = [item.value for item in self.matches]
        if self.has_selection:
            self.chosen = values.index(chosen.value) if chosen is not None and chosen.value in values else 0
        self.redraw()

    @property
    def matches(self) -> list[Item]:
        """The items that match the typed text, best first."""
        query = self.field.text.strip()
        if not query:
            return self.items
        if self._filtered is None or self._filtered[0] != query:
            self._filtered = query, self._filter(query)
            self._row_cache.clear()
        return self._filtered[1]

    def _filter(self, query: str) -> list[Item]:
        scored: list[tuple[int, int]] = []
        self._marks = None
        # First as one phrase, then as single words; letters in order are tried only if both find nothing.
        for words in ([query.casefold()], query.casefold().split()):
            scores = [(score_words(words, item), index) for index, item in enumerate(self.items)]
            scored = [(score, index) for score, index in scores if score is not None]
            if scored:
                self._marks = _pattern_of(words)
                break
        items = [self.items[index] for _, index in sorted(scored or self._score_letters(query))]
        if not self.typed_prefix or any(item.label == query for item in items):
            return items
        typed = Item(query, f"{self.address_prefix if is_web_address(query) else self.typed_prefix} {query}")
        # A complete name is probably meant literally; a few letters, or the beginning of a name, search for a row.
        is_name = ("/" in query or ":" in query) and not any(item.label.startswith(query) for item in items)
        return [typed, *items] if self.is_typed_first or is_name else [*items, typed]

    def _score_letters(self, query: str) -> list[tuple[int, int]]:
        """Return (score, index) for each item that contains the query as typed.

        If no item contains the query, rate the items that contain its letters in order.
        """
        # The letters of a short query are in almost any long row.
        shown = [f"{item.label} {item.about}" for item in self.items]
        texts = [
            f"{text} {item.right} {item.group} {item.more} {item.found_by}"
            for text, item in zip(shown, self.items, strict=True)
        ]
        together = [index for index, text in enumerate(texts) if query.casefold() in text.casefold()]
        return [
            (result[0], index)
            for index in together or range(len(texts))
            if (result := match(query, shown[index]) or match(query, texts[index])) is not None
        ]

    @property
    def count(self) -> int:
        return len(self.matches)

    @property
    def chosen_item(self) -> Item | None:
        """The selected item; None if no item matches."""
        matches = self.matches
        return matches[self.chosen] if 0 <= self.chosen < len(matches) else None

    def head(self, width: int) -> list[Strip]:
        if self.open_field is None:
            return super().head(width)
        pen = self.pen._replace(ground="s2")
        hint = "type a value" if self.is_typed_first else "type to filter"
        typed = self.field.parts(width - 4, pen, hint)
        left = [pen.part(self.looks.symbols.bar, "accent"), pen.part(" "), *typed]
        return [*super().head(width), pen.line(width, left), *self.spacer(width)]

    def title_right(self) -> Sequence[Part]:
        count = len(self.items)
        entries = format_count(count, "entry", "entries") if count else ""
        total = entries if self.total is None else self.total
        return [self.part(f"{self.count} of {count}" if self.field.text else total, "t2")]

    def body(self, width: int) -> list[Strip]:
        items = self.matches
        if not items:
            key = self.key_map.key_of("list_close")
            text = (
                f'Nothing matches "{self.field.text}". {key} clears the search.'
                if self.field.text
                else self.empty
            )
            return self.text_rows(width, clean_line(text), "t3")
        widths = self._label_widths(width, items)
        label_widths = [widths["" if self.field.text else item.group] for item in items]
        crowded = map(partial(self._is_crowded, width), label_widths, items)
        self._crowded = 2 * sum(crowded) > len(items)
        rows: list[Strip] = []
        self.cursor_row = None
        group = ""
        for index, item in enumerate(items):
            if item.group and item.group != group and not self.field.text:
                rows += [self.line(width, [])] if rows else []
                rows.append(self.line(width, [self.part(item.group, "t2", bold=True)]))
                group = item.group
            if index == self.chosen:
                self.cursor_row = len(rows)
            label_width = widths["" if self.field.text else item.group]
            key_of_row = (
                self.field.text.strip(),
                index,
                self.looks,
                width,
                label_width,
                self._crowded,
                index == self.chosen,
            )
            if key_of_row not in self._row_cache:
                self._row_cache[key_of_row] = self._item_rows(width, index, item, label_width)
            rows += self._row_cache[key_of_row]
            if index == self.chosen:
                self.rows_below_cursor = len(self._row_cache[key_of_row]) - 1
        return rows

    def _is_crowded(self, cells: int, label_width: int, item: Item) -> bool:
        right_cells = width(_right_text(item, is_filtered=bool(self.field.text))) + 2
        room = _right_room(cells - label_width - 4, item)
        return right_cells > 2 and bool(item.about) and right_cells > room

    def _label_widths(self, cells: int, items: Sequence[Item]) -> dict[str, int]:
        """Return the width of the labels in each group.

        Groups without paths share one width.
        """
        groups: dict[str, list[Item]] = {}
        with_paths = set() if self.field.text else {item.group for item in items if item.is_path}
        for item in items:
            groups.setdefault(item.group if item.group in with_paths else "", []).append(item)
        widths = {}
        for group, members in groups.items():
            longest = max(width(clean_line(item.label)) for item in members)
            paths = [width(clean_line(item.about)) + width(item.right) for item in members if item.is_path]
            right_widths = (
                paths
                if paths or any(item.about for item in members)
                else [width(item.right) for item in members]
            )
            # Paths and the texts on the right take the rest of the row.
            room = cells - max(right_widths) - 8 if right_widths else 0
            widths[group] = min(longest + 3, max(12, cells // 2, room))
        return {item.group: widths[item.group if item.group in with_paths else ""] for item in items} | {
            "": widths.get("", 0)
        }

    def _item_rows(self, cells: int, index: int, item: Item, label_width: int) -> list[Strip]:
        pen, symbols = self.choice_pen(index), self.looks.symbols
        text = clean_line(item.label)
        shown = fit_path(text, label_width - 3, symbols.ellipsis) if item.is_path else text
        names = self._mark_matches(pen, shown, "t1" if item.offered else "t3", bold=pen.chosen)
        label = cut_parts(names, label_width - 1, symbols.ellipsis)
        left = [
            pen.mark,
            pen.part(f"{symbols.done if item.current else ' '} ", "success"),
            *label,
            pen.part(" " * max(1, label_width - cells_of(label))),
        ]
        right = _right_text(item, is_filtered=bool(self.field.text))
        role: Role = "t2" if item.offered else "t3"
        texts, room = [item.about, item.more], cells - label_width - 4
        right_cells = width(right) + 2 if right else 0
        if item.about and (self._crowded or self._is_crowded(cells, label_width, item)):
            texts = [item.about, right, item.more]
            rest = _right_room(cells - label_width - 4, item) - 2
            is_shown = rest >= MIN_RIGHT_CELLS and not (self._crowded or pen.chosen)
            right = fit(right, rest, symbols.ellipsis) if is_shown else ""
            right_cells = rest + 2 if is_shown else 0
        about = [item.about]
        if pen.chosen:
            texts = [clean_line(text) for text in texts if text]
            about = [row for text in texts for row in wrap(text, max(room - right_cells, 12))] or [""]
        indent = pen.part(" " * (label_width + 4))
        first = pen.line(
            cells, [*left, *self._mark_matches(pen, about[0], role)], self._mark_matches(pen, right, "t2")
        )
        return [
            first,
            *(pen.line(cells, [indent, *self._mark_matches(pen, text, role)]) for text in about[1:]),
        ]

    def _mark_matches(self, pen: Pen, text: str, role: Role, *, bold: bool = False) -> list[Part]:
        """Split a text into styled parts, with the typed words underlined."""
        text, end, parts = clean_line(text), 0, list[Part]()
        for hit in self._marks.finditer(text) if self._marks is not None and self.field.text else ():
            parts.append(pen.part(text[end : hit.start()], role, bold=bold))
            parts.append(pen.part(hit.group(), "accent", bold=bold, underline=True))
            end = hit.end()
        return [*parts, pen.part(text[end:], role, bold=bold)]

    def key_hints(self) -> Sequence[KeyHint]:
        words = {"list_close": "clear"} if self.field.text else {}
        least = {"list_open": 1, "list_choose": 2}
        item = self.chosen_item
        unusable = {"list_open"} if item is not None and not item.can_be_chosen else set[str]()
        names = [name for name in KEYS if self.count >= least.get(name, 0) and name not in unusable]
        return [self.key_map.hint(name, words.get(name, "")) for name in names]

    @property
    def open_field(self) -> Field | None:
        return self.field if self._has_filter and (self.items or self.typed_prefix) else None

    def on_edit(self) -> None:
        self.chosen = 0
        self.redraw(keep=False)
        self._show_preview()

    def clear_or_close(self) -> None:
        """Clear the typed text; if no text is typed, close without a choice."""
        if not self.field.text:
            self.close()
            return
        self.field = Field()
        self.chosen = self._current_index()
        self.redraw()
        self._show_preview()

    def move(self, direction: int) -> None:
        """Select the row above or below, wrapping around at the ends."""
        super().move(direction)
        self._show_preview()

    def move_page(self, direction: int) -> None:
        """Select the row one page away, or the last row in that direction."""
        self.chosen = max(0, min(self.count - 1, self.chosen + PAGE_ROWS * direction))
        self.redraw()
        self._show_preview()

    def move_to_end(self, direction: int) -> bool:
        """Select the first or last row; return False if text was typed."""
        if self.field.text:
            return False
        super().move_to_end(direction)
        self._show_preview()
        return True

    def _show_preview(self) -> None:
        item = self.chosen_item
        if self._preview is not None and item is not None and item.offered:
            self._preview(item.value)

    def use(self) -> None:
        """Close with the value of the selected item."""
        item = self.chosen_item
        if item is not None and item.can_be_chosen:
            self.dismiss(item.value)
