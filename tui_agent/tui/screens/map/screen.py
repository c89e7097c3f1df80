"""The screen with the repository map: the files that the model sees, and why. The user can change the map.

Invariant: `tui-agent map` ranks the files in the same way for this screen and for the model.
"""

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Literal

from textual.strip import Strip

from tui_agent.config.small_files import read_regular
from tui_agent.protocol.commands import SetRepoMap, SetRepoMapOptions
from tui_agent.protocol.settings import RepoMapOptions
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import read_rows
from tui_agent.tui.screens.list_page import MIN_HEIGHT_FOR_HEADS
from tui_agent.tui.screens.map.map_rows import (
    column_names,
    draw_code,
    draw_file_facts,
    draw_line,
    draw_map_facts,
)
from tui_agent.tui.screens.map.queries import (
    Answer,
    IndexState,
    MapFile,
    MapLine,
    index_arguments,
    map_arguments,
    map_lines,
    parse_answer,
)
from tui_agent.tui.screens.search_page import SearchPage
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Pen

LENGTHS = (300, 600, 1_200, 2_400, 4_800, 9_600)
"""Possible lengths of the map, in tokens."""
MAX_QUERY_CHARS = 300
HINT = "a question, a task, names"
EDITS = frozenset({"left", "right", "home", "end", "backspace", "delete", "ctrl+a", "ctrl+e", "ctrl+w"})
"""Keys that edit the current question; any other key begins a new question."""
EMPTY = "Nothing to map here: no file with text was found."
MAX_CODE_BYTES = 1_000_000
_MIN_CODE_ROWS = 6
"""Minimum number of rows in the preview of a file's code."""
COUNT_S = 0.8
"""Time between two queries of the index's progress while the index is built, in seconds."""
MAX_REPEATS = 5
"""Maximum number of automatic repeats of a request for the map. Files that keep changing would cause endless repeats."""
BUILDING = "the index is still being built"
"""The note of `tui-agent map` about an incomplete index."""


class MapPage(SearchPage[MapLine | None]):
    """The screen with the repository map: a question, the list of files and the details.

    `query`: the question; the default is the newest message.
    """

    scope = "map"
    find_scope = "map_find"
    use_action = "map_mention"
    follow_s = 0.25
    narrow_footer_word = "details"

    def __init__(self, context: AppContext, query: str = "") -> None:
        super().__init__(context)
        self.is_from_message = not query
        """True if the question is the user's newest message, False if the user typed it on this screen."""
        self.top.field.insert(query or " ".join(context.state.root_task.split())[:MAX_QUERY_CHARS])
        self.top.field.cursor = 0
        self.top.typing, self.top.hint = False, HINT
        self.listing.can_choose = lambda line: line is not None
        self.is_new = False
        """True while the field for a new question is open and still empty."""
        self.answer: Answer | None = None
        self.asked = ""
        """The question of the newest request."""
        self.busy = False
        """True until the newest request is answered."""
        self._listed = ""
        """The question for which the listed files were ranked."""
        self._indexed_files = 0
        """Number of files in the index so far; 0 if unknown."""
        self._is_built, self._is_counting = True, False
        self._repeats = 0
        """Number of automatic repeats of this request, made because the index was incomplete."""
        self._texts: dict[str, tuple[str | None, str]] = {}
        """Maps a path to (text, fault). If the text cannot be shown, it is None, and the fault says why."""
        self._settings = settings = context.state.settings
        self.choice = RepoMapOptions() if settings is None else settings.map_options

    def on_mount(self) -> None:
        self.request_map()
        self.set_interval(COUNT_S, self.watch_index)

    def follow(self) -> None:
        """Show changed settings once the session has applied them."""
        settings = self.context.state.settings
        if settings is not self._settings:
            self._settings = settings
            self.show_detail()

    def show_keys(self) -> None:
        if self.top.typing:
            self.footer.set_keys(self.key_map.hints("map_find"))
        else:
            super().show_keys()
            on_file = {"map_pin", "map_hide"} if self.chosen is None else set[str]()
            self.footer.set_keys([hint for hint in self.footer.keys if hint.action not in on_file])

    def fit(self) -> None:
        super().fit()
        self.list_files()

    # -- the map ---------------------------------------------------------------------------------------------------

    def request_map(self, *, refresh: bool = False) -> None:
        """Request the map from `tui-agent map`.

        `refresh`: True to make `tui-agent map` read all files again.
        """
        self._repeats = 0
        self._send_request(refresh=refresh)

    def _send_request(self, *, refresh: bool = False) -> None:
        self.busy, self.asked = True, self.top.field.text
        self._show_progress()
        self.show_detail()
        options = self.context.app.options
        words = map_arguments(
            self.asked.strip(),
            self.choice,
            self.context.work_folder,
            refresh=refresh,
            data_dir=options.data_dir,
        )
        self.start_worker(self._request_map(words), "map")

    async def _request_map(self, words: list[str]) -> None:
        status, output = await self.context.ask(*words)
        self.answer, self.busy = parse_answer(status, output), False
        self._texts.clear()
        self._is_built = BUILDING not in self.answer.note
        self.show_origin()
        if self.answer.fault:
            self.say(clean_line(self.answer.fault), "error")
        # Another question ranks other files first.
        self.list_files("row" if self._listed == self.asked else "top")
        self._listed = self.asked
        self._show_progress()
        self.show_detail()

    def watch_index(self) -> None:
        """Show the progress of building the index; once it is complete, request the map again."""
        if (self.busy or not self._is_built) and self.is_current and not self._is_counting:
            self._is_counting = True
            self.start_worker(self._count_files(), "count")

    async def _count_files(self) -> None:
        options = self.context.app.options
        try:
            _, output = await self.context.ask(*index_arguments(self.context.work_folder, options.data_dir))
        finally:
            self._is_counting = False
        for state in read_rows(IndexState, output)[:1]:
            self._indexed_files = state.files
            if not self.busy and not state.building:
                # After the last repeat, keep the map although its index is incomplete.
                self._is_built = self._repeats == MAX_REPEATS
                if not self._is_built:
                    self._repeats += 1
                    self._send_request()
        self._show_progress()

    def _progress(self) -> str:
        """Return a text about the progress of reading the repository; empty if the map is up to date."""
        if not self.busy and self._is_built:
            return ""
        files = f" {format_count(self._indexed_files, 'file')}" if self._indexed_files else ""
        return f"reading the repository{self.looks.symbols.ellipsis}{files}"

    def _show_progress(self) -> None:
        fault = self.answer is not None and self.answer.fault
        self.listing.empty_text = self._progress() or ("" if fault else EMPTY)
        self.listing.refresh()
        self.show_head()

    def show_origin(self) -> None:
        """Show a note next to the question if the question comes from the user's newest message."""
        is_own = self.is_from_message and not self.top.typing and self.top.field.text
        self.top.status, self.top.hint = "words of the last message" if is_own else "", HINT

    def list_files(self, stay: Literal["row", "place", "top"] = "row") -> None:
        """List the files of the newest answer of `tui-agent map`.

        - `stay="row"`: select the same row again or, if it is gone, the row of its file
        - `stay="place"`: select the row at the same place in the list
        - `stay="top"`: select the first row
        """
        if self.answer is None:
            return
        files = [file for file in self.answer.files if file.path not in self.choice.hidden]
        # List hidden files last, so that the user can show them again.
        files += [MapFile(path, reasons=("hidden",)) for path in self.choice.hidden]
        lines = map_lines(files, airy=self.app.size.height >= MIN_HEIGHT_FOR_HEADS)
        keys = [line.key if line is not None else None for line in lines]
        held = self.chosen if stay == "row" else None
        candidates = (held.key, (held.file.path, "")) if held is not None else ()
        place = 0 if stay == "top" else self.listing.index
        self.listing.items = lines
        self.listing.select(next((keys.index(key) for key in candidates if key in keys), place))

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        note = self._progress() if self.listing.items else ""
        note = note or (self.answer.note.partition(";")[0] if self.answer is not None else "")
        self.head.show_title("Repository map", note)

    def column_names(self, width: int) -> Strip:
        return column_names(width, self.looks)

    def draw_row(self, item: MapLine | None, width: int, line: Pen) -> Strip:
        pinned = item is not None and item.file.path in self.choice.pinned
        return draw_line(item, width, line, pinned=pinned)

    def fill_detail(self, facts: Facts) -> None:
        answer = self.answer or Answer()
        facts.gap()
        end = Facts(facts.looks, facts.width)
        draw_map_facts(end, self.choice, len(answer.files), self.context.state.settings, answer.note)
        if self.chosen is not None:
            self.draw_detail(facts, self.chosen)
            self._draw_code(facts, self.chosen, self.detail.size.height - len(end.rows))
        elif answer.fault and not self.busy:
            facts.text(answer.fault, "t3")
        facts.rows += end.rows

    def draw_detail(self, facts: Facts, line: MapLine) -> None:
        draw_file_facts(facts, line.file, self.choice)

    def _draw_code(self, facts: Facts, line: MapLine, height: int) -> None:
        """Add the code of the file or symbol in the row `line`, until the details fill `height` rows."""
        path = line.file.path
        text, fault = self._texts.get(path, (None, ""))
        draw_code(facts, line, text, fault, max_rows=max(_MIN_CODE_ROWS, height - len(facts.rows) - 3))
        if path not in self._texts:
            self.start_worker(partial(self._read_code, path), "code")

    async def _read_code(self, path: str) -> None:
        file = Path(self.context.work_folder) / path
        self._texts[path] = await asyncio.to_thread(read_text, file)
        self.show_detail()


def read_text(file: Path) -> tuple[str | None, str]:
    """Return the file's text and an empty reason, or None and the reason why the text cannot be shown."""
    try:
        data = read_regular(file, MAX_CODE_BYTES, os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, "The file no longer exists."
    except OSError as error:
        return None, f"The file cannot be read: {error.strerror}."
    if data is None:
        return None, "Not a regular file."
    if b"\0" in data:
        return None, "Binary file."
    return data.decode("utf-8", "replace"), ""


class MapScreen(MapPage):
    """The screen with the repository map."""

    # -- typing ----------------------------------------------------------------------------------------------------

    def type_key(self, key: str, character: str | None) -> bool:
        if not self.top.typing:
            return False
        if self.is_new and key in EDITS:
            self.top.field.insert(self.asked)
        is_typed = self.top.field.type_key(key, character)
        self.show_typed()
        return is_typed

    def show_typed(self) -> None:
        self.is_new, self.top.hint = False, HINT
        self.top.show()

    def start_typing(self) -> None:
        """Open an empty field for a new question, with the current question as placeholder."""
        self.is_new = True
        self.top.field, self.top.status, self.top.hint = Field(), "", self.asked
        self.set_typing(True)

    def stop_typing(self, *, keep: bool = False) -> None:
        """Close the question field, and restore the previous question unless `keep` is True."""
        if not keep:
            self.top.field = Field(self.asked)
        elif self.top.field.text != self.asked:
            self.is_from_message = False
        self.is_new = False
        self.set_typing(False)
        self.show_origin()
        self.top.show()

    def ask(self) -> None:
        """Request the map for the typed question."""
        self.stop_typing(keep=not self.is_new)
        self.request_map()

    def leave_field_for_rows(self, direction: int) -> None:
        """Close the question field, and select the row above or below."""
        self.stop_typing()
        self.move(direction)

    # -- actions ---------------------------------------------------------------------------------------------------

    def move_page(self, direction: int) -> None:
        if not self.top.typing:
            super().move_page(direction)

    def open_help(self) -> None:
        if self.top.typing:
            self.stop_typing()
        super().open_help()

    def read_again(self) -> None:
        self.request_map(refresh=True)

    def enter(self) -> None:
        if self.chosen is None:
            self.use()
        else:
            super().enter()

    def use(self, line: MapLine | None = None) -> None:
        """Mention the selected file in the message, and return to the message."""
        file = self._chosen_file("mention")
        if file is not None:
            self.context.editor.insert_mention(file.path)
            self.leave()

    def toggle(self, which: Literal["pinned", "hidden"]) -> None:
        """Pin or hide the selected file. If the file is already pinned or hidden, undo this.

        Pinning a file shows it again if it was hidden, and hiding a file unpins it.
        """
        file = self._chosen_file("pin" if which == "pinned" else "hide")
        if file is None:
            return
        was_on = file.path in getattr(self.choice, which)
        lists = {
            name: tuple(path for path in getattr(self.choice, name) if path != file.path)
            for name in ("pinned", "hidden")
        }
        if not was_on:
            lists[which] += (file.path,)
        self._choose(self.choice.model_copy(update=lists))
        self.list_files("row" if which == "pinned" else "place")
        self.show_detail()
        self.say(f"{clean_line(file.path)} is {'no longer' if was_on else 'now'} {which}.")

    def _chosen_file(self, action: str) -> MapFile | None:
        """Return the file in the selected row; if no row is selected, show a notice and return None."""
        if self.chosen is not None:
            return self.chosen.file
        why = "the repository is still being read" if self.busy else "no file is listed"
        self.say(f"There is nothing to {action} yet: {why}.", "warning")
        return None

    def change_length(self, direction: int) -> None:
        """Make the map longer (`direction` -1, the first of the two keys) or shorter (1)."""
        now, longer = self.choice.max_tokens, direction < 0
        others = [length for length in LENGTHS if (length > now if longer else length < now)]
        if others:
            length = min(others) if longer else max(others)
            self._choose(self.choice.model_copy(update={"max_tokens": length}))
        else:
            self.say(f"The map cannot be {'longer' if longer else 'shorter'}.", "warning")

    def _choose(self, choice: RepoMapOptions) -> None:
        self.choice = choice
        if self.context.is_connected:
            self.context.submit(SetRepoMapOptions(options=choice))
        self.request_map()

    def switch_injection(self) -> None:
        """Switch between sending the map at the session's start and on the model's request."""
        settings = self.context.state.settings
        if settings is None or not self.context.is_connected:
            self.say(
                "No session yet. To turn the map off, start tui-agent with --repo-map-mode off", "warning"
            )
            return
        if settings.context_mode == "none":
            self.say(
                "Context mode `none` sends no map. To send a map, start with --context-mode pack", "warning"
            )
            return
        turn_off = settings.repo_map == "auto"
        self.context.submit(SetRepoMap(mode="off" if turn_off else "auto"))
        self.say(
            "The model now gets a map only when it asks."
            if turn_off
            else "The model now gets a map at the start and after a compaction."
        )
