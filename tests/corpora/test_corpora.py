"""The corpora are read as they are written, and no line stands in two places."""

from collections import Counter
from pathlib import Path

import pytest

from tests.corpora import lines
from tests.corpora.lines import CorpusLine, corpus_names, read_corpus, resolve_signs


def test_signs_stand_for_characters_that_a_line_cannot_hold() -> None:
    assert resolve_signs("a␤b␍c␉d␋e␌f⟨U+200B⟩g⟨U+E0020⟩") == "a\nb\rc\td\ve\ff\u200bg\U000e0020"


def test_a_line_has_its_number_and_the_class_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    (tmp_path / "small.txt").write_text(
        "# a comment\n\n# class: first\nls␤pwd\n# class: second\n⟨U+0023⟩ x\n"
    )
    assert read_corpus("small") == [CorpusLine(4, "first", "ls\npwd"), CorpusLine(6, "second", "# x")]


def test_a_line_without_a_class_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    (tmp_path / "small.txt").write_text("ls\n")
    with pytest.raises(ValueError, match="line 1"):
        read_corpus("small")


def test_no_line_stands_twice() -> None:
    places = Counter(line.text for name in corpus_names() for line in read_corpus(name))
    assert [text for text, count in places.items() if count > 1] == []


def test_the_corpora_are_large_enough() -> None:
    counts = {name: len(read_corpus(name)) for name in corpus_names()}
    least = {
        "attacks": 1200,
        "everyday": 300,
        "everyday_asked": 60,
        "everyday_hard": 70,
        "everyday_held_out": 200,
        "held_out": 300,
    }
    assert {name: counts[name] >= number for name, number in least.items()} == dict.fromkeys(least, True)
