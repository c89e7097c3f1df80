"""The form to set up a model: what each line says, the test request, where the key goes."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.test_start import empty_session
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.protocol.commands import SetModel, SubmitPrompt
from tui_agent.tui.modals.model_setup import OWN_SERVER, Provider, ProviderForm

SIZES = [(120, 40), (80, 24)]
READY = json.dumps({"profile": "x", "answer": "ready", "seconds": 0.8})


class Check:
    """The program `tui-agent models check`, which answers this once `gate` is set."""

    def __init__(self, status: int = 0, output: str = READY) -> None:
        self.answer = status, output
        self.asked: list[tuple[str, ...]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, *words: str) -> tuple[int, str]:
        if words[:2] != ("models", "check"):
            return 0, ""
        self.asked.append(words)
        await self.gate.wait()
        return self.answer


async def open_form(driven: Driven, argument: str) -> None:
    driven.app.prompt.editor.put_text(f"/provider {argument}")
    await driven.press("escape", "enter")
    await driven.until(lambda: "Save the key" in driven.text())


def models(driven: Driven) -> list[tuple[str, str]]:
    return [(one.model, one.base_url) for one in driven.session.submitted if isinstance(one, SetModel)]


@pytest.mark.parametrize("size", SIZES)
async def test_every_line_says_what_it_is_for_with_an_example_and_fits(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await open_form(driven, "deepseek/deepseek-v4-pro")
        text = driven.text()
        for words in (
            "Set up DeepSeek",
            "Required, such as deepseek/deepseek-v4-flash",
            "https://api.deepseek.com/v1",
            "Only for your own server or a proxy",
            "Required. The key is never shown.",
            "[ ] Save the key for later starts",
            "Not saved: the key is forgotten when you quit.",
            "Enter test and use it",
            "Esc back",
        ):
            assert words in text, words
        await driven.press("down", "space")
        assert "[x] Save the key for later starts" in driven.text()
        assert "Saved in the system's key ring or, without one, in" in driven.text()
        assert "/dev/null/nowhere/.config/tui-agent/keys.json" in driven.text()


@pytest.mark.parametrize("size", SIZES)
async def test_ones_own_server_is_asked_for_its_address_first_and_needs_no_key(size: tuple[int, int]) -> None:
    check = Check()
    async with open_app(golden("night_shift"), size=size, outside=check) as driven:
        await open_form(driven, "http://")
        text = driven.text()
        assert text.index("Required, such as http://localhost:8000/v1") < text.index("such as qwen3-coder")
        assert "Set up your own server" in text and "Only if the server asks for a key." in text
        await driven.type("127.0.0.1:9/v1")
        await driven.press("enter")
        await driven.type("qwen3")
        await driven.press("enter", "enter")
        await driven.until(lambda: models(driven))
        assert models(driven) == [("qwen3", "http://127.0.0.1:9/v1")]
        assert check.asked[0][2:6] == ("qwen3", "--json", "--base-url", "http://127.0.0.1:9/v1")


async def test_a_set_variable_is_named_and_nothing_need_be_typed() -> None:
    async with open_app(golden("night_shift"), environ={"GOOGLE_API_KEY": "k"}) as driven:
        await open_form(driven, "gemini/gemini-pro-latest")
        assert "GEMINI_API_KEY is set" in driven.text()
        assert "Leave it empty to use GEMINI_API_KEY. The key is never shown." in driven.text()


async def test_a_typed_key_is_tested_before_anything_is_changed() -> None:
    check = Check()
    check.gate.clear()
    async with open_app(golden("night_shift"), outside=check) as driven:
        driven.app.spawn = lambda _: FakeSession(golden("night_shift"))
        await open_form(driven, "anthropic/x")
        await driven.type("sk-ant-1")
        await driven.press("enter", "enter")
        await driven.until(lambda: "Testing with one short request" in driven.text())
        assert models(driven) == [] and dict(driven.app.options.typed_keys) == {}
        await driven.press("enter")
        assert len(check.asked) == 1
        check.gate.set()
        await driven.until(lambda: len(driven.app.screen_stack) == 1)
        await driven.until(lambda: dict(driven.app.options.typed_keys) == {"ANTHROPIC_API_KEY": "sk-ant-1"})
        assert check.asked[0][2] == "anthropic/x" and "sk-ant-1" not in " ".join(check.asked[0])


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("kind", "words", "label"),
    [
        ("auth", "The key was refused (401): invalid x-api-key.", "Key"),
        ("transport", "deepseek/x does not answer: https://h cannot be reached.", "Address"),
        (
            "invalid_request",
            "The provider answered 404: no such model. Available models: a, b and 3 more.",
            "Model",
        ),
    ],
)
async def test_a_fault_is_shown_at_its_line_and_enter_again_uses_the_values_all_the_same(
    kind: str, words: str, label: str
) -> None:
    check = Check(5, json.dumps({"fault": kind, "message": words}))
    async with open_app(golden("night_shift"), outside=check, environ={"DEEPSEEK_API_KEY": "k"}) as driven:
        await open_form(driven, "deepseek/x")
        await driven.press("enter")
        await driven.until(lambda: words in driven.text())
        assert models(driven) == []
        assert any(f"› {label}" in row for row in driven.rows())
        assert "Enter use it anyway" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: models(driven))
        assert models(driven) == [("deepseek/x", "")] and len(check.asked) == 1


@pytest.mark.slow_variants
@pytest.mark.parametrize(("suspect", "label"), [(True, "Address"), (False, "Model")])
async def test_a_404_that_does_not_name_the_model_is_shown_at_the_typed_address(
    suspect: bool, label: str
) -> None:
    words = "Check the address and the model's name: http://h/v2/chat was not found."
    fault = {"fault": "invalid_request", "message": "The provider answered 404.", "hint": words}
    check = Check(5, json.dumps({**fault, "address_suspect": suspect}))
    async with open_app(golden("night_shift"), outside=check) as driven:
        await open_form(driven, "http://")
        await driven.type("h/v2")
        await driven.press("enter")
        await driven.type("hand")
        await driven.press("enter", "enter")
        await driven.until(lambda: "Check the address and the model's name" in driven.text())
        assert any(f"› {label}" in row for row in driven.rows())


@pytest.mark.slow_variants
@pytest.mark.parametrize("address", ["127.0.0.1:89x", "127.0.0.1:8931127.0.0.1:8931", "me:word@h"])
async def test_an_address_that_cannot_be_used_keeps_the_form_open_at_the_address(address: str) -> None:
    check = Check()
    async with open_app(golden("night_shift"), outside=check) as driven:
        await open_form(driven, "http://")
        await driven.type(address)
        await driven.press("enter")
        await driven.type("hand")
        await driven.press("enter", "enter")
        assert "http or https address. Example:" in driven.text() or "name or password" in driven.text()
        assert any("› Address" in row for row in driven.rows()) and "use it anyway" not in driven.text()
        await driven.press("enter", "enter", "enter")
        assert "Save the key" in driven.text()
        assert check.asked == [] and models(driven) == []


async def test_values_that_the_program_refuses_without_a_request_are_not_used_anyway() -> None:
    check = Check(2, "tui-agent: There is no provider 'antropic'. Did you mean anthropic?")
    async with open_app(golden("night_shift"), outside=check) as driven:
        await open_form(driven, "antropic/x")
        await driven.press("enter")
        await driven.until(lambda: "There is no provider 'antropic'." in driven.text())
        assert any("› Model" in row for row in driven.rows()) and "use it anyway" not in driven.text()
        await driven.press("enter", "enter", "enter")
        await driven.until(lambda: len(check.asked) == 2)
        assert models(driven) == []


async def test_a_change_after_a_fault_is_tested_again() -> None:
    check = Check(5, json.dumps({"fault": "auth", "message": "The key was refused (401): no."}))
    async with open_app(golden("night_shift"), outside=check, environ={"DEEPSEEK_API_KEY": "k"}) as driven:
        await open_form(driven, "deepseek/x")
        await driven.press("enter")
        await driven.until(lambda: "The key was refused (401): no." in driven.text())
        await driven.type("sk-2")
        assert "The key was refused" not in driven.text() and "use it anyway" not in driven.text()
        await driven.press("enter", "enter")
        await driven.until(lambda: len(check.asked) == 2)


async def test_esc_during_the_test_goes_back_and_its_answer_changes_nothing() -> None:
    check = Check()
    check.gate.clear()
    async with open_app(golden("night_shift"), outside=check, environ={"DEEPSEEK_API_KEY": "k"}) as driven:
        await open_form(driven, "deepseek/x")
        await driven.press("enter")
        await driven.until(lambda: check.asked)
        await driven.press("escape")
        check.gate.set()
        await driven.pilot.pause(0.05)
        assert len(driven.app.screen_stack) == 1 and models(driven) == []


async def test_the_keys_characters_never_show() -> None:
    async with open_app(golden("night_shift")) as driven:
        await open_form(driven, "deepseek/deepseek-chat")
        await driven.type("sk-secret-123")
        assert "sk-secret" not in driven.text() and "•••" in driven.text()
        await driven.press("escape")
        assert driven.session.submitted == []


async def test_esc_goes_back_one_level_in_the_set_up_of_a_provider() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/model")
        await driven.press("escape", "enter")
        await driven.type("another model")
        await driven.press("enter", "down", "down")
        vendors = driven.rows()
        await driven.press("enter")
        assert "Save the key" in driven.text()
        await driven.press("escape")
        assert driven.rows() == vendors
        await driven.press("escape")
        assert "Set up another model…" in driven.text() and "▌  Model" in driven.text()
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1 and driven.session.submitted == []


async def test_a_pasted_address_may_repeat_the_http_that_the_field_begins_with() -> None:
    async with open_app(golden("night_shift")) as driven:
        given: list[Provider | None] = []
        form = ProviderForm(lambda values: form.dismiss(values), base_url="http://")
        driven.app.push_screen(form, given.append)
        await driven.until(lambda: "Save the key" in driven.text())
        await driven.type("http://127.0.0.1:8791/v1")
        assert "http://127.0.0.1:8791/v1" in driven.text() and "http://http" not in driven.text()
        await driven.press("enter")
        await driven.type("hand")
        await driven.press("enter", "enter")
        assert given == [Provider("hand", "http://127.0.0.1:8791/v1", OWN_SERVER, "")]


async def test_esc_in_a_form_that_was_named_closes_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/provider deepseek/deepseek-chat")
        await driven.press("escape", "enter", "escape")
        assert len(driven.app.screen_stack) == 1


@pytest.mark.slow_variants
@pytest.mark.parametrize("kept", [False, True])
async def test_a_typed_key_reaches_the_engine_and_is_stored_only_when_that_is_ticked(
    tmp_path: Path, kept: bool
) -> None:
    opened: list[SessionOptions] = []

    def spawn(options: SessionOptions) -> FakeSession:
        opened.append(options)
        return FakeSession(golden("night_shift"))

    async with open_app(
        golden("night_shift"), environ={"XDG_CONFIG_HOME": str(tmp_path)}, outside=Check()
    ) as driven:
        driven.app.spawn = spawn
        await driven.type("/provider deepseek/deepseek-chat")
        await driven.press("escape", "enter")
        await driven.type("sk-secret-123")
        await driven.press("enter", *["space"] * kept, "enter")
        while not opened:
            await driven.pilot.pause(0.01)
    assert dict(opened[0].typed_keys) == {"DEEPSEEK_API_KEY": "sk-secret-123"}
    assert "sk-secret-123" not in repr(opened[0])
    assert bool(_files_with(tmp_path, "sk-secret")) is kept


async def test_the_page_shows_the_model_while_the_engine_starts_again_with_a_typed_key() -> None:
    reopened = FakeSession(empty_session("deepseek/deepseek-chat"))
    reopened.gate = asyncio.Event()
    opened: list[SessionOptions] = []
    async with open_app(empty_session(), outside=Check()) as driven:

        def spawn(options: SessionOptions) -> FakeSession:
            opened.append(options)
            return reopened

        driven.app.spawn = spawn
        await driven.until(lambda: "1  Set up a model" in driven.text())
        await driven.type("/provider deepseek/deepseek-chat")
        await driven.press("escape", "enter")
        await driven.type("sk-secret-123")
        await driven.press("enter", "enter")
        await driven.until(lambda: opened)
        await driven.pilot.pause()
        assert "Ready. Describe a change" in driven.text() and "opening  this session again" in driven.text()
        assert "No model is set up yet" not in driven.text() and "Pick a model above" not in driven.text()
        assert "no model" not in driven.text().splitlines()[0], (
            "the header does not show the old session's state"
        )
        assert opened[0].model == "deepseek/deepseek-chat" and opened[0].base_url is None
        await driven.type("fix it")
        await driven.press("enter")
        reopened.gate.set()
        await driven.until(lambda: reopened.submitted)
        assert "fix it" in [one.text for one in reopened.submitted if isinstance(one, SubmitPrompt)]


async def test_the_page_says_no_model_again_if_the_engine_does_not_start_with_the_typed_key() -> None:
    async with open_app(empty_session(), outside=Check()) as driven:
        driven.app.spawn = lambda _: FakeSession(failure=ConfigError("That key is not usable."))
        await driven.until(lambda: "1  Set up a model" in driven.text())
        await driven.type("/provider deepseek/deepseek-chat")
        await driven.press("escape", "enter")
        await driven.type("sk-secret-123")
        await driven.press("enter", "enter")
        await driven.until(lambda: "That key is not usable." in driven.text())
        assert "No model is set up yet" in driven.text()


def _files_with(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words in path.read_text()]


async def test_what_was_wrong_in_the_providers_form_goes_once_something_is_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/provider")
        await driven.press("enter", "enter", "enter", "enter", "enter")
        assert "Enter the name of a model." in driven.text()
        await driven.press("left")
        assert "Enter the name of a model." in driven.text()
        await driven.type("a")
        assert "Enter the name of a model." not in driven.text()


async def test_a_model_that_only_the_command_line_knows_is_offered_with_its_window() -> None:
    usable = {"profile": "late", "model": "m", "window": 200_000, "input_price": None, "fault": ""}
    unusable = {"profile": "keyless", "model": "m", "fault": "KEY is not set."}

    async def outside(*words: str) -> tuple[int, str]:
        rows = [usable, unusable] if words[:2] == ("models", "list") else []
        return 0, "\n".join(map(json.dumps, rows))

    async with open_app(golden("night_shift"), outside=outside) as driven:
        await driven.type("/model")
        await driven.press("escape", "enter")
        await driven.until(lambda: "late" in driven.text())
        assert "200k" in driven.text() and "keyless" not in driven.text()
