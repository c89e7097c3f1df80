"""Configuration's layers: nearest wins, each value knows where it came from, each fault says where it stands."""

import os
from pathlib import Path

import pytest

from tui_agent.config.paths import find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config, merge_environment
from tui_agent.config.settings.settings import Config
from tui_agent.config.settings.validation_errors import MAX_ERRORS
from tui_agent.errors import ConfigError


class Place:
    """A user's home and a project, with nothing in them."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "work" / "project"
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)
        self.environ = {"HOME": str(self.home)}
        self.options = SessionOptions(cwd=self.project)

    def user(self, text: str) -> Path:
        path = self.home / ".config/tui-agent/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def own(self, text: str) -> Path:
        path = self.project / ".tui_agent/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def trust(self) -> None:
        trust.save_decision(
            read_project_files(self.project), "trusted", find_paths(self.project, self.environ)
        )

    def load(self, **environ: str) -> Config:
        return load_config(self.options, {**self.environ, **environ})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_nothing_configured_is_fine_and_writes_nothing(place: Place) -> None:
    config = place.load()
    assert (config.model, config.policy, config.symbols) == ("", "ask", "auto")
    assert config.origin("model") == "default"
    assert config.data_dir == place.home / ".local/share/tui-agent"
    assert list(place.home.iterdir()) == []


def test_the_nearest_layer_wins_and_is_named(place: Place) -> None:
    user = place.user('model = "user"\ntheme = "night"\npolicy = "plan"\n')
    own = place.own('model = "own"\npolicy = "accept-edits"\n')
    place.trust()
    assert (place.load().model, place.load().theme) == ("own", "night")
    assert place.load().origin("model") == str(own)
    assert place.load().origin("theme") == str(user)
    config = place.load(TUI_AGENT_MODEL="variable")
    assert (config.model, config.origin("model")) == ("variable", "environment TUI_AGENT_MODEL")
    place.options = SessionOptions(cwd=place.project, model="option")
    config = place.load(TUI_AGENT_MODEL="variable")
    assert (config.model, config.origin("model")) == ("option", "options")


def test_profiles_of_two_layers_are_merged_key_by_key(place: Place) -> None:
    place.user('[models.fast]\nmodel = "m"\nbase_url = "http://a/v1"\ntimeout = 5\n')
    place.own("[models.fast]\ntimeout = 9\n")
    place.trust()
    fast = place.load().models["fast"]
    assert (fast.model, fast.base_url, fast.timeout) == ("m", "http://a/v1", 9)


def test_a_project_counts_only_while_it_is_trusted_with_this_content(place: Place) -> None:
    own = place.own('model = "own"\n')
    untrusted = place.load()
    assert (untrusted.model, untrusted.is_trusted, untrusted.ignored_files) == ("", False, (own,))
    place.trust()
    assert (place.load().model, place.load().is_trusted) == ("own", True)
    own.write_text('model = "changed"\n', encoding="utf-8")
    assert (place.load().model, place.load().is_trusted) == ("", False)


def test_a_wrong_file_of_an_untrusted_project_is_no_fault(place: Place) -> None:
    place.own("this is = no toml [")
    assert place.load().model == ""


def test_links_in_a_project_cannot_be_trusted(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text('model = "evil"\n')
    (place.project / ".tui_agent").mkdir()
    (place.project / ".tui_agent/config.toml").symlink_to(outside)
    with pytest.raises(ConfigError, match="cannot be trusted"):
        place.trust()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('model = "a"\nmodle = "b"\n', 2, "unknown key 'modle'"),
        ('[models.fast]\nmodel = "m"\nurl = "x"\n', 3, "unknown key 'models.fast.url'"),
        ('[models.fast]\nmodel = "m"\napi_key = "x"\n', 3, "unknown key 'models.fast.api_key'"),
        ('theme = "n"\n\npolicy = "never"\n', 3, "'policy' is 'never'"),
        ('[models.fast]\nmodel = "m"\nreasoning_effort = "max"\n', 3, "reasoning_effort' is 'max'"),
        ('model = "a"\ntheme = \n', 2, "not valid TOML"),
        ("[budgets]\nmax_parts = 3\nmax_parties = 4\n", 3, "unknown key 'budgets.max_parties'"),
        ('model = "a"\nmodle = "b"\n', 2, "Did you mean 'model'?"),
        ("[budgets]\nmax_part = 4\n", 2, "Did you mean 'max_parts'?"),
        ("[budgets]\nmax_parts = -1\n", 2, "'budgets.max_parts' is -1"),
        ("[budgets]\nmax_cost_usd = 0\n", 2, "'budgets.max_cost_usd' is 0"),
        ("[keys]\nfoo = 5\n", 2, "'keys.foo' is 5"),
        ("plugin_dirs = [1]\n", 1, "'plugin_dirs.0' is 1"),
        ('[redaction.rules]\nid = "x"\n', 1, "write [[redaction.rules]] with double brackets"),
    ],
)
def test_a_fault_names_file_line_and_key(place: Place, text: str, line: int, words: str) -> None:
    path = place.user(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert str(path) in caught.value.message
    assert f"line {line}" in caught.value.message
    assert words in caught.value.message


def test_all_wrong_keys_of_a_file_are_named_in_one_message(place: Place) -> None:
    path = place.user('modle = "b"\npolicy = "never"\n\n[budgets]\nmax_parts = -1\n[[hook]]\ncommand = "x"\n')
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert caught.value.message == (
        f"{path}, line 1: unknown key 'modle'. Did you mean 'model'? "
        "Line 2: 'policy' is 'never': input should be 'plan', 'ask', 'accept-edits' or 'bypass'. Correct the value. "
        "Line 5: 'budgets.max_parts' is -1: input should be greater than 0. Correct the value. "
        "'hook.0.event' is missing. Add it."
    )


def test_of_many_wrong_keys_the_first_are_named(place: Place) -> None:
    path = place.user("".join(f"odd_{number}_value = 1\n" for number in range(10_000)))
    with pytest.raises(ConfigError) as caught:
        place.load()
    message = caught.value.message
    assert message.startswith(f"{path}, line 1: unknown key 'odd_0_value'. Remove or correct it. Line 2: ")
    assert message.endswith(
        f"Line {MAX_ERRORS}: unknown key 'odd_4_value'. Remove or correct it. More keys are wrong."
    )


def test_values_nested_beyond_reason_are_a_fault_of_the_file(place: Place) -> None:
    path = place.user("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="nests values too deeply") as caught:
        place.load()
    assert str(path) in caught.value.message


def test_a_wrong_variable_is_named(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"environment TUI_AGENT_POLICY.*'policy' is 'never'"):
        place.load(TUI_AGENT_POLICY="never")
    with pytest.raises(
        ConfigError, match=r"environment TUI_AGENT_POLICY: .* environment TUI_AGENT_MAX_PARTS: "
    ):
        place.load(TUI_AGENT_POLICY="never", TUI_AGENT_MAX_PARTS="many")


@pytest.mark.parametrize("what", ["folder", "fifo", "bytes"])
def test_a_configuration_file_that_is_no_text_file_is_refused(place: Place, what: str) -> None:
    path = place.user("")
    path.unlink()
    match what:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case _:
            path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        place.load()


def test_variables_of_dotenv_count_only_when_trusted_and_never_over_the_real_ones(place: Place) -> None:
    (place.project / ".env").write_text('TUI_AGENT_MODEL=fromfile\nexport A="x y" # c\nB=real\n')
    before = dict(os.environ)
    assert place.load().model == ""
    place.trust()
    assert place.load().model == "fromfile"
    assert merge_environment(place.options, {**place.environ, "B": "1"})["B"] == "1"
    assert merge_environment(place.options, place.environ)["A"] == "x y"
    assert dict(os.environ) == before


def test_dotenv_of_the_starting_folder_counts_too(place: Place, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / ".env").write_text("A=here\nB=here\n")
    (place.project / ".env").write_text("B=cwd\n")
    place.trust()
    trust.save_decision(read_project_files(here), "trusted", find_paths(here, place.environ))
    merged = merge_environment(place.options, place.environ, here=here)
    assert (merged["A"], merged["B"]) == ("here", "cwd")


def test_openai_variables_are_a_last_resort(place: Place) -> None:
    assert place.load(OPENAI_MODEL="gpt-x").model == "openai/gpt-x"
    place.user('model = "mine"\n')
    assert place.load(OPENAI_MODEL="gpt-x").model == "mine"
    assert place.load(TUI_AGENT_OPENAI_MODEL="gpt-y").model == "openai/gpt-y"


def test_an_address_of_a_farther_layer_is_not_for_a_nearer_model_with_its_own(place: Place) -> None:
    place.user('model = "mine"\nbase_url = "http://127.0.0.1:1"\n[models.p]\nmodel = "m"\n')
    assert place.load().base_url == "http://127.0.0.1:1"
    assert place.load(TUI_AGENT_MODEL="other").base_url == "http://127.0.0.1:1"
    for model in ("anthropic/claude-sonnet-4-5", "p", "demo:x"):
        assert place.load(TUI_AGENT_MODEL=model).base_url == ""
    both = {"TUI_AGENT_MODEL": "openai/x", "TUI_AGENT_BASE_URL": "http://127.0.0.1:2"}
    assert place.load(**both).base_url == "http://127.0.0.1:2"


def test_the_effort_comes_from_four_places_in_order(place: Place) -> None:
    place.user('reasoning_effort = "low"\n')
    assert place.load().reasoning_effort == "low"
    assert place.load(TUI_AGENT_REASONING_EFFORT="high").reasoning_effort == "high"
    place.options = SessionOptions(cwd=place.project, effort="xhigh")
    assert place.load(TUI_AGENT_REASONING_EFFORT="high").reasoning_effort == "xhigh"


def test_sessions_move_with_option_variable_and_file_in_this_order(place: Place, tmp_path: Path) -> None:
    place.user('data_dir = "/from/file"\n')
    assert place.load().data_dir == Path("/from/file")
    assert place.load(TUI_AGENT_HOME=str(tmp_path / "v")).data_dir == tmp_path / "v"
    place.options = SessionOptions(cwd=place.project, data_dir=tmp_path / "o")
    config = place.load(TUI_AGENT_HOME=str(tmp_path / "v"))
    assert (config.data_dir, config.origin("data_dir")) == (tmp_path / "o", "options")
    assert config.paths.data_dir == tmp_path / "o"


def test_every_setting_says_what_it_means() -> None:
    profile = Config.model_fields["models"].annotation.__args__[1]  # type: ignore[union-attr]
    fields = {**Config.model_fields, **profile.model_fields}
    assert not [name for name, field in fields.items() if not field.description]
