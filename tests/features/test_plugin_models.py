"""A plugin's model provider: reached by name and by profile, like a built-in one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, PluginError
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.plugin_host.registration import OwnedApi
from tui_agent.ports.model import ModelClient
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.settings import ModelInfo
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.models import ClientCache, build_model_factory
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

PARROT = """
from contextlib import asynccontextmanager

from tui_agent.plugin_api import FinishChunk, TextChunk


class Parrot:
    def __init__(self, info):
        self.info = info

    @asynccontextmanager
    async def stream(self, request):
        async def chunks():
            yield TextChunk(f"{self.info.model} speaks.")
            yield FinishChunk("stop", "p-1")

        yield chunks()

    async def aclose(self):
        pass


def register(api):
    api.model("parrot", Parrot)
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    """A start with the parrot's plugin, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    plugin = tmp_path / "plugins" / "parrot"
    plugin.mkdir(parents=True)
    (plugin / "plugin.toml").write_text(
        'name = "parrot"\nversion = "1.0"\napi = 1\ndescription = "Speaks."\n'
    )
    (plugin / "__init__.py").write_text(PARROT)
    config = tmp_path / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[models.polly]\nprovider = "parrot"\nmodel = "grey"\n')
    work = tmp_path / "work"
    work.mkdir()
    return SessionOptions(
        cwd=work,
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        plugin_dirs=(tmp_path / "plugins",),
    )


@pytest.mark.parametrize(("name", "model"), [("parrot/ara", "ara"), ("polly", "grey")])
async def test_a_plugins_model_answers(options: SessionOptions, name: str, model: str) -> None:
    async with open_session(replace(options, model=name)) as opened:
        outcome = await run_turn(opened, "hi", lambda record: None)
    assert (outcome.reason, outcome.answer) == ("finished", f"{model} speaks.")


def test_a_plugins_model_is_listed_with_the_others(options: SessionOptions) -> None:
    found = {
        info.profile: info.provider
        for info in build_model_factory(load_startup_context(options)).usable_models()
    }
    assert found["polly"] == "parrot"


def test_a_plugin_cannot_take_a_built_in_providers_name() -> None:
    def make(info: ModelInfo) -> ModelClient:
        raise NotImplementedError

    with pytest.raises(PluginError, match="anthropic"):
        OwnedApi("mine", None).model("anthropic", make)


async def test_a_client_that_fails_is_named_with_its_plugin(options: SessionOptions) -> None:
    plugin = options.plugin_dirs[0] / "parrot" / "__init__.py"
    plugin.write_text(
        PARROT.replace("yield FinishChunk", "raise SystemExit(3)\n            yield FinishChunk")
    )
    async with open_session(replace(options, model="parrot/ara")) as opened:
        outcome = await run_turn(opened, "hi", lambda record: None)
    fault = "The client of the model provider parrot (plugin parrot) failed: SystemExit: 3"
    assert (outcome.reason, outcome.detail) == ("model_error", fault)


async def test_a_client_that_fails_while_closing_is_told_and_the_run_still_ends(
    options: SessionOptions,
) -> None:
    plugin = options.plugin_dirs[0] / "parrot" / "__init__.py"
    plugin.write_text(
        PARROT.replace(
            "async def aclose(self):\n        pass", "async def aclose(self):\n        raise SystemExit(3)"
        )
    )
    events: list[Record] = []
    async with open_session(replace(options, model="parrot/ara")) as opened:
        await run_turn(opened, "hi", events.append)
    payloads = [event.payload for event in events if isinstance(event, Envelope)]
    (raised,) = [payload for payload in payloads if isinstance(payload, ErrorRaised)]
    assert raised.message == "Closing a model client failed: SystemExit: 3"
    assert payloads[-1].kind == "run.finished"


def test_a_model_that_cannot_be_used_has_its_own_reason_and_hint(tmp_path: Path) -> None:
    base = load_startup_context(SessionOptions(cwd=tmp_path))
    models = build_model_factory(base, LoadedPlugins())
    clients = ClientCache(models)
    with pytest.raises(
        ConfigError, match=r"^a.yaml is larger than 1 MB. Or choose another model with /model.$"
    ):
        clients.get(models.no_model("a.yaml is larger than 1 MB."))
    with pytest.raises(
        ConfigError,
        match=r"^No model is set. Choose one with --model NAME or, in the full-screen app, with /model",
    ):
        clients.get(models.no_model())
