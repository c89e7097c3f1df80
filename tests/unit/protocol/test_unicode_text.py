"""What cannot be seen in a text is named, and what is shown of it can be read back."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui_agent.protocol.unicode_text import (
    clip_line,
    describe_invisible,
    describe_lookalike,
    is_invisible,
    limit_combining_marks,
    reveal_invisible,
)

HOSTILE = st.text(
    st.sampled_from(
        "abср <U+202E>tab4 blanks\u202e\u200b\x1b\x00\r\t\n\u00a0\u0301\u20dd\U000e0041\ufe0f\ud800\uf8ff漢👍\U0001f3fd"
    )
    | st.characters(),
    max_size=80,
)


def read_back(shown: str) -> str:
    """The text that is shown so."""
    return re.sub(r"<U\+([0-9A-F]{4,6})>", lambda found: chr(int(found[1], 16)), shown).replace("<tab>", "\t")


@given(HOSTILE)
@example("<U+003C>tab>")
@example("a" + "\u0301" * 9 + "<tab>\t")
def test_what_is_shown_can_be_read_back_and_holds_nothing_unseen(text: str) -> None:
    shown = reveal_invisible(text, tabs=True)
    # A sign that the text itself holds has its own first letter as a sign, which is read back last.
    parts = shown.split("<U+003C>")
    assert "<".join(read_back(part) for part in parts) == text
    assert not [one for one in shown if is_invisible(one)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ls \u202egnp.sh", "U+202E"),
        ("ls\u200b", "U+200B"),
        ("ls \U000e0041\U000e0042\U000e0043\U000e0044", "U+E0041, U+E0042, U+E0043 and more"),
        ("ls\rrm", "U+000D"),
        ("rm\u00a0-rf x", "U+00A0"),
        ("echo 🙂\U000e0101\U000e0102", "U+E0101"),
        ("echo \x9b2J", "U+009B"),
        ("echo \ue0a0", "U+E0A0"),
        ("echo a" + "\u0301" * 5, "stack of combining marks"),
        ("echo ok" + " " * 60 + "; rm -rf x", "60 spaces in a row"),
        ("echo ok" + "\n" * 40 + "rm -rf x", "40 empty lines in a row"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, named: str) -> None:
    assert named in describe_invisible(text)


@pytest.mark.parametrize(
    "text",
    [
        'git commit -m "naïve café: → ✓ ☕ привет 漢字"',
        'git commit -m "⚠\ufe0f 👩\u200d💻 👍\U0001f3fd 🇩🇪 1\ufe0f\u20e3"',
        "echo 日本語\u3000テキスト",
        "echo می\u200cخواهم",
        "cat <<'E'\n\tif x:\n" + " " * 60 + "y\nE\n",
        "printf '\U0001fae8'",
        "printf 'a' " + "\\\n" * 30,
    ],
)
def test_letters_of_every_script_and_emoji_conceal_nothing(text: str) -> None:
    assert describe_invisible(text) == ""


@pytest.mark.parametrize("text", ["cat раypal.txt", "ｃurl x", "git pu\u0455h", "𝐫m x"])
def test_words_of_letters_that_read_like_others_are_found(text: str) -> None:
    assert "mixes alphabets" in describe_lookalike(text)
    assert "<U+" in reveal_invisible(text)


@pytest.mark.parametrize("text", ["echo привет мир", "echo Δx µs αx", "grep 漢字kanji", "echo café", "ls"])
def test_words_of_one_script_are_what_they_read(text: str) -> None:
    assert describe_lookalike(text) == "" and reveal_invisible(text) == text


@pytest.mark.parametrize(
    ("text", "clipped"),
    [
        ("one two three", "one two three"),
        ("one two  three\nfour", "one two…"),
        ("one two thre four", "one two thre…"),
        ("pneumonoultramicroscopic", "pneumonoultr…"),
        ("one pneumonoultramicroscopic", "one pneumono…"),
    ],
)
def test_a_line_is_cut_between_words(text: str, clipped: str) -> None:
    assert clip_line(text, 13) == clipped


@pytest.mark.slow_variants
@pytest.mark.parametrize("one", ["x", "\u202e", "\u0301", "→", "é", " \n", " ", "\n", "<", "Ж"])
def test_megabytes_are_judged_before_the_time_limit(one: str) -> None:
    text = one * (2_000_000 // max(1, len(one.encode())))
    assert (
        describe_invisible(text) is not None
        and describe_lookalike(text) is not None
        and limit_combining_marks(text) is not None
    )
