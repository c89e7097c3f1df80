"""What is recorded of a test run, whichever tool it was started with."""

import shlex

from tui_agent.plugin_api import ExecResult, TestFinished, ToolContext

from .counts import Counts
from .frameworks import TestCommand


def finished(command: TestCommand, result: ExecResult, counts: Counts, ctx: ToolContext) -> TestFinished:
    """The run, as counted."""
    return TestFinished(
        framework=command.framework,
        command=shlex.join(command.argv),
        folder=command.cwd,
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        exit_code=result.exit_code,
        failures=counts.failures,
        call_id=ctx.call_id,
    )
