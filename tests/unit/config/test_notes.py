"""Which notes there are, for whoever lists or searches them."""

import os
from pathlib import Path

from tui_agent.config.extensions.note_files import MAX_BYTES, MAX_LISTED, list_note_locations, list_notes


def test_the_newest_are_listed_though_their_names_come_last(tmp_path: Path) -> None:
    for number in range(MAX_LISTED + 5):
        path = tmp_path / f"n{number:03}.md"
        path.write_text(f"# Note {number}")
        os.utime(path, (1_000 + number, 1_000 + number))
    found = list_notes(tmp_path)
    assert len(found) == MAX_LISTED
    assert (found[0].title, found[-1].title) == (f"Note {MAX_LISTED + 4}", "Note 5")


def test_a_folder_below_counts_a_link_and_a_folder_further_down_do_not(tmp_path: Path) -> None:
    inside, outside = tmp_path / "notes", tmp_path / "outside"
    (inside / "below" / "deep").mkdir(parents=True)
    outside.mkdir()
    for path in (
        inside / "a.md",
        inside / "below" / "b.md",
        inside / "below" / "deep" / "c.md",
        outside / "d.md",
    ):
        path.write_text("x")
    (inside / "link").symlink_to(outside)
    (inside / "link.md").symlink_to(outside / "d.md")
    assert sorted(one.path.name for one in list_note_locations(inside)) == ["a.md", "b.md"]
    assert list_note_locations(tmp_path / "none") == []


def test_what_is_no_text_has_no_title_and_a_huge_one_has_its_size(tmp_path: Path) -> None:
    (tmp_path / "picture.md").write_bytes(b"# x\0")
    (tmp_path / "huge.md").write_bytes(b"# Huge\n" + b"word " * MAX_BYTES)
    assert [(one.title, one.size) for one in list_notes(tmp_path)] == [("Huge", 7 + 5 * MAX_BYTES)]
