"""Two branches side by side: figures, lines of time that play together, where the files differ, and the answers.

Invariant: reads and shows; no model and no tool runs, and nothing is written but the export that is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from pydantic import TypeAdapter, ValidationError
from textual import events, on
from textual.app import ComposeResult
from textual.strip import Strip

from tui_agent.folds.comparison.fold import Comparison
from tui_agent.folds.comparison.side import Side
from tui_agent.folds.trace.timeline import Timeline
from tui_agent.tui.actions import Scope
from tui_agent.tui.cli_client import Ask, json_rows, text_of
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.footer import Footer
from tui_agent.tui.panes.marks import DENIED, MARKS, mark_symbol
from tui_agent.tui.panes.note import Level, Note
from tui_agent.tui.screens.compare.ends import Ends
from tui_agent.tui.screens.compare.head import CompareHead, CompareHeader, Moment, columns
from tui_agent.tui.screens.replay.pane import minutes
from tui_agent.tui.screens.replay.playhead import SPEEDS, Playhead, PlayheadScreen
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.keymap import claims_key
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.listing import Lines
from tui_agent.tui.widgets.rows import Part, part

if TYPE_CHECKING:
    from tui_agent.tui.main_screen import Frame


async def ask_comparison(ask: Ask, names: tuple[str, ...]) -> Comparison | str:
    """The comparison of these sessions, named as on the command line; or why there is none, in a sentence."""
    status, said = await ask("compare", *names, "--json")
    row = next((row for row in json_rows(said) if "left" in row), None)
    if status or row is None:
        return _sentence(said) or "The sessions could not be compared."
    try:
        return TypeAdapter(Comparison).validate_python(row)
    except ValidationError:
        return "The answer of another version of the program cannot be shown."


async def export_comparison(ask: Ask, names: tuple[str, ...], folder: str) -> tuple[bool, str]:
    """Write the comparison as Markdown, into this folder; whether that was done, and where it is or why it is not."""
    status, said = await ask("compare", *names, "--markdown", "--json", "--cwd", folder)
    path = next((text_of(row, "path") for row in json_rows(said)), "")
    if status or not path:
        return False, _sentence(said) or "The comparison could not be exported."
    return True, f"Exported to {clean_line(path)}"


def _sentence(said: str) -> str:
    return clean_line(" ".join(said.split())).removeprefix("tui-agent: ")


SAID_S: Final = 8.0
PLAYED_S: Final = 10.0
"""About so long both lines take to play at first."""
LEAST_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be done from here. `keep` opens a branch in the app; `nothing` is told why there is no comparison.

    `own` is the session that is open, `title` its name, `folder` where it works. `say` is told what came of an export
    once this screen is gone.
    """

    ask: Ask
    own: str
    title: str
    folder: str
    keep: Callable[[Side], None]
    nothing: Callable[[str], None]
    say: Callable[[str, Level], None]


class CompareFrame(PlayheadScreen):
    """Both branches as they are drawn, and the head that moves over them."""

    DEFAULT_CSS = """
    CompareFrame { background: $s0; }
    CompareFrame Lines { height: 1fr; overflow-x: hidden; scrollbar-size: 1 1; background: $s0; }
    CompareFrame Note { display: none; }
    """

    def __init__(self, names: tuple[str, ...], choices: Choices, looks: Callable[[], Looks]) -> None:
        super().__init__()
        self.names = names
        self.compared: Comparison | None = None
        self.chosen = 0
        self.file = 0
        self._choices = choices
        self._looks = looks
        self.header, self.footer = CompareHeader(looks), Footer(looks)
        self.header.opened = choices.title
        self.head, self.lines = CompareHead(looks), Lines(looks)
        self.note = Note(looks)
        self.playhead = Playhead(_line(None), 0)
        self._said = 0

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.head
        yield self.lines
        yield self.note
        yield self.footer

    def on_mount(self) -> None:
        self.head.said = "reading both …"
        self._fit()
        self.run_worker(self._read(), name="compare", exit_on_error=False)

    async def _read(self) -> None:
        found = await ask_comparison(self._choices.ask, self.names)
        if isinstance(found, str):
            self.dismiss(None)
            self._choices.nothing(found)
            return
        self.compared = found
        self.chosen = int(found.right.session == self._choices.own != found.left.session)
        line = _line(found)
        fitting = (speed for speed in SPEEDS if speed >= 1 and speed * PLAYED_S >= line.length)
        self.playhead = Playhead(line, len(line) - 1, next(fitting, SPEEDS[-1]))
        self.header.set_comparison(found)
        self.footer.set_keys(self.key_map.hints("compare"))
        self._fit()

    # -- showing ---------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        height = self.app.size.height
        bars = height >= 10
        self.header.display = self.footer.display = bars
        rows = max(1, min(self.head.rows_for(height), height - 2 * bars - LEAST_LINES))
        self.head.styles.height = rows if self.compared is not None else 2
        airy = cast("Frame", self.app).shape.airy
        self.footer.styles.margin = (1, 0, 0, 0) if airy else 0
        self.show()
        self.call_after_refresh(self.show_ends)  # their height is known only then

    def show(self) -> None:
        """Everything, as it is now."""
        self.show_head()
        self.show_ends()

    def show_head(self) -> None:
        """The figures and lines, where the head stands."""
        self.head.set_state(self.compared, self.chosen, self._moment())

    def show_ends(self, *, keep: bool = True) -> None:
        """The file that is chosen, and what stands below it."""
        if self.compared is None:
            return
        looks = self._looks()
        ends = Ends(self.compared, looks, columns(self.app.size.width), self.chosen)
        self.lines.set_rows(ends.rows(self.file), ends.fill, keep=keep)

    def _moment(self) -> Moment:
        head = self.playhead
        if head.place >= head.last and not head.playing:
            return Moment()
        at, end = (minutes(round(seconds, 1)) for seconds in (head.seconds, head.line.length))
        said = f"{head.speed:g}x   {at} of {end}"
        return Moment(head.seconds * 1000, head.playing, said if head.playing else f"paused   {said}")

    def say(self, text: str, level: Level = "info") -> None:
        """A short word above the footer; it goes after a while."""
        self._said += 1
        mine = self._said
        self.note.text, self.note.level = text, level
        self.note.styles.height = len(self.note.lines(self.app.size.width))
        self.note.display = True
        self.note.show()
        self.set_timer(SAID_S, lambda: self._hush(mine))

    def _hush(self, said: int) -> None:
        if said == self._said:
            self.note.display = False

    # -- playing ---------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        return self.compared is not None

    def show_place(self) -> None:
        self.show_head()

    def show_beat(self, moved: bool) -> None:
        self.show_head()  # both lines move between events too


class CompareScreen(CompareFrame):
    """`names` are one or two sessions as `tui-agent compare` takes them. Keys are in the registry, scope `compare`."""

    key_methods = {
        "compare_side": "choose_other",
        "compare_file": "show_file",
        "compare_play": ("move", Playhead.toggle),
        "compare_keep": "keep",
        "compare_export": "export",
        "compare_leave": "leave",
        "compare_event": ("go", "event"),
        "compare_ends": "go_to_end",
        "compare_speed": "change_speed",
        "compare_scroll": "scroll_page",
        "help": "open_help",
    }

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if claims_key(self, event):
            self.run_key(event.key)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of comparisons."""
        return ("compare",)

    def leave(self) -> None:
        """Back to what lies below."""
        self.dismiss(None)

    def choose_other(self) -> None:
        """Choose the other branch."""
        self.choose(1 - self.chosen)

    def choose(self, side: int) -> None:
        """The other branch is the one that K keeps, and where only one has room it is shown."""
        self.chosen = side
        self.show()

    def show_file(self, by: int) -> None:
        """Show the file before or behind."""
        count = len(self.compared.differences) if self.compared is not None else 0
        if count:
            self.file = (self.file + by) % count
            self.show_ends(keep=False)

    def scroll_page(self, direction: int) -> None:
        """Scroll the file and the answers by a page."""
        self.lines.scroll_relative(y=direction * max(1, self.lines.size.height - 2), animate=False)

    def keep(self) -> None:
        """Go on with the chosen branch."""
        if self.compared is not None:
            self.dismiss(None)
            self.app.call_later(
                self._choices.keep, self.head.sides[self.chosen]
            )  # it may ask, and this is gone

    def export(self) -> None:
        """Write it as Markdown; that goes on where this screen is left meanwhile."""
        if self.compared is not None:
            self.say(f"Writing the comparison to {clean_line(self._choices.folder)} …")
            self.app.run_worker(self._exported(), name="export", exit_on_error=False)

    async def _exported(self) -> None:
        done, said = await export_comparison(self._choices.ask, self.names, self._choices.folder)
        (self.say if self.is_attached else self._choices.say)(said, "done" if done else "error")

    def open_help(self) -> None:
        """Every key of a comparison, and what the marks mean."""

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            rows: list[Strip] = []
            for action in self.key_map.actions:
                if action.scope == "compare":
                    rows += viewer.pair(width, action.shown, action.help, names=27)
            legend: list[Part] = []
            for mark, word, role in (*MARKS, DENIED):
                legend += [
                    (mark_symbol(mark, viewer.looks.symbols), viewer.style(role)),
                    part(f" {word}   ", viewer.style("t2")),
                ]
            return [*rows, viewer.gap(width), viewer.line(width, legend)]

        self.app.push_screen(Viewer(self._looks, "Comparison", draw))

    @on(Intent)
    def _intent(self, event: Intent) -> None:
        """A press on a name chooses that branch; one on the footer's help opens it."""
        event.stop()
        if event.name == "side" and event.argument in ("0", "1"):
            self.choose(int(event.argument))
        elif event.name == "help":
            self.open_help()


def _line(compared: Comparison | None) -> Timeline:
    """Both lines as one: every moment at which something happens on either, in seconds."""
    sides = () if compared is None else (compared.left, compared.right)
    clock = {0.0, *(beat.at_ms / 1000 for side in sides for beat in side.timeline)}
    return Timeline(tuple(sorted(clock)), (), (), ())
