"""The trials of `plugins check`: tools are asked about made-up calls, and the plugin's own tests run."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tui_agent.engine.plugin_guard import GuardedTool
from tui_agent.engine.tools.arguments import InvalidArguments, parse_arguments
from tui_agent.engine.tools.schema import json_schema
from tui_agent.errors import ToolCrash
from tui_agent.plugin_host.offers import OfferedTool
from tui_agent.plugin_host.sample_arguments import sample_arguments

TESTS_LIMIT_S = 300
OUTPUT_LINES = 15


def try_tool(offered: OfferedTool) -> tuple[Sequence[str], Sequence[str]]:
    """Call a tool's `target` and `effects` with made-up arguments. Return faults and notes."""
    tool, spec = GuardedTool(offered.owner, offered.tool), offered.tool.spec
    schema = json_schema(spec.args)
    faults: list[str] = []
    notes: list[str] = []
    for arguments in sample_arguments(schema):
        args = parse_arguments(spec.name, spec.args, schema, arguments)
        if isinstance(args, InvalidArguments):
            notes.append(f"The tool {spec.name} was not tried: made-up arguments are not valid for it.")
            continue
        try:
            tool.target(args)
            if not tool.effects(args):
                notes.append(
                    f"The tool {spec.name} declares no effects, so every call is asked about, and denied in scripts. "
                    'If it only changes the session, return InternalEffect(subject="…").'
                )
        except ToolCrash as crash:
            faults.append(f"{crash.message} (with the arguments {arguments})")
    return tuple(dict.fromkeys(faults)), tuple(dict.fromkeys(notes))


def run_tests(path: Path) -> tuple[Sequence[str], Sequence[str], str]:
    """Run the tests beside a plugin with pytest. Return faults, notes, and pytest's last line."""
    folder = (path if path.is_dir() else path.parent).absolute()
    if not any((*folder.glob("test_*.py"), *folder.glob("tests/test_*.py"))):
        return (), ("It has no tests: see docs/plugins.md, “Test it”.",), ""
    if find_spec("pytest") is None:
        return (), ("Its tests were not run, because pytest is not installed beside tui-agent.",), ""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
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
        return (f"Its tests did not end within {TESTS_LIMIT_S} s.",), (), ""
    if ran.returncode:
        return ("Its tests failed:\n" + "\n".join(ran.stdout.splitlines()[-OUTPUT_LINES:]),), (), ""
    return (), (), next(reversed(ran.stdout.splitlines()), "")
