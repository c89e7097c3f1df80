"""Settings and keys of plugins, and what they offer to evaluations."""

from pathlib import Path

import pytest

from tests.unit.plugin_host.test_plugin_loading import write
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.config.settings.setting_list import list_plugin_settings
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.protocol.events.plugin import PluginLoaded, SettingInfo

CODE = """
from typing import Literal
from pathlib import Path
from pydantic import BaseModel, Field
from tui_agent.plugin_api import PluginApi, Verdict, oracle, verifier

class Settings(BaseModel):
    limit: int = Field(3, ge=1, description="How many.")
    mode: Literal["fast", "slow"] = "fast"
    loud: bool = False

def register(api: PluginApi) -> None:
    settings = api.setting(Settings)
    token = api.key("ACME_API_KEY", "Of your account.")
    api.command("/show", show, help=f"{settings.limit} {settings.mode} {token}")

async def show(text, state): ...

@oracle
async def solve(workspace: Path) -> None: ...

@verifier
async def passes(workspace: Path, records) -> Verdict:
    return Verdict(1.0)
"""


@pytest.fixture
def loaded(tmp_path: Path):
    """Loads the plugin with a configuration file and an environment."""

    def load(config: str = "", code: str = CODE, **keys: str) -> LoadedPlugins:
        write(tmp_path / "plugins", "acme", code)
        file = tmp_path / "config" / "tui-agent" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(config)
        places = PluginPlaces(
            user=tmp_path / "plugins", entry_points=False, config=config_of(tmp_path), keys=keys
        )
        return PluginHost(places).load()

    return load


def config_of(tmp_path: Path):
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return load_config(SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data"), environ)


def test_a_plugin_gets_its_settings_and_keys_and_the_event_lists_them(loaded, tmp_path: Path) -> None:
    found = loaded('[plugins.acme]\nlimit = 7  # mine\nmode = "slow"\n', ACME_API_KEY="abcdefgh")
    assert [command.offer.help for command in found.commands] == ["7 slow abcdefgh"]
    (event,) = found.events
    assert isinstance(event, PluginLoaded) and event.settings == (
        SettingInfo(name="limit", help="How many.", kind="number", default=3),
        SettingInfo(name="mode", kind="choice", choices=("fast", "slow"), default="fast"),
        SettingInfo(name="loud", kind="switch", choices=("on", "off"), default=False),
        SettingInfo(name="ACME_API_KEY", help="Of your account.", kind="key", default=True),
    )
    entries = list(list_plugin_settings(config_of(tmp_path), event))
    assert [(entry.name, entry.shown_value, entry.origin) for entry in entries] == [
        ("plugins.acme.limit", "7", "your file"),
        ("plugins.acme.mode", "slow", "your file"),
        ("plugins.acme.loud", "off", "default"),
        ("plugins.acme.ACME_API_KEY", "set", "default"),
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            '# a\n[plugins.acme]\nmode = "fast"\nlimit = 0\n',
            "line 4: 'plugins.acme.limit' is 0: input should be greater than or equal to 1. Correct the value.",
        ),
        (
            "[plugins.acme]\nlimits = 4\n",
            "line 2: 'plugins.acme.limits' is an unknown key. Remove or correct it (known: limit, mode, loud).",
        ),
    ],
)
def test_a_wrong_value_is_named_with_file_and_line(loaded, tmp_path: Path, config: str, message: str) -> None:
    (failed,) = loaded(config).failed
    assert failed.message == f"{tmp_path}/config/tui-agent/config.toml, {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "ACME_API_KEY",
            "ACME_URL",
            "The key 'ACME_URL' of acme would appear in logs, because its name does not look like a secret's name.",
        ),
        ("@oracle\nasync ", "@oracle\n", "The function of the oracle solve of acme is not `async def`."),
        (
            "    token",
            '    api.oracle("mend", solve)\n    token',
            "The oracle mend of acme is already registered by a decorator.",
        ),
    ],
)
def test_what_cannot_be_registered_is_named(loaded, old: str, new: str, message: str) -> None:
    (failed,) = loaded("", CODE.replace(old, new)).failed
    assert failed.message.startswith(message)


def test_oracles_and_verifiers_are_collected_by_name(loaded) -> None:
    found = loaded()
    assert [offered.name for offered in (*found.oracles, *found.verifiers)] == ["solve", "passes"]
    assert {"oracle:solve", "verifier:passes"} <= set(found.events[0].contributions)
