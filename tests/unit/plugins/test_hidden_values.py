"""A model that has read `[redacted: …]` cannot write this placeholder over the hidden value."""

import json
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import ToolError

HIDDEN = "[redacted: secret]"
CODE = "const h =\n  'cookie=choco.Ud-real'\nconst n = 1\n"
SHOWN = CODE.replace("choco.Ud-real", HIDDEN)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("files"))


async def refused(bench: Bench, tool: str, **args: object) -> str:
    """Return the error of a call, which the approval's preview and the run must both raise. No file may change."""
    before = sorted((path, path.read_bytes()) for path in bench.folder.rglob("*"))
    with pytest.raises(ToolError) as predicted:
        await bench.preview(tool, **args)
    with pytest.raises(ToolError) as fault:
        await bench.run(tool, **args)
    assert str(predicted.value) == str(fault.value)
    assert sorted((path, path.read_bytes()) for path in bench.folder.rglob("*")) == before
    return str(fault.value)


async def test_a_file_is_not_replaced_by_a_text_with_a_placeholder(bench):
    bench.write("a.ts", CODE)
    await bench.run("read_file", path="a.ts")
    error = await refused(bench, "write_file", path="a.ts", content=SHOWN, overwrite=True)
    assert "[redacted: secret] stands for a value that is hidden from you" in error
    assert "edit_file" in error


async def test_a_hidden_value_beside_a_literal_placeholder_is_not_replaced(bench):
    bench.write("a.ts", f"// {HIDDEN}\n{CODE}")
    await bench.run("read_file", path="a.ts")
    await refused(bench, "write_file", path="a.ts", content=f"// {HIDDEN}\n{SHOWN}", overwrite=True)


async def test_a_placeholder_is_not_written_to_a_new_file(bench):
    error = await refused(bench, "write_file", path="b.ts", content=SHOWN)
    assert "To copy the value, use a command" in error


async def test_a_placeholder_is_not_written_by_an_edit(bench):
    bench.write("a.ts", CODE)
    error = await refused(bench, "edit_file", path="a.ts", old_text="const n = 1", new_text=f"x = '{HIDDEN}'")
    assert "new_text" in error and "hidden from you" in error


async def test_an_edit_of_a_line_with_a_hidden_value_says_why_it_fails(bench):
    bench.write("a.ts", CODE)
    shown = f"  'cookie={HIDDEN}'"
    for new in ("", shown + ","):
        error = await refused(bench, "edit_file", path="a.ts", old_text=shown, new_text=new)
        assert error.startswith("old_text contains [redacted: secret]")
        assert "without it" in error and "nothing similar" not in error


async def test_a_part_beside_the_hidden_value_can_be_edited(bench):
    bench.write("a.ts", CODE)
    result = await bench.run("edit_file", path="a.ts", old_text="'cookie=", new_text="'biscuit=")
    assert text(result).startswith("Edited a.ts at line 2") and b"biscuit=choco.Ud-real" in bench.bytes(
        "a.ts"
    )


async def test_a_file_that_really_contains_a_placeholder_can_be_changed(bench):
    bench.write("a.py", f'assert clean == "{HIDDEN}"\n')
    await bench.run("read_file", path="a.py")
    await bench.run("edit_file", path="a.py", old_text=f'"{HIDDEN}"', new_text=f"'{HIDDEN}'")
    await bench.run("read_file", path="a.py")
    await bench.run("write_file", path="a.py", content=f"assert text == '{HIDDEN}'\n", overwrite=True)
    assert bench.bytes("a.py").decode() == f"assert text == '{HIDDEN}'\n"


async def test_a_placeholder_is_not_written_into_a_notebook(tmp_path):
    bench = Bench(tmp_path, tools_of("notebook"))
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "id": "x",
        "metadata": {},
        "outputs": [],
        "source": "k = 1",
    }
    bench.write("a.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    await bench.run("read_notebook", path="a.ipynb")
    for action in ("replace", "insert"):
        args = {"path": "a.ipynb", "action": action, "cell": "x", "source": f"k = '{HIDDEN}'"}
        assert "hidden from you" in await refused(bench, "edit_notebook", **args)


async def test_the_result_of_a_command_says_that_it_got_a_placeholder_literally(tmp_path):
    bench = Bench(tmp_path, tools_of("shell"))
    result = await bench.run("run_command", command=f"echo '{HIDDEN}' > a.ts")
    assert bench.bytes("a.ts").decode() == f"{HIDDEN}\n"
    assert (
        "[redacted: secret] stands for a value that is hidden from you; the command got the placeholder"
        in text(result)
    )
    assert "hidden" not in text(await bench.run("run_command", command="echo redacted"))
