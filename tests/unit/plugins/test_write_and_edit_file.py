import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.folds.text.plain_text import decode_text, encode_text
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.protocol.effects import WriteEffect
from tui_agent.protocol.events.files import FileChanged

CODE = "def f(a):\n    x = 1\n    return a\n\n\ndef g(a):\n    x = 1\n    return a + x\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("files"))


async def edit(bench: Bench, old: str, new: str, path: str = "a.py", **more: object):
    return await bench.run("edit_file", path=path, old_text=old, new_text=new, **more)


async def refused(bench: Bench, old: str, new: str = "new", path: str = "a.py") -> str:
    before = bench.bytes(path)
    with pytest.raises(ToolError) as fault:
        await edit(bench, old, new, path)
    assert bench.bytes(path) == before
    return str(fault.value)


async def known(bench: Bench, data: bytes | str, path: str = "a.py") -> None:
    bench.write(path, data)
    await bench.run("read_file", path=path)
    bench.events.clear()


# --- write_file ------------------------------------------------------------------------------------------------------


async def test_a_new_file_is_created_and_shown_as_a_diff(bench):
    result = await bench.run("write_file", path="src/new.py", content="a\nb\n")
    assert bench.bytes("src/new.py") == b"a\nb\n"
    assert text(result) == "Created src/new.py: 2 lines."
    block = result.display[0]
    assert isinstance(block, DiffBlock)
    assert (block.path, block.diff, block.added, block.removed) == (
        "src/new.py",
        "@@ -0,0 +1,2 @@\n+a\n+b\n",
        2,
        0,
    )
    assert result.summary == "+2"
    assert isinstance(bench.events[0], FileChanged)


async def test_an_existing_file_is_replaced_only_when_asked_and_read(bench):
    bench.write("a", "old\n")
    with pytest.raises(ToolError, match="already exists"):
        await bench.run("write_file", path="a", content="new")
    with pytest.raises(ToolError, match="not been read"):
        await bench.run("write_file", path="a", content="new", overwrite=True)
    await bench.run("read_file", path="a")
    bench.write("a", "changed outside\n")
    with pytest.raises(ToolError, match="changed since it was read"):
        await bench.run("write_file", path="a", content="new", overwrite=True)
    await bench.run("read_file", path="a")
    result = await bench.run("write_file", path="a", content="new", overwrite=True)
    assert (bench.bytes("a"), result.summary) == (b"new", "+1 -1")


async def test_what_was_just_written_may_be_written_again(bench):
    await bench.run("write_file", path="a", content="1\n")
    await bench.run("write_file", path="a", content="2\n", overwrite=True)
    await edit(bench, "2", "3", "a")
    assert bench.bytes("a") == b"3\n"


@pytest.mark.parametrize("path", ["../x", "/tmp/x-outside", "link/x", ""])
async def test_nothing_is_written_outside_or_to_a_folder(bench, path):
    (bench.folder / "link").symlink_to(bench.folder.parent)
    with pytest.raises((ToolError, EnvironmentFault)):
        await bench.run("write_file", path=path, content="x")
    with pytest.raises((ToolError, EnvironmentFault)):
        await bench.preview("write_file", path=path, content="x")
    assert not (bench.folder.parent / "x").exists()


async def test_half_characters_are_refused(bench):
    with pytest.raises(ToolError, match="unpaired surrogate"):
        await bench.run("write_file", path="a", content="x\ud800")


# --- edit_file: what matches -----------------------------------------------------------------------------------------


async def test_text_that_stands_once_is_replaced(bench):
    await known(bench, CODE)
    result = await edit(bench, "    return a + x\n", "    return a - x\n")
    assert bench.bytes("a.py").decode() == CODE.replace("a + x", "a - x")
    assert text(result) == "Edited a.py at line 8: +1 -1 lines."
    assert result.summary == "+1 -1"
    assert (
        result.display[0].diff
        == "@@ -5,4 +5,4 @@\n \n def g(a):\n     x = 1\n-    return a + x\n+    return a - x\n"
    )


async def test_text_that_stands_twice_is_refused_with_the_lines(bench):
    await known(bench, CODE)
    said = await refused(bench, "    x = 1\n")
    assert "occurs 2 times in a.py: lines 2, 7." in said and "replace_all" in said


async def test_a_line_with_several_matches_is_named_once(bench):
    await known(bench, "a a a\nb\n" + "a a\n" * 30)
    said = await refused(bench, "a")
    lines = ", ".join(["1", *map(str, range(3, 22))])
    assert f"occurs 63 times in a.py: lines {lines}, …." in said


async def test_replace_all_replaces_every_place(bench):
    await known(bench, CODE)
    result = await edit(bench, "x = 1", "x = 2", replace_all=True)
    assert bench.bytes("a.py").decode() == CODE.replace("x = 1", "x = 2")
    assert text(result) == "Edited a.py (2 places) at lines 2, 7: +2 -2 lines."


@pytest.mark.parametrize(
    ("old", "new", "replace_all", "lines"),
    [
        ("    x = 1\n    return a\n\n", "    x = 1\n    return b\n\n", False, "at line 3"),
        ("    x = 1\n    return a\n\n", "    x = 1\n    return a\n    more()\n\n", False, "at line 4"),
        ("    x = 1\n    return a\n\n", "    x = 1\n", False, "at line 3"),
        ("    x = 1\n", "    x = 1\n    y = 2\n", True, "(2 places) at lines 3, 9"),
        ("    x = 1\n", "", True, "(2 places) at lines 2, 6"),
    ],
)
async def test_an_edit_names_the_lines_that_changed_as_the_new_file_counts_them(
    bench, old, new, replace_all, lines
):
    await known(bench, CODE)
    result = await edit(bench, old, new, replace_all=replace_all)
    assert text(result).startswith(f"Edited a.py {lines}: ")


async def test_text_may_be_taken_away_at_both_ends(bench):
    await known(bench, "a\nb\nc")
    await edit(bench, "a\n", "")
    await edit(bench, "\nc", "")
    assert bench.bytes("a.py") == b"b"


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("same", "same")])
async def test_an_edit_without_meaning_is_refused(bench, old, new):
    await known(bench, "same\n")
    await refused(bench, old, new)


# --- edit_file: what does not match ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "old", "words"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1\n", "line 2 begins with 1 tab, old_text with 4 spaces"),
        (
            "class A:\n    def f(self):\n        pass\n",
            "def f(self):\n    pass\n",
            "4 spaces, old_text with no spaces",
        ),
        ("a = 1   \nb = 2\n", "a = 1\nb = 2\n", "spaces at the end of a line"),
        ("a  =  1\n", "a = 1", "the spaces differ in line 1"),
        ("say(“hi”)\n", 'say("hi")', "quotes, dashes or special spaces"),
        ("Hello World\n", "hello world", "letter case"),
        (
            CODE,
            "    return a * x\n",
            "line 8 differs: old_text has '    return a * x'.\n8\t    return a + x",
        ),
        (CODE, "8\t    return a + x\n", "remove the number and tab"),
        (CODE, "nothing like it at all, whatever", "The file has nothing similar"),
        ("", "x", "The file has nothing similar"),
    ],
)
async def test_a_failed_match_tells_the_nearest_place_and_what_differs(bench, data, old, words):
    await known(bench, data)
    said = await refused(bench, old)
    assert said.startswith("old_text was not found in a.py.")
    assert words in said


async def test_the_nearest_place_is_the_one_where_most_of_the_block_matches(bench):
    await known(
        bench,
        "def disp_len(data):\n    return len(data)\n\n\ndef trim(data, length):\n"
        "    while disp_len(data) > length:  # carefully delete one char at a time\n        data = data[:-1]\n",
    )
    message = await refused(bench, "    while disp_len(data) > length:\n        data = data[:-1]\n")
    assert "Closest match, lines 6-7: line 6 differs: " in message


async def test_the_nearest_place_is_shown_with_its_line_numbers(bench):
    await known(bench, CODE)
    said = await refused(bench, "def g(a):\n    x = 2\n    return a + x\n")
    assert "Closest match, lines 6-8:" in said
    assert "6\tdef g(a):\n7\t    x = 1\n8\t    return a + x" in said


async def test_a_line_that_differs_below_the_shown_ones_is_quoted(bench):
    lines = [f"line_{number} = {number}" for number in range(20)]
    await known(bench, "\n".join(lines) + "\n")
    said = await refused(bench, "\n".join([*lines[:15], "line_15 = 16", *lines[16:]]))
    assert "line 16 differs: the file has 'line_15 = 15', old_text has 'line_15 = 16'." in said


async def test_a_line_that_shares_one_word_is_not_the_closest_match(bench):
    await known(
        bench, "# semver\n\n    // Check whether this requirement matches version 1.2.3-alpha.1 (no)\n"
    )
    message = await refused(bench, "## Requirements\n")
    assert "Closest match" not in message and "nothing similar" in message


async def test_a_single_nearest_line_is_named_in_the_singular(bench):
    await known(bench, CODE)
    message = await refused(bench, "def g(b):")
    assert "Closest match, line 6: " in message


@pytest.mark.parametrize(
    ("line", "old"),
    [
        (
            "  return redirect(request, response, 302, options?.fallback || '/nope');",
            "options?.fallback || '/');",
        ),
        (
            "const total = items.map(price).reduce(add, 0) + delivery(customer, 'express');",
            "map(prices).reduce(add",
        ),
        (f"The tool {'reads words, ' * 15}and then stops.", "and then it stops."),
        (
            "  if (user.isSignedIn && settings.allowed && ready(b) || c) {\n    go();\n  }",
            "ready(d) || c) {\n    go();",
        ),
        ("some words, " * 20 + "the end", "some words; " * 19 + "the end"),
    ],
    ids=["end", "middle", "long line", "two lines", "long part"],
)
async def test_a_part_of_a_line_that_differs_slightly_is_found(bench, line, old):
    filling = "".join(f"other_{number}();\n" for number in range(200))
    await known(bench, f"{filling}{line}\n{filling}")
    message = await refused(bench, old)
    assert "line 201 differs: old_text has '" in message
    assert f"\n201\t{line.partition(chr(10))[0]}" in message and message.count("201\t") == 1


async def test_a_near_miss_shows_backslashes_as_they_are_in_the_file(bench):
    await known(bench, "text.replace(/\\$1/, name)\n")
    message = await refused(bench, "text.replace(/\\$2/, name)")
    assert "old_text has 'text.replace(/\\$2/, name)'.\n1\ttext.replace(/\\$1/, name)" in message


async def test_a_failed_match_in_a_big_file_is_told_soon(bench):
    await known(bench, "".join(f"value_{n} = compute({n}, other={n * 7})\n" for n in range(100_000)))
    said = await refused(bench, "value_777 = compute(777, other=1)\nmore\n")
    assert "Closest match, lines " in said


# --- edit_file: reading first ----------------------------------------------------------------------------------------


async def test_an_exact_unique_match_needs_no_earlier_read(bench):
    bench.write("a.py", CODE)
    result = await edit(bench, "a + x", "a - x")
    assert text(result) == "Edited a.py at line 8: +1 -1 lines."
    assert bench.bytes("a.py").decode() == CODE.replace("a + x", "a - x")


async def test_an_edit_says_that_the_file_changed_since_it_was_read(bench):
    await known(bench, CODE)
    bench.write("a.py", CODE + "# more\n")
    result = await edit(bench, "a + x", "a - x")
    assert text(result) == "Edited a.py at line 8: +1 -1 lines. The file had changed since it was last read."
    assert bench.bytes("a.py").decode() == CODE.replace("a + x", "a - x") + "# more\n"


@pytest.mark.parametrize("call", ["replace_all", "overwrite"])
async def test_more_than_one_exact_place_needs_a_current_read_even_after_an_edit(bench, call):
    async def change() -> None:
        if call == "overwrite":
            await bench.run("write_file", path="a.py", content="new", overwrite=True)
        else:
            await edit(bench, "x = 1", "x = 2", replace_all=True)

    bench.write("a.py", CODE)
    with pytest.raises(ToolError, match="has not been read"):
        await change()
    await edit(bench, "a + x", "a - x")
    with pytest.raises(ToolError, match="has not been read"):
        await change()
    await bench.run("read_file", path="a.py")
    bench.write("a.py", bench.bytes("a.py") + b"# more\n")
    await edit(bench, "a - x", "a * x")
    with pytest.raises(ToolError, match="changed since it was read"):
        await change()
    await bench.run("read_file", path="a.py")
    await change()


async def test_several_edits_follow_one_reading(bench):
    await known(bench, CODE)
    await edit(bench, "a + x", "a - x")
    await edit(bench, "def f", "def h")
    assert b"def h" in bench.bytes("a.py") and b"a - x" in bench.bytes("a.py")


async def test_an_edit_of_a_mistyped_path_names_the_file_that_was_meant(bench):
    bench.write("validation.ts", "a")
    with pytest.raises(ToolError) as caught:
        await edit(bench, "a", "b", "validations.ts")
    assert str(caught.value) == "File not found: validations.ts. Did you mean validation.ts?"


async def test_a_missing_file_and_a_folder_are_told(bench):
    with pytest.raises(ToolError, match="File not found"):
        await edit(bench, "a", "b", "missing.py")
    (bench.folder / "d").mkdir()
    with pytest.raises(ToolError, match="is a folder"):
        await edit(bench, "a", "b", "d")
    with pytest.raises(ToolError) as caught:
        await edit(bench, "a", "b", "")
    assert str(caught.value) == "The workspace is a folder."


# --- edit_file: bytes that must not change ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "x\ny\nz", b"x\r\ny\r\nz\n"),
        (b"a\nb\n", "a\r\nb", "x", b"x\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        ("é = 1\n".encode("latin-1"), "é = 1", "é = 2", "é = 2\n".encode("latin-1")),
        ("ä\n".encode("utf-16"), "ä", "ö", "ö\n".encode("utf-16")),
        (b"ok \xc3\xa4 \xff\nx\n", "x", "y", b"ok \xc3\xa4 \xff\ny\n"),
        ("x = '🎉日本'\n".encode(), "🎉", "🎈", "x = '🎈日本'\n".encode()),
        (b"a\x0cb\n", "b", "c", b"a\x0cc\n"),
    ],
)
async def test_everything_but_the_edit_stays_as_it_was(bench, before, old, new, after):
    await known(bench, before)
    await edit(bench, old, new)
    assert bench.bytes("a.py") == after


async def test_a_character_that_the_encoding_lacks_is_refused(bench):
    await known(bench, "é = 1\n".encode("latin-1"))
    assert "cannot encode" in await refused(bench, "1", "日")


async def test_binary_files_are_not_edited(bench):
    bench.write("a.py", b"a\0b")
    with pytest.raises(ToolError, match="is not text"):
        await edit(bench, "a", "b")


async def test_a_large_utf_16_file_is_edited_whatever_stands_at_its_8192nd_byte(bench):
    before = "x" * 4094 + "🎉 end\n"
    bench.write("a.py", before.encode("utf-16"))
    await edit(bench, "end", "END")
    assert bench.bytes("a.py").decode("utf-16") == before.replace("end", "END")


async def test_the_mode_stays(bench):
    await known(bench, "#!/bin/sh\n", "run.sh")
    (bench.folder / "run.sh").chmod(0o755)
    await edit(bench, "sh", "bash", "run.sh")
    assert (bench.folder / "run.sh").stat().st_mode & 0o777 == 0o755


# --- approval --------------------------------------------------------------------------------------------------------


async def test_the_preview_is_the_diff_bound_to_the_bytes_before_and_after(bench):
    await known(bench, CODE)
    arguments = {"path": "a.py", "old_text": "a + x", "new_text": "a - x"}
    preview = await bench.preview("edit_file", **arguments)
    result = await bench.run("edit_file", **arguments)
    after = hashlib.sha256(bench.bytes("a.py")).hexdigest()
    assert preview.blocks == result.display
    assert preview.content == f"{hashlib.sha256(CODE.encode()).hexdigest()} {after}"
    made = await bench.preview("write_file", path="new", content="x")
    assert made.content == f" {hashlib.sha256(b'x').hexdigest()}"


async def test_changes_declare_exactly_their_path(bench):
    assert bench.effects("edit_file", path="a", old_text="x", new_text="y") == (WriteEffect(path="a"),)
    assert bench.effects("write_file", path="a", content="x") == (WriteEffect(path="a", creates=True),)
    assert bench.effects("write_file", path="a", content="x", overwrite=True) == (WriteEffect(path="a"),)
    assert not bench.tools["edit_file"].spec.parallel_safe


@given(data=st.binary(max_size=200).filter(lambda data: b"\0" not in data), new=st.text(max_size=5))
def test_an_edit_changes_nothing_but_its_place(data: bytes, new: str):
    edit = module_of("files", "edit_file")
    decoded = decode_text(data)
    if decoded is None:
        return
    assert encode_text(decoded, decoded.text) == data
    middle = decoded.text[len(decoded.text) // 3 : len(decoded.text) // 2]
    places = edit.find_matches(decoded.text, middle) if middle else []
    if len(places) == 1 and "\r" not in decoded.text:
        place = places[0]
        edited = edit.replace_matches(decoded.text, places, new)
        assert edited == decoded.text[: place.start] + new + decoded.text[place.end :]
