"""Commands, agents and skills as Claude Code, Codex and opencode lay them out."""

from pathlib import Path

from tui_agent.config.extensions.agent_files import load_named_agents
from tui_agent.config.extensions.command_files import load_command_files
from tui_agent.config.paths import find_paths
from tui_agent.config.project.other_agents_files import user_folders
from tui_agent.config.project.project_files import read_project_files
from tui_agent.context.skills import SkillStore

REVIEWER = """---
name: reviewer
description: Reviews a change. Use it PROACTIVELY.
tools: Read, Grep, Bash(git diff:*), WebFetch, mcp__jira__search
model: sonnet
color: blue
---
You review.
"""
SCOUT = """---
description: Looks around
mode: subagent
model: anthropic/claude-sonnet-4
temperature: 0.1
tools:
  write: false
  edit: false
---
You look.
"""


def write_files(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_trusted_projects_files_of_neighbours_are_used_as_they_are(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        **{
            ".claude/commands/review.md": "---\nallowed-tools: Bash(git diff:*)\n---\nReview $ARGUMENTS",
            ".claude/settings.local.json": "{}",
            ".opencode/command/review.md": "hidden",
            ".opencode/command/ship.md": "---\nagent: build\n---\nShip $1",
            ".tui_agent/commands/ship.md": "Ours",
            ".claude/agents/reviewer.md": REVIEWER,
            ".opencode/agent/scout.md": SCOUT,
            ".opencode/agent/build.md": "---\nmode: primary\n---\nYou build.",
            ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nx",
            ".claude/skills/pdf/fill.py": "1",
        },
    )
    (tmp_path / ".agents").symlink_to(tmp_path / ".claude")
    (tmp_path / ".claude" / "agents" / "link.md").symlink_to("/etc/passwd")
    files = read_project_files(tmp_path)
    assert files.fault == "", "what cannot be trusted of neighbours is left out"
    assert ".claude/commands/review.md" in files.digests, "a change is asked about again"
    assert not {name for name in files.digests if "settings" in name or ".agents" in name or "link" in name}

    _, commands = load_command_files(tmp_path / "none", files)
    assert [(item.offer.name, item.text) for item in commands.commands] == [
        ("ship", "Ours"),
        ("review", "Review $ARGUMENTS"),
    ]
    agents = load_named_agents(tmp_path / "none", tmp_path / "none", files)
    assert [(role.name, role.tools, role.model, role.read_only) for role in agents.roles] == [
        ("reviewer", ("read_file", "grep", "run_command"), "", False),
        ("scout", None, "", True),
    ]
    assert agents.faults == ()
    skills = SkillStore(tmp_path / "none", files)
    assert skills.read("pdf", "fill.py").text == "1"


def test_the_users_own_folders_of_neighbours_are_read_after_ours(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        **{
            ".codex/prompts/plan.md": "Plan $1",
            ".claude/commands/plan.md": "Plan of Claude",
            ".config/tui-agent/commands/fix.md": "Ours",
            ".config/opencode/command/fix.md": "Theirs",
            ".claude/agents/reviewer.md": REVIEWER.replace(
                "tools: Read", "disallowedTools: Edit\ntools: Task"
            ),
            ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nx",
        },
    )
    paths = find_paths(tmp_path, {"HOME": str(tmp_path)})
    user, _ = load_command_files(paths.config_dir / "commands", None, user_folders(paths, "commands"))
    assert {item.offer.name: item.text for item in user.commands} == {
        "fix": "Ours",
        "plan": "Plan of Claude",
    }
    [role] = load_named_agents(
        tmp_path / "none", tmp_path / "none", None, (), user_folders(paths, "agents")
    ).roles
    assert (role.tools, role.read_only) == (("grep", "run_command"), True)
    skills = SkillStore(tmp_path / "none", neighbours=user_folders(paths, "skills"))
    assert [record.name for record in skills.records] == ["pdf"]


def test_a_neighbours_command_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, **{".claude/commands/fine.md": "Fine", ".claude/commands/big.md": "x" * (40 << 20)})
    (tmp_path / ".claude/commands/linked.md").symlink_to(tmp_path / "elsewhere.md")
    _, project = load_command_files(tmp_path / "none", read_project_files(tmp_path))
    assert [command.offer.name for command in project.commands] == ["fine"]
    faults = dict(project.faults)
    assert faults["big"].startswith(f"{tmp_path}/.claude/commands/big.md is not used: it is too large")
    assert "linked.md is not used: it is a link to" in faults["linked"]
