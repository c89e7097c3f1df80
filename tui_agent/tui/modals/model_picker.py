"""The list of models: set up, found by key, on this machine, another one, the demos.

Invariant: the list is there at once with what the app knows itself; what is asked for fills in later.
"""

from collections.abc import Callable
from dataclasses import replace

from tui_agent.config.providers import PROVIDERS, profile_key
from tui_agent.tui.cli_client import JsonRow, number_of, text_of
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.panes.model_discovery import pretty, suggested
from tui_agent.units import format_tokens

ACT = "\t"
"""Begins the value of a row that is an action and no name; nobody can type it."""

DEMOS = ("bugfix", "todo-api")


def choose_model(context: AppContext, then: Callable[[str], None], *, with_actions: bool = False) -> None:
    """Open the list of models and hand on the chosen name.

    `with_actions`: it also offers other providers and demos, whose values begin with `ACT`.
    """
    late: list[Item] = []

    def offered() -> list[Item]:
        return [one for one in rows(context, late) if with_actions or not one.value.startswith(ACT)]

    free = "use this name, as vendor/model or a profile"
    picker = Picker(lambda: context.app.looks, "Model", offered(), free=free)

    def chosen(value: str | None) -> None:
        if value is not None:
            then(value)

    context.app.push_screen(picker, chosen)

    async def ask() -> None:
        late.extend(_found(row) for row in await context.reader.models_here())
        if picker.is_attached:
            picker.set_items(offered())

    context.worker(ask(), "models")


def rows(context: AppContext, late: list[Item]) -> list[Item]:
    """What can be chosen: set up, found by key, on this machine, another one, the demos."""
    facts = {item.value: item for item in late}
    keys = context.known_keys()
    items = [*_set_up(context, keys), *_by_key(keys)]
    items += [
        Item(
            f"{ACT}local {one.address} {name}",
            name,
            f"{one.name}, localhost:{one.port}",
            group="On this machine",
        )
        for one in context.local_servers
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


def _set_up(context: AppContext, keys: frozenset[str]) -> list[Item]:
    now = context.state.settings.model if context.state.settings else None
    items: list[Item] = []
    for name, profile in context.profiles.items():
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
    for vendor in PROVIDERS.values():
        variable = next((one for one in vendor.key_variables if one in keys), "")
        names = [f"{vendor.name}/{name}" for name in vendor.suggested_models] or [suggested(vendor)]
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
    facts = [format_tokens(round(window))] if window else []
    if price:
        facts.append(f"${price:g}/M in")
    name = text_of(row, "profile", "model")
    return Item(name, name, about=text_of(row, "model"), right=", ".join(facts), group="Found")
