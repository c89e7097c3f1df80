"""The examples in the documents are real: they load, and every field and fault is described."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from tests.stubs.clock import FakeClock
from tui_agent.config.settings.layers import FALLBACKS, VARIABLES
from tui_agent.config.settings.providers import CLIENTS, PROVIDERS
from tui_agent.config.settings.settings import Config, ModelProfile
from tui_agent.models.factory import ModelFactory
from tui_agent.models.script_format import Expect, Script, ScriptedAnswer, ScriptedFault, parse_script
from tui_agent.protocol.events.model import FaultKind

DOCS = Path(__file__).parents[3] / "docs"
MODELS = (DOCS / "models.md").read_text(encoding="utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")
SCRIPTS = (DOCS / "scripted-models.md").read_text(encoding="utf-8")


def examples(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def test_every_example_profile_resolves_once_its_key_is_there() -> None:
    config = Config.model_validate(tomllib.loads(examples(MODELS, "toml")[0]))
    keys = {key: "k" for vendor in PROVIDERS.values() for key in vendor.key_variables}
    made = ModelFactory(config.models, {**keys, "MY_SERVER_KEY": "k", "GATEWAY_KEY": "k"}, FakeClock())
    for name, profile in config.models.items():
        assert made.resolve(name).window == (profile.context_window or 0)


@pytest.mark.parametrize("text", examples(SCRIPTS, "yaml"))
def test_every_example_script_can_be_read(text: str) -> None:
    assert parse_script(text).answers


def test_every_profile_field_client_and_fault_is_described() -> None:
    assert not sorted(name for name in ModelProfile.model_fields if f"`{name}`" not in CONFIGURATION)
    assert not sorted(name for name in {*CLIENTS, *get_args(FaultKind)} if name not in MODELS)


def test_every_variable_that_sets_an_option_is_described() -> None:
    assert not sorted(name for name in {*VARIABLES, *FALLBACKS} if f"`{name}`" not in CONFIGURATION)


def test_every_field_of_a_script_is_described() -> None:
    fields = {
        name for model in (Script, ScriptedAnswer, ScriptedFault, Expect) for name in model.model_fields
    }
    assert not sorted(name for name in fields if name not in SCRIPTS)
