"""Questions to a language server, renames with its help, and servers that fail."""

import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.stubs.left_out import only_where
from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.engine.tools.sandbox_retry import SandboxGrant
from tui_agent.engine.tools.tool_programs import ProgramKeeper
from tui_agent.errors import ToolError
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.protocol.effects import ReadEffect, RunEffect, WriteEffect

SERVER = Path(__file__).parents[2] / "stubs" / "lsp_server.py"
PYRIGHT = Path(__file__).parents[3] / ".venv/npm/node_modules/.bin/pyright-langserver"
A = "def größe(total):\n    '𝄞'; return total  # bad\n\nprint(größe(1))\n"
B = "from a import größe\r\nx = '𝄞', größe(2)\r\n"


class Question:
    """The tool with a server, as a session asks it: arguments are completed, then judged, then run."""

    def __init__(self, bench: Bench, log: Path) -> None:
        self.bench = bench
        self._log = log
        [self.tool] = bench.tools.values()

    @property
    def log_lines(self) -> list[str]:
        """The lines that the server has written about its start, its end and changed files."""
        return self._log.read_text().splitlines()

    async def settle(self, action: str, path: str, **more: object) -> Any:
        given = self.tool.spec.args(action=action, path=path, **more)
        return await self.tool.settle_arguments(given, self.bench.env)

    async def __call__(self, action: str, path: str, **more: object) -> ToolResult:
        result: ToolResult = await self.tool.run(
            await self.settle(action, path, **more), self.bench.context()
        )
        return result


@asynccontextmanager
async def running_server(folder: Path, mode: str = "good", timeout: float = 20) -> AsyncIterator[Question]:
    workspace, log = folder / "work", folder / "log"
    workspace.mkdir()
    log.touch()
    command = shlex.join([sys.executable, str(SERVER), mode, str(log)])
    settings = module_of("lsp", "running_server").LspSettings(
        commands={"py": command if mode != "real" else f"{PYRIGHT} --stdio"}, timeout=timeout
    )
    bench = Bench(workspace, tools_of("lsp", settings))
    bench.write("a.py", A)
    bench.write("b.py", B)
    assert bench.inner is not None
    parts: Any = SimpleNamespace(env=bench.inner, recorder=None)
    keeper = ProgramKeeper(parts)
    bench.programs = keeper.for_call("lsp", SandboxGrant())
    try:
        async with anyio.create_task_group() as group:
            keeper.begin(group)
            yield Question(bench, log)
            await keeper.end_all()
    finally:
        assert await bench.inner.aclose() == 0


async def test_questions_are_answered_by_one_server_which_is_told_of_changes(tmp_path: Path) -> None:
    async with running_server(tmp_path) as ask:
        assert text(await ask("diagnostics", "a.py")) == "a.py:2:27: error: This is bad \\x1b[31m. [bad]"
        assert text(await ask("diagnostics", "b.py")) == "The language server found no problems in b.py."
        assert text(await ask("definition", "b.py", symbol="größe", line=2)) == "a.py:1:5: def größe(total):"
        found = await ask("references", "a.py", symbol="größe")
        assert text(found).splitlines() == [
            "a.py:1:5: def größe(total):",
            "a.py:4:7: print(größe(1))",
            "b.py:1:15: from a import größe",
            "b.py:2:11: x = '𝄞', größe(2)",
        ]
        with pytest.raises(ToolError, match=r"'größe' is not in line 3. It is in line 1, 4"):
            await ask("definition", "a.py", symbol="größe", line=3)
        written = await ask.bench.env.read("b.py")
        await ask.bench.env.write("b.py", b"bad\n", written.digest)
        ask.tool.note_change(SimpleNamespace(payload=ask.bench.events[-1]))
        assert text(await ask("diagnostics", "b.py")).startswith("b.py:1:1: error")
        assert ask.log_lines == ["start", "b.py 2"]
        reads, runs = ask.tool.effects(await ask.settle("references", "a.py", symbol="total"))
        assert reads == ReadEffect(path="a.py") and isinstance(runs, RunEffect)
    assert ask.log_lines == ["start", "b.py 2", "exit"]


def test_edits_that_a_server_sends_in_both_forms_are_applied_once() -> None:
    edit = {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
        "newText": "y",
    }
    answer = {
        "changes": {"file:///w/a.py": [edit]},
        "documentChanges": [{"textDocument": {"uri": "file:///w/a.py", "version": 1}, "edits": [edit]}],
    }
    assert module_of("lsp", "edits").edits_by_file(answer, "/w") == {"a.py": [edit]}
    assert module_of("lsp", "edits").edits_by_file({"changes": answer["changes"]}, "/w") == {"a.py": [edit]}


async def test_a_rename_shows_all_its_files_and_writes_them_like_an_edit(tmp_path: Path) -> None:
    async with running_server(tmp_path) as ask:
        with pytest.raises(ToolError, match="action=references for the symbol first"):
            await ask("rename", "a.py", symbol="größe", new_name="size")
        await ask("references", "a.py", symbol="größe")
        ready = await ask.settle("rename", "a.py", symbol="größe", new_name="size")
        assert ask.tool.effects(ready) == (WriteEffect(path="a.py"), WriteEffect(path="b.py"))
        preview = await ask.tool.preview(ready, ask.bench.env)
        assert [block.path for block in preview.blocks if isinstance(block, DiffBlock)] == ["a.py", "b.py"]
        assert ask.bench.bytes("a.py") == A.encode()
        result = await ask.tool.run(ready, ask.bench.context())
        assert text(result) == "Renamed größe to size: 4 places in 2 files: a.py (2), b.py (2)."
        assert ask.bench.bytes("a.py") == A.replace("größe", "size").encode()
        assert ask.bench.bytes("b.py") == B.replace("größe", "size").encode()
        late = await ask.settle("rename", "a.py", symbol="size", new_name="length")
        ask.bench.write("b.py", "size = 1\n")
        with pytest.raises(ToolError, match=r"b.py has changed since the rename was computed"):
            await ask.tool.run(late, ask.bench.context())
        assert ask.bench.bytes("a.py") == A.replace("größe", "size").encode()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("dies", "failed twice: it ended: Traceback: out of memory"),
        ("hangs", "failed twice: it did not answer within 0.5 s"),
        ("noise", "could not be used: it sent data that is not a Language Server Protocol message"),
        ("dies_once", ""),
        ("floods", ""),
    ],
)
async def test_a_server_that_fails_is_started_once_more_and_then_named(
    tmp_path: Path, mode: str, words: str
) -> None:
    async with running_server(tmp_path, mode, 0.5 if mode == "hangs" else 20) as ask:
        if not words:
            assert "4 places" in (await ask("references", "a.py", symbol="größe")).summary
        else:
            with pytest.raises(ToolError, match=words):
                await ask("references", "a.py", symbol="größe")
        assert ask.log_lines.count("start") == (1 if mode in ("floods", "noise") else 2)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("lies", "sent an answer that is not valid"),
        ("forgets", r"would leave the old name in b.py"),
        ("outside", "/etc/hostname"),
    ],
)
async def test_an_edit_that_cannot_be_right_changes_nothing(tmp_path: Path, mode: str, words: str) -> None:
    async with running_server(tmp_path, mode) as ask:
        await ask("references", "a.py", symbol="größe")
        with pytest.raises(Exception, match=words):
            await ask("rename", "a.py", symbol="größe", new_name="size")
        if mode == "lies":
            with pytest.raises(ToolError, match="sent an answer that is not valid"):
                await ask("definition", "a.py", symbol="größe")
        assert (ask.bench.bytes("a.py"), ask.bench.bytes("b.py")) == (A.encode(), B.encode())


def test_a_server_in_tmp_that_is_missing_in_the_sandbox_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    explain = module_of("lsp", "running_server").explain_missing_file
    places = {"here": "/tmp/bin/here", "there": "/usr/bin/there"}
    monkeypatch.setattr(shutil, "which", places.get)
    missing = "it ended: execvp here: No such file or directory"
    assert "the sandbox has its own /tmp: install it in another folder" in explain("here", missing)
    assert explain("there", missing) == explain("gone", missing) == explain("here", "it ended") == ""


async def test_a_file_without_a_server_is_named(tmp_path: Path) -> None:
    async with running_server(tmp_path) as ask:
        with pytest.raises(ToolError, match="There is no language server for xyz files"):
            await ask.settle("definition", "a.xyz", symbol="x")


async def test_a_missing_file_is_answered_with_a_similar_path(tmp_path: Path) -> None:
    async with running_server(tmp_path) as ask:
        await ask("diagnostics", "b.py")  # a rename needs a running server
        for action in ("definition", "diagnostics", "rename"):
            with pytest.raises(ToolError, match=r"File not found: src/b\.py\. Did you mean b\.py\?"):
                await ask(action, "src/b.py", symbol="größe", new_name="size")


@pytest.mark.slow
@only_where(PYRIGHT.exists(), "npm's pyright is not installed")
async def test_pyright_finds_and_renames_across_files(tmp_path: Path) -> None:
    async with running_server(tmp_path, "real", 60) as ask:
        assert "4 places" in (await ask("references", "a.py", symbol="größe")).summary
        result = await ask("rename", "b.py", symbol="größe", line=2, new_name="size")
        assert result.summary == "4 places, 2 files"
        assert ask.bench.bytes("b.py") == B.replace("größe", "size").encode()
        ask.bench.write("c.py", "n: int = 'x'\n")
        assert "not assignable" in text(await ask("diagnostics", "c.py"))
