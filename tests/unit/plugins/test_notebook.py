"""Notebooks: their files keep their bytes, and their cells run in a kernel that keeps its variables."""

import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.engine.tools.sandbox_retry import SandboxGrant
from tui_agent.engine.tools.tool_programs import ProgramKeeper
from tui_agent.errors import ToolError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_api import CallTools, act, actions
from tui_agent.ports.environment import FileContent
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.effects import RunEffect, WriteEffect
from tui_agent.protocol.parts import ImageContent

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
VALUE: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "top", "metadata": {}, "source": ["# Größe\n", "of things"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "sum",
            "metadata": {"odd": [1, 2]},
            "outputs": [
                {"name": "stdout", "output_type": "stream", "text": ["x" * 1_000]},
                {"data": {"image/png": PNG}, "metadata": {}, "output_type": "display_data"},
            ],
            "source": ["x = 20\n", "x + 1"],
        },
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "end",
            "metadata": {},
            "outputs": [],
            "source": "1",
        },
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
STYLES = {
    "jupyter": json.dumps(VALUE, indent=1, ensure_ascii=False) + "\n",
    "two blanks": json.dumps(VALUE, indent=2),
    "one line": json.dumps(VALUE),
    "compact": json.dumps(VALUE, separators=(",", ":"), ensure_ascii=False),
    "tabs, CRLF": json.dumps(VALUE, indent="\t").replace("\n", "\r\n"),
}


def notebook(text: str | bytes) -> Any:
    data = text.encode() if isinstance(text, str) else text
    return module_of("notebook", "notebook_file").Notebook(FileContent("n.ipynb", data, "d", 0, 0o644))


@pytest.mark.parametrize("style", STYLES)
def test_a_change_of_a_cell_keeps_every_other_byte(style: str) -> None:
    before = STYLES[style]
    found = notebook(before)
    cell = found.find("sum")
    after = found.with_source(cell, "y = 'ä'\ny", "code").decode()
    assert after[: cell.start] == before[: cell.start]
    assert after.endswith(before[cell.end :])
    expected = json.loads(before)
    expected["cells"][1] |= {"source": ["y = 'ä'\n", "y"], "outputs": [], "execution_count": None}
    assert json.loads(after) == expected
    kept = json.dumps({"odd": [1, 2]}, indent=1).split()  # the cell's own members stay too
    assert "".join(kept) in "".join(after.split())
    assert found.with_source(found.find("2"), "1", "code") != b""
    for at in ("top", "sum", None):
        more = found.with_new_cell("new", "markdown", found.find(at) if at else None)
        added = notebook(more)
        index = next(each.number for each in added.cells if each.source == "new")
        assert [each.source for each in added.cells if each.number != index] == [
            each.source for each in found.cells
        ]
        assert added.without_cell(added.cells[index]) == before.encode()
    if style == "jupyter":
        assert after == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"


def test_the_last_cell_can_be_deleted_and_a_first_one_inserted() -> None:
    empty = notebook(json.dumps(VALUE | {"cells": []}, indent=1))
    one = notebook(empty.with_new_cell("a", "code", None))
    assert one.without_cell(one.cells[0]) == json.dumps(VALUE | {"cells": []}, indent=1).encode()
    assert one.find("0").value["id"] != notebook(one.with_new_cell("a", "code", None)).find("1").value["id"]


@pytest.mark.parametrize("text", ["{", "[]", '{"nbformat": 3, "worksheets": []}', "\xff", "[" * 100_000])
def test_a_file_that_is_no_notebook_is_named(text: str) -> None:
    with pytest.raises(ToolError, match=r"n.ipynb is not"):
        notebook(text.encode("latin-1"))


async def test_cells_are_listed_with_short_outputs_and_edited_after_a_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tools_of("notebook"))
    bench.write("n.ipynb", STYLES["jupyter"])
    change = {"path": "n.ipynb", "action": "replace", "cell": "1", "source": "x = 5"}
    with pytest.raises(ToolError, match="Read it with read_notebook first"):
        await bench.run("edit_notebook", **change)
    listed = text(await bench.run("read_notebook", path="n.ipynb"))
    assert listed.startswith("n.ipynb: 3 cells, python\n\n[0] #top markdown\n# Größe\nof things\n")
    assert "[1] #sum code In [3]\nx = 20\nx + 1\n--- stream:\nxxx" in listed
    assert "400 characters left out" in listed and "[image/png, 70 B]" in listed
    shown = await bench.run("read_notebook", path="n.ipynb", cell=1)
    assert "x" * 1_000 in text(shown)
    assert [part.size for part in shown.content if isinstance(part, ImageContent)] == [70]
    assert "[0]" not in text(await bench.run("read_notebook", path="n.ipynb", first=2))
    preview = await bench.preview("edit_notebook", **change)
    assert "+x = 5" in preview.blocks[0].diff
    result = await bench.run("edit_notebook", **change)
    assert text(result) == "Replaced cell 1; its outputs were removed. n.ipynb now has 3 cells."
    with pytest.raises(ToolError, match="no cell '7'"):
        await bench.run("edit_notebook", **{**change, "cell": "7"})
    with pytest.raises(ToolError, match="Nothing would change"):
        await bench.run("edit_notebook", **change)
    bench.write("n.ipynb", STYLES["compact"])
    with pytest.raises(ToolError, match="has changed since it was read"):
        await bench.run("edit_notebook", **change)


@asynccontextmanager
async def running_kernels(folder: Path) -> AsyncIterator[Any]:
    """Yield a function that runs a cell as a session does: its arguments are completed, then judged, then run."""
    bench = Bench(folder, tools_of("notebook"))
    bench.write("n.ipynb", STYLES["jupyter"])
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPROJECT=here exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    assert bench.inner is not None
    parts: Any = SimpleNamespace(env=bench.inner, recorder=None)
    keeper = ProgramKeeper(parts)
    bench.programs = keeper.for_call("notebook", SandboxGrant())
    tool = bench.tools["run_cell"]

    async def run(**arguments: object) -> ToolResult:
        ready = await tool.settle_arguments(tool.spec.args(**arguments), bench.env)
        effects = tool.effects(ready)
        assert isinstance(effects[0], RunEffect)
        assert effects[0].argv == ("python3", "-c", ready.code)
        assert effects[1:] == ((WriteEffect(path="n.ipynb"),) if ready.cell else ())
        result: ToolResult = await tool.run(ready, bench.context())
        return result

    try:
        async with anyio.create_task_group() as group:
            keeper.begin(group)
            yield run
            await keeper.end_all()
    finally:
        assert await bench.inner.aclose() == 0


async def test_a_missing_notebook_is_answered_with_a_similar_path(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tools_of("notebook"))
    bench.write("analysis/sales.ipynb", STYLES["jupyter"])
    calls = {
        "read_notebook": {},
        "edit_notebook": {"action": "delete", "cell": "0"},
        "run_cell": {"cell": "1"},
    }
    for tool, arguments in calls.items():
        given = bench.tools[tool].spec.args(path="sales.ipynb", **arguments)
        with pytest.raises(ToolError) as raised:
            if tool == "run_cell":
                await bench.tools[tool].settle_arguments(given, bench.env)
            await bench.tools[tool].run(given, bench.context())
        assert str(raised.value) == "File not found: sales.ipynb. Did you mean analysis/sales.ipynb?", tool


@pytest.mark.slow
async def test_a_variable_survives_and_a_kernel_that_dies_is_named(tmp_path: Path) -> None:
    async with running_kernels(tmp_path) as run:
        action = act(SessionStateView(), actions.IPythonRunCell(code="x = 6 * 7\nprint('ok')"))
        assert isinstance(action, CallTools)
        [call] = action.calls
        first = await run(**call.arguments, path="n.ipynb")  # one kernel for all, since it starts slowly
        assert (first.ok, text(first), first.data["exit_code"]) == (True, "Out [1], ok:\nok", 0)
        saved = await run(path="n.ipynb", cell="sum")
        assert text(saved) == "Out [2], ok:\n21"
        cell = json.loads((tmp_path / "n.ipynb").read_text())["cells"][1]
        output = {"output_type": "execute_result", "data": {"text/plain": ["21"]}, "metadata": {}}
        assert cell["outputs"] == [{**output, "execution_count": 2}] and cell["execution_count"] == 2
        with anyio.move_on_after(1) as scope:  # as Esc does it
            await run(code="x += 1\nimport time; time.sleep(600)", path="n.ipynb")
        assert scope.cancelled_caught
        assert text(await run(code="x", path="n.ipynb")) == "Out [4], ok:\n21"
        with pytest.raises(ToolError, match=r"Interrupted after 0.5 s, the time limit"):
            await run(code="time.sleep(600)", path="n.ipynb", timeout=0.5)
        failed = await run(code="print('y' * 3_000_000)\n1 / 0", path="n.ipynb")
        assert (failed.ok, failed.summary, failed.data["exit_code"]) == (False, "ZeroDivisionError", 1)
        assert len(text(failed)) < 17_000 and "were not kept" in text(failed)
        used = await run(code="import os; os.environ['PROJECT']", path="n.ipynb")
        assert text(used).endswith("'here'"), "the kernel runs in the project's Python"
        with pytest.raises(ToolError, match=r"kernel died: it ended with 7. Its variables are lost"):
            await run(code="import os; os._exit(7)", path="n.ipynb")


@pytest.mark.slow
async def test_a_project_python_without_ipykernel_is_named(tmp_path: Path) -> None:
    async with running_kernels(tmp_path) as run:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "n.ipynb").write_text(STYLES["jupyter"])
        python = tmp_path / ".venv" / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
        with pytest.raises(ToolError, match="No module named ipykernel") as error:
            await run(path="sub/n.ipynb", code="1")
        assert str(error.value).endswith("[plugins.notebook].") and "../.venv/bin/python needs" in str(
            error.value
        )


async def test_cells_that_cannot_run_are_refused_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_kernels(tmp_path) as run:
        for arguments in ({}, {"cell": "1"}, {"code": "1", "path": "n.ipynb", "cell": "1"}):
            with pytest.raises(ToolError, match="either code, or path and cell"):
                await run(**arguments)
        with pytest.raises(ToolError, match="is not Python"):
            await run(path="n.ipynb", cell="top")
        monkeypatch.setitem(sys.modules, "jupyter_client", None)
        with pytest.raises(ToolError, match=r"Install it: .*\[notebook\]"):
            await run(code="1")


def test_only_real_images_are_shown() -> None:
    outputs = module_of("notebook", "outputs")
    false = base64.b64encode(b"no image").decode()
    broken = [{"data": {"image/png": false}}, {"data": {"image/png": "?"}}, {"data": 7}, {}]
    assert outputs.output_images(broken) == []
    assert [image.media_type for image in outputs.output_images([{"data": {"image/png": PNG}}])] == [
        "image/png"
    ]
