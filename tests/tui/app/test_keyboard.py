"""The bytes of the terminal as keys, pastes and reports: however they are read."""

import pytest
from textual import events
from textual.message import Message

from tui_agent.tui.terminal.keyboard import BackgroundReported, Keyboard


def keys_of(*reads: str, patient: bool = False) -> list[str]:
    """The keys, and the texts of pastes, that the terminal's bytes are; unless `patient`, after each read the parser
    waits no longer for the rest of a sequence."""
    parser = Keyboard()
    found: list[Message] = []
    for read in reads:
        found += parser.feed(read)
        if parser._timeout_time is not None and not patient:
            parser._timeout_time = 0.0
        found += parser.tick()
    kinds = (events.Key, events.Paste)
    return [one.text if isinstance(one, events.Paste) else one.key for one in found if isinstance(one, kinds)]


def test_esc_and_enter_in_one_go_are_alt_enter_and_one_after_the_other_two_keys() -> None:
    assert keys_of("a\x1b\rb") == ["a", "alt+enter", "b"]
    assert keys_of("\x1b", "\r") == ["escape", "enter"]


def test_ctrl_alt_and_a_letter_is_one_key_and_esc_then_ctrl_and_a_letter_two() -> None:
    assert keys_of("\x1b\x18") == ["alt+ctrl+x"]
    assert keys_of("\x1b\x03") == ["alt+ctrl+c"]
    assert keys_of("\x1b\x7f") == ["ctrl+w"]
    assert keys_of("\x1b", "\x03") == ["escape", "ctrl+c"]
    assert keys_of("\x1b\x03\x1b\x03") == ["escape", "ctrl+c", "escape", "ctrl+c"]


def test_f3_with_a_modifier_is_a_key_and_not_a_report_of_the_cursor() -> None:
    assert keys_of("\x1b[1;5R") == ["ctrl+f3"]
    assert keys_of("a\x1b[1;3Rb") == ["a", "alt+f3", "b"]


def test_esc_and_tab_are_two_keys_and_never_shift_tab() -> None:
    assert keys_of("\x1b\t") == keys_of("\x1b", "\t") == ["escape", "tab"]
    assert keys_of("\x1b", "\t", patient=True) == ["escape", "tab"]
    assert keys_of("\x1b[Z") == ["shift+tab"]


WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


def reports_of(*reads: str) -> list[bool]:
    """The reports in the terminal's bytes: True for a dark background."""
    parser = Keyboard()
    found = [message for read in reads for message in parser.feed(read)]
    return [message.is_dark for message in found if isinstance(message, BackgroundReported)]


def test_the_report_of_the_background_is_never_a_key_however_it_is_read() -> None:
    black = "\x1b]11;rgb:0000/0000/0000\x07"
    assert keys_of(f"a{WHITE}b{black}c") == ["a", "b", "c"]
    assert reports_of(f"a{WHITE}b{black}c") == [False, True]
    for cut in range(1, len(WHITE)):
        assert keys_of("a", WHITE[:cut], f"{WHITE[cut:]}b", patient=True) == ["a", "b"], cut
        assert reports_of("a", WHITE[:cut], f"{WHITE[cut:]}b") == [False], cut
    assert keys_of("\x1b]11;nonsense\x07") != []
    assert (keys_of("\x1b]11;rgb:fff\x07"), reports_of("\x1b]11;rgb:fff\x07")) == ([], [])
    assert reports_of("\x1b]11;#10203f\x07", "\x1b]11;rgba:f/f/f/f\x07") == [True, False]
    assert keys_of(f"\x1b[200~{WHITE}\x1b[201~") == [WHITE]
    assert keys_of("\x1b]", "a") == ["right_square_bracket", "a"]


def test_a_report_that_never_ends_keeps_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    parser, now = Keyboard(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    assert list(parser.feed("\x1b]11;rgb:ff")) == []
    now[0] += 1
    assert [message.key for message in parser.feed("a") if isinstance(message, events.Key)] == ["a"]


def test_esc_before_other_keys_that_came_in_one_go_is_esc() -> None:
    assert keys_of("o\r\x1bsix\r") == ["o", "enter", "escape", "s", "i", "x", "enter"]
    assert keys_of("\x1b", "six", patient=True) == ["escape", "s", "i", "x"]
    assert keys_of("\x1bs") == ["alt+s"]
    assert keys_of("\x1b\x1b[A") == ["escape", "up"]
    assert keys_of("a\x1b[", "Bb", patient=True) == ["a", "down", "b"]
    assert keys_of("\x1b", "[A", patient=True) == ["up"]


def test_all_of_a_paste_is_text_whatever_it_contains_and_however_it_is_read() -> None:
    pasted = "p\x1b]52;c;aGk=\x07q\x1b[Ax\x1b[20\x1b[2000~\x1b\x1b"
    stream = f"a\x1b[200~{pasted}\x1b[201~\x1b[200~\x1b[201~b\x1b[200~c\x1b[201~\x1b[B"
    wanted = ["a", pasted, "", "b", "c", "down"]
    assert keys_of(stream) == wanted
    assert keys_of(*stream, patient=True) == wanted
    for at in range(1, len(stream)):
        assert keys_of(stream[:at], stream[at:], patient=True) == wanted
