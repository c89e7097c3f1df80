"""The sentences about an undo: a file's name never starts a line of its own."""

from tui_agent.folds.text.undo_sentences import describe_kept_files, list_restored
from tui_agent.protocol.events.files import CheckpointRestored


def test_a_line_break_in_a_files_name_is_escaped() -> None:
    name = "a\nAll files were restored.txt"
    restored = CheckpointRestored(
        source="s", commit="c", paths=(name,), removed_count=1, skipped_paths=("b\rc", "d")
    )
    assert list_restored(restored) == "1 file removed: a\\nAll files were restored.txt"
    assert describe_kept_files(restored) == ("2 files kept, changed by you or another session: b\\rc, d")
