"""Streaming pieces merged before they are recorded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.clock import FakeClock
from tui_agent.engine.delta_merge import MAX_EVENT_CHARS, DeltaMerger


def _merger(tick: float) -> tuple[DeltaMerger[str], list[tuple[str, str]]]:
    out: list[tuple[str, str]] = []
    return DeltaMerger(FakeClock(tick=tick), lambda key, text: out.append((key, text))), out


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=40)), max_size=60), st.floats(0, 0.2))
def test_pieces_come_out_whole_and_in_order_and_keys_never_mix(
    pieces: list[tuple[str, str]], tick: float
) -> None:
    merger, out = _merger(tick)
    for key, text in pieces:
        merger.add(key, text)
    merger.finish()
    for key in "ab":
        assert "".join(t for k, t in out if k == key) == "".join(t for k, t in pieces if k == key)
    assert "".join(text for _, text in out) == "".join(text for _, text in pieces)
    assert all(0 < len(text) <= MAX_EVENT_CHARS for _, text in out)


@pytest.mark.slow
def test_twenty_thousand_pieces_at_once_become_few_events() -> None:
    merger, out = _merger(0.0)
    for _ in range(20_000):
        merger.add("a", "word")
    merger.finish()
    assert len(out) <= 20_000 * 4 // MAX_EVENT_CHARS + 2


def test_a_word_that_still_grows_is_not_cut_so_a_secret_stays_whole() -> None:
    merger, out = _merger(1.0)
    for piece in ("the key is sk-", "abc", "def", "ghi", " and", " so on"):
        merger.add("a", piece)
    merger.finish()
    assert any("sk-abcdefghi" in text for _, text in out)


def test_text_without_spaces_is_not_held_back_for_ever() -> None:
    merger, out = _merger(1.0)
    for _ in range(600):
        merger.add("a", "=" * 16)
    assert sum(len(text) for _, text in out) > 1000
    merger.add("b", "漢字")
    assert out[-1] == ("b", "漢字")
