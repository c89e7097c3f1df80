"""The API for authors of evaluation environments: functions that test the workspace of an agent.

    @suite("basics").test
    async def adds(workspace: Workspace) -> None:
        assert (await workspace.run("python3 calc.py 2 3")).output == "5\\n"

`tui-agent deploy FILE` serves the tests of a file. `connect` runs them from a Python program.

Invariant: no other module of tui-agent needs this module.
"""

from tui_agent.evals.environments.environment_client import RemoteTests, connect
from tui_agent.evals.environments.environment_file import setup, suite, test
from tui_agent.evals.environments.environment_tests import EnvironmentReport, TestResult
from tui_agent.evals.environments.environment_workspace import CommandResult, Workspace

__all__ = [
    "CommandResult",
    "EnvironmentReport",
    "RemoteTests",
    "TestResult",
    "Workspace",
    "connect",
    "setup",
    "suite",
    "test",
]
