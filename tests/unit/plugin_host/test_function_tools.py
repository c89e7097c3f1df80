"""A function with a decorator is a whole tool: its signature and docstring are what the model is told."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tests.engine.harness import call, running, say
from tests.unit.plugin_host.test_plugin_loading import failure, load
from tui_agent.engine.tools.schema import json_schema
from tui_agent.errors import PluginError
from tui_agent.plugin_api import FunctionTool, ToolContext, ToolResult, hook, text_result, tool
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.effects import InternalEffect, NetworkEffect, ReadEffect, RunEffect, WriteEffect


@tool(reads="path")
async def count_lines(
    ctx: ToolContext, path: Path, unit: Annotated[str, Field(description="Its name")] = "line"
) -> str:
    """Count the lines of a file."""
    count = len((await ctx.env.read(str(path))).text.splitlines())
    return f"{count} {unit}s\nin {path}"


def arguments(function: FunctionTool, **values: Any) -> BaseModel:
    return function.spec.args(**values)


def test_name_docstring_and_types_become_the_spec() -> None:
    assert (count_lines.spec.name, count_lines.spec.verb) == ("count_lines", "count")
    assert count_lines.spec.description == "Count the lines of a file."
    assert json_schema(count_lines.spec.args) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "format": "path"},
            "unit": {"type": "string", "description": "Its name", "default": "line"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


async def test_it_runs_like_any_tool(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("1\n2\n")
    answers = [call(("count_lines", '{"path": "a.txt"}')), say("Two.")]
    async with running(tmp_path, answers, [count_lines]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    (end,) = bench.results()
    assert (end.status, end.summary) == ("ok", "2 lines")
    assert "2 lines\\nin a.txt" in repr(end.content)


@tool(reads=["sources"], writes="target", connects="host", runs="command", internal="builds")
def build(sources: list[Path], target: Path, host: str | None, command: str) -> ToolResult:
    """Build something."""
    return text_result("built", summary="done")


def test_effects_come_from_the_arguments() -> None:
    args = arguments(build, sources=["a", "b"], target="c", host="example.org", command="make")
    assert build.effects(args) == (
        InternalEffect(subject="builds"),
        ReadEffect(path="a"),
        ReadEffect(path="b"),
        WriteEffect(path="c"),
        NetworkEffect(host="example.org"),
        RunEffect(script="make"),
    )
    none = arguments(build, sources=[], target="c", host=None, command="make")
    assert len(build.effects(none)) == 3


def test_effects_can_be_a_function_of_the_arguments() -> None:
    @tool(effects=lambda name: [WriteEffect(path=f"{name}.txt")])
    def write(name: str) -> str:
        """Write a file."""
        return name

    assert write.effects(arguments(write, name="x")) == (WriteEffect(path="x.txt"),)
    assert write.target(arguments(write, name="x")) == "x"


def test_a_plain_function_runs_in_a_thread_and_can_be_called_in_tests() -> None:
    result = asyncio.run(build.run(arguments(build, sources=[], target="c", host=None, command="x"), None))  # type: ignore[arg-type]
    assert result.summary == "done"
    assert build([], Path("c"), None, "x").summary == "done"


def no_docstring(path: str) -> str:
    return path


def no_type(path) -> str:  # type: ignore[no-untyped-def]
    """Have no type."""
    return str(path)


def stars(*paths: str) -> str:
    """Have stars."""
    return str(paths)


def odd_type(path: object()) -> str:  # type: ignore[valid-type]
    """Have an odd type."""
    return str(path)


def fine(path: str) -> str:
    """Be fine."""
    return path


@pytest.mark.parametrize(
    ("function", "declared", "words"),
    [
        (fine, {}, "does not declare its effects"),
        (fine, {"reads": "file"}, "no parameter 'file'"),
        (no_docstring, {"reads": "path"}, "no docstring"),
        (no_type, {"reads": "path"}, "'path' has no type"),
        (stars, {"reads": "paths"}, "name each argument"),
        (odd_type, {"reads": "path"}, "odd_type"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(
    function: Any, declared: dict[str, str], words: str
) -> None:
    with pytest.raises(PluginError) as refused:
        tool(**declared)(function)  # type: ignore[arg-type]
    assert words in str(refused.value)


SMALL = '''
from pathlib import Path
from tui_agent.plugin_api import hook, tool

@tool(reads="path")
async def count_lines(ctx, path: Path) -> str:
    """Count the lines of a file."""
    return str(len((await ctx.env.read(str(path))).text.splitlines()))

@hook("tool.finished")
def watch(event):
    pass
'''


def test_a_file_needs_no_register(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(SMALL)
    (tmp_path / "empty.py").write_text("x = 1\n")
    loaded = load(tmp_path)
    assert loaded.events[1].contributions == ("tool:count_lines", "hook:tool.finished")  # type: ignore[union-attr]
    assert (
        failure(loaded, "empty")
        == "It has no function register(api), and no function with @tool, @hook or @command."
    )


def test_a_decorated_command_is_registered_with_its_docstring(tmp_path: Path) -> None:
    code = """
from tui_agent.plugin_api import command

@command("/standup", arguments="[DAY]")
async def standup(text, state):
    "Report on a day."
    return text
"""
    (tmp_path / "reports.py").write_text(code)
    (offered,) = load(tmp_path).commands
    assert (offered.owner, offered.offer.name, offered.offer.help, offered.offer.arguments) == (
        "reports",
        "standup",
        "Report on a day.",
        "[DAY]",
    )


WRONG_PARAMETERS = {
    "hook('before_tool')\nasync def f(): pass": "The function that p registers for before_tool must accept 1 argument: too many",
    "hook('tool.finished')\ndef f(a, b): pass": "The function that p registers for tool.finished must accept 1 argument: missing",
    "command('/f', help='F')\nasync def f(text): pass": "The function that p registers for the command /f must accept 2 arg",
}


@pytest.mark.parametrize("code", WRONG_PARAMETERS)
def test_a_hook_or_command_with_wrong_parameters_is_refused_when_it_is_loaded(
    tmp_path: Path, code: str
) -> None:
    (tmp_path / "p.py").write_text(f"from tui_agent.plugin_api import command, hook\n\n@{code}\n")
    assert failure(load(tmp_path), "p").startswith(WRONG_PARAMETERS[code])


def test_a_decorated_hook_can_be_called_in_tests() -> None:
    @hook("tool.finished")
    def double(number: int) -> int:
        return 2 * number

    assert double(2) == 4
