"""Remembered choices: used where nothing else is set, bounded, and never in the way of a start."""

import json
import os
from pathlib import Path

from tests.stubs.rows import rows
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.settings import Config
from tui_agent.config.user_choices import (
    FILE_NAME,
    MAX_ADDRESSES,
    MAX_PROJECTS,
    UserChoices,
    load_choices,
)
from tui_agent.tui.theme.first_frame import first_look

CHOICES = UserChoices(theme="day", model="vendor/chosen", base_url="http://h/v1", sidebar=False)


def load(
    tmp_path: Path, choices: str, config: str = "", environ: dict[str, str] | None = None, **options: object
) -> Config:
    """The configuration of a start in `project`, with these files."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config/tui-agent").mkdir(parents=True, exist_ok=True)
    (home / ".local/share/tui-agent").mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    (home / ".config/tui-agent/config.toml").write_text(config)
    (home / ".local/share/tui-agent" / FILE_NAME).write_text(choices)
    variables = {"HOME": str(home), **(environ or {})}
    return load_config(SessionOptions(cwd=project, **options), variables)  # type: ignore[arg-type]


@rows("client", ["app", "web"])
def test_choices_are_used_where_nothing_else_is_set(tmp_path: Path, client: str) -> None:
    policies = {str(tmp_path / "project"): "accept-edits", str(tmp_path / "other"): "ask"}
    text = CHOICES._replace(policies=policies).to_json()
    config = load(tmp_path, text, client=client)
    assert (config.theme, config.model, config.base_url) == ("day", "vendor/chosen", "http://h/v1")
    assert config.policy == "accept-edits"
    assert config.origin("model") == str(tmp_path / "home/.local/share/tui-agent" / FILE_NAME)
    assert load(tmp_path, text, environ={"OPENAI_MODEL": "gpt"}).model == "vendor/chosen"


@rows(
    "client, model", [("headless", ("vendor/chosen", "http://h/v1")), ("demo", ("", "")), ("eval", ("", ""))]
)
def test_a_run_uses_only_the_chosen_model_and_a_demo_nothing(
    tmp_path: Path, client: str, model: tuple[str, str]
) -> None:
    text = CHOICES._replace(policies={str(tmp_path / "project"): "accept-edits"}).to_json()
    config = load(tmp_path, text, client=client)
    assert (config.model, config.base_url) == model
    assert (config.theme, config.policy) == ("", "ask")


def test_a_file_a_variable_and_an_option_win_over_a_choice(tmp_path: Path) -> None:
    text = UserChoices(
        theme="day", model="vendor/chosen", policies={str(tmp_path / "project"): "accept-edits"}
    ).to_json()
    written = load(tmp_path, text, 'theme = "night"\nmodel = "a/b"\npolicy = "ask"\n')
    assert (written.theme, written.model, written.policy) == ("night", "a/b", "ask")
    named = load(tmp_path, text, environ={"TUI_AGENT_MODEL": "c/d", "TUI_AGENT_POLICY": "accept-edits"})
    assert (named.model, named.policy, named.theme) == ("c/d", "accept-edits", "day")
    given = load(tmp_path, text, model="e/f", policy="ask")
    assert (given.model, given.policy) == ("e/f", "ask")


def test_the_chosen_address_is_never_used_for_another_model(tmp_path: Path) -> None:
    config = load(tmp_path, CHOICES.to_json(), 'model = "named"\n')
    assert (config.model, config.base_url) == ("named", "")


@rows("policy", ["bypass", "plan", "everything", ""])
def test_a_policy_that_may_not_be_remembered_is_not_used(tmp_path: Path, policy: str) -> None:
    text = json.dumps({"policies": {str(tmp_path / "project"): policy}})
    assert load(tmp_path, text).policy == "ask"


@rows(
    "text",
    ["", "{", "[]", "null", '{"theme": 3}', '{"sidebar": "no"}', '{"policies": []}', '{"addresses": {"a": 1}}', "\x00\xff", '{"policies": {"a": 1}}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_file_is_no_choices_and_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    choices, fault = load_choices(tmp_path)
    assert choices == UserChoices()
    assert (
        fault
        == f"{tmp_path / FILE_NAME} is damaged, so your last choices are not used. Your next choice replaces the file."
    )
    assert load(tmp_path, text, 'model = "a/b"').model == "a/b"


def test_a_missing_file_is_no_fault_and_a_pipe_or_a_folder_does_not_block_the_start(tmp_path: Path) -> None:
    assert load_choices(tmp_path / "nowhere") == (UserChoices(), "")
    os.mkfifo(tmp_path / FILE_NAME)
    assert load_choices(tmp_path)[1].endswith("is not a file, so your last choices are not used.")
    (tmp_path / "b" / FILE_NAME).mkdir(parents=True)
    assert load_choices(tmp_path / "b")[0] == UserChoices()


def test_the_first_frame_has_the_chosen_theme_and_side_panes(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_text(CHOICES.to_json())
    environ = {"HOME": str(tmp_path), "COLORTERM": "truecolor"}
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    look = first_look(options, environ)
    assert (look.theme.name, look.sidebar, look.bare) == ("day", False, False)
    assert (
        first_look(
            SessionOptions(cwd=tmp_path), {**environ, "TUI_AGENT_HOME": str(tmp_path / "data")}
        ).sidebar
        is False
    )
    config = tmp_path / ".config/tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'theme = "night"\ndata_dir = "{tmp_path / "data"}"\n')
    look = first_look(SessionOptions(cwd=tmp_path), environ)
    assert (look.theme.name, look.sidebar) == ("night", False)


def test_the_addresses_of_the_newest_models_are_kept(tmp_path: Path) -> None:
    choices = UserChoices()
    for number in range(MAX_ADDRESSES + 2):
        choices = UserChoices(addresses=choices.with_address(f"m{number}", "http://h/v1"))
    (tmp_path / FILE_NAME).write_text(choices.to_json())
    addresses = load_choices(tmp_path)[0].addresses
    assert len(addresses) == MAX_ADDRESSES and next(iter(addresses)) == "m2"


def test_the_policies_of_the_newest_projects_are_kept() -> None:
    choices = UserChoices()
    for number in range(MAX_PROJECTS + 5):
        choices = UserChoices(policies=choices.with_policy(Path(f"/p{number}"), "accept-edits"))
    assert len(choices.policies) == MAX_PROJECTS and next(iter(choices.policies)) == "/p5"
    assert list(choices.with_policy(Path("/p7"), "ask").items())[-1] == ("/p7", "ask")
