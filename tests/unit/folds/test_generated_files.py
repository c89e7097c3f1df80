"""Sums of generated files: exact where files are made, and no more than the folder has where they change again."""

from tests.stubs.rows import rows
from tui_agent.folds.session.changed_files import GeneratedFiles, format_files, format_folders
from tui_agent.protocol.events.files import FolderChange


@rows(
    "changes, count",
    [
        ([(600, 600)], 600),
        ([(600, 600), (10, 600)], 600),
        ([(600, 600), (300, 900)], 900),
        ([(600, 600), (600, 600)], 600),
        ([(10, 2_570)], 10),
        ([], None),
    ],
)
def test_a_file_that_changed_again_counts_once(changes: list[tuple[int, int]], count: int | None) -> None:
    sums = GeneratedFiles()
    for files, total in changes:
        sums.add([FolderChange(path=".venv/", files=files, total=total)])
    assert sums.view() == (() if count is None else ((".venv/", count),))


def test_folders_are_named_with_their_numbers_and_the_rest_is_counted() -> None:
    folders = [(".venv/", 2_570), ("target/", 1), ("a/node_modules/", 9), ("b/node_modules/", 9)]
    assert format_folders(folders[:2]) == ".venv/ 2,570 files, target/ 1 file"
    assert format_folders(folders) == (
        ".venv/ 2,570 files, target/ 1 file, a/node_modules/ 9 files and 1 more generated folder"
    )
    assert format_folders([]) == ""
    assert format_files(2, folders[:1]) == "2 files and .venv/ 2,570 files"
    assert (format_files(0, folders[:1]), format_files(0, [])) == (".venv/ 2,570 files", "0 files")
