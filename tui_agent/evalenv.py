"""The API for authors of evaluation environments: functions that test the workspace of an agent.

    @suite("basics").test
    async def adds(workspace: Workspace) -> None:
        assert (await workspace.run("python3 calc.py 2 3")).output == "5\\n"

`tui-agent deploy FILE` serves the tests of a file. `connect` runs the tests from a Python program.

Invariant: no other module of tui-agent needs this module.
"""

from tui_agent.evals.environments.environment_client import RemoteTests as RemoteTests
from tui_agent.evals.environments.environment_client import connect as connect
from tui_agent.evals.environments.environment_file import CommandResult as CommandResult
from tui_agent.evals.environments.environment_file import Workspace as Workspace
from tui_agent.evals.environments.environment_file import setup as setup
from tui_agent.evals.environments.environment_file import suite as suite
from tui_agent.evals.environments.environment_file import test as test
from tui_agent.evals.environments.environment_tests import EnvironmentReport as EnvironmentReport
from tui_agent.evals.environments.environment_tests import TestResult as TestResult
