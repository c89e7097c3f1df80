"""The words of a question that a file matches, as the user wrote them."""

from pathlib import Path

from tui_agent.context.repomap.search_without_index import MAX_WORDS, MatchedWords

CODE = "class Shift:\n    def duration(self): ...\n    # durations of shifts\n\ndef parseConfig(): ...\n"


def test_words_are_shown_as_typed_with_the_number_of_their_lines(tmp_path: Path) -> None:
    (tmp_path / "entry.py").write_text(CODE)
    words = MatchedWords(str(tmp_path), "Durations of the night shift are negative after parse_config")
    assert words.find("entry.py") == [("parse", 1), ("config", 1), ("durations", 2), ("shift", 2)]


def test_a_word_that_is_only_in_the_path_counts_no_line(tmp_path: Path) -> None:
    (tmp_path / "night").mkdir()
    (tmp_path / "night" / "a.py").write_text("pass\n")
    assert MatchedWords(str(tmp_path), "the night shift").find("night/a.py") == [("night", 0)]


def test_no_question_and_a_file_that_is_gone_or_binary_match_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"shift\0\n")
    (tmp_path / "a.py").write_text("shift\n")
    assert MatchedWords(str(tmp_path), "").find("a.py") == []
    words = MatchedWords(str(tmp_path), "shift")
    assert (words.find("gone.py"), words.find("b.bin")) == ([], [])


def test_at_most_a_few_words_are_shown(tmp_path: Path) -> None:
    names = [f"word{letter}" for letter in "bcdfghjklmnpq"]
    (tmp_path / "a.txt").write_text("\n".join(names))
    assert len(MatchedWords(str(tmp_path), " ".join(names)).find("a.txt")) == MAX_WORDS
