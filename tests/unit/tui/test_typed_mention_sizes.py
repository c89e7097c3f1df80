"""How many characters mentioned files add to a message: whole files, lines of files, and limits."""

from pathlib import Path

from tui_agent.folds.text.mention_parser import MAX_MENTION_CHARS
from tui_agent.tui.prompt.typed_mentions import (
    CHARS_PER_LINE,
    NUMBER_CHARS,
    find_files,
    find_typed_mentions,
)


def test_mentioned_files_count_once_each_and_within_the_limits(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x" * 3_000)
    (tmp_path / "a b.md").write_text("y" * 500)
    (tmp_path / "huge.log").write_text("z" * (MAX_MENTION_CHARS + 1))
    (tmp_path / "src").mkdir()

    def chars(text: str) -> int:
        return find_files(find_typed_mentions(text, tmp_path, []), tmp_path)[1]

    assert chars('Compare @a.py, (@a.py) and @"a b.md" with @missing.txt and @src/') == (
        3_500 + (3_000 + 520) // CHARS_PER_LINE * NUMBER_CHARS
    ), "each line has its number"
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / "src" / "lib").mkdir()
    assert chars("look into @src/") == len("main.py\nlib\n"), "a mentioned folder adds the list of its names"
    assert chars("@a.py:10-19") == 10 * (CHARS_PER_LINE + NUMBER_CHARS)
    assert chars("@huge.log") == MAX_MENTION_CHARS
