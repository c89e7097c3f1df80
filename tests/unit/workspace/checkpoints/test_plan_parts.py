"""What a plan compares and counts, one thing at a time."""

import os
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, begun_workspace, taken, workspace, write
from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.restore_plan import count_changed_lines, matches_entry
from tui_agent.workspace.checkpoints.rooted_files import LINK, FileState
from tui_agent.workspace.checkpoints.store_state import Entry

PLAIN, EXECUTABLE = 0o100644, 0o100755
FILE = FileState("file", bits=0o644, oid="one")


@pytest.mark.parametrize(
    ("stand", "entry", "bits", "wanted"),
    [
        (FILE, Entry(PLAIN, "one"), 0o644, True),
        (FILE, Entry(PLAIN, "one"), 0o600, False),
        (FILE, Entry(PLAIN, "two"), 0o644, False),
        (FILE, Entry(EXECUTABLE, "one"), 0o644, False),
        (FILE, None, 0, False),
        (FileState("link", bits=0o777, oid="one"), Entry(LINK, "one"), 0, True),
        (FileState("link", bits=0o777, oid="one"), Entry(LINK, "two"), 0, False),
        (FileState("link", bits=0o777, oid="one"), Entry(PLAIN, "one"), 0o777, False),
        (FileState("special", bits=0o644, oid="one"), Entry(PLAIN, "one"), 0o644, False),
        (FileState("absent"), None, 0, True),
        (FileState("behind"), None, 0, True),
        (FileState("folder"), None, 0, True),
        (FileState("absent"), Entry(PLAIN, "one"), 0o644, False),
    ],
)
def test_a_file_is_the_same_with_its_kind_its_bytes_and_its_bits(
    stand: FileState, entry: Entry | None, bits: int, wanted: bool
) -> None:
    assert matches_entry(stand, entry, bits) is wanted


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (b"", b"", (0, 0)),
        (b"a\nb\n", b"a\nc\nd\n", (2, 1)),
        (b"a\na\n", b"a\n", (0, 1)),
        (b"a\0\n", b"b\n", (0, 0)),
        (b"a\n", b"b\0\n", (0, 0)),
        (b"a\n", b"", (0, 1)),
    ],
)
def test_lines_that_only_one_side_has_are_counted(
    before: bytes, after: bytes, wanted: tuple[int, int]
) -> None:
    assert count_changed_lines(before, after) == wanted


async def test_a_plan_names_what_holds_the_place_of_another(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    write(folder, {"box/in": "in\n", "free/in": "in\n"})
    made = await begun(folder)
    first = made.head
    for name in ("box", "free"):
        (folder / name / "in").unlink()
        (folder / name).rmdir()
        write(folder, {name: "agent\n"})
    await taken(made)
    write(folder, {"box": "human\n"})
    plan = await made.plan_restore(first)
    assert [(act.path, act.kind, act.conflict) for act in plan.actions] == [
        ("box", "remove", "also changed by you or another session"),
        ("box/in", "create", "box is not a folder any more"),
        ("free", "remove", ""),
        ("free/in", "create", ""),
    ]


async def test_a_plan_tells_of_bits_of_links_and_of_what_a_person_changed(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path, mine="a\n", bits="a\n", link="a\n", pipe="a\n")
    write(folder, {"mine": "agent\n", "pipe": "agent\n"})
    (folder / "bits").chmod(0o755)
    (folder / "link").unlink()
    (folder / "link").symlink_to("mine")
    await taken(made)
    write(folder, {"mine": "human\n"})
    await taken(made, "human")
    (folder / "pipe").unlink()
    os.mkfifo(folder / "pipe")
    plan = await made.plan_restore(first)
    assert [(act.path, act.kind, act.added, act.removed, act.conflict) for act in plan.actions] == [
        ("bits", "mode", 0, 0, ""),
        ("link", "write", 1, 1, ""),
        ("mine", "write", 1, 1, "also changed by you or another session"),
        ("pipe", "write", 1, 0, "a pipe, socket or device is in its place"),
    ]
    restored = await made.restore(plan)
    assert (restored.paths, restored.kept_paths) == (("bits", "link"), ("mine", "pipe"))
    assert [(one.path, one.before, one.after, one.mode) for one in restored.files] == [
        ("bits", b"a\n", b"a\n", 0o644),
        ("link", b"mine", b"a\n", 0o644),
    ]
    assert (folder / "link").read_text() == "a\n" and not (folder / "link").is_symlink()


async def test_a_plan_that_is_no_longer_the_newest_is_refused(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n"})
    await taken(made)
    plan = await made.plan_restore(first)
    write(folder, {"README": "more\n"})
    await taken(made)
    with pytest.raises(CheckpointError, match="new checkpoint was taken") as refused:
        await made.restore(plan)
    assert refused.value.hint == "Nothing was changed. Try again."
    assert (folder / "README").read_text() == "more\n"


async def test_a_restore_takes_nothing_that_its_plan_did_not_name(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "agent\n"})
    await taken(made)
    plan = await made.plan_restore(first)
    write(folder, {"src/app.py": "human\n"})
    restored = await made.restore(plan, ["src/app.py"])
    assert restored.paths == ("README",)
    assert (folder / "src/app.py").read_text() == "human\n"
