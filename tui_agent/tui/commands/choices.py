"""Actions that choose among things: effort, agent, policy, theme; `model` has those on models."""

from collections.abc import Callable
from typing import cast

from tui_agent.protocol.commands import Delegate, RevokeRule, SetAgent, SetBudgets, SetEffort
from tui_agent.protocol.settings import EFFORTS, POLICIES, Budgets, Effort
from tui_agent.tui.cli_client import beside_json, json_rows, place, text_of
from tui_agent.tui.commands.info import offers
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.policy import FileRule, InForce, PolicySheet
from tui_agent.tui.theme.startup import theme_folders
from tui_agent.tui.theme.theme import discover
from tui_agent.units import format_cost


def reasoning(context: AppContext, argument: str) -> None:
    """How long the model may think."""
    if argument:
        if argument in EFFORTS:
            context.submit(SetEffort(effort=argument))
        else:
            context.app.say(f"Reasoning is one of {', '.join(EFFORTS)}.", "warning")
        return
    now = context.state.settings.model.effort if context.state.settings else None
    items = [Item(effort, effort, now=effort == now) for effort in EFFORTS]

    def chosen(value: str | None) -> None:
        if value is not None:
            context.submit(SetEffort(effort=cast(Effort, value)))

    context.app.push_screen(Picker(lambda: context.app.looks, "Reasoning", items), chosen)


def agent(context: AppContext, argument: str) -> None:
    """Another agent of the hub."""
    if argument:
        context.submit(SetAgent(agent=argument))
        return
    now = context.state.settings.agent if context.state.settings else "default"
    names = dict.fromkeys((now, "default", *(name for name, _ in offers(context, "agent"))))
    picker = Picker(lambda: context.app.looks, "Agent", [Item(name, name, now=name == now) for name in names])

    def chosen(value: str | None) -> None:
        if value is not None:
            context.submit(SetAgent(agent=value))

    context.app.push_screen(picker, chosen)

    async def ask() -> None:
        _, said = await context.ask("agents", "list", "--json", *place(context.app.options))
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

    context.worker(ask(), "agents")


def delegate(context: AppContext, argument: str) -> None:
    """A task for a named agent: `AGENT TASK`; without one, those that there are."""
    name, _, task = argument.strip().partition(" ")
    if task.strip():
        context.submit(Delegate(agent=name, text=task.strip()))
        return
    picker = Picker(lambda: context.app.looks, "Delegate to", [])

    def chosen(value: str | None) -> None:
        if value is not None:
            context.prompt.put_text(f"/delegate {value} ")

    async def ask() -> None:
        _, said = await context.ask("agents", "list", "--json", *place(context.app.options))
        rows = [row for row in json_rows(said) if text_of(row, "kind") == "delegate"]
        if picker.is_attached:
            picker.set_items(
                [
                    Item(text_of(row, "name"), text_of(row, "name"), about=text_of(row, "description"))
                    for row in rows
                ]
            )

    if name:
        context.app.say("/delegate takes an agent and a task, as /delegate verify the tests pass.", "warning")
        return
    context.app.push_screen(picker, chosen)
    context.worker(ask(), "agents")


def policy(context: AppContext, argument: str) -> None:
    """What may happen unasked."""
    if argument:
        if argument in POLICIES:
            context.set_policy(argument)
        else:
            context.app.say(f"A policy is one of {', '.join(POLICIES)}.", "warning")
        return
    sheet = PolicySheet(
        lambda: context.app.looks,
        lambda: _in_force(context),
        context.set_policy,
        lambda rule: context.submit(RevokeRule(rule=rule)),
    )
    context.app.push_screen(sheet)

    async def ask() -> None:
        status, said = await context.ask("policy", "rules", "--json", *place(context.app.options))
        if sheet.is_attached:
            home = context.app.environ.get("HOME", "").rstrip("/")
            rules = [
                FileRule(text_of(row, "rule"), _short(text_of(row, "source"), home))
                for row in json_rows(said)
            ]
            sheet.set_rules(rules, beside_json(said) if status else "")

    context.worker(ask(), "policy")


def _short(source: str, home: str) -> str:
    return f"~{source[len(home) :]}" if home and source.startswith(home + "/") else source


def _in_force(context: AppContext) -> InForce:
    state = context.state
    policy = state.settings.policy if state.settings else "ask"
    return InForce(policy, state.granted, state.sandbox, state.sandbox_why_not)


def next_policy(context: AppContext, argument: str) -> None:
    """The next one of plan, ask, accept-edits; bypass only by name."""
    around = ("plan", "ask", "accept-edits")
    now = context.state.settings.policy if context.state.settings else "ask"
    context.set_policy(around[(around.index(now) + 1) % len(around)] if now in around else "ask")


def limit_cost(context: AppContext, argument: str) -> None:
    """Stop at this sum."""
    try:
        amount = float(argument.lstrip("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e6:
        context.app.say("/cost takes a sum in dollars, as /cost 2.50.", "warning")
        return
    settings = context.state.settings
    budgets = settings.budgets if settings else Budgets()
    context.submit(SetBudgets(budgets=budgets.model_copy(update={"max_cost_usd": amount})))
    context.app.say(f"The session stops at {format_cost(amount, digits=2)}.", "done")


def theme(context: AppContext, argument: str) -> None:
    """Another theme, seen while choosing."""
    found, faults = discover(theme_folders(context.app.environ))
    if argument:
        if argument in found:
            context.app.wear_theme(argument)
            context.app.say(_kept(argument), "done")
        else:
            context.app.say(f"There is no theme {argument}. There are {', '.join(sorted(found))}.", "warning")
        return
    before = context.app.first.theme.name
    items = [
        Item(name, name, about=one.about, right="hard to read" if one.warnings else "", now=name == before)
        for name, one in found.items()
    ]
    items += [Item("", str(fault.message), offered=False, group="Not usable") for fault in faults]

    def chosen(value: str | None) -> None:
        context.app.wear_theme(value or before)
        if value and value != before:
            context.app.say(_kept(value), "done")

    context.app.push_screen(
        Picker(lambda: context.app.looks, "Theme", items, preview=context.app.wear_theme), chosen
    )


def _kept(name: str) -> str:
    return f'Theme {name}. To keep it: theme = "{name}" in config.toml.'


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
    "reasoning": reasoning,
    "agent": agent,
    "delegate": delegate,
    "policy": policy,
    "next_policy": next_policy,
    "plan": lambda context, _: context.set_policy("plan"),
    "accept_edits": lambda context, _: context.set_policy("accept-edits"),
    "limit_cost": limit_cost,
    "theme": theme,
}
