"""A headless session waits for nobody: what would be asked is refused, whatever its maker said of an audience."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tui_agent.config.session_options import Client, SessionOptions
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session

SCRIPT = """\
answers:
  - calls:
      - write_file: {{path: a.txt, content: first}}
      - run_command: {{command: {command}}}
  - text: Done.
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    outside = f"python3 -c \"open('{tmp_path / 'left'}', 'w')\""
    (tmp_path / "script.yaml").write_text(SCRIPT.format(command=json.dumps(outside)))
    return SessionOptions(
        cwd=tmp_path / "work", data_dir=tmp_path / "data", model=f"scripted:{tmp_path / 'script.yaml'}"
    )


@pytest.mark.slow_variants
@pytest.mark.parametrize("client", ["headless", "eval"])
@pytest.mark.parametrize("policy", ["ask", "bypass"])
async def test_what_would_be_asked_is_refused_at_once(
    options: SessionOptions, client: Client, policy: PolicyName
) -> None:
    seen: list[Record] = []
    made = replace(options, client=client, policy=policy, interactive=client == "headless")
    assert not made.is_attended
    with anyio.fail_after(30):
        async with open_session(made) as opened:
            await run_turn(opened, "go", seen.append)
    payloads = [one.payload for one in seen if isinstance(one, Envelope)]
    assert "permission.requested" not in {one.kind for one in payloads}
    ends = [one.status for one in payloads if isinstance(one, ToolFinished)]
    assert ends[0] == ("denied" if policy == "ask" else "ok")
    assert len(ends) == 2
    assert all(one.decided_by in {"rule", "engine"} for one in payloads if isinstance(one, PermissionDecided))


def test_an_app_is_attended_where_its_maker_says_so(options: SessionOptions) -> None:
    assert options.is_attended
    assert not replace(options, interactive=False).is_attended
