"""Plugin: running commands, background jobs and tests."""

from tui_agent.plugin_api import PluginApi

from . import read_job_output
from .run_command import RunCommand
from .run_tests import RunTests


def register(api: PluginApi) -> None:
    """Register the tools."""
    api.tool(RunCommand())
    api.tool(read_job_output.read_job_output)
    api.tool(RunTests())
