"""Folds and panes of a plugin over a log: right at every event, and whatever the plugin does is named."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tui.app.driving import GOLDEN, golden
from tui_agent.errors import PluginError
from tui_agent.folds.projection import current_branch
from tui_agent.plugin_host.panes.pane_folds import FoldCursor, FoldWatch, draw_pane, load_panes
from tui_agent.plugin_host.plugin_imports import unload_modules
from tui_agent.protocol.envelope import Envelope

FOLDS = """
from tui_agent.plugin_api import TextBlock, TreeBlock, TreeNode, pane

class Seen:
    def __init__(self):
        self.seen = []
    def apply(self, event):
        self.seen.append(event.seq)
    def view(self):
        return self.seen

@pane(Seen)
def seen(view):
    return f"{len(view)} events"
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Writes a plugin with these folds, and returns its folder."""

    def write(folds: str) -> Path:
        folder = tmp_path / "count"
        folder.mkdir(exist_ok=True)
        (folder / "folds.py").write_text(folds)
        return folder

    yield write
    unload_modules("count")


def log_of(name: str, tmp_path: Path) -> Path:
    """A session's folder with a golden log."""
    folder = tmp_path / "log"
    folder.mkdir()
    shutil.copy(GOLDEN / f"{name}.jsonl", folder / "events.jsonl")
    return folder


def branch_at(name: str, seq: int) -> list[int]:
    """The events that a fold gets up to an event."""
    records = [record for record in golden(name) if record.seq <= seq]
    return [
        record.seq
        for record in current_branch(records)
        if isinstance(record, Envelope) and record.payload.kind != "model.delta"
    ]


def test_a_fold_is_right_at_every_event_whichever_way_led_there(
    plugin: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, log = plugin(FOLDS), log_of("every_kind", tmp_path)
    fold = load_panes("count", folder)["seen"].fold
    cursor = FoldCursor(fold, folder, log, FoldWatch(), events_per_copy=1)
    last = golden("every_kind")[-1].seq
    for seq in (*range(last + 1), *range(last, -1, -5), last, 3, 40, 41, last - 1):
        cursor.move_to(seq)
        assert cursor.fold.view() == branch_at("every_kind", seq), seq
    cursor.move_to(last + 10)
    assert cursor.seq == last


def test_a_session_that_is_not_stored_yet_has_no_events(
    plugin: Callable[[str], Path], tmp_path: Path
) -> None:
    """A new session has no log before its first message."""
    folder = plugin(FOLDS)
    cursor = FoldCursor(load_panes("count", folder)["seen"].fold, folder, tmp_path / "log", FoldWatch())
    cursor.move_to(7)
    assert cursor.fold.view() == []
    last = golden("every_kind")[-1].seq
    log_of("every_kind", tmp_path)
    cursor.move_to(last)
    assert cursor.fold.view() == branch_at("every_kind", last)


def test_going_back_applies_only_the_events_since_a_copy(
    plugin: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, log = plugin(FOLDS), log_of("night_shift", tmp_path)
    applied: list[int] = []

    class Watch(FoldWatch):
        def before_event(self, seq: int) -> None:
            applied.append(seq)

    fold = load_panes("count", folder)["seen"].fold
    cursor = FoldCursor(fold, folder, log, Watch(), events_per_copy=10)
    cursor.move_to(196)
    applied.clear()
    cursor.move_to(158)
    assert applied and min(applied) > 140 and cursor.fold.view() == branch_at("night_shift", 158)


def test_a_fold_that_cannot_be_copied_begins_again(plugin: Callable[[str], Path], tmp_path: Path) -> None:
    folds = FOLDS.replace("self.seen = []", "self.seen = []; self.never = (n for n in ())")
    folder, log = plugin(folds), log_of("night_shift", tmp_path)
    fold = load_panes("count", folder)["seen"].fold
    cursor = FoldCursor(fold, folder, log, FoldWatch(), events_per_copy=10)
    cursor.move_to(196)
    cursor.move_to(60)
    assert cursor.fold.view() == branch_at("night_shift", 60)


def test_an_error_names_the_line_and_the_event_and_ends_before_it(
    plugin: Callable[[str], Path], tmp_path: Path
) -> None:
    folds = FOLDS.replace("self.seen.append(event.seq)", "self.seen.append(1 // (event.seq - 5))")
    folder, log = plugin(folds), log_of("night_shift", tmp_path)
    cursor = FoldCursor(load_panes("count", folder)["seen"].fold, folder, log, FoldWatch())
    for seq in (5, 100):
        with pytest.raises(PluginError, match=r"ZeroDivisionError: .* \(folds.py:8, at event 5, "):
            cursor.move_to(seq)
    cursor.move_to(4)
    assert len(cursor.fold.view()) == 5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return view['x']", r"TypeError: list indices .* \(folds.py:14\)"),
        ("raise SystemExit(3)", r"SystemExit: 3 \(folds.py:14\)"),
        ("raise KeyboardInterrupt", r"KeyboardInterrupt \(folds.py:14\)"),
        ("return 3", "something that is not a display block"),
        ("return [object()]", "something that is not a display block"),
        ("return 'x' * 50_000_000", "returned 50 MB; the limit is 64 KB"),
        ("return TextBlock(txt=1)", r"ValidationError: .* \(folds.py:14\)"),
    ],
)
def test_whatever_a_pane_does_is_named(plugin: Callable[[str], Path], body: str, message: str) -> None:
    folder = plugin(FOLDS.replace('return f"{len(view)} events"', body))
    pane = load_panes("count", folder)["seen"]
    with pytest.raises(PluginError, match=message):
        draw_pane(pane, pane.fold(), folder)


def test_a_text_one_block_or_several_are_drawn(plugin: Callable[[str], Path]) -> None:
    for body, blocks in (
        ("return 'a'", b'[{"kind":"text","text":"a"}]'),
        ("return TextBlock(text='a')", b'[{"kind":"text","text":"a"}]'),
        ("yield 'a'; yield TextBlock(text='b')", b'[{"kind":"text","text":"a"},{"kind":"text","text":"b"}]'),
        ("return ()", b"[]"),
    ):
        folder = plugin(FOLDS.replace('return f"{len(view)} events"', body))
        pane = load_panes("count", folder)["seen"]
        assert draw_pane(pane, pane.fold(), folder) == blocks
        unload_modules("count")


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ("import nowhere", "It needs the module nowhere, which is not installed"),
        ("def f(:", r"invalid syntax .*folds.py:1"),
        ("raise SystemExit", r"SystemExit \(folds.py:1\)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(
    plugin: Callable[[str], Path], folds: str, message: str
) -> None:
    with pytest.raises(PluginError, match=message):
        load_panes("count", plugin(folds))
