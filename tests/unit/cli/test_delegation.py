"""Delegation through the composition root: options, environment, an agent of the user's, and a script for a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Call
from tui_agent.config.paths import find_paths

SCRIPT = """
answers:
  - calls:
      - delegate_readonly: {task: Find it.}
      - spawn_subtask: {prompt: Check it., agent: mine}
  - text: Done.
conversations:
  - match: {first_user: Check it., system: You are mine.}
    answers: [{text: Checked.}]
  - match: {first_user: Find it.}
    answers: [{text: Not found.}]
"""
FINDS = "answers: [{text: 'It is in a.py:3. Confidence: high'}]"


def payloads(out: str, kind: str) -> list[dict[str, Any]]:
    found = (json.loads(line)["payload"] for line in out.splitlines())
    return [payload for payload in found if payload["kind"] == kind]


@pytest.fixture
def script(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (work / "main.yaml").write_text(SCRIPT)
    (work / "finds.yaml").write_text(FINDS)
    (work / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    agents = find_paths(work, {"HOME": str(tmp_path / "home")}).config_dir / "agents"
    agents.mkdir(parents=True)
    (agents / "mine.md").write_text("---\ndescription: checks\n---\nYou are mine.")
    (agents / "broken.md").write_text("---\nname")
    return f"scripted:{work / 'main.yaml'}"


@pytest.mark.slow_variants
@pytest.mark.parametrize("by", ["option", "environment"])
def test_an_investigator_has_the_model_that_option_or_environment_name(
    call: Call, script: str, work: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    finds = f"scripted:{work / 'finds.yaml'}"
    words = ["run", "go", "--model", script, "--json", "--no-plugins"]
    if by == "option":
        words += ["--investigator-model-profile", finds]
    else:
        monkeypatch.setenv("TUI_AGENT_INVESTIGATOR_MODEL_PROFILE", finds)
    status, out, err = call(*words)
    assert status == 0, err
    first, second = payloads(out, "agent.spawned")
    assert (first["name"], first["model"]["model"]) == ("investigator", "finds")
    assert (second["name"], second["model"]["model"]) == ("mine", "main")
    reports = {one["name"]: one["data"] for one in payloads(out, "tool.finished")}
    found = reports["delegate_readonly"]
    assert found["evidence"] == [{"path": "a.py", "lines": "3", "what": ""}]
    assert (found["confidence"], reports["spawn_subtask"]["summary"]) == ("high", "Checked.")


@pytest.mark.slow
def test_a_file_that_is_no_agent_is_told_of_and_the_others_are_offered(call: Call, script: str) -> None:
    _, out, _ = call("agents", "list", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert "mine" in [row.get("name") for row in rows]
    assert [Path(row["source"]).name for row in rows if row["kind"] == "fault"] == ["broken.md"]
    _, out, err = call("agents", "list")
    assert "broken.md is not a valid agent" in err and "mine" in out
    _, out, _ = call("run", "go", "--model", script, "--json")
    assert any("broken.md" in one["message"] for one in payloads(out, "error.raised"))


def test_many_files_that_are_no_agents_are_one_line_of_a_session(
    call: Call, script: str, work: Path, tmp_path: Path
) -> None:
    agents = find_paths(work, {"HOME": str(tmp_path / "home")}).config_dir / "agents"
    for number in range(6):
        (agents / f"worse{number}.md").write_text("---\nnothing: here\n---\nText.\n")
    _, out, _ = call("run", "go", "--model", script, "--json")
    [one] = [one for one in payloads(out, "error.raised") if one["where"] == "agents"]
    first, second, third, more = one["message"].split("; ")
    assert first == "broken.md is not a valid agent: the line `---` after the fields is missing"
    assert (
        second.startswith("worse0.md is not a valid agent: unknown field 'nothing' (allowed: name")
        and "worse1.md" in third
    )
    assert more == "and 4 more."
    assert "tui-agent agents list" in one["hint"]


@pytest.mark.slow
def test_what_an_agent_names_and_is_not_there_is_told_in_the_list_and_in_the_session(
    call: Call, script: str, tmp_path: Path, work: Path
) -> None:
    agents = find_paths(work, {"HOME": str(tmp_path / "home")}).config_dir / "agents"
    (agents / "odd.md").write_text("---\ndescription: x\ntools: grpe\nmodel: nosuch\n---\nText.\n")
    _, out, _ = call("agents", "list", "--json")
    remarks = [one for one in map(json.loads, out.splitlines()) if one["kind"] == "remark"]
    assert [Path(one["source"]).name for one in remarks] == ["odd.md", "odd.md"]
    _, out, err = call("agents", "list")
    assert "odd.md: it names an unknown tool: grpe (did you mean grep?)." in err and "odd " in out
    assert "odd.md: its model nosuch cannot be used" in err
    _, out, err = call("run", "go", "--model", script, "--json")
    assert "tui-agent: broken.md is not a valid agent:" in err and "agents list" in err
    [told] = [one["message"] for one in payloads(out, "error.raised") if one["where"] == "agents"]
    assert "odd.md: it names an unknown tool: grpe" in told


def test_a_projects_agents_count_where_it_is_trusted_and_hide_yours_of_the_same_name(
    call: Call, script: str, work: Path
) -> None:
    inside = work / ".tui_agent" / "agents"
    inside.mkdir(parents=True)
    (inside / "mine.md").write_text("---\ndescription: of the project\n---\nText.\n")
    _, out, err = call("agents", "list")
    assert "of the project" not in out and "not trusted" in err and ".tui_agent/agents/mine.md" in err
    _, out, err = call("agents", "list", "--trust-project")
    assert "of the project" in out and "not trusted" not in err
    assert "agents/mine.md: overridden by the agent mine in .tui_agent/agents/mine.md" in err


def test_the_list_names_all_untrusted_agent_files(call: Call, work: Path) -> None:
    files = (".claude/agents/one.md", ".opencode/agent/two.md", ".opencode/agents/three.md")
    for file in files:
        (work / file).parent.mkdir(parents=True)
        (work / file).write_text("---\ndescription: of the project\n---\nText.\n")
    _, _, err = call("agents", "list")
    assert all(f"{work / file} is not used" in err for file in files), err


def test_a_recording_answers_delegates_as_they_were_answered(call: Call, script: str, work: Path) -> None:
    _, out, _ = call("run", "go", "--model", script, "--json", "--no-plugins")
    session = json.loads(out.splitlines()[0])["session"]
    first = [(one["agent"], one["payload"]["kind"]) for one in map(json.loads, out.splitlines())]
    (work / "main.yaml").unlink()
    status, again, err = call("run", "go", "--model", f"replay:{session}", "--json", "--no-plugins")
    assert status == 0, err
    second = [(one["agent"], one["payload"]["kind"]) for one in map(json.loads, again.splitlines())]
    own = [one for one in first if one[0] != "main" and one[1] != "model.delta"]
    assert own and own == [one for one in second if one[0] != "main" and one[1] != "model.delta"]
