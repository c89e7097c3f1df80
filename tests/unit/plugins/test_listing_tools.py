import os
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.folds.text.glob import compile_path_pattern
from tui_agent.protocol.effects import ReadEffect
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.granted_paths import grant_paths


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("files"))


async def test_a_folder_is_listed_folders_first_without_caches(bench):
    for path in ("b.py", "a.py", "src/x", "docs/y", "__pycache__/z", ".git/config", ".env"):
        bench.write(path, "12345")
    (bench.folder / "l").symlink_to("a.py")
    result = await bench.run("list_directory")
    assert text(result) == "docs/\nsrc/\n.env  5 B\na.py  5 B\nb.py  5 B\nl -> (link)"
    assert result.summary == "6 entries"
    assert text(await bench.run("list_directory", path="src")) == "x  5 B"


async def test_a_big_folder_is_cut_with_a_note(bench):
    for number in range(600):
        bench.write(f"f{number:03}", "")
    result = await bench.run("list_directory")
    assert text(result).endswith("f499  0 B\n[100 more entries; use glob to narrow it down]")
    assert result.summary == "600 entries"


async def test_what_is_no_folder_is_told(bench):
    bench.write("a", "")
    (bench.folder / "empty").mkdir()
    with pytest.raises(ToolError, match="is a file"):
        await bench.run("list_directory", path="a")
    with pytest.raises(ToolError, match="Folder not found"):
        await bench.run("list_directory", path="missing")
    with pytest.raises(EnvironmentFault, match="outside"):
        await bench.run("list_directory", path="..")
    assert text(await bench.run("list_directory", path="empty")) == "[the folder is empty]"


async def test_names_that_cannot_be_printed_are_escaped(bench):
    (bench.folder / "a\nb\x1b[31m").touch()
    bench.write(os.fsdecode(b"c\xff"), "")
    assert text(await bench.run("list_directory")) == "a\\nb\\x1b[31m  0 B\nc\\udcff  0 B"
    assert text(await bench.run("glob", pattern="**")) == "a\\nb\\x1b[31m\nc\\udcff"


async def test_files_are_found_by_pattern_and_ignored_ones_left_out(bench):
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt", "out/e.py"):
        bench.write(path, "")
    bench.write(".gitignore", "out/\n")
    assert text(await bench.run("glob", pattern="*.py")) == "a.py\nsrc/b.py\nsrc/deep/c.py"
    assert text(await bench.run("glob", pattern="src/*.py")) == "src/b.py"
    assert (
        text(await bench.run("glob", pattern="**/*.{py,txt}", path="src"))
        == "src/b.py\nsrc/d.txt\nsrc/deep/c.py"
    )
    assert text(await bench.run("glob", pattern="src/**")) == "src/b.py\nsrc/d.txt\nsrc/deep/c.py"
    none = await bench.run("glob", pattern="*.rs")
    assert (text(none), none.summary) == ("No file matches *.rs.", "0 files")
    with pytest.raises(ToolError, match="Folder not found"):
        await bench.run("glob", pattern="*", path="missing")


@pytest.mark.parametrize(
    ("pattern", "path", "message"),
    [
        (
            "../../*",
            "",
            "../../* is outside the workspace. To search another folder, set path to ../.. and pattern to *.",
        ),
        ("..", "", ".. is outside the workspace. To search another folder, set path to .. and pattern to *."),
        (
            "../docs/*.{md,txt}",
            "src",
            "../docs/*.{md,txt} is outside src. "
            "To search another folder, set path to docs and pattern to *.{md,txt}.",
        ),
    ],
)
async def test_a_pattern_that_leads_out_of_the_folder_is_refused_with_the_path_to_use(
    bench, pattern, path, message
):
    bench.write("src/a.py", "")
    with pytest.raises(ToolError) as caught:
        await bench.run("glob", pattern=pattern, path=path)
    assert str(caught.value) == message


async def test_an_absolute_pattern_is_for_the_folder_that_is_searched(bench):
    for path in ("a.py", "src/b.py", "src/deep/c.py"):
        bench.write(path, "")
    root = bench.env.root
    assert text(await bench.run("glob", pattern=f"{root}/src/*.py")) == "src/b.py"
    assert text(await bench.run("glob", pattern=f"{root}/*.py")) == "a.py"
    assert text(await bench.run("glob", pattern=f"{root}/src/**", path="src")) == "src/b.py\nsrc/deep/c.py"
    assert text(await bench.run("glob", pattern="/src/*.py")) == "src/b.py"
    assert text(await bench.run("glob", pattern=f"{root}/src/*.rs")) == f"No file matches {root}/src/*.rs."
    assert (
        text(await bench.run("glob", pattern="/etc/ssl/*.conf"))
        == "No file matches /etc/ssl/*.conf. To search another folder, set path to /etc/ssl and pattern to *.conf."
    )


async def test_many_files_are_cut_with_a_note(bench):
    for number in range(400):
        bench.write(f"f{number:03}", "")
    assert text(await bench.run("glob", pattern="f*")).endswith("f299\n[100 more; use a narrower pattern]")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("./*.py", "b.py", True),
        ("./*.py", "a/b.py", False),
        ("/*.py", "a/b.py", False),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/c.py", "a/c.py", True),
        ("a/**/c.py", "a/x/y/c.py", True),
        ("**/x/**/y", "a/x/b/c/y", True),
        ("**/x/**/y", "a/b/y", False),
        ("a?c", "abc", True),
        ("[ab].c", "b.c", True),
        ("[!ab].c", "b.c", False),
        ("[!ab].c", "c.c", True),
        ("[a-c]", "b", True),
        ("[", "[", True),
        ("[]]", "]", True),
        ("a+b(c).py", "a+b(c).py", True),
        ("{a,b}/{c,d}", "b/c", True),
        ("{a,b}/{c,d}", "c/a", False),
        ("{a}", "{a}", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXcYb", False),
        ("*a*", "bab", True),
        ("src/", "src/a/b", True),
        (".*", ".env", True),
        ("*", "a\nb", True),
    ],
)
def test_patterns(pattern, path, fits):
    assert compile_path_pattern(pattern)(path) is fits


async def test_a_hostile_pattern_costs_little(bench):
    matches = compile_path_pattern("*a" * 100 + "b")
    assert not matches("a" * 250)
    deep = compile_path_pattern("**/a/" * 60 + "b")
    assert not deep("a/" * 2000 + "c")
    with pytest.raises(ToolError, match="too many"):
        await bench.run("glob", pattern="{a,b}" * 20)
    with pytest.raises(ToolError, match="empty"):
        await bench.run("glob", pattern=" ")


def test_listing_declares_what_it_reads(bench):
    assert bench.effects("list_directory") == (ReadEffect(path="."),)
    assert bench.effects("glob", pattern="*", path="src") == (ReadEffect(path="src", recursive=True),)


async def test_files_of_an_allowed_folder_outside_are_found_by_pattern(tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "src").mkdir()
    (outside / "src" / "a.py").write_text("")
    (outside / "b.txt").write_text("")
    inner = grant_paths(LocalEnvironment(tmp_path), (ReadEffect(path=str(outside), recursive=True),))
    bench = Bench(tmp_path, tools_of("files"), inner=inner)
    assert text(await bench.run("glob", pattern="**/*.py", path=str(outside))) == f"{outside}/src/a.py"
    assert text(await bench.run("glob", pattern="src/*", path=str(outside))) == f"{outside}/src/a.py"


async def test_a_name_that_is_no_utf_8_is_read_by_what_lists_show_of_it(bench, tmp_path):
    folder = bench.folder / os.fsdecode(b"d\xe9p")
    folder.mkdir()
    (folder / os.fsdecode(b"n\xff\xfeame.py")).write_text("x = 1\n")
    bench.write(r"plain\udcff.py", "y = 2\n")
    names = text(await bench.run("glob", pattern="**/*.py")).splitlines()
    assert names == [r"d\udce9p/n\udcff\udcfeame.py", r"plain\udcff.py"]
    assert "x = 1" in text(await bench.run("read_file", path=names[0]))
    assert "y = 2" in text(await bench.run("read_file", path=names[1]))
    with pytest.raises(ToolError, match="File not found"):
        await bench.run("read_file", path=r"n\udcaa.py")
