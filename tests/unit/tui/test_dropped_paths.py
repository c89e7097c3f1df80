"""Paths that are dropped on the terminal: which become mentions, and as what."""

from pathlib import Path

import pytest

from tui_agent.tui.prompt.attachments import paths_as_mentions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    for name in ("src/app.py", "my notes.md", "it's.md"):
        (folder / name).write_text("")
    (tmp_path / "outside.md").write_text("")
    return folder


@pytest.mark.parametrize(
    ("pasted", "becomes"),
    [
        ("{root}/src/app.py", "@src/app.py"),
        ("{root}/src/app.py \n", "@src/app.py"),
        ("'{root}/src/app.py'", "@src/app.py"),
        ("{root}/src", "@src/"),
        ("{root}/my notes.md", '@"my notes.md"'),
        ("{root}/my\\ notes.md", '@"my notes.md"'),
        ("file://{root}/my%20notes.md", '@"my notes.md"'),
        ("{root}/src/app.py '{root}/my notes.md'", '@src/app.py @"my notes.md"'),
        ("{root}/it's.md", "@it's.md"),
    ],
)
def test_paths_of_the_workspace_become_mentions(root: Path, pasted: str, becomes: str) -> None:
    assert paths_as_mentions(pasted.format(root=root), root) == f"{becomes} "


@pytest.mark.parametrize(
    "pasted",
    [
        "{root}/gone.py",
        "{root}",
        "{root}/../outside.md",
        "{root}/src/app.py is slow",
        "{root}/src/app.py\n{root}/src/app.py",
        "src/app.py",
        "/etc/passwd",
        "'{root}/src/app.py",
        "/" + "x" * 5_000,
    ],
)
def test_everything_else_stays_what_it_is(root: Path, pasted: str) -> None:
    assert paths_as_mentions(pasted.format(root=root), root) is None
