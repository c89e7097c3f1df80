"""Description of an engine process that ended too early, before the session was open."""

from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.errors import TuiAgentError
from tui_agent.plugin_host.load_records import RECORDS_FOLDER, LoadRecords


def describe_crash(pid: int, last_line: str, environ: Mapping[str, str], cwd: Path) -> TuiAgentError:
    """Return the error to show after the engine process `pid` ended. The error names the plugins that were being
    loaded.

    `last_line`: the end of the process's standard error.
    """
    try:
        cache = load_config(SessionOptions(cwd=cwd), environ).paths.cache_dir
    except TuiAgentError:  # the crash matters more than a configuration that cannot be read
        cache = find_paths(cwd, environ).cache_dir
    names = LoadRecords(cache / RECORDS_FOLDER).list_loaded_by(pid)
    reason = last_line or "no message"
    if not names:
        return TuiAgentError(
            f"The engine process ended: {reason}.", hint="Run `tui-agent doctor` to find out why."
        )
    plugins = f"the plugin{'s' if len(names) > 1 else ''} {', '.join(names)}"
    return TuiAgentError(
        f"The engine process ended while it loaded {plugins}: {reason}.",
        hint=f"Start tui-agent again: it leaves out the plugin that caused the crash. Or run: tui-agent plugins disable {names[0]}",
    )
