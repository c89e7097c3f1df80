"""Actions that choose among things: effort, agent, policy, theme; `model` has those on models."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from tui_agent.protocol.commands import Delegate, RevokeRule, SetAgent, SetBudgets, SetEffort
from tui_agent.protocol.settings import EFFORTS, POLICIES, Budgets, Effort
from tui_agent.tui import format as units
from tui_agent.tui.cli_client import beside_json, json_rows, place, text_of
from tui_agent.tui.commands.info import offers
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.policy import FileRule, InForce, PolicySheet
from tui_agent.tui.theme.startup import theme_folders
from tui_agent.tui.theme.theme import discover

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live


def reasoning(live: "Live", argument: str) -> None:
    """How long the model may think."""
    if argument:
        if argument in EFFORTS:
            live.submit(SetEffort(effort=argument))
        else:
            live.app.say(f"Reasoning is one of {', '.join(EFFORTS)}.", "warning")
        return
    now = live.state.settings.model.effort if live.state.settings else None
    items = [Item(effort, effort, now=effort == now) for effort in EFFORTS]

    def chosen(value: str | None) -> None:
        if value is not None:
            live.submit(SetEffort(effort=cast(Effort, value)))

    live.app.push_screen(Picker(lambda: live.app.looks, "Reasoning", items), chosen)


def agent(live: "Live", argument: str) -> None:
    """Another agent of the hub."""
    if argument:
        live.submit(SetAgent(agent=argument))
        return
    now = live.state.settings.agent if live.state.settings else "default"
    names = dict.fromkeys((now, "default", *(name for name, _ in offers(live, "agent"))))
    picker = Picker(lambda: live.app.looks, "Agent", [Item(name, name, now=name == now) for name in names])

    def chosen(value: str | None) -> None:
        if value is not None:
            live.submit(SetAgent(agent=value))

    live.app.push_screen(picker, chosen)

    async def ask() -> None:
        _, said = await live.ask("agents", "list", "--json", *place(live.app.options))
        rows = json_rows(said)
        if rows and picker.is_attached:
            picker.set_items(
                [
                    Item(
                        text_of(row, "name"),
                        text_of(row, "name"),
                        about=text_of(row, "description"),
                        now=text_of(row, "name") == now,
                    )
                    for row in rows
                    if text_of(row, "kind") == "hub"
                ]
            )

    live.worker(ask(), "agents")


def delegate(live: "Live", argument: str) -> None:
    """A task for a named agent: `AGENT TASK`; without one, those that there are."""
    name, _, task = argument.strip().partition(" ")
    if task.strip():
        live.submit(Delegate(agent=name, text=task.strip()))
        return
    picker = Picker(lambda: live.app.looks, "Delegate to", [])

    def chosen(value: str | None) -> None:
        if value is not None:
            live.app.prompt.editor.put(f"/delegate {value} ")

    async def ask() -> None:
        _, said = await live.ask("agents", "list", "--json", *place(live.app.options))
        rows = [row for row in json_rows(said) if text_of(row, "kind") == "delegate"]
        if picker.is_attached:
            picker.set_items(
                [
                    Item(text_of(row, "name"), text_of(row, "name"), about=text_of(row, "description"))
                    for row in rows
                ]
            )

    if name:
        live.app.say("/delegate takes an agent and a task, as /delegate verify the tests pass.", "warning")
        return
    live.app.push_screen(picker, chosen)
    live.worker(ask(), "agents")


def policy(live: "Live", argument: str) -> None:
    """What may happen unasked."""
    if argument:
        if argument in POLICIES:
            live.set_policy(argument)
        else:
            live.app.say(f"A policy is one of {', '.join(POLICIES)}.", "warning")
        return
    sheet = PolicySheet(
        lambda: live.app.looks,
        lambda: _in_force(live),
        live.set_policy,
        lambda rule: live.submit(RevokeRule(rule=rule)),
    )
    live.app.push_screen(sheet)

    async def ask() -> None:
        status, said = await live.ask("policy", "rules", "--json", *place(live.app.options))
        if sheet.is_attached:
            home = live.app.environ.get("HOME", "").rstrip("/")
            rules = [
                FileRule(text_of(row, "rule"), _short(text_of(row, "source"), home))
                for row in json_rows(said)
            ]
            sheet.set_rules(rules, beside_json(said) if status else "")

    live.worker(ask(), "policy")


def _short(source: str, home: str) -> str:
    return f"~{source[len(home) :]}" if home and source.startswith(home + "/") else source


def _in_force(live: "Live") -> InForce:
    state = live.state
    policy = state.settings.policy if state.settings else "ask"
    return InForce(policy, state.granted, state.sandbox, state.sandbox_why_not)


def next_policy(live: "Live", argument: str) -> None:
    """The next one of plan, ask, accept-edits; bypass only by name."""
    around = ("plan", "ask", "accept-edits")
    now = live.state.settings.policy if live.state.settings else "ask"
    live.set_policy(around[(around.index(now) + 1) % len(around)] if now in around else "ask")


def limit_cost(live: "Live", argument: str) -> None:
    """Stop at this sum."""
    try:
        amount = float(argument.lstrip("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e6:
        live.app.say("/cost takes a sum in dollars, as /cost 2.50.", "warning")
        return
    settings = live.state.settings
    budgets = settings.budgets if settings else Budgets()
    live.submit(SetBudgets(budgets=budgets.model_copy(update={"max_cost_usd": amount})))
    live.app.say(f"The session stops at {units.money(amount, digits=2)}.", "done")


def theme(live: "Live", argument: str) -> None:
    """Another theme, seen while choosing."""
    found, faults = discover(theme_folders(live.app.environ))
    if argument:
        if argument in found:
            live.app.wear_theme(argument)
            live.app.say(_kept(argument), "done")
        else:
            live.app.say(f"There is no theme {argument}. There are {', '.join(sorted(found))}.", "warning")
        return
    before = live.app.first.theme.name
    items = [
        Item(name, name, about=one.about, right="hard to read" if one.warnings else "", now=name == before)
        for name, one in found.items()
    ]
    items += [Item("", str(fault.message), offered=False, group="Not usable") for fault in faults]

    def chosen(value: str | None) -> None:
        live.app.wear_theme(value or before)
        if value and value != before:
            live.app.say(_kept(value), "done")

    live.app.push_screen(Picker(lambda: live.app.looks, "Theme", items, preview=live.app.wear_theme), chosen)


def _kept(name: str) -> str:
    return f'Theme {name}. To keep it: theme = "{name}" in config.toml.'


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
    "reasoning": reasoning,
    "agent": agent,
    "delegate": delegate,
    "policy": policy,
    "next_policy": next_policy,
    "plan": lambda live, _: live.set_policy("plan"),
    "accept_edits": lambda live, _: live.set_policy("accept-edits"),
    "limit_cost": limit_cost,
    "theme": theme,
}
