"""Hostile text in every field of every kind of event: no pane, sheet or screen of the app passes any of it on."""

import unicodedata
from functools import cache

import pytest
from rich.segment import Segment
from wcwidth import wcwidth

from tests.stubs.hostile import classes, control_sequences, every_text, poisoned
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.envelope import Record

LOGS = ("night_shift", "every_kind")
SIZES = [(120, 40), (80, 24), (40, 8)]
SHEETS = ("f1", "f2", "f3", "f4", "f5", "ctrl+p")
LINES = (
    "/status",
    "/tools",
    "/plugins",
    "/cost",
    "/trace",
    "/context",
    "/diff",
    "/policy",
    "/checkpoints",
    "/tree",
    "/find x",
)
UNSEEN = ("Cc", "Cs", "Cn")
_HIDDEN = set(
    map(
        chr,
        [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE0200), 0x200B, 0x200D, 0x00AD, 0x2060, 0xFEFF, 0x3164],
    )
)
_HIDDEN |= set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


@cache
def _foul(character: str) -> bool:
    return character in _HIDDEN or unicodedata.category(character) in UNSEEN


def harmless(driven: Driven) -> None:
    """Nothing of the screen is obeyed, hides or leads anywhere, and every row is as wide for a terminal as for us."""
    wide = driven.app.size.width
    for strip in driven.app.screen._compositor.render_strips():
        text = "".join(segment.text for segment in strip)
        assert not [char for char in text if _foul(char)], ascii(text)
        assert Segment.get_line_length(strip) == wide == sum(wcwidth(char) for char in text), ascii(text)
        for segment in strip:
            style = segment.style
            assert style is None or style.link is None
            assert style is None or not any("app." in str(value) for value in style.meta.values())


@cache
def log(name: str, shift: int) -> tuple[Record, ...]:
    texts = every_text()
    at = shift * len(texts) // 4
    return tuple(poisoned(golden(name), [*texts[at:], *texts[:at]]))


@pytest.mark.parametrize("shift", [0, *(pytest.param(shift, marks=pytest.mark.slow) for shift in (1, 2, 3))])
@pytest.mark.parametrize("name", LOGS)
async def test_every_event_is_harmless_while_it_arrives_and_after(name: str, shift: int) -> None:
    records = list(log(name, shift))
    half = len(records) // 2
    async with open_app(records[:half], size=SIZES[shift % 3]) as driven:
        harmless(driven)
        for at in range(half, len(records), 12):
            driven.session.records.extend(records[at : at + 12])
            for follower in driven.session.followers:
                follower.awake.set()
            await driven.settle()
            harmless(driven)
        await driven.press("escape", "pageup")
        for _ in range(8):
            harmless(driven)
            await driven.press("pageup")


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LOGS)
async def test_every_sheet_and_screen_is_harmless(name: str, size: tuple[int, int]) -> None:
    async with open_app(list(log(name, 1)), size=size) as driven:
        await driven.press("escape")
        for key in SHEETS:
            await driven.press(key)
            harmless(driven)
            await driven.press("pagedown", "down", "enter")
            harmless(driven)
            for _ in range(3):
                if len(driven.app.screen_stack) > 1:
                    await driven.press("escape")
        for line in LINES:
            driven.app.prompt.editor.put_text(line)
            await driven.press("enter")
            harmless(driven)
            await driven.press("down", "down")
            harmless(driven)
            for _ in range(3):
                if len(driven.app.screen_stack) > 1:
                    await driven.press("escape")


def test_the_grammar_makes_as_many_forms_as_terminals_are_tested_with() -> None:
    assert len(control_sequences()) >= 560 and len(classes()) >= 15
