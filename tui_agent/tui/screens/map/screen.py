"""The map of the repository: what the model is shown of it, why each file stands where it does, and the ways to steer it.

Invariant: the ranking is the command line's, which is the model's; what is pinned, hidden and how long the map is are
settings of the session. A key waits for no answer.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events, on
from textual.strip import Strip

from tui_agent.protocol.commands import SetRepoMap, SetRepoMapOptions
from tui_agent.protocol.settings import RepoMapOptions
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.cli_client import json_rows, number_of
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.map.queries import (
    Answer,
    MapFile,
    MapLine,
    answer_of,
    key_of,
    lines_of,
    state_words,
    words,
)
from tui_agent.tui.screens.map.rows import MapDetail, MapRows
from tui_agent.tui.screens.page import HEADS_FROM, OPENS, Page
from tui_agent.tui.screens.sessions.table import SessionsHead, rows_for
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.keymap import claims_key
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.listing import Listing
from tui_agent.tui.widgets.rows import part, row

LENGTHS = (300, 600, 1_200, 2_400, 4_800, 9_600)
"""Tokens that the budget goes through."""
MOST_QUERY = 300
HINT = "a question, a task, names"
EDITS = frozenset({"left", "right", "home", "end", "backspace", "delete", "ctrl+a", "ctrl+e", "ctrl+w"})
"""Keys that change the question that stands there, where any other begins another one."""
NOTHING = "Nothing to map here: no file with text was found."
FOLLOW_S = 0.25
COUNT_S = 0.8
"""Time between two looks at how far the index is, while it is waited for."""


class MapListing(Listing):
    """Rows of which the empty ones cannot be chosen."""

    lines: "list[MapLine]" = []

    def choose(self, at: int) -> None:
        at = max(0, min(self.count - 1, at))
        if self.lines and self.lines[at] is None:
            at += 1 if at > self.at else -1
        super().choose(at)

    @property
    def line(self) -> MapLine:
        """What the cursor stands at."""
        return self.lines[self.at] if self.at < len(self.lines) and len(self.lines) == self.count else None


BUILDING = "the index is still being built"
"""What the command line says beside a map that was made without a whole index."""


class MapRequests:
    """What one screen asks, and the newest answer."""

    def __init__(self, screen: "MapFrame") -> None:
        self._screen = screen
        self.answer = Answer()
        self.answered = False
        """Some answer came."""
        self.asked = ""
        """The question of the newest answer, or of the one that is waited for."""
        self.busy = False
        """An answer is waited for."""
        self._counted = 0
        """Files that the index has so far; 0 where nobody knows."""
        self._built = True
        self._counting = False
        self._made_of = -1
        """Files that the index had when the map was made anew because it had grown."""

    def begin(self, *, refresh: bool = False) -> None:
        """Ask for the map (again)."""
        screen = self._screen
        self.busy, self.asked = True, screen.top.field.text
        screen.show_head()
        screen.show_detail()
        screen.map_rows.set_count(max(1, len(screen.map_rows.lines)), screen.map_rows.at)
        options = screen.context.app.options
        asked = words(
            self.asked.strip(),
            screen.choice,
            str(options.cwd),
            refresh=refresh,
            data_dir=options.data_dir,
        )
        screen.run_worker(self._ask(asked), name="map", group="map", exclusive=True, exit_on_error=False)

    async def _ask(self, asked: list[str]) -> None:
        status, said = await self._screen.context.ask(*asked)
        self.answer, self.answered, self.busy = answer_of(status, said), True, False
        self._built = BUILDING not in self.answer.said
        self._screen.show_answer()

    def look_at_index(self) -> None:
        """How far the index is, while it is waited for; once it is whole the map is made anew from it."""
        if (self.busy or not self._built) and self._screen.is_current and not self._counting:
            self._counting = True
            self._screen.run_worker(self._count(), name="count", exit_on_error=False)

    async def _count(self) -> None:
        options = self._screen.context.app.options
        try:
            _, said = await self._screen.context.ask(*state_words(str(options.cwd), options.data_dir))
        finally:
            self._counting = False
        for state in json_rows(said)[:1]:
            self._counted = int(number_of(state, "files"))
            if not self.busy and not state.get("building"):
                self._built = True
                if self._made_of != self._counted:
                    self._made_of = self._counted
                    self.begin()
        self._screen.show_head()
        self._screen.map_rows.refresh()

    def under_way(self, ellipsis: str) -> str:
        """What is waited for; empty where nothing is."""
        if not self.busy and self._built:
            return ""
        files = f" {format_count(self._counted, 'file')}" if self._counted else ""
        return f"reading the repository{ellipsis}{files}"


class MapFrame(Page):
    """The question, the files and their details, as they are drawn."""

    scope: ClassVar[Scope] = "map"
    use_action = "map_mention"
    detail_word = "more about it"

    def __init__(self, context: AppContext, query: str = "") -> None:
        super().__init__(context)
        self.head = self.top = SessionsHead(self.looks_of)
        self.listing = self.map_rows = MapListing(self.looks_of, self.draw_row)
        self.own = not query
        """The question is the newest message, not one that was typed here."""
        newest = " ".join(context.state.root_task.split())[:MOST_QUERY]
        self.top.field.insert(query or newest)
        self.top.field.at = 0
        self.top.typing = False
        self.top.hint = HINT
        self._anew = False
        """Another question begins: nothing of it is typed yet."""
        self.drawing = MapRows(self.looks_of)
        self.top.columns = self.drawing.columns
        self.asking = MapRequests(self)
        self._listed = ""
        """The question whose answer is listed."""
        self.files: list[MapFile] = []
        """What the answer has, and behind it what is hidden, so that it can be shown again."""
        self._settings = context.state.settings
        self.choice = (
            RepoMapOptions() if context.state.settings is None else context.state.settings.map_options
        )

    def on_mount(self) -> None:
        self.asking.begin()
        self.set_interval(FOLLOW_S, self.follow)
        self.set_interval(COUNT_S, self.asking.look_at_index)

    def follow(self) -> None:
        """Show what became of a setting that was changed here."""
        settings = self.context.state.settings
        if settings is not self._settings:
            self._settings = settings
            self.show_detail()

    def show_keys(self) -> None:
        if self.top.typing:
            self.footer.set_keys(self.key_map.hints("map_find"))
        else:
            super().show_keys()

    def _fit(self) -> None:
        super()._fit()
        self.head.styles.height = rows_for(self.app.size.height)
        self._arrange()

    # -- the answer ------------------------------------------------------------------------------------------------

    def show_answer(self) -> None:
        """An answer came."""
        self._show_whose()
        if self.asking.answer.fault:
            self.say(clean_line(self.asking.answer.fault), "error")
        self._arrange("row" if self._listed == self.asking.asked else "top")
        self._listed = self.asking.asked
        self.show_head()
        self.show_detail()

    def _show_whose(self) -> None:
        own = self.own and not self.top.typing and self.top.field.text
        self.top.said, self.top.hint = "words of the last message" if own else "", HINT

    def _arrange(self, stay: Literal["row", "place", "top"] = "row") -> None:
        """The rows of the answer. The cursor stays at its row, else at its file, else at its place; or goes to the top."""
        held = key_of(self.map_rows.line, self.files)
        # Alone in the list the first of them would be the one that the cursor stays at.
        hidden = self.choice.hidden if self.asking.answered else ()
        self.files = [
            *(one for one in self.asking.answer.files if one.path not in self.choice.hidden),
            *(MapFile(path, 0.0, ("hidden",), ()) for path in hidden),
        ]
        lines = lines_of(self.files, airy=self.app.size.height >= HEADS_FROM)
        keys = [key_of(line, self.files) for line in lines]
        wanted = (held, (held[0], "")) if stay == "row" and held[0] else ()
        there = [keys.index(one) for one in wanted if one in keys]
        here = (*there, 0 if stay == "top" else self.map_rows.at)[0]
        here = next((at for at in range(here, len(lines)) if lines[at] is not None), len(lines) - 1)
        self.map_rows.lines = lines
        self.map_rows.set_count(max(1, len(lines)), here)

    @property
    def chosen(self) -> MapFile | None:
        """The file under the cursor."""
        line = self.map_rows.line
        return None if line is None else self.files[line[0]]

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        self.top.title = [("Repository map", self.top.style(bold=True))]
        said = self.asking.under_way(self.looks_of().symbols.ellipsis) if self.map_rows.lines else ""
        said = said or self.asking.answer.said.partition(";")[0]
        self.top.right = [part(said, self.top.style("t2"))] if said else []
        self.top.show()

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        if not self.map_rows.lines:
            said = self.asking.under_way(self.looks_of().symbols.ellipsis) or (
                "" if self.asking.answer.fault else NOTHING
            )
            return row(width, [("    ", self.style()), part(said, self.style("t3"))], fill=self.style())
        ground: Role = "selection" if chosen else "s0"
        line = self.map_rows.lines[at] if at < len(self.map_rows.lines) else None
        if line is None:
            return row(width, [], fill=self.style())
        one = self.files[line[0]]
        if line[1] >= 0:
            return self.drawing.symbol(one.symbols[line[1]], width, ground)
        return self.drawing.file(one, width, ground, pinned=one.path in self.choice.pinned)

    def detail_rows(self, width: int) -> list[Strip]:
        detail = MapDetail(self.looks_of(), width)
        detail.draw(self.chosen, self.choice, fault="" if self.asking.busy else self.asking.answer.fault)
        detail.budget(self.choice, len(self.asking.answer.files), self.context.state.settings)
        detail.besides(self.asking.answer.said)
        return detail.rows


class MapScreen(MapFrame):
    """Keys are in the registry, scopes `map_options` and `map_find`."""

    key_methods = {
        "map_row": "move",
        "map_mention": "enter",
        "map_insert": "use",
        "map_pin": ("toggle", "pinned"),
        "map_hide": ("toggle", "hidden"),
        "map_budget": "change_length",
        "map_inject": "switch_injection",
        "map_refresh": "read_again",
        "map_find": "begin_question",
        "map_leave": "close_detail_or_leave",
        "map_ask": "ask",
        "map_keep": "leave_field",
        "map_rows": "leave_field_for_rows",
    }

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event) and not self.run_key(event.key) and self.top.typing:
            self._type(event)

    def key_scopes(self) -> Sequence[Scope]:
        return ("map_find", "rows") if self.top.typing else super().key_scopes()

    def _type(self, event: events.Key) -> None:
        if self._anew and event.key in EDITS:
            self.top.field.insert(self.asking.asked)
        self._anew = False
        self.top.hint = HINT
        self.top.field.key(event.key, event.character)
        self.top.show()

    def ask(self) -> None:
        """Ask for the map for the question that is typed."""
        self._look(typing=False, keep=not self._anew)
        self.asking.begin()

    def leave_field(self) -> None:
        """Leave the question as it was."""
        self._look(typing=False)

    def leave_field_for_rows(self, direction: int) -> None:
        """Leave the question as it was, and choose a row."""
        self.leave_field()
        self.move(direction)

    def move_page(self, direction: int) -> None:
        if not self.top.typing:
            super().move_page(direction)

    def move_to_end(self, direction: int) -> bool:
        """Choose the first or the last row; a field that is typed in keeps the key."""
        if not self.top.typing:
            super().move_to_end(direction)
        return not self.top.typing

    def open_help(self) -> None:
        self._look(typing=False)
        super().open_help()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if not self.top.typing:
            self.top.field = Field()
            self._look(typing=True)
        self._anew = False
        self.top.field.insert(event.text)
        self.top.show()

    def begin_question(self) -> None:
        """Type another question."""
        self.top.field, self._anew = Field(), True
        self._look(typing=True)

    def read_again(self) -> None:
        """Read all files again."""
        self.asking.begin(refresh=True)

    def enter(self) -> None:
        if self.chosen is None:
            self.use()
        else:
            super().enter()

    def use(self) -> None:
        """Mention the chosen file in the message, and go back to it."""
        one = self._meant("mention")
        if one is None:
            return
        self.context.prompt.insert_mention(one.path)
        self.dismiss(None)

    def toggle(self, which: str) -> None:
        """Pin or hide, or no more; what is the one is not the other."""
        one = self._meant("pin" if which == "pinned" else "hide")
        if one is None:
            return
        known: tuple[str, ...] = getattr(self.choice, which)
        lists = {
            name: tuple(path for path in getattr(self.choice, name) if path != one.path)
            for name in ("pinned", "hidden")
        }
        if one.path not in known:
            lists[which] = (*known, one.path)
        self._choose(self.choice.model_copy(update=lists))
        self._arrange("row" if which == "pinned" else "place")
        self.show_detail()
        said = "no more" if one.path in known else "from now on"
        self.say(f"{clean_line(one.path)} is {which} {said}.")

    def _meant(self, what: str) -> MapFile | None:
        """The file under the cursor; where there is none it says why nothing is done."""
        if self.chosen is None:
            why = "the repository is still being read" if self.asking.busy else "no file is listed"
            self.say(f"There is nothing to {what} yet: {why}.", "warning")
        return self.chosen

    def change_length(self, direction: int) -> None:
        """Make the map longer, or shorter."""
        by = -direction
        now = self.choice.max_tokens
        others = [one for one in LENGTHS if (one > now if by > 0 else one < now)]
        if not others:
            self.say(
                "The map is as long as it can be." if by > 0 else "The map is as short as it can be.",
                "warning",
            )
            return
        self._choose(self.choice.model_copy(update={"max_tokens": min(others) if by > 0 else max(others)}))

    def _choose(self, choice: RepoMapOptions) -> None:
        self.choice = choice
        if self.context.connected:
            self.context.submit(SetRepoMapOptions(options=choice))
        self.asking.begin()

    def switch_injection(self) -> None:
        """Give the model a map by itself, or not."""
        settings = self.context.state.settings
        if settings is None or not self.context.connected:
            self.say("There is no session yet; --repo-map-mode off begins one without a map.", "warning")
            return
        if settings.context_mode == "none":
            self.say(
                "Context mode none sends no map; --context-mode pack opens the session with one.", "warning"
            )
            return
        mode = "off" if settings.repo_map == "auto" else "auto"
        self.context.submit(SetRepoMap(mode="off" if mode == "off" else "auto"))
        self.say(
            "The model gets a map only when it asks."
            if mode == "off"
            else "New sessions and compactions get a map."
        )

    def _look(self, *, typing: bool, keep: bool = False) -> None:
        """Type into the field, or no more: without `keep` the question whose answer is listed stands there again."""
        if typing == self.top.typing:
            return
        self.top.typing = typing
        if typing:
            self.top.said, self.top.hint = "", self.asking.asked if self._anew else HINT
        else:
            self._anew = False
            if not keep:
                self.top.field = Field(self.asking.asked)
            elif self.top.field.text != self.asking.asked:
                self.own = False
            self._show_whose()
        self.show_keys()
        self.top.show()

    @on(Intent)
    def _pressed(self, event: Intent) -> None:
        """A press on the field types into it."""
        if event.name not in OPENS and event.name == "find":
            event.stop()
            self._look(typing=True)
