"""Entries built by hand, and an app that holds nothing but the transcript."""

from collections.abc import Sequence
from typing import Any

from textual.app import App, ComposeResult

from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    TranscriptView,
    TurnEntry,
    UserEntry,
)
from tui_agent.protocol.display_blocks import DiffBlock, TerminalBlock
from tui_agent.protocol.ids import AgentId, CallId, RequestId
from tui_agent.tui.theme.glyphs import UNICODE, Symbols
from tui_agent.tui.theme.theme import ColourMode, Palette, bundled_folder, load_theme, textual_theme
from tui_agent.tui.transcript.transcript_messages import BlobWanted, EntryAction, LinkClicked, TextSelected
from tui_agent.tui.transcript.widget import TranscriptWidget
from tui_agent.tui.widgets.keymap import KeyMap

AT = 1_775_052_120.0
MAIN = AgentId("main")


class Samples:
    """Builds entries with ids, sequence numbers and turns counted up."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.turn = 0

    def _base(self) -> dict[str, Any]:
        number = len(self.entries)
        return {
            "id": f"e{number}",
            "seq": number,
            "time": AT + number,
            "turn": self.turn,
            "revision": 1,
            "agent": MAIN,
        }

    def user(self, text: str, **more: Any) -> UserEntry:
        if more.get("state", "sent") == "sent":
            self.turn += 1
        return self._add(
            UserEntry(**(self._base() | {"text": text, "attachments": (), "state": "sent"} | more))
        )

    def answer(self, text: str, **more: Any) -> AnswerEntry:
        return self._add(AnswerEntry(**self._base(), text=text, **({"streaming": False} | more)))

    def tool(
        self, verb: str, target: str, outcome: str = "", ms: float | None = None, **more: Any
    ) -> ToolEntry:
        number = len(self.entries)
        fields: dict[str, Any] = {"state": "done", "arguments": {}} | more
        return self._add(
            ToolEntry(
                **self._base(),
                call_id=CallId(f"c{number}"),
                name=verb,
                verb=verb,
                target=target,
                outcome=outcome,
                duration_ms=ms,
                **fields,
            )
        )

    def add_reasoning(self, text: str, *, streaming: bool) -> ReasoningEntry:
        return self._add(ReasoningEntry(**self._base(), text=text, streaming=streaming))

    def add_question(
        self, text: str, form: str, options: tuple[str, ...], answer: str | None = None
    ) -> QuestionEntry:
        number = RequestId(f"q{len(self.entries)}")
        return self._add(
            QuestionEntry(
                **self._base(), question_id=number, text=text, form=form, options=options, answer=answer
            )
        )

    def notice(self, kind: str, level: str, *lines: str, **more: Any) -> NoticeEntry:
        return self._add(NoticeEntry(**self._base(), kind=kind, level=level, lines=lines, **more))  # type: ignore[arg-type]

    def turn_end(self, **more: Any) -> TurnEntry:
        fields = {
            "reason": "finished",
            "detail": "",
            "duration_ms": 51_000.0,
            "iterations": 6,
            "files": 3,
            "added": 20,
            "removed": 2,
            "cost_usd": 0.076,
        } | more
        return self._add(TurnEntry(**self._base(), **fields))

    def view(self) -> TranscriptView:
        return TranscriptView(entries=self.entries, revision=len(self.entries))

    def _add(self, entry: Any) -> Any:
        self.entries.append(entry)
        return entry


DIFF = """@@ -23,2 +23,5 @@
     def duration(self) -> timedelta:
-        return self.end - self.start
+        end = self.end
+        if end < self.start:  # the shift ends on the next day
+            end += timedelta(days=1)
+        return end - self.start
"""


def diff_block(path: str, diff: str = DIFF, added: int = 4, removed: int = 1) -> DiffBlock:
    return DiffBlock(path=path, diff=diff, added=added, removed=removed)


def night_shift() -> Samples:
    """The session of the pictures, by hand."""
    s = Samples()
    s.user("What does this package do? Only read, change nothing.")
    s.answer("It reads shift entries and adds up hours per week.")
    s.turn_end(duration_ms=14_000.0, iterations=2, files=0, added=0, removed=0, cost_usd=0.021)
    s.user(
        "timesheet report --week 13 shows -32.5 h for the night shift. Find out why and fix it. Keep the file format."
    )
    s.tool(
        "run",
        "timesheet report --week 13",
        "exit 0",
        400,
        blocks=(
            TerminalBlock(
                text="Mon 25 Mar   night   22:00–06:30   \x1b[31m-15.5 h\x1b[0m\n"
                "Tue 26 Mar   night   23:00–06:00   \x1b[31m-17.0 h\x1b[0m\nWed\nThu\n"
            ),
        ),
    )
    s.tool("search", "\\.duration\\b  in src, tests", "7 hits", 9)
    s.tool("read", "src/timesheet/entry.py  1–61", "61 lines", 6)
    s.tool("read", "src/timesheet/report.py  1–118", "118 lines", 5)
    s.tool(
        "[Subtask]",
        "Who relies on duration() being negative?",
        "2 tool calls",
        11_200,
        blocks=(
            TerminalBlock(
                text="Nobody. 3 callers: report.py:41, report.py:88, cli.py:57; all only add hours up."
            ),
        ),
    )
    s.answer("Cause: `Entry.duration` ignores the date; a night shift comes out negative.")
    s.tool("edit", "src/timesheet/entry.py", "+4 -1", 8, blocks=(diff_block("src/timesheet/entry.py"),))
    longer = "@@ -1,0 +1,15 @@\n" + "".join(f"+    assert x == {n}\n" for n in range(15))
    s.tool(
        "edit", "tests/test_entry.py", "+15 -0", 7, blocks=(diff_block("tests/test_entry.py", longer, 15, 0),)
    )
    s.tool(
        "run",
        "pytest -q",
        "exit 1",
        2100,
        state="failed",
        blocks=(
            TerminalBlock(
                text="\x1b[31mFAILED\x1b[0m tests/test_report.py::test_week_total - assert 39.5 == 15.5\n"
                "1 failed, 31 passed in 1.74 s\n"
            ),
        ),
    )
    s.tool(
        "edit",
        "tests/test_report.py",
        "+1 -1",
        7,
        blocks=(
            diff_block(
                "tests/test_report.py",
                "@@ -41,1 +41,1 @@\n-    assert total == 39.5\n+    assert total == 15.5\n",
                1,
                1,
            ),
        ),
    )
    s.tool("run", "pytest -q", "32 passed", 2000)
    s.answer(
        "**Fixed.** A shift whose end is before its start counts as ending the next day.\n"
        "- week 13 shows **+15.5 h** for the night shift instead of -32.5 h\n"
        "- the file format is unchanged; old sheets give right totals without editing\n"
        "- 3 new tests cover midnight, exactly 24 h, and a zero-length entry\n"
    )
    s.turn_end()
    return s


def every_state() -> Samples:
    """One of each kind of row, in each of its states."""
    s = Samples()
    s.user("Look around.")
    for number in range(7):
        s.tool("read", f"src/timesheet/file_{number}.py  1–61", "61 lines", 6)
    s.tool("search", "duration", "7 hits", 9)
    s.tool("run", "pytest -q", "32 passed", 2000, blocks=(TerminalBlock(text="....\n32 passed in 1.7 s\n"),))
    s.turn_end(files=0)
    s.user("Go on, with this:\n    indented\nand `code`.", time=AT + 120)
    s.add_reasoning("The user wants more.\nSo I look at entry.py first.\nThen I change it.", streaming=False)
    s.notice("compaction", "info", "6 turns became 1.2k tokens", blocks=(TerminalBlock(text="summary"),))
    s.notice("retry", "running", "The provider is busy (429). Trying again in 4 s, try 2 of 5.")
    s.notice("rejected", "warning", "A turn is running.", "You can change the model when it has ended.")
    s.notice(
        "shell", "info", "exit 0", command="git status --short", blocks=(TerminalBlock(text=" M entry.py\n"),)
    )
    s.notice(
        "model_failed",
        "error",
        "The model server cannot be reached.",
        "http://localhost:11434 refused the connection: Ollama is not running.",
        "Your message and 1 tool result are kept. No file was changed in this turn.",
        "Enter try again · /model switch to another model · /trace see the 4 tries · Esc leave it",
        command="qwen3-coder:30b",
    )
    s.tool(
        "run",
        "npx cowsay 'a long command' --with=many --options=that --do=not --fit=on --one=row --of=the --screen=at all",
        "",
        None,
        state="denied",
        denial="policy plan allows no writes. Shift+Tab changes the policy.",
    )
    s.tool(
        "edit",
        "src/a.py",
        "",
        3,
        state="denied",
        denial="You said no: not this file",
        denied_by_user=True,
        blocks=(diff_block("src/a.py"),),
    )
    s.tool(
        "edit", "src/b.py", "old text was found 3 times; give more of the lines around it", 3, state="failed"
    )
    s.tool(
        "run",
        "cat <<'EOF' > x\n1\n2\n3\n4\n5\n6\nEOF",
        "stopped",
        12_000,
        state="interrupted",
        output="half a line",
    )
    s.tool("run", "make build", "", None, state="waiting")
    s.add_question("Which database?", "choice", ("sqlite", "postgres"))
    s.tool(
        "[Subtask]",
        "Who relies on it?",
        "2 calls",
        None,
        state="running",
        started_at=AT,
        output="read a.py\nsearch x\n",
    )
    s.tool(
        "run",
        "pytest -q",
        "",
        None,
        state="running",
        started_at=AT,
        output="".join(f"tests/test_{n}.py ......    [ {n}%]\n" for n in range(18))
        + "tests/test_report.py ..",
        output_lines=18,
    )
    s.tool("run", "timesheet report --week 13", state="queued")
    s.answer(
        "I will\n\n| file | lines |\n|---|--:|\n| a.py | 12 |\n\n1. look at [the docs](https://example.com/x)\n2. then",
        streaming=True,
    )
    s.user("Also check entries of exactly 24 h.", state="queued")
    return s


EVERY_ACTION = frozenset({"fork", "revert", "diff", "undo"})


class TranscriptApp(App[None]):
    """The widget alone, in a theme; what it posts is kept in `posted`."""

    key_map = KeyMap()
    CSS = "Screen { background: $s0; } TranscriptWidget { height: 1fr; scrollbar-color: $border-strong; scrollbar-background: $s0; }"

    def __init__(
        self,
        entries: Sequence[Entry] = (),
        *,
        theme: str = "night",
        mode: ColourMode = "full",
        symbols: Symbols = UNICODE,
        **widget: Any,
    ) -> None:
        super().__init__(ansi_color=mode != "full")
        self.entries = entries
        self.posted: list[object] = []
        loaded = load_theme(bundled_folder() / f"{theme}.toml")
        made = textual_theme(loaded, mode)
        self.register_theme(made)
        self._wanted = made.name
        self.animation_level = "none"
        self.transcript = TranscriptWidget(
            Palette(loaded, mode), symbols, **{"actions": EVERY_ACTION} | widget
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"s0": "#14181d", "border-strong": "#687486"}

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.theme = self._wanted
        self.transcript.set_view(TranscriptView(entries=self.entries, revision=1))

    def on_entry_action(self, message: EntryAction) -> None:
        self.posted.append(message)

    def on_link_clicked(self, message: LinkClicked) -> None:
        self.posted.append(message)

    def on_text_selected(self, message: TextSelected) -> None:
        self.posted.append(message)

    def on_blob_wanted(self, message: BlobWanted) -> None:
        self.posted.append(message)
