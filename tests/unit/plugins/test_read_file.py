import os
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.protocol.display_blocks import ImageBlock
from tui_agent.protocol.effects import ReadEffect
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.parts import ImageContent

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("files"))


async def test_lines_come_with_their_numbers(bench):
    bench.write("a.py", "one\n\ttwo\n\nfour")
    result = await bench.run("read_file", path="a.py")
    assert text(result) == "1\tone\n2\t\ttwo\n3\t\n4\tfour"
    assert result.summary == "4 lines"


async def test_what_was_seen_is_recorded_with_the_whole_contents_digest(bench):
    bench.write("sub/a.py", "".join(f"{n}\n" for n in range(1, 11)))
    await bench.run("read_file", path="./sub/../sub/a.py", offset=3, limit=4)
    await bench.run("read_file", path="sub/a.py")
    part, whole = bench.events
    assert isinstance(part, FileRead) and isinstance(whole, FileRead)
    assert (part.path, part.first_line, part.last_line, part.complete) == ("sub/a.py", 3, 6, False)
    assert (whole.first_line, whole.last_line, whole.complete) == (1, 10, True)
    assert part.digest == whole.digest
    assert part.call_id == "c1"


async def test_a_long_file_comes_in_pieces_that_say_where_to_go_on(bench):
    bench.write("a", "".join(f"{n}\n" for n in range(1, 5001)))
    first = await bench.run("read_file", path="a")
    assert text(first).endswith("2000\t2000\n[lines 1-2000 of 5000; read on with offset=2001]")
    assert text(await bench.run("read_file", path="a", limit=9_000)) == text(first)
    last = await bench.run("read_file", path="a", offset=4001)
    assert text(last).endswith("5000\t5000")
    with pytest.raises(ToolError, match="only 5,000 lines"):
        await bench.run("read_file", path="a", offset=5001)


async def test_what_is_shown_is_bounded_in_characters_too(bench):
    bench.write("wide", "x" * 100_000 + "\n" + "y\n")
    bench.write("many", ("z" * 1999 + "\n") * 200)
    wide = await bench.run("read_file", path="wide")
    assert len(text(wide)) < 3000
    assert "(+98000 characters)" in text(wide) and "2\ty" in text(wide)
    assert not bench.events[0].complete
    many = await bench.run("read_file", path="many")
    assert len(text(many)) < 51_000
    assert "of 200; read on with offset=" in text(many)


async def test_a_huge_file_is_refused_with_its_size(bench):
    with (bench.folder / "huge").open("wb") as file:
        file.truncate(1_000_000_000)
    with pytest.raises(EnvironmentFault, match="is too large: 1 GB"):
        await bench.run("read_file", path="huge")


async def test_line_endings_and_marks_are_named_not_shown(bench):
    bench.write("crlf", "\ufeffone\r\ntwo\r\n".encode())
    assert text(await bench.run("read_file", path="crlf")) == (
        "1\tone\n2\ttwo\n[UTF-8 with byte order mark]\n[lines end with CRLF]"
    )


@pytest.mark.parametrize(
    ("data", "shown", "note"),
    [
        ("é\n".encode("latin-1"), "1\té", "[Latin-1]"),
        ("ä\n".encode("utf-16"), "1\tä", "[UTF-16-LE]"),
        (b"\xc3\xa4\xc3\xb6\xff\n", "1\täö", "[UTF-8 with invalid bytes]"),
        ("日本語 🎉\n".encode(), "1\t日本語 🎉", ""),
        (b"a\x0cb\xe2\x80\xa8c\n", "1\ta\x0cb\u2028c", ""),
        (b"", "[the file is empty]", ""),
    ],
)
async def test_other_encodings_are_read_and_named(bench, data, shown, note):
    bench.write("f", data)
    said = text(await bench.run("read_file", path="f"))
    assert said.startswith(shown)
    assert note in said
    said.encode()


@pytest.mark.parametrize(("data", "words"), [(b"\x7fELF\0\0", "ELF"), (b"a\0b", "binary data")])
async def test_binary_content_is_named_not_shown(bench, data, words):
    bench.write("f", data)
    with pytest.raises(ToolError, match=words):
        await bench.run("read_file", path="f")


@pytest.mark.parametrize(
    ("tool", "path", "hint"),
    [
        ("read_file", "models.py", "Did you mean src/requests/models.py?"),
        ("read_file", "requests/models.py", "Did you mean src/requests/models.py?"),
        ("read_file", "deep/requests/a.py", "Did you mean other/requests/a.py?"),
        ("read_file", "a.py", "Did you mean other/a.py, other/requests/a.py?"),
        ("read_file", "src/requests/model.py", "Did you mean src/requests/models.py?"),
        ("list_directory", "requests", "Did you mean other/requests, src/requests?"),
        ("list_directory", "app/src/requests", "Did you mean src/requests?"),
        ("list_directory", "srcs", "Did you mean src?"),
        ("list_directory", "models.py", "Find it with glob."),
        ("glob", "requests", "Did you mean other/requests, src/requests?"),
    ],
)
async def test_a_missing_path_is_told_with_the_paths_that_end_like_it(bench, tool, path, hint):
    for name in ("src/requests/models.py", "other/requests/a.py", "other/a.py"):
        bench.write(name, "")
    more = {"pattern": "*.py"} if tool == "glob" else {}
    with pytest.raises(ToolError) as fault:
        await bench.run(tool, path=path, **more)
    assert fault.value.hint == hint


async def test_an_image_goes_to_the_model_as_a_blob(bench):
    bench.write("logo.txt", PNG)
    result = await bench.run("read_file", path="logo.txt")
    image = result.content[1]
    assert isinstance(image, ImageContent) and isinstance(result.display[0], ImageBlock)
    assert bench.blobs.read(image.blob_sha256) == PNG
    assert (image.media_type, image.size, image.name) == ("image/png", len(PNG), "logo.txt")
    bench.write("big.png", PNG + b"x" * 6_000_000)
    with pytest.raises(ToolError, match="too large"):
        await bench.run("read_file", path="big.png")


async def test_a_missing_file_is_told_with_names_like_it(bench):
    bench.write("src/parser.py", "")
    with pytest.raises(ToolError) as fault:
        await bench.run("read_file", path="src/parsr.py")
    assert str(fault.value) == "File not found: src/parsr.py. Did you mean src/parser.py?"
    with pytest.raises(ToolError, match="folder does not exist"):
        await bench.run("read_file", path="nowhere/x")
    with pytest.raises(ToolError, match="list_directory"):
        await bench.run("read_file", path="src")


async def test_a_pipe_and_a_link_to_the_outside_are_refused(bench):
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "out").symlink_to("/etc/passwd")
    for path in ("pipe", "out", "/etc/passwd", "../x"):
        with pytest.raises((EnvironmentFault, ToolError)):
            await bench.run("read_file", path=path)


async def test_reading_declares_exactly_its_path(bench):
    assert bench.effects("read_file", path="../x") == (ReadEffect(path="../x"),)
    assert bench.tools["read_file"].spec.parallel_safe
    assert (await bench.preview("read_file", path="x")).blocks == ()


@pytest.mark.parametrize(
    ("lines", "target"),
    [({}, "a"), ({"offset": 160}, "a:160"), ({"offset": 3, "limit": 4}, "a:3-6")],
)
def test_a_row_names_the_lines_that_were_asked_for(bench, lines, target):
    tool = bench.tools["read_file"]
    assert tool.target(tool.spec.args(path="a", **lines)) == target


async def test_an_empty_path_names_the_workspace(bench):
    with pytest.raises(ToolError) as caught:
        await bench.run("read_file", path="")
    assert str(caught.value) == "The workspace is a folder. Use list_directory."
