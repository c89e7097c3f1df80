"""Names to models: what works is resolved, what cannot work fails before any request and says what to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stubs.clock import FakeClock
from tui_agent.config.settings.base_url import normalise_url
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.config.settings.settings import ModelProfile
from tui_agent.errors import ConfigError
from tui_agent.models.chaos import ChaosClient
from tui_agent.models.chat_completions import ChatCompletionsClient
from tui_agent.models.factory import ModelFactory
from tui_agent.models.replay_model import RecordedAnswers, ReplayClient
from tui_agent.models.responses import ResponsesClient
from tui_agent.models.scripted import ScriptedClient
from tui_agent.protocol.settings import ModelInfo
from tui_agent.wiring.models import ClientCache

LOCAL = "http://127.0.0.1:9999/v1"

PROFILES = {
    "fast": ModelProfile(provider="openai-chat", model="m", base_url="http://127.0.0.1:9999"),
    "codex": ModelProfile(provider="openai-codex", model="gpt-x", base_url=LOCAL, reasoning_effort="minimal"),
    "deepseek": ModelProfile(provider="deepseek", model="deepseek-chat"),
    "claude": ModelProfile(provider="anthropic", model="claude-sonnet-4-5", reasoning_effort="high"),
    "bad-effort": ModelProfile(provider="openai-chat", model="m", base_url=LOCAL, reasoning_effort="low"),
    "bad-provider": ModelProfile(provider="antropic", model="m"),
    "own-key": ModelProfile(provider="openai-chat", model="m", base_url=LOCAL, api_key_env="MY_KEY"),
}


def factory(tmp_path: Path = Path("/nonexistent"), **environ: str) -> ModelFactory:
    return ModelFactory(
        PROFILES, environ, FakeClock(), replay_source=lambda session: RecordedAnswers(), demo_scripts=tmp_path
    )


@pytest.mark.parametrize(
    ("window", "own", "most"),
    [(0, 0, 16_384), (20_000, 0, 5_000), (200_000, 0, 16_384), (20_000, 9_000, 9_000)],
)
def test_an_answer_leaves_room_in_a_small_window_unless_a_profile_says_how_long_it_is(
    window: int, own: int, most: int
) -> None:
    profile = ModelProfile(
        provider="openai-chat", model="m", base_url=LOCAL, context_window=window, max_output=own
    )
    models = ModelFactory({"small": profile}, {}, FakeClock(), demo_scripts=Path("/nonexistent"))
    assert models.resolve("small", "", None).max_output == most


@pytest.mark.parametrize(
    "url",
    [
        "http://h:1",
        "http://h:1/",
        "http://h:1/v1",
        "http://h:1/v1/",
        "http://h:1//v1//",
        " http://h:1/v1/chat/completions ",
        "http://h:1/v1/responses",
    ],
)
def test_every_spelling_of_an_address_is_one_address(url: str) -> None:
    assert normalise_url(url) == "http://h:1/v1"


def test_an_address_keeps_a_version_and_a_path_of_its_own() -> None:
    assert normalise_url("https://api.z.ai/api/paas/v4/") == "https://api.z.ai/api/paas/v4"
    assert normalise_url("https://h/openai/v1") == "https://h/openai/v1"
    assert normalise_url("https://h/proxy") == "https://h/proxy/v1"
    assert normalise_url("localhost:8080") == "http://localhost:8080/v1"
    assert normalise_url("api.example.com") == "https://api.example.com/v1"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h",
        "http://",
        "http://http://h:1/v1",
        "http://h:port",
        "http://user:pass@h/v1",
        "http://a b/v1",
        "",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        normalise_url(url)


@pytest.mark.parametrize(
    ("name", "base_url", "environ", "kind"),
    [
        ("fast", "", {}, ChatCompletionsClient),
        ("codex", "", {}, ResponsesClient),
        ("anything", LOCAL, {}, ChatCompletionsClient),
        ("openai/gpt-4.1", "", {"OPENAI_API_KEY": "k"}, ChatCompletionsClient),
        ("openai/gpt-5", "", {"OPENAI_API_KEY": "k"}, ResponsesClient),
        ("gpt-5", "", {"OPENAI_API_KEY": "k"}, ResponsesClient),
        ("openai/whatever", LOCAL, {}, ChatCompletionsClient),
        ("openai-responses/whatever", LOCAL, {}, ResponsesClient),
        ("deepseek", "", {"DEEPSEEK_API_KEY": "k"}, ChatCompletionsClient),
        ("deepseek/deepseek-chat", "", {"DEEPSEEK_API_KEY": "k"}, ChatCompletionsClient),
        ("mimo-v2.5", "", {"MIMO_API_KEY": "k"}, ChatCompletionsClient),
        ("ollama/qwen3", "", {}, ChatCompletionsClient),
        ("chaos:7:fast", "", {}, ChaosClient),
        ("replay:ses_1", "", {}, ReplayClient),
    ],
)
def test_a_name_leads_to_its_client(name: str, base_url: str, environ: dict[str, str], kind: type) -> None:
    made = factory(**environ)
    info = made.resolve(name, base_url)
    assert isinstance(made.client(info), kind)


def test_a_resolved_model_read_back_from_a_log_leads_to_the_same_client() -> None:
    made = factory()
    info = made.resolve("anything", "127.0.0.1:9999")
    again = ModelInfo.model_validate_json(info.model_dump_json())
    assert again.base_url == LOCAL
    assert isinstance(made.client(again), ChatCompletionsClient)


def test_openais_own_variable_moves_openai_and_no_one_else() -> None:
    made = factory(OPENAI_BASE_URL="127.0.0.1:9999", OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    for name in ("openai/gpt-5", "some-model"):
        info = made.resolve(name)
        assert (info.base_url, info.provider) == (LOCAL, "openai-chat")
    assert made.resolve("claude").base_url == ""
    at_home = factory(OPENAI_BASE_URL="https://api.openai.com/v1", OPENAI_API_KEY="k").resolve("openai/gpt-5")
    assert at_home.provider == "openai-responses"


def test_a_key_that_no_header_can_carry_is_named() -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY contains characters"):
        factory(DEEPSEEK_API_KEY="sk-ключ").resolve("deepseek")


def test_anthropic_goes_by_litellm_without_importing_it_to_resolve() -> None:
    info = factory(ANTHROPIC_API_KEY="k").resolve("claude")
    assert (info.provider, info.model, info.window) == ("litellm", "anthropic/claude-sonnet-4-5", 200_000)
    assert (info.input_price, info.output_price, info.cached_price) == (3.0, 15.0, 0.3)
    assert info.images
    assert (info.effort, info.effective_effort) == ("high", "high")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("deepseek", "DEEPSEEK_API_KEY"),
        ("claude", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("mimo-v2.5", "MIMO_API_KEY"),
        ("own-key", "MY_KEY"),
    ],
)
def test_a_missing_key_is_named_before_any_request(name: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        factory().resolve(name)


def test_no_key_of_one_vendor_goes_to_another() -> None:
    environ = {"DEEPSEEK_API_KEY": "ds", "OPENAI_API_KEY": "oa"}
    made = factory(**environ)
    for name, base_url, key in (
        ("deepseek", "", "Bearer ds"),
        ("openai/gpt-4.1", "", "Bearer oa"),
        ("deepseek/deepseek-chat", LOCAL, "Bearer ds"),
        ("openai-chat/m", "https://api.deepseek.com", "Bearer ds"),
    ):
        client = made.client(made.resolve(name, base_url))
        assert client._endpoint.all_headers()["authorization"] == key  # type: ignore[attr-defined]


def test_a_provider_that_only_litellm_knows_gets_its_own_key_or_none() -> None:
    for environ, key in (
        ({"OPENAI_API_KEY": "oa"}, ""),
        ({"SAMBANOVA_API_KEY": "sn", "OPENAI_API_KEY": "oa"}, "sn"),
    ):
        made = factory(**environ)
        client = made.client(made.resolve("sambanova/some-model"))
        assert client._endpoint.api_key == key  # type: ignore[attr-defined]


def test_no_key_is_in_a_resolved_model_or_a_clients_representation() -> None:
    made = factory(DEEPSEEK_API_KEY="sk-very-secret")
    info = made.resolve("deepseek")
    assert "sk-very-secret" not in info.model_dump_json()
    assert "sk-very-secret" not in repr(made.client(info)._endpoint)  # type: ignore[attr-defined]


@pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh", "minimal", "none"])
def test_responses_get_the_effort_with_minimal_as_low(effort: str) -> None:
    info = factory().resolve("codex", "", effort)  # type: ignore[arg-type]
    assert (info.effort, info.effective_effort) == (effort, "low" if effort == "minimal" else effort)


def test_the_profiles_own_effort_counts_where_none_is_asked_for() -> None:
    info = factory().resolve("codex")
    assert (info.effort, info.effective_effort) == ("minimal", "low")


@pytest.mark.parametrize(("name", "effort"), [("bad-effort", None), ("fast", "high"), ("deepseek", "low")])
def test_chat_completions_refuse_an_effort(name: str, effort: str | None) -> None:
    with pytest.raises(ConfigError, match="openai-chat"):
        factory(DEEPSEEK_API_KEY="k").resolve(name, "", effort)  # type: ignore[arg-type]


def test_chat_completions_take_the_effort_none_and_send_nothing() -> None:
    info = factory().resolve("fast", "", "none")
    assert (info.effort, info.effective_effort) == ("none", None)


@pytest.mark.parametrize(
    ("name", "efforts"),
    [
        ("fast", ()),
        ("cohere/command-a-03-2025", ()),
        ("chaos:7:fast", ()),
        ("claude", ("none", "low", "medium", "high")),
        ("codex", ("none", "low", "medium", "high", "xhigh")),
    ],
)
def test_the_efforts_of_a_model_are_those_that_are_sent_as_they_are(
    name: str, efforts: tuple[str, ...]
) -> None:
    models = factory(COHERE_API_KEY="k", ANTHROPIC_API_KEY="k")
    assert models.resolve(name).efforts == efforts
    for effort in efforts[1:]:
        assert models.resolve(name, "", effort).effective_effort == effort  # type: ignore[arg-type]


def test_a_model_that_does_not_think_refuses_an_effort() -> None:
    with pytest.raises(ConfigError, match="does not support a reasoning effort"):
        factory(COHERE_API_KEY="k").resolve("cohere/command-a-03-2025", "", "high")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fsat", "fast"),
        ("claude-sonet-4-5", "claude-sonnet-4-5"),
        ("antropic/claude-sonnet-4-5", "anthropic/"),
        ("", "vendor/model"),
        ("bad-provider", "anthropic"),
        ("demo:none", "Available"),
        ("chaos:x:fast", "chaos:7:demo"),
        ("scripted:/nonexistent/script.yaml", "path"),
    ],
)
def test_an_unknown_name_comes_with_what_to_do(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        factory().resolve(name)
    assert words in caught.value.hint


def test_a_profile_added_to_or_changed_in_the_configuration_later_is_found() -> None:
    configured: dict[str, ModelProfile] = {}
    models = ModelFactory({}, {}, FakeClock(), read_profiles=lambda: configured)
    with pytest.raises(ConfigError, match="Unknown model 'late'"):
        models.resolve_again("late")
    for address in ("http://h/v1", "http://other/v1"):
        configured["late"] = ModelProfile(provider="openai-chat", model="m", base_url=address)
        assert models.resolve_again("late").base_url == address


def test_a_profile_stays_usable_while_the_configuration_is_being_edited() -> None:
    def read() -> dict[str, ModelProfile]:
        raise ConfigError("config.toml is not valid TOML.")

    profile = ModelProfile(provider="openai-chat", model="m", base_url="http://h/v1")
    models = ModelFactory({"known": profile}, {}, FakeClock(), read_profiles=read)
    assert models.resolve_again("known").base_url == "http://h/v1"
    with pytest.raises(ConfigError, match="not valid TOML"):
        models.resolve_again("new")


def test_a_changed_profile_gets_a_new_client_and_an_unchanged_one_does_not() -> None:
    def profile(timeout: float) -> ModelProfile:
        return ModelProfile(provider="openai-chat", model="m", base_url="http://h/v1", timeout=timeout)

    configured = {"fast": profile(60)}
    models = ModelFactory(configured, {}, FakeClock(), read_profiles=lambda: configured)
    clients, info = ClientCache(models), models.resolve("fast")
    first = clients.get(info)
    configured["fast"] = profile(60)
    assert models.resolve_again("fast") == info
    assert clients.get(info) is first
    configured["fast"] = profile(90)
    assert models.resolve_again("fast") == info
    assert clients.get(info) is not first


def test_only_profiles_that_could_answer_are_offered_and_in_words_for_the_app_too() -> None:
    for environ, offered, silent in (
        ({}, "(bad-effort, codex, fast)", "own-key"),
        ({"MY_KEY": "k"}, "own-key", "claude"),
    ):
        with pytest.raises(ConfigError) as caught:
            factory(**environ).resolve("nosuch-thing-at-all")
        assert offered in caught.value.hint and f"{silent}," not in caught.value.hint
        assert "--model" not in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        factory().resolve("own-kei")
    assert "own-key" not in caught.value.hint


def test_the_example_of_a_model_is_one_that_the_app_suggests() -> None:
    with pytest.raises(ConfigError) as caught:
        ModelFactory({}, {}, None).resolve("own")
    newest = PROVIDERS["anthropic"].suggested_models[0]
    assert caught.value.hint == f"Use `vendor/model` such as `anthropic/{newest}`, or `demo`."


def test_demos_and_scripts_are_found_and_need_nothing(tmp_path: Path) -> None:
    (tmp_path / "todo-api").mkdir()
    (tmp_path / "todo-api/script.yaml").write_text("answers: [{text: hi}]\n")
    (tmp_path / "small.yaml").write_text("name: small\nwindow: 1000\nanswers: [{text: hi}]\n")
    made = factory(tmp_path)
    assert made.demos() == ["small", "todo-api"]
    assert made.resolve("demo").provider == "scripted"
    info = made.resolve(f"scripted:{tmp_path}/small.yaml")
    assert (info.model, info.window) == ("small", 1_000)
    for name in ("demo", "demo:small", f"scripted:{tmp_path}/small.yaml"):
        assert isinstance(made.client(made.resolve(name)), ScriptedClient)


def test_what_is_available_is_what_has_its_key(tmp_path: Path) -> None:
    (tmp_path / "todo-api.yaml").write_text("answers: [{text: hi}]\n")
    names = {info.profile for info in factory(tmp_path, ANTHROPIC_API_KEY="k").usable_models()}
    assert {"fast", "claude", "codex", "demo:todo-api"} <= names
    assert any(name.startswith("anthropic/") for name in names)
    assert not names & {"deepseek", "own-key", "bad-effort"}


def test_a_plugins_provider_is_used() -> None:
    made = factory()
    sentinel = ReplayClient(RecordedAnswers(), "x")
    made.add("mine", lambda info: sentinel)
    info = made.resolve("mine/model-1")
    assert (info.provider, info.model) == ("mine", "model-1")
    assert made.client(info) is sentinel
    with pytest.raises(ConfigError, match="already"):
        made.add("openai", lambda info: sentinel)


def test_resolving_imports_no_http_and_no_litellm() -> None:
    code = (
        "import json, sys\n"
        "from tui_agent.models.factory import ModelFactory\n"
        "info = ModelFactory({}, {'ANTHROPIC_API_KEY': 'k'}, None).resolve('anthropic/claude-sonnet-4-5')\n"
        "print(json.dumps([info.window, sorted({'httpx', 'litellm', 'openai', 'textual'} & set(sys.modules))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [200_000, []]
