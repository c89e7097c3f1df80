"""The records of a session whose program was killed while a call was asked about."""

from pathlib import Path

from tests.engine.harness import EchoTool, ask, call, running
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Record
from tui_agent.store.log_reader import read_records


async def asked(tmp_path: Path) -> list[Record]:
    """As they are once the session is taken up again."""
    log = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    async with running(tmp_path, [call(("echo", '{"words":"aloud"}'))], [EchoTool()], policy=ask) as bench:
        bench.submit(SubmitPrompt(text="say it"))
        await bench.until("permission.requested")
        lines = log.read_bytes()
    log.write_bytes(lines)
    async with running(tmp_path, [], policy=ask, serve=False):
        return list(read_records(log.parent))
