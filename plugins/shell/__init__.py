"""Plugin: running commands and tests, in the foreground or as background jobs."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import read_job_output, run_command, run_tests, stop_job


def register(api: PluginApi) -> None:
    """Register the tools; their descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    api.tool(run_command.make((folder / "run_command.md").read_text(encoding="utf-8").strip()))
    api.tool(read_job_output.make((folder / "read_job_output.md").read_text(encoding="utf-8").strip()))
    api.tool(stop_job.make((folder / "stop_job.md").read_text(encoding="utf-8").strip()))
    api.tool(run_tests.make((folder / "run_tests.md").read_text(encoding="utf-8").strip()))
