"""Output without end: what is held of it is bounded, what is dropped is counted, and the loop goes on turning."""

from pathlib import Path

import anyio
import pytest

from tests.stubs.left_out import linux_only
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment

SIZE = 300_000_000
FLOODS = {
    "lines": f"yes 0123456789 | head -c {SIZE}; printf 'the end'",
    "bytes": f"head -c {SIZE} /dev/urandom; printf 'the end'",
    "one line": f"head -c {SIZE} /dev/zero | tr '\\0' x; printf 'the end'",
}
KEPT = 1_000_000
MOST_MORE = 60_000_000
"""Bytes by which this process may grow: what is kept, its copies, and what the interpreter holds."""


def resident() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


@pytest.mark.slow
@linux_only("reads /proc/self/statm")
@pytest.mark.parametrize("flood", FLOODS)
async def test_a_flood_is_counted_and_holds_no_memory(tmp_path: Path, flood: str) -> None:
    env = LocalEnvironment(tmp_path)
    seen, turns, most = 0, 0, 0
    before = resident()

    def sink(data: bytes) -> None:
        nonlocal seen, most
        seen += len(data)
        if seen % (1 << 24) < len(data):
            most = max(most, resident() - before)

    async def beat() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    result: ExecResult | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        spec = ExecSpec(script=FLOODS[flood], max_output=KEPT, tail_bytes=KEPT // 4)
        result = await env.exec(spec, sink)
        group.cancel_scope.cancel()
    await env.aclose()
    assert result is not None
    assert seen == SIZE + 7 and result.dropped_bytes == seen - KEPT and len(result.output) == KEPT
    assert result.cut_offset == KEPT * 3 // 4 and result.output.endswith(b"the end")
    assert most < MOST_MORE
    assert turns > 1_000  # others had their turn all along
