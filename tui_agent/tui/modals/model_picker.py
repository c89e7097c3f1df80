"""The list of models and demos. Models come from config.toml, from providers, and from servers on this machine.

Invariant: the list opens immediately with the known models; others are added later.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tui_agent.config.settings.providers import PROVIDERS, profile_key
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.panes.model_discovery import suggested_model, vendor_title
from tui_agent.units import format_price, format_tokens

ACT: Final = "\t"
"""Prefix of an item's value if the item is an action and not a model."""
OWN_SERVER_AT: Final = "Own server at"
"""Words before the typed URL, in the list's row for a model on the user's own server."""
DEMOS: Final = ("bugfix", "todo-api")


def choose_model(context: AppContext, then: Callable[[str], None], *, with_actions: bool = False) -> None:
    """Open the list of models, and call `then` with the chosen name.

    `with_actions`: True to add items for other providers and demos. Their values begin with `ACT`.
    """

    def offered_items(loaded: Sequence[Item]) -> list[Item]:
        items = model_items(context, loaded)
        return [item for item in items if with_actions or not item.value.startswith(ACT)]

    typed_prefix, address_prefix = "Use the model named", OWN_SERVER_AT if with_actions else ""
    picker = Picker("Model", offered_items(()), typed_prefix=typed_prefix, address_prefix=address_prefix)

    context.app.push_screen(picker, lambda value: then(value) if value is not None else None)

    async def load() -> None:
        _, output = await context.ask("models", "list", "--json", *context.place)
        rows = json_rows(output)
        loaded = [_loaded_item(row) for row in rows if not text_of(row, "fault")]
        if picker.is_attached:
            picker.set_items(offered_items(loaded))

    context.worker(load(), "models")


def model_items(context: AppContext, loaded: Sequence[Item]) -> list[Item]:
    """Return all items of the list of models, in groups.

    `loaded`: the models that `tui-agent models` listed.
    """
    keys = context.keys.names()
    known = [*_configured_items(context, keys), *_vendor_items(keys)]
    for server in context.start_page.local:
        about = f"{server.name}, localhost:{server.port}"
        known += [
            Item(f"{ACT}local {server.address} {name}", name, about, group="On this machine")
            for name in server.models
        ]
    # `tui-agent models` also knows the window and the price of models that are listed here already.
    facts = {item.value: item.right for item in loaded}
    values = {item.value for item in known}
    models = [
        *(replace(item, right=item.right or facts.get(item.value, "")) for item in known),
        *(
            item
            for item in loaded
            if item.value not in values
            and not item.value.startswith(("demo", "scripted"))  # rows of their own
        ),
    ]
    label, group = ("Set up another model…", "More") if models else ("Set up a model…", "")
    return [
        *models,
        Item(f"{ACT}provider", label, "enter a key, or a server's address", group=group),
        *(
            Item(f"{ACT}play {name}", f"demo {name}", "scripted, in a throw-away workspace", group="Demos")
            for name in DEMOS
        ),
    ]


def _configured_items(context: AppContext, keys: frozenset[str]) -> list[Item]:
    """Return the models in config.toml, the session's model, and the models at addresses that the user entered."""
    model = context.state.settings.model if context.state.settings else None
    items: list[Item] = []
    for name, profile in context.profiles.items():
        variable = profile_key(profile)
        needs_key = bool(variable) and variable not in keys
        items.append(
            Item(
                f"{ACT}provider {name}" if needs_key else name,
                name,
                about=f"needs {variable}, which is not set" if needs_key else profile.model,
                right="type it" if needs_key else profile.base_url or profile.provider,
                group="Set up",
                current=model is not None and model.profile == name,
            )
        )
    if model is not None and model.model and not any(item.current for item in items):
        name = model.profile or model.model
        right = model.base_url or model.provider
        items.insert(0, Item(name, name, model.model, right, "Set up", current=True))
    shown = {item.value for item in items} | set(context.profiles)
    return items + [
        Item(f"{ACT}address {name}", name, right=base_url, group="Set up")
        for name, base_url in context.choices.addresses.items()
        if name not in shown
    ]


def _vendor_items(keys: frozenset[str]) -> list[Item]:
    """Return suggested models of each vendor with an API key in `keys`."""
    items: list[Item] = []
    group = "A key is set"
    for vendor in PROVIDERS.values():
        variable = next((key for key in vendor.key_variables if key in keys), "")
        if not variable:
            continue
        names = [f"{vendor.name}/{name}" for name in vendor.suggested_models] or [suggested_model(vendor)]
        items += [Item(name, name, variable, group=group) for name in names if name]
        if names == [""]:
            label, about = f"{vendor_title(vendor.name)}…", f"{variable} is set; type a model name"
            items.append(Item(f"{ACT}provider {vendor.name}/", label, about, group=group))
    return items


def _loaded_item(row: JsonRow) -> Item:
    window, price = number_of(row, "window"), number_of(row, "input_price")
    facts = [format_tokens(round(window))] if window else []
    if price:
        facts.append(f"{format_price(price)}/M in")
    name = text_of(row, "profile", "model")
    return Item(name, name, about=text_of(row, "model"), right=", ".join(facts), group="Found")
