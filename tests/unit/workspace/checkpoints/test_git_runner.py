"""Running git: a cancelled program leaves no process and no warning."""

import logging
from pathlib import Path

import anyio
import pytest

from tui_agent.workspace.checkpoints.git_runner import run_program


async def test_a_cancelled_program_is_waited_for_so_that_asyncio_prints_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "asyncio"):
        for number in range(20):  # about half of them warned
            with anyio.move_on_after(0.002 * (number % 8)):
                await run_program(("sleep", "0.01"), b"", {"PATH": "/usr/bin:/bin"}, Path("/"))
    assert caplog.messages == []
