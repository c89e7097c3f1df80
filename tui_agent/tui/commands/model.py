"""Actions that choose who answers: a model by name or from what there is, a provider and its key, the default.

Invariant: a list is there at once with what the app knows itself; what is asked for fills in later. A typed key is in
memory only, unless the user asked to keep it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_agent.config.secrets import Keys
from tui_agent.config.vendors import VENDORS, key_variable, profile_key
from tui_agent.errors import ConfigError
from tui_agent.protocol.commands import SetModel
from tui_agent.tui import format as units
from tui_agent.tui.cli_client import JsonRow, command_line, number_of, text_of
from tui_agent.tui.controller.model_discovery import pretty, suggested
from tui_agent.tui.controller.startup import keys_here, profiles
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.provider import OWN_SERVER, Provider, ProviderForm

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

ACT = "\t"
"""Begins the value of a row that is an action and no name; nobody can type it."""

DEMOS = ("bugfix", "todo-api")


def model(live: "Live", argument: str) -> None:
    """Use a model by name, or choose one."""
    if argument:
        use(live, argument)
        return

    def chosen(value: str) -> None:
        if value.startswith(ACT):
            name, _, rest = value.removeprefix(ACT).partition(" ")
            live.act(name, rest)
        else:
            use(live, value)

    _choose(live, chosen)


def choose_model(live: "Live", then: Callable[[str], None]) -> None:
    """Choose a model by its name, for what is not the open session."""
    _choose(live, then, names_only=True)


def _choose(live: "Live", then: Callable[[str], None], *, names_only: bool = False) -> None:
    late: list[Item] = []

    def offered() -> list[Item]:
        return [one for one in rows(live, late) if not names_only or not one.value.startswith(ACT)]

    free = "use this name, as vendor/model or a profile"
    picker = Picker(lambda: live.app.looks, "Model", offered(), free=free)

    def chosen(value: str | None) -> None:
        if value is not None:
            then(value)

    live.app.push_screen(picker, chosen)

    async def ask() -> None:
        late.extend(_found(row) for row in await live.reading.models_here())
        if picker.is_attached:
            picker.set_items(offered())

    live.worker(ask(), "models")


def use(live: "Live", name: str) -> None:
    """Answer with this model from now on in this session."""
    if name == "demo" or name.startswith("demo:"):
        play(live, name.partition(":")[2])
        return
    live.defaults.chosen()
    live.submit(SetModel(model=name))


def play(live: "Live", name: str) -> None:
    """The demo, where nothing has been said yet; else how to play it."""
    if live.chat.start.display:
        live.act("demo", name)
    else:
        word = f"tui-agent demo {name}".strip()
        live.app.say(
            f"A demo runs in a workspace of its own: /quit, then {word}. Nothing has changed.", "warning"
        )


def rows(live: "Live", late: list[Item]) -> list[Item]:
    """What can be chosen: set up, found by key, on this machine, another one, the demos."""
    facts = {item.value: item for item in late}
    keys = keys_here(live)
    items = [*_set_up(live, keys), *_by_key(keys)]
    items += [
        Item(
            f"{ACT}local {one.address} {name}",
            name,
            f"{one.name}, localhost:{one.port}",
            group="On this machine",
        )
        for one in live.beginning.local
        for name in one.models
    ]
    held = {item.value for item in items}
    known = [
        replace(item, right=item.right or facts[item.value].right) if item.value in facts else item
        for item in items
    ]
    more = [
        item for item in late if item.value not in held and not item.value.startswith(("demo", "scripted"))
    ]
    other = Item(f"{ACT}provider", "Other provider…", "type in a key, or a server's address", group="More")
    demos = [
        Item(f"{ACT}play {name}", f"demo {name}", "scripted, in a throw-away workspace", group="Demos")
        for name in DEMOS
    ]
    return [*known, *more, other, *demos]


def _set_up(live: "Live", keys: frozenset[str]) -> list[Item]:
    now = live.state.settings.model if live.state.settings else None
    items: list[Item] = []
    for name, profile in profiles(live).items():
        variable = profile_key(profile)
        absent = bool(variable) and variable not in keys
        items.append(
            Item(
                f"{ACT}provider {name}" if absent else name,
                name,
                about=f"wants {variable}, which is not set" if absent else profile.model,
                right="type it" if absent else profile.base_url or profile.provider,
                group="Set up",
                now=now is not None and now.profile == name,
            )
        )
    if now is not None and now.model and not any(item.now for item in items):
        name = now.profile or now.model
        items.insert(0, Item(name, name, now.model, now.base_url or now.provider, "Set up", now=True))
    return items


def _by_key(keys: frozenset[str]) -> list[Item]:
    """The models to offer of every vendor whose key is there."""
    items: list[Item] = []
    for vendor in VENDORS.values():
        variable = next((one for one in vendor.keys if one in keys), "")
        names = [f"{vendor.name}/{name}" for name in vendor.suggested] or [suggested(vendor)]
        if not variable:
            continue
        group = "A key is set"
        items += [Item(name, name, variable, group=group) for name in names if name]
        if names == [""]:
            label = f"{pretty(vendor.name)}…"
            items.append(
                Item(f"{ACT}provider {vendor.name}/", label, f"{variable}; name a model", group=group)
            )
    return items


def _found(row: JsonRow) -> Item:
    window, price = number_of(row, "window"), number_of(row, "input_price")
    facts = [units.tokens(round(window))] if window else []
    if price:
        facts.append(f"${price:g}/M in")
    name = text_of(row, "profile", "model")
    return Item(name, name, about=text_of(row, "model"), right=", ".join(facts), group="Found")


def base_url(live: "Live", argument: str) -> None:
    """The same model at another address."""
    settings = live.state.settings
    if not argument:
        now = settings.model.base_url if settings else ""
        live.app.say(f"The address is {now or 'the provider’s own'}. /base-url URL changes it.")
    elif settings is None or not settings.model.model:
        _form(live, base_url=argument)
    else:
        live.defaults.chosen()
        live.submit(SetModel(model=settings.model.profile or settings.model.model, base_url=argument))


def local(live: "Live", argument: str) -> None:
    """A model of a server on this machine: its address and its name."""
    address, _, name = argument.partition(" ")
    live.defaults.chosen()
    live.submit(SetModel(model=f"openai-chat/{name}", base_url=address))


def provider(live: "Live", argument: str) -> None:
    """A provider's key: of what was asked for and lacks one, of the one that is named, or of one that is chosen."""
    wanted = live.config.model if live.config is not None and not live.has_model else ""
    if argument.startswith(("http://", "https://")):
        _form(live, base_url=argument)
    elif argument:
        _form(live, model=argument)
    elif wanted in profiles(live):
        _form(live, model=wanted)
    else:
        _choose_vendor(live)


def _choose_vendor(live: "Live") -> None:
    keys = keys_here(live)
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
    picker = Picker(lambda: live.app.looks, "Other provider", items, free="use this name, as vendor/model")

    def chosen(value: str | None) -> None:
        if value == ACT:
            _form(live, base_url="http://")
        elif value is not None:
            _form(live, model=value)

    live.app.push_screen(picker, chosen)


def _form(live: "Live", *, model: str = "", base_url: str = "") -> None:
    names = {name: profile_key(profile) or OWN_SERVER for name, profile in profiles(live).items()}
    form = ProviderForm(lambda: live.app.looks, base_url=base_url, model=model, variables=names)

    def filled(given: Provider | None) -> None:
        if given is not None:
            live.worker(use_provider(live, given), "provider")

    live.app.push_screen(form, filled)


async def use_provider(live: "Live", given: Provider) -> None:
    """Give the engine the key, kept or for this run alone, and set the model."""
    app, config = live.app, live.config
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
        # The newest key wins over one in the environment that did not work.
        typed = {**dict(app.options.keys), name: given.key}
        app.options = replace(app.options, keys=tuple(typed.items()))
        live.ask = app.outside or command_line(app.options, app.environ)
        await live.opening.reopen()
    live.defaults.chosen(keep=given.keep_model)
    live.submit(SetModel(model=given.model, base_url=given.base_url))


def keep_model(live: "Live", argument: str) -> None:
    """Start with the present model from now on: said what is written, and written on a yes."""
    lines = live.defaults.lines()
    if not lines or live.config is None:
        live.app.say("There is no model to keep yet. /model chooses one.", "warning")
        return
    path = str(live.config.paths.user_config)
    items = [
        Item("yes", "Yes", "; ".join(lines), group=f"Written into {path}"),
        Item("no", "No", "this session only"),
    ]

    def chosen(value: str | None) -> None:
        if value == "yes":
            live.worker(live.defaults.write(), "keep")

    live.app.push_screen(Picker(lambda: live.app.looks, "Start with this model from now on?", items), chosen)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
    "model": model,
    "base_url": base_url,
    "local": local,
    "provider": provider,
    "keep_model": keep_model,
    "play": play,
}
