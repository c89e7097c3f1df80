"""Actions that choose who answers: a model by name or from what there is, a provider and its key, the default.

Invariant: a list is there at once with what the app knows itself; what is asked for fills in later. A typed key is in
memory only, unless the user asked to keep it.
"""

import asyncio
from collections.abc import Callable

from tui_agent.config.secrets import Keys
from tui_agent.config.vendors import VENDORS, key_variable, profile_key
from tui_agent.errors import ConfigError
from tui_agent.protocol.commands import SetModel
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.model_picker import ACT, choose_model
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.provider import OWN_SERVER, Provider, ProviderForm
from tui_agent.tui.panes.model_discovery import pretty, suggested


def model(context: AppContext, argument: str) -> None:
    """Use a model by name, or choose one."""
    if argument:
        use(context, argument)
        return

    def chosen(value: str) -> None:
        if value.startswith(ACT):
            name, _, rest = value.removeprefix(ACT).partition(" ")
            context.act(name, rest)
        else:
            use(context, value)

    choose_model(context, chosen, with_actions=True)


def use(context: AppContext, name: str) -> None:
    """Answer with this model from now on in this session."""
    if name == "demo" or name.startswith("demo:"):
        play(context, name.partition(":")[2])
        return
    context.default_model.chosen()
    context.submit(SetModel(model=name))


def play(context: AppContext, name: str) -> None:
    """The demo, where nothing has been said yet; else how to play it."""
    if context.start_page.is_shown:
        context.act("demo", name)
    else:
        word = f"tui-agent demo {name}".strip()
        context.app.say(
            f"A demo runs in a workspace of its own: /quit, then {word}. Nothing has changed.", "warning"
        )


def base_url(context: AppContext, argument: str) -> None:
    """The same model at another address."""
    settings = context.state.settings
    if not argument:
        now = settings.model.base_url if settings else ""
        context.app.say(f"The address is {now or 'the provider’s own'}. /base-url URL changes it.")
    elif settings is None or not settings.model.model:
        _form(context, base_url=argument)
    else:
        context.default_model.chosen()
        context.submit(SetModel(model=settings.model.profile or settings.model.model, base_url=argument))


def local(context: AppContext, argument: str) -> None:
    """A model of a server on this machine: its address and its name."""
    address, _, name = argument.partition(" ")
    context.default_model.chosen()
    context.submit(SetModel(model=f"openai-chat/{name}", base_url=address))


def provider(context: AppContext, argument: str) -> None:
    """A provider's key: of what was asked for and lacks one, of the one that is named, or of one that is chosen."""
    wanted = context.config.model if context.config is not None and not context.has_model else ""
    if argument.startswith(("http://", "https://")):
        _form(context, base_url=argument)
    elif argument:
        _form(context, model=argument)
    elif wanted in context.profiles:
        _form(context, model=wanted)
    else:
        _choose_vendor(context)


def _choose_vendor(context: AppContext) -> None:
    keys = context.known_keys()
    own = "an OpenAI-compatible server of yours"
    items = [Item(ACT, "Own server", f"{own}, by its address", group="By address")]
    for name in sorted(VENDORS, key=lambda name: (not VENDORS[name].suggested, pretty(name).lower())):
        vendor = VENDORS[name]
        if vendor.keys:
            there = any(key in keys for key in vendor.keys)
            about = f"{vendor.keys[0]} is set" if there else f"wants {vendor.keys[0]}"
            items.append(
                Item(suggested(vendor) or f"{name}/", pretty(name), about, suggested(vendor), "By name")
            )
    picker = Picker(lambda: context.app.looks, "Other provider", items, free="use this name, as vendor/model")

    def chosen(value: str | None) -> None:
        if value == ACT:
            _form(context, base_url="http://")
        elif value is not None:
            _form(context, model=value)

    context.app.push_screen(picker, chosen)


def _form(context: AppContext, *, model: str = "", base_url: str = "") -> None:
    names = {name: profile_key(profile) or OWN_SERVER for name, profile in context.profiles.items()}
    form = ProviderForm(lambda: context.app.looks, base_url=base_url, model=model, variables=names)

    def filled(given: Provider | None) -> None:
        if given is not None:
            context.worker(use_provider(context, given), "provider")

    context.app.push_screen(form, filled)


async def use_provider(context: AppContext, given: Provider) -> None:
    """Give the engine the key, kept or for this run alone, and set the model."""
    app, config = context.app, context.config
    if given.key and config is not None:
        name = key_variable(given.vendor)
        try:
            if given.keep_key:
                stored = Keys(app.environ, config.paths.secrets)
                where = await asyncio.to_thread(lambda: stored.save_key(given.vendor, given.key))
                app.say(f"The key is kept in {where}.", "done")
            else:
                app.say(f"{name} is known until you leave; it is written nowhere.", "done")
        except ConfigError as fault:
            app.say(str(fault), "error")
            return
        await context.use_key(name, given.key)
    context.default_model.chosen(keep=given.keep_model)
    context.submit(SetModel(model=given.model, base_url=given.base_url))


def keep_model(context: AppContext, argument: str) -> None:
    """Start with the present model from now on: said what is written, and written on a yes."""
    lines = context.default_model.lines()
    if not lines or context.config is None:
        context.app.say("There is no model to keep yet. /model chooses one.", "warning")
        return
    path = str(context.config.paths.user_config)
    items = [
        Item("yes", "Yes", "; ".join(lines), group=f"Written into {path}"),
        Item("no", "No", "this session only"),
    ]

    def chosen(value: str | None) -> None:
        if value == "yes":
            context.worker(context.default_model.write(), "keep")

    context.app.push_screen(
        Picker(lambda: context.app.looks, "Start with this model from now on?", items), chosen
    )


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "model": model,
    "base_url": base_url,
    "local": local,
    "provider": provider,
    "keep_model": keep_model,
    "play": play,
}
