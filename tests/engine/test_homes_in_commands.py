"""A home that a command names is the home on this machine, not a folder of that name in the workspace."""

import json
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.policy import PermissionDecided


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("cat ~/notes.txt", "ask.reads-outside"),
        ("cat ~/../notes.txt", "ask.reads-outside"),
        ("cd ~/.. && cat notes.txt", "ask.reads-outside"),
        ("cat ~/key", "guard.secret"),
        ("cat ~+/../notes.txt", "ask.unproven"),
    ],
)
async def test_a_file_of_the_home_is_not_read_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, rule: str
) -> None:
    home = tmp_path / "homes" / "ada"
    home.mkdir(parents=True)
    (home / "notes.txt").write_text("private", encoding="utf-8")
    (home / "key").symlink_to(home / ".ssh" / "id_rsa")
    monkeypatch.setenv("HOME", str(home))
    answers = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
    tools = list(tools_of("shell").values())
    async with running(tmp_path, answers, tools, policy=RulePolicy().decide, interactive=False) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (decided,) = bench.of(PermissionDecided)
        assert (decided.decision, decided.rule_id) == ("deny", rule)
