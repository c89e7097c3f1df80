"""Ten gigabytes of output through one command (GIGABYTES=n for another number): counted, and not held."""

import os
from pathlib import Path

import pytest

from tests.soak.conftest import Report
from tests.stubs.left_out import linux_only
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.protocol.stored_text import BlobText

SIZE = int(float(os.environ.get("GIGABYTES", "10")) * 1_000_000_000)
MOST_MORE_MB = 180.0
"""The 50 MB that are kept, as bytes and as text, while they are put together; the same for any size."""

pytestmark = [pytest.mark.soak, linux_only("reads /proc")]


def figure(name: str) -> float:
    """A figure of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1_000 for line in lines if line.startswith(f"{name}:"))


async def test_ten_gigabytes_are_contained(tmp_path: Path, report: Report) -> None:
    bench = Bench(tmp_path, tools_of("shell"))
    before = figure("VmRSS")
    result = await bench.run("run_command", command=f"yes 0123456789 | head -c {SIZE}", timeout=3600)
    more = figure("VmHWM") - before
    kept = result.full_output
    assert isinstance(kept, BlobText) and kept.size < 50_001_000
    report(
        f"{SIZE / 1e9:g} GB through one command: {kept.size / 1e6:.0f} MB kept, {len(text(result)):,} characters for "
        f"the model, {len(''.join(bench.live)):,} for the row, at most {more:.0f} MB of memory more"
    )
    assert result.data["bytes"] == SIZE
    assert len(text(result)) < 20_000
    assert more < MOST_MORE_MB
