"""What the program reads by itself for a model is under the rules for reading."""

from pathlib import Path

from tui_agent.context.instructions import InstructionFiles
from tui_agent.engine.tools.tool_access import denial_reason
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.workspace.local.environment import LocalEnvironment


async def test_what_a_rule_denies_the_agent_to_read_does_not_join_either(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "workspace"
    for folder in ("open", "shut"):
        (workspace / folder).mkdir(parents=True)
        (workspace / folder / "AGENTS.md").write_text(f"The rules of {folder}.")
    policy = RulePolicy([parse_rule("deny read shut/AGENTS.md")])
    env = LocalEnvironment(workspace)
    files = InstructionFiles(
        env,
        tmp_path / "config",
        may_read=lambda path, real: denial_reason(policy, SessionStateView(), str(workspace), path, real),
    )
    found = await files.load_nested(("open", "shut"), (), 10_000)
    assert [one.path for one in found.files] == ["open/AGENTS.md"]
    (note,) = found.notes
    assert note.startswith("shut/AGENTS.md is left out: ") and "deny read shut/AGENTS.md" in note
