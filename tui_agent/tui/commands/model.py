"""Commands that set the model, or a provider and its key.

Invariant: a typed API key is written to disk only when the user asks for it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.settings.base_url import is_web_address
from tui_agent.config.settings.providers import PROVIDERS, key_variable, profile_key
from tui_agent.errors import ConfigError
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import json_rows, non_json_text, number_of, text_of
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.modals.model_picker import ACT, OWN_SERVER_AT, choose_model
from tui_agent.tui.modals.model_setup import ADDRESS, KEY, MODEL, OWN_SERVER, Provider, ProviderForm
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.panes.model_discovery import suggested_model, vendor_title
from tui_agent.tui.untrusted_text import clean_line, shorten_home
from tui_agent.units import format_duration


def choose_model_or_provider(context: AppContext, argument: str) -> None:
    """Switch to the model named `argument`; without an argument, let the user choose.

    If `argument` is a URL, set up a model of the server at this URL.
    """
    back = partial(choose_model_or_provider, context, "")
    if is_web_address(argument):
        set_up_provider(context, argument)
        return
    if argument:
        use_model(context, argument)
        return

    def choose(value: str) -> None:
        if value.startswith(ACT):
            name, _, rest = value.removeprefix(ACT).partition(" ")
            if name == "address":
                use_model(context, rest)
            elif name == "provider":
                set_up_provider(context, rest, back=back)
            else:
                context.act(name, rest)
        elif is_web_address(value):
            set_up_provider(context, value, back=back)
        else:
            use_model(context, value)

    choose_model(context, choose, with_actions=True)


def use_model(context: AppContext, name: str) -> None:
    """Switch the open session to the model `name`; for `demo:NAME`, play the demo."""
    if name == "demo" or name.startswith("demo:"):
        play_demo(context, name.partition(":")[2])
        return
    settings, choices, base_url = context.state.settings, context.choices, ""
    if name not in context.profiles:
        base_url = choices.addresses.get(name, "")
    if settings is not None and name == settings.model.profile:
        base_url = choices.given_address(settings.model)
    choices.choose_model(name, base_url)


def play_demo(context: AppContext, name: str) -> None:
    """Play the demo `name` if the session is empty; otherwise tell the user how to play it."""
    if context.start_page.is_shown:
        context.act("demo", name)
    else:
        command = f"tui-agent demo {name}".strip()
        context.app.say(f"A demo runs in its own workspace: /quit, then run {command}.", "warning")


def use_base_url(context: AppContext, argument: str) -> None:
    """Use the current model at the URL `argument`; without an argument, show the current URL."""
    settings = context.state.settings
    if not argument:
        now = settings.model.base_url if settings else ""
        context.app.say(f"The address is {now or 'the provider’s own'}. Change it with /model url URL.")
    elif settings is None or not settings.model.model:
        _open_form(context, base_url=argument)
    else:
        context.choices.choose_model(settings.model.profile or settings.model.model, argument)


def use_local_model(context: AppContext, argument: str) -> None:
    """Use a model of a server on this machine.

    `argument`: the server's URL and the model's name.
    """
    address, _, name = argument.partition(" ")
    context.choices.choose_model(f"openai-chat/{name}", address)


def set_up_provider(context: AppContext, argument: str, *, back: Callable[[], None] = lambda: None) -> None:
    """Ask for the API key of a provider.

    `argument`: a provider, a model or a URL. If it is empty, ask for the key of the configured model or, if no model
    is configured, let the user choose a provider. `back`: called if the user closes the form.
    """
    missing_model = context.config.model if context.config is not None and not context.has_model else ""
    if is_web_address(argument):
        _open_form(context, back, base_url=argument)
    elif argument:
        _open_form(context, back, model=argument)
    elif missing_model in context.profiles:
        _open_form(context, back, model=missing_model)
    else:
        _choose_vendor(context, back)


def _choose_vendor(context: AppContext, back: Callable[[], None], chosen: str = "") -> None:
    """Let the user choose a provider. The row with the value `chosen` is selected first."""
    keys = context.keys.names()
    items = [Item(ACT, "Own server", "an OpenAI-compatible server", group="By address")]
    vendors = [(name, vendor) for name, vendor in PROVIDERS.items() if vendor.key_variables]
    for name, vendor in sorted(
        vendors, key=lambda pair: (not pair[1].suggested_models, vendor_title(pair[0]).lower())
    ):
        has_key = any(key in keys for key in vendor.key_variables)
        about = f"{vendor.key_variables[0]} is set" if has_key else f"needs {vendor.key_variables[0]}"
        value = suggested_model(vendor)
        group = "By provider" if vendor.suggested_models else "Other providers"
        items.append(Item(value or f"{name}/", vendor_title(name), about, value, group))

    def choose(value: str) -> None:
        reopen = partial(_choose_vendor, context, back, value)
        if value == ACT:
            _open_form(context, reopen, base_url="http://")
        elif is_web_address(value):
            _open_form(context, reopen, base_url=value)
        else:
            _open_form(context, reopen, model=value)

    typed_prefix = "Set up the model named"
    picker = open_picker(
        context,
        "Set up a model",
        items,
        choose,
        typed_prefix=typed_prefix,
        address_prefix=OWN_SERVER_AT,
        back=back,
    )
    picker.chosen = next((index for index, item in enumerate(items) if item.value == chosen), 0)


def _open_form(
    context: AppContext, back: Callable[[], None] = lambda: None, *, model: str = "", base_url: str = ""
) -> None:
    """Open the form for a provider's key, filled in with a model or a URL.

    `back`: called if the user closes the form.
    """
    config = context.config
    form = ProviderForm(
        lambda provider: context.worker(_test_model(context, form, provider), "provider"),
        base_url=base_url,
        model=model,
        variables={name: profile_key(profile) or OWN_SERVER for name, profile in context.profiles.items()},
        keys=context.keys.names(),
        key_file=shorten_home(config.paths.secrets) if config is not None else "",
    )

    def submit(provider: Provider | None) -> None:
        if provider is None:
            back()
        else:
            context.worker(use_provider(context, provider, form.answer), "provider")

    context.app.push_screen(form, submit)


async def _test_model(context: AppContext, form: ProviderForm, provider: Provider) -> None:
    ask = context.keys.ask_with(key_variable(provider.vendor), provider.key) if provider.key else context.ask
    address = ["--base-url", provider.base_url] if provider.base_url else []
    status, output = await ask("models", "check", provider.model, "--json", *address, *context.place)
    if form.tested is not provider or not form.is_current:
        return  # The user has changed the values or left the form meanwhile.
    result = next(iter(json_rows(output)), {})
    if status:
        kind, message, hint = (text_of(result, name) for name in ("fault", "message", "hint"))
        line = {"auth": KEY, "transport": ADDRESS, "timeout": ADDRESS}.get(kind, MODEL)
        if provider.base_url and result.get("address_suspect"):
            line = ADDRESS
        fault = message if kind == "auth" else f"{message} {hint}"
        if not result:
            form.tested = None  # nothing was sent: the values cannot be used as they are
        form.show_fault(line, clean_line(fault).strip() or clean_line(non_json_text(output)))
    else:
        form.answer = f"answers in {format_duration(number_of(result, 'seconds'))}"
        form.dismiss(provider)


async def use_provider(context: AppContext, provider: Provider, answer: str = "") -> None:
    """Use the model from the provider form, and give the provider's key to the engine.

    `answer`: a description of the model's answer to the test request; empty if the model was not tested.
    """
    app, config, remarks = context.app, context.config, [answer]
    if provider.key and config is not None:
        try:
            if provider.keep_key:
                stored = Keys(app.environ, config.paths.secrets)
                path = await asyncio.to_thread(lambda: stored.save_key(provider.vendor, provider.key))
                remarks.append(f"key saved in {shorten_home(Path(path))}")
            else:
                remarks.append("key not saved")
        except ConfigError as fault:
            app.say(str(fault), "error")
            return
        if not await context.keys.use(
            key_variable(provider.vendor), provider.key, provider.model, provider.base_url
        ):
            return
    context.choices.choose_model(provider.model, provider.base_url, "; ".join(filter(None, remarks)))
