"""Commands that choose a setting: effort, agent, policy, cost limit, theme."""

from collections.abc import Mapping, Sequence
from typing import cast

from tui_agent.protocol.commands import Delegate, SetAgent, SetBudgets, SetEffort
from tui_agent.protocol.settings import EFFORTS, POLICIES, Budgets, Effort, UserPolicy
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import JsonRow, json_rows, non_json_text, text_of
from tui_agent.tui.commands.help_and_lists import offers
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.policy import FileRule, PolicySheet
from tui_agent.tui.panes.policy import policy_after
from tui_agent.tui.theme.first_frame import theme_folders
from tui_agent.tui.theme.theme import DEFAULT_THEME, ThemeFile, discover
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.units import format_cost


def choose_effort(context: AppContext, argument: str) -> None:
    """Set how long the model can think; without an argument, let the user choose from a list."""
    model = context.state.settings.model if context.state.settings else None
    efforts = model.efforts if model is not None else EFFORTS
    if model is not None and not efforts:
        text = f"The reasoning effort of {model.model} (provider {model.provider}) cannot be set."
        context.app.say(text if model.model else "Choose a model first, with /model.", "warning")
        return
    if argument:
        if argument in efforts:
            context.submit(SetEffort(effort=argument))
        else:
            context.app.say(f"Reasoning effort can be {', '.join(efforts)}.", "warning")
        return
    now = model.effort if model is not None else None
    items = [Item(effort, effort, current=effort == now) for effort in efforts]
    open_picker(
        context, "Reasoning", items, lambda name: context.submit(SetEffort(effort=cast(Effort, name)))
    )


def choose_agent(context: AppContext, argument: str) -> None:
    """Switch to another agent, by name or from a list."""
    if argument:
        context.submit(SetAgent(agent=argument))
        return
    now = context.state.settings.agent if context.state.settings else "default"
    names = dict.fromkeys((now, "default", *(name for name, _ in offers(context, "agent"))))
    items = [Item(name, name, current=name == now) for name in names]
    picker = open_picker(context, "Agent", items, lambda name: context.submit(SetAgent(agent=name)))
    context.worker(list_agents(context, picker, "hub", now), "agents")


async def list_agents(
    context: AppContext, picker: Picker, kind: str, now: str = "", others: Sequence[Item] = ()
) -> None:
    """Show the agents of one kind in the list `picker`, followed by the rows `others`.

    `kind`: `hub` for main agents, `delegate` for delegates. `now`: the name of the current agent.
    """
    _, output = await context.ask("agents", "list", "--json", *context.place)
    rows = json_rows(output)
    if rows:
        agents = [_agent_item(row, now) for row in rows if text_of(row, "kind") == kind]
        picker.set_items([*agents, *others])


def _agent_item(row: JsonRow, now: str) -> Item:
    name = text_of(row, "name")
    return Item(name, name, about=text_of(row, "description"), current=name == now)


def delegate_task(context: AppContext, argument: str) -> None:
    """Give a task to an agent (`AGENT TASK`); without an argument, let the user choose the agent."""
    name, _, task = argument.strip().partition(" ")
    if task.strip():
        context.submit(Delegate(agent=name, text=task.strip()))
        return
    if name:
        hint = "/delegate needs an agent and a task, for example /delegate verify run the tests."
        context.app.say(hint, "warning")
        return
    picker = open_picker(
        context,
        "Delegate to",
        [],
        lambda name: context.editor.put_text(f"/delegate {name} "),
        empty="No agents that take a task. docs/delegation.md describes how to add one.",
    )
    context.worker(list_agents(context, picker, "delegate"), "agents")


def choose_policy(context: AppContext, argument: str) -> None:
    """Switch to the policy named `argument`; without an argument, show the policies and the rules in force."""
    if argument:
        if argument in POLICIES:
            context.choices.choose_policy(argument)
        else:
            context.app.say(f"The policy can be {', '.join(POLICIES)}.", "warning")
        return
    sheet = PolicySheet(context, lambda rule: _ask_to_remove(context, sheet, rule))
    context.app.push_screen(sheet)
    context.worker(_load_rules(context, sheet), "policy")


async def _load_rules(context: AppContext, sheet: PolicySheet, fault: str = "") -> None:
    """Load the saved rules that apply to the session, and show them in the sheet.

    `fault`: the error message to show after a rule could not be removed.
    """
    status, output = await context.ask("policy", "rules", "--json", *context.place)
    home = context.app.environ.get("HOME", "").rstrip("/")
    # The source of a rule has the form `FILE, rule NUMBER`.
    rules = [
        FileRule(
            text_of(row, "rule"),
            text_of(row, "scope"),
            _shorten(text_of(row, "source").rpartition(", rule ")[0], home),
            text_of(row, "workspace"),
            is_own=not row.get("bounded"),
        )
        for row in json_rows(output)
    ]
    sheet.set_rules(rules, non_json_text(output) if status else fault)


def _ask_to_remove(context: AppContext, sheet: PolicySheet, rule: FileRule) -> None:
    is_allowing = rule.text.startswith("allow")
    effect = "the policy decides" if is_allowing else "matching calls can be allowed"

    async def remove() -> None:
        everywhere = () if rule.workspace else ("--everywhere",)
        words = (*everywhere, *context.place, "--", rule.text)
        status, output = await context.ask("policy", "remove", *words)
        await _load_rules(context, sheet, non_json_text(output) if status else "")

    def answer(yes: bool | None) -> None:
        if yes:
            context.worker(remove(), "policy")

    confirm = Confirm(
        "Remove this rule?",
        (
            rule.text,
            f"The rule applies {rule.scope} and is saved in {rule.file}.",
            f"Without this rule, {effect}.",
        ),
        yes=("confirm_yes", "remove it"),
        no="keep it",
    )
    context.app.push_screen(confirm, answer)


def _shorten(source: str, home: str) -> str:
    return f"~{source[len(home) :]}" if home and source.startswith(home + "/") else source


def next_policy(context: AppContext, argument: str) -> None:
    """Switch to the policy `argument`; without an argument, to the next one in the order plan, ask, accept-edits."""
    now = context.state.settings.policy if context.state.settings else "ask"
    context.choices.try_policy(cast(UserPolicy, argument) if argument else policy_after(now))


def limit_cost(context: AppContext, argument: str) -> None:
    """Limit the cost of the session to the amount `argument`, in dollars."""
    try:
        amount = float(argument.lstrip("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e6:
        context.app.say("/cost needs an amount in dollars, for example /cost 2.50.", "warning")
        return
    settings = context.state.settings
    budgets = settings.budgets if settings else Budgets()
    context.submit(SetBudgets(budgets=budgets.model_copy(update={"max_cost_usd": amount})))
    if settings and settings.model.model and not settings.model.has_price:
        return  # The transcript says that the limit cannot be enforced.
    context.app.say(f"Cost limit set: the session stops at {format_cost(amount)}.", "done")


def toggle_vim(context: AppContext, argument: str) -> None:
    """Turn vim keys in the prompt on or off until the user quits."""
    editor = context.app.editor
    is_on = editor.vim is None
    editor.use_vim(on=is_on)
    editor.post_message(editor.Edited())
    state = "on" if is_on else "off"
    context.app.say(
        f"Vim keys are {state} until you quit. To keep this setting: vim = {str(is_on).lower()} in config.toml.",
        "done",
    )


def choose_theme(context: AppContext, argument: str) -> None:
    """Switch to the theme `argument`: a name, `dark` or `light`.

    Without an argument, list the themes.
    """
    themes, faults = discover(theme_folders(context.app.environ), context.app.plugin_themes())
    if argument:
        name = argument if argument in themes else _theme_by_brightness(argument.lower(), themes)
        if name:
            context.app.use_theme(name)
            kind = "dark" if themes[name].dark else "light"
            _keep_theme(context, name, "" if name == argument else f", a {kind} theme. /theme lists all")
        elif fault := next((fault for path, fault in faults.items() if path.stem == argument), None):
            context.app.say(f"The theme {clean_line(argument)[:40]} cannot be used. {fault}", "warning")
        else:
            names = ", ".join(sorted(themes))
            context.app.say(
                f"No theme {clean_line(argument)[:40]}. Choose from {names}, dark, light.", "warning"
            )
        return
    before = context.app.theme_name
    items = [
        Item(
            name,
            name,
            about=file.about,
            right="hard to read" if file.warnings else "",
            current=name == before,
        )
        for name, file in themes.items()
    ]
    items += [
        Item("", path.name, about=str(fault), offered=False, group="Not usable")
        for path, fault in faults.items()
    ]

    def use_theme_choice(value: str | None) -> None:
        context.app.use_theme(value or before)  # Esc restores the theme from before the preview.
        if value and value != before:
            _keep_theme(context, value)

    context.app.push_screen(Picker("Theme", items, preview=context.app.use_theme), use_theme_choice)


def _theme_by_brightness(word: str, themes: Mapping[str, ThemeFile]) -> str:
    """Return a theme for the word `dark` or `light`; `""` for any other word."""
    is_dark = {"dark": True, "light": False}.get(word)
    names = [name for name in (DEFAULT_THEME, *themes) if name in themes and themes[name].dark is is_dark]
    return next(iter(names), "")


def _keep_theme(context: AppContext, name: str, why: str = "") -> None:
    """Save the theme for later starts, and show a notice.

    `why`: the reason for the choice, shown after the theme's name.
    """
    context.choices.remember(theme=name)
    note = context.config.note_on_choice("theme", name) if context.config is not None else ""
    context.app.say(f"Using theme {name}{why}.{note}", "done")
