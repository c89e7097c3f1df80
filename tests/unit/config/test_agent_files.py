import os
from pathlib import Path

import pytest

from tui_agent.config.extensions.agent_files import MAX_PROMPT_CHARS, load_named_agents, parse_agent
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.engine.middleware.subagents import BUNDLED_AGENTS, Subagents
from tui_agent.errors import ConfigError
from tui_agent.protocol.settings import Effort, ModelInfo


def said(prompt: str, **fields: str) -> str:
    """A file of an agent."""
    lines = [f"{field}: {value}" for field, value in {"description": "does it", **fields}.items()]
    return "\n".join(["---", *lines, "---", prompt])


def test_a_file_says_who_an_agent_is() -> None:
    role = parse_agent(
        "agents/reviewer.md",
        "---\nname: reviewer\ndescription: 'reads a change'\ntools: [read_file, grep]\n"
        "model: fast\nmax_iterations: 15\nread_only: yes\n---\n\nYou review.\n",
    )
    assert (role.name, role.description, role.prompt) == ("reviewer", "reads a change", "You review.")
    assert (role.tools, role.model) == (("read_file", "grep"), "fast")
    assert (role.max_iterations, role.read_only) == (15, True)


def test_fields_may_be_left_out_and_written_in_several_ways() -> None:
    plain = parse_agent("x/helper.md", "---\ndescription: helps\n---\nYou help.")
    assert (plain.name, plain.tools, plain.model, plain.read_only) == ("helper", None, "", False)
    listed = parse_agent(
        "x/a.md", "---\ndescription: one\n  two\ntools:\n- glob\n- grep\nmodel: inherit\n---\nx"
    )
    assert (listed.tools, listed.model, listed.description) == (("glob", "grep"), "", "one two")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("You help.", "no fields"),
        ("# Helper\n\nYou help.", "no fields"),
        ("---\n---\nYou help.", "no `description`"),
        ("---\nname: helper\ndescription: ''\n---\nYou help.", "no `description`"),
        ("---\nname: a\nYou help.", "after the fields is missing"),
        ("---\nname: Bad Name\n---\nx", "'Bad Name'"),
        ("---\nname: main\n---\nx", "reserved"),
        ("---\nname: a\n---\n", "no instructions"),
        ("---\nwhat\n---\nx", "line 2"),
        ("---\ncolour: red\n---\nx", "colour"),
        ("---\nmax_iterations: many\n---\nx", "max_iterations"),
        ("---\nread_only: perhaps\n---\nx", "read_only"),
        ("---\ndescription: d\n---\n" + "x" * (MAX_PROMPT_CHARS + 1), "longer"),
    ],
)
def test_what_is_no_agent_is_said(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as fault:
        parse_agent("a.md", text)
    assert words in fault.value.message


def test_the_nearest_file_of_a_name_counts_and_a_broken_one_costs_nothing_else(tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    user.mkdir()
    inside = project / ".tui_agent" / "agents"
    inside.mkdir(parents=True)
    (user / "verify.md").write_text(said("My own."))
    (user / "mine.md").write_text(said("Mine."))
    (user / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (user / "notes.txt").write_text("no agent")
    os.mkfifo(user / "pipe.md")
    (inside / "mine.md").write_text(said("The project's."))
    (inside / "broken.md").write_text("---\nname: x")
    found = load_named_agents(BUNDLED_AGENTS, user, read_project_files(project))
    prompts = {role.name: role.prompt for role in found.roles}
    assert (prompts["verify"], prompts["mine"]) == ("My own.", "The project's.")
    assert "study" in prompts
    assert sorted(Path(fault.source).name for fault in found.faults) == ["broken.md", "bytes.md", "pipe.md"]
    assert [(Path(one.source).name, one.message) for one in found.hidden] == [
        ("mine.md", "overridden by the agent mine in .tui_agent/agents/mine.md")
    ]
    untrusted = load_named_agents(BUNDLED_AGENTS, user, None)
    assert untrusted.hidden == ()
    assert {role.prompt for role in untrusted.roles if role.name == "mine"} == {"Mine."}


def test_the_products_own_agents_can_be_used() -> None:
    found = load_named_agents(BUNDLED_AGENTS, BUNDLED_AGENTS / "none", None)
    assert [role.name for role in found.roles] == ["study", "verify"] and found.faults == ()
    assert all(role.description and role.tools for role in found.roles)


def test_what_is_wrong_with_a_file_does_not_name_the_file_again(tmp_path: Path) -> None:
    (tmp_path / "bin.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "dir.md").mkdir()
    faults = load_named_agents(tmp_path / "none", tmp_path, None).faults
    assert [(Path(one.source).name, one.message) for one in faults] == [
        ("bin.md", "it is not UTF-8 text (byte 0)"),
        ("dir.md", "it is not a regular file"),
    ]


def test_of_two_files_of_one_folder_with_one_name_the_first_counts_and_the_other_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.md").write_text(said("First.", name="twin"))
    (tmp_path / "b.md").write_text(said("Second.", name="twin"))
    found = load_named_agents(tmp_path / "none", tmp_path, None)
    assert [role.prompt for role in found.roles] == ["First."]
    assert [(Path(one.source).name, one.message) for one in found.faults] == [
        ("b.md", "the name 'twin' is already used by a.md")
    ]


def agents_of(tmp_path: Path, **files: str) -> Subagents:
    folder = tmp_path / "config" / "tui-agent" / "agents"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    return Subagents(load_config(SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data"), environ))


def unknown(name: str, base_url: str, effort: Effort | None) -> ModelInfo:
    raise ConfigError(f"There is no model {name!r}.")


def test_tools_and_models_that_are_not_there_are_told_with_the_files_name(tmp_path: Path) -> None:
    below = agents_of(
        tmp_path,
        bad="You do things.",
        odd=said("x", tools="read_file, grpe, Bash", model="nosuch"),
        good=said("x", tools="read, shell"),
    )
    tools = ("read_file", "grep", "run_command")
    assert sorted(role.name for role in below.roles) == ["good", "odd", "study", "verify"]
    assert [(Path(one.source).name, one.message) for one in below.check_roles(tools, unknown)] == [
        ("odd.md", "it names an unknown tool: grpe (did you mean grep?)"),
        ("odd.md", "its model nosuch cannot be used: There is no model 'nosuch'"),
    ]
    [event] = below.fault_events(tools, unknown)
    assert event.message.startswith("bad.md is not a valid agent: it has no fields")
    assert "; odd.md: it names an unknown tool: grpe" in event.message
    assert "agents list" in event.hint
