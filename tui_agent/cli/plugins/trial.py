"""The tests that `plugins check` makes of a plugin.

The check calls the plugin's tools with made-up arguments, draws the plugin's panes for a sample log, and runs the
plugin's own tests. The folder of an MCP server is checked too; the server need not be in the configuration.
"""

import ast
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import anyio

from tui_agent.cli.mcp import start_servers
from tui_agent.config.settings.optional_packages import package_install_command
from tui_agent.engine.plugins.error_guard import GuardedTool
from tui_agent.engine.tools.arguments import InvalidArguments, parse_arguments
from tui_agent.engine.tools.schema import json_schema, sample_arguments
from tui_agent.errors import PluginError, ToolCrash
from tui_agent.mcp.offered_tools import name_tools
from tui_agent.mcp.server_runner import OFF
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.plugin_host.bundled_files import golden_log
from tui_agent.plugin_host.discover import FOLDS, MANIFEST, FoundPlugin, plugin_at, plugin_theme_files
from tui_agent.plugin_host.panes.pane_client import PaneClient
from tui_agent.plugin_host.panes.pane_folds import FoldCursor, FoldWatch, draw_pane, load_panes
from tui_agent.plugin_host.panes.pane_messages import (
    BLOCKS,
    PROCESSOR_LIMIT_S,
    WAIT_LIMIT_S,
    PaneAnswer,
    PaneFault,
    PaneRequest,
)
from tui_agent.plugin_host.parallel_calls import TimeLimitReached, run_side_by_side
from tui_agent.plugin_host.plugin_check import CheckReport
from tui_agent.plugin_host.plugin_imports import unload_modules
from tui_agent.plugin_host.registered_objects import OfferedTool
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.units import format_duration, format_time_limit
from tui_agent.workspace.local.environment import LocalEnvironment

TESTS_LIMIT_S = 300
TOOL_LIMIT_S = 3.0
SLOW_PANE_S = 3.0
"""The check reports a pane as slow after this many seconds."""
OUTPUT_LINES = 15
SIDE_WIDTH, PAGE_WIDTH = 38, 116
"""Widths of a side pane and of a page, in terminal cells."""


def try_tool(offered: OfferedTool) -> tuple[Sequence[str], Sequence[str]]:
    """Call the methods `target` and `effects` of a tool with made-up arguments; return faults and notes."""
    [outcome] = run_side_by_side([partial(_call_tool, offered)], TOOL_LIMIT_S)
    if isinstance(outcome.error, TimeLimitReached):
        methods = {"target", "effects"} & {frame.name for frame in outcome.stack or ()}
        label = f"`{' or '.join(sorted(methods))}` of the tool {offered.tool.spec.name}"
        return (f"{label} did not end within {format_time_limit(TOOL_LIMIT_S)}.",), ()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value or ((), ())


def _call_tool(offered: OfferedTool) -> tuple[Sequence[str], Sequence[str]]:
    tool, spec = GuardedTool(offered.owner, offered.tool), offered.tool.spec
    schema = json_schema(spec.args)
    faults: list[str] = []
    notes: list[str] = []
    for arguments in sample_arguments(schema):
        args = parse_arguments(spec.name, spec.args, schema, arguments)
        if isinstance(args, InvalidArguments):
            notes.append(
                f"The tool {spec.name} was not tried, because made-up arguments are not valid for this tool."
            )
            continue
        try:
            tool.target(args)
            if not tool.effects(args):
                notes.append(
                    f"The tool {spec.name} declares no effects, so every call needs approval and is denied in scripts. "
                    'If the tool only changes the session, return InternalEffect(subject="…").'
                )
        except ToolCrash as crash:
            faults.append(f"{crash.message} (with the arguments {arguments})")
    return tuple(dict.fromkeys(faults)), tuple(dict.fromkeys(notes))


def try_themes(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Load the plugin's themes as the app does; return faults, and notes about colours that are hard to read."""
    files = plugin_theme_files(plugin_at(path.absolute(), "option"))
    # Imported here, because no other command needs it.
    theme = import_module("tui_agent.tui.theme.theme")
    themes, faults = theme.discover((theme.bundled_folder(),), files)
    own = {file for _, file in files}
    notes = [
        f"The theme {name}: {_summarise_warnings(loaded.warnings)}"
        for name, loaded in themes.items()
        if loaded.path in own and loaded.warnings
    ]
    return [str(fault) for fault in faults.values()], notes


def _summarise_warnings(warnings: Sequence[str]) -> str:
    """Return the first warning about a theme's contrast and the number of the others."""
    first, *others = warnings
    if not others:
        return first
    count = format_count(len(others), "other colour pair is", "other colour pairs are")
    return f"{first} {count} also hard to read."


def try_panes(path: Path, now: Callable[[], float] = monotonic) -> tuple[Sequence[str], Sequence[str]]:
    """Draw the plugin's panes for a sample log that contains every kind of event; return faults and notes.

    `now`: returns the time in seconds, to measure each pane.
    """
    plugin = plugin_at(path.absolute(), "option")
    faults: list[str] = []
    notes = [
        f"The pane {name} is not shown: add it to `panes` in plugin.toml."
        for name in _functions_with_pane(path / FOLDS)
        if name not in plugin.panes
    ]
    if not plugin.panes:
        return (), notes
    with tempfile.TemporaryDirectory(prefix="tui-agent-") as log:
        shutil.copy(golden_log(), Path(log, EVENTS_FILE))
        answers = anyio.run(partial(_ask_panes, plugin, Path(log), now))
    for name, (answer, seconds) in answers.items():
        if isinstance(answer, PaneFault):
            faults.append(f"The pane {name}: {answer.message}")
        elif seconds > SLOW_PANE_S:
            notes.append(
                f"The pane {name} took {format_duration(seconds)}. A pane is stopped after {format_time_limit(PROCESSOR_LIMIT_S)} of "
                f"computing or {format_time_limit(WAIT_LIMIT_S)} of waiting."
            )
        elif answer.kind == "blocks" and not any(
            draw_rows(answer.blocks, width) for width in (SIDE_WIDTH, PAGE_WIDTH)
        ):
            notes.append(f"The pane {name} stayed empty for a sample log with every kind of event.")
    return faults, notes


async def _ask_panes(
    plugin: FoundPlugin, log: Path, now: Callable[[], float]
) -> dict[str, tuple[PaneAnswer, float]]:
    """Draw each pane of the plugin in a child process.

    Return a map from the pane's name to (content or fault, seconds).
    """
    client, folder = PaneClient(), str(plugin.path)
    answers: dict[str, tuple[PaneAnswer, float]] = {}
    try:
        for name in plugin.panes:
            request = PaneRequest(pane=name, plugin=plugin.name, folder=folder, log=str(log), seq=sys.maxsize)
            start = now()
            answer = await client.ask(request, lambda seq: None)
            answers[name] = answer, now() - start
    finally:
        await client.close()
    return answers


def _functions_with_pane(folds: Path) -> list[str]:
    """Return the names of the functions in the file `folds` with the decorator `@pane`."""
    try:
        tree = ast.parse(folds.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "pane"
    ]


def draw_rows(blocks: Sequence[DisplayBlock], width: int) -> list[str]:
    """Return the screen rows of `blocks`, as text."""
    # Imported here, because drawing loads modules that no other command needs.
    themes, symbols = (import_module(f"tui_agent.tui.theme.{name}") for name in ("theme", "glyphs"))
    theme = import_module("tui_agent.tui.theme.first_frame").named_theme("night", {})
    looks = themes.Looks(themes.Palette(theme), symbols.UNICODE)
    strips = import_module("tui_agent.tui.transcript.blocks").draw_blocks(blocks, looks, width, "s1")
    return [strip.text.rstrip() for strip in strips]


def pane_rows(path: Path, name: str, log: Path, width: int) -> list[str]:
    """Compute the pane `name` of a plugin for all events of a log, and return the pane's rows.

    Raise `PluginError` if the plugin has no such pane, or if the pane fails.
    """
    plugin = plugin_at(path, "option")
    try:
        pane = load_panes(plugin.name, path).get(name)
        if pane is None or name not in plugin.panes:
            raise PluginError(f"The pane {name!r} must be in both plugin.toml and {FOLDS} of {path}.")
        cursor = FoldCursor(pane.fold, path, log, FoldWatch())
        cursor.move_to(sys.maxsize)
        return draw_rows(BLOCKS.validate_json(draw_pane(pane, cursor.fold, path)), width)
    finally:
        unload_modules(plugin.name)


def run_tests(path: Path) -> tuple[Sequence[str], Sequence[str], str]:
    """Run the tests in the plugin's folder with pytest; return faults, notes, and pytest's last line."""
    folder = (path if path.is_dir() else path.parent).absolute()
    if not any((*folder.glob("test_*.py"), *folder.glob("tests/test_*.py"))):
        return (), ("The plugin has no tests: see docs/plugins.md, “Test it”.",), ""
    if find_spec("pytest") is None:
        return (
            (),
            (
                "The plugin's tests were not run, because pytest is not installed in tui-agent's environment. "
                f"To install it: {package_install_command('pytest')}",
            ),
            "",
        )
    options = ("-q", "-p", "no:cacheprovider", "-p", "tui_agent.testing")
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TESTS_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (f"The plugin's tests did not end within {format_time_limit(TESTS_LIMIT_S)}.",), (), ""
    if ran.returncode:
        return ("The plugin's tests failed:\n" + "\n".join(ran.stdout.splitlines()[-OUTPUT_LINES:]),), (), ""
    return (), (), next(reversed(ran.stdout.splitlines()), "")


SERVER_FILE = "server.py"
_PLUGIN_FILES = ("__init__.py", MANIFEST, FOLDS)


def is_mcp_server(path: Path) -> bool:
    """Return True if the folder contains an MCP server (`server.py`) and no plugin."""
    return (path / SERVER_FILE).is_file() and not any((path / name).exists() for name in _PLUGIN_FILES)


def check_mcp_server(path: Path) -> CheckReport:
    """Start the server in the folder `path`, list its tools, and stop the server."""
    folder = path.absolute()
    file, name = folder / SERVER_FILE, folder.name
    settings = ServerSettings(name, sys.executable, (str(file),), source=str(file))
    [runner] = anyio.run(start_servers, LocalEnvironment(folder), [settings], math.inf)
    fault = runner.fault.removesuffix(OFF)
    how_to_use = (
        f"To use the server: add it to config.toml (docs/mcp.md), then run: tui-agent mcp check {name}"
    )
    return CheckReport(
        name,
        runner.version,
        tuple(f"tool:{tool}" for tool in name_tools(name, runner.tools)),
        (f"The MCP server does not work: {fault}.",) if fault else (),
        (*runner.left_out, *(() if fault else (how_to_use,))),
    )
