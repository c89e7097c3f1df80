"""Write docs/command-line.md and docs/configuration.md: `python -m docs.generate_reference`.

The texts are taken from the parsers and the settings. A test checks that the pages are up to date.
"""

import argparse
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.shared_options import GROUPS
from tui_agent.cli.main import APP, VERBS, Verb, parser_for
from tui_agent.config.settings.environment_settings import EnvironmentsSettings
from tui_agent.config.settings.layers import FALLBACKS, VARIABLES
from tui_agent.config.settings.settings import (
    CheckpointSettings,
    Config,
    ContextSettings,
    DelegationSettings,
    HookSettings,
    ModelProfile,
    SandboxSettings,
    SecretSettings,
)
from tui_agent.protocol.settings import Budgets

COMMAND_LINE = Path(__file__).parent / "command-line.md"
CONFIGURATION = Path(__file__).parent / "configuration.md"
NOTE = "<!-- Written by `python -m docs.generate_reference`; do not edit. -->"

HEAD = "\n| key | meaning | default |\n|---|---|---|"
INTRODUCTION = f"""\
# Configuration

{NOTE}

A setting has the value of the first of these that sets it: options, environment variables, `.tui_agent/config.toml` of a trusted
project, your `config.toml`. `tui-agent config show` says where each value comes from, `tui-agent config path` where the files are.
API keys are never in configuration ([models.md](models.md#keys)). If a file has an unknown setting, the error names its line.

**In the app.** `/settings` lists every setting with its value and the source of the value; type to search, and press Enter to
change one in your `config.toml`. If you edit the file in another way while the app is open, the app's lists show the
change after the next start; a new or changed model profile works at once with `/model NAME`. `/keys` gives an action another key, names the conflicts before you save, and shows what your
terminal sends for a key. Comments in the file stay, and a value that is not valid is not written. `/theme` shows each theme
while you choose. Without a choice it is `day` if the terminal reports a light background, else `night`; `beacon` and `ink` have
a high contrast, `harbour` is for colour-blind eyes, and `terminal` uses the terminal's own colours.

**Notifications.** When a turn ends, or an approval or question waits, and the terminal is not focused, the app sends a message
of the terminal (OSC 9, or OSC 777 in foot, urxvt and VTE terminals) and rings the bell. `notifications = "desktop"` uses
notify-send or macOS instead, except over ssh; `bell` only rings; `off` does neither. tmux needs `focus-events on` and
`allow-passthrough on`.

**Your own status line.** `[status] command = "~/bin/status"` runs the command when the session's facts change, at most once a second and
for five seconds, with those facts as JSON on its standard input: `session`, `title`, `workspace`, `branch`, `model`, `policy`, `state`, `turn`,
`context` (`tokens`, `window`, `share`), `cost_usd` and `cost_precision` (`exact`, `estimated`, or `partial`: at least this much). The first line it prints is shown, without colours, in place of the pipeline.

**Remembered choices.** The app remembers the theme, the model and the side panes (F6) that you choose in it, the addresses of your own servers, and the policy of
each project, in `choices.json` of the data folder. When the app starts again, in a terminal or a browser (`tui-agent serve`), it uses
them for settings that none of the above sets; `tui-agent run` uses only the model. Options such as `--model` hold for one start. The app
remembers the policies `ask` and `accept-edits`, and says so when you choose one. `plan` and `bypass` are never remembered: to start in `plan`, set
`policy` in a configuration file. If you switch to `accept-edits` with Shift+Tab, it is remembered when you send a message in it; `ask`, and
a policy that you choose in `/policy`, at once. The policy of an approved plan holds for its session only. `/new` starts with the remembered
policy, or with `accept-edits` if you have just switched to it with Shift+Tab. A session that you open again keeps its own model and policy, but not `bypass`. To forget the choices, delete the file."""
SETTINGS_TABLES: tuple[tuple[str, str, Any], ...] = (
    ("[models.NAME]", "Examples for vendors and local servers: [models.md](models.md).", ModelProfile),
    ("[budgets]", "", Budgets),
    ("[context]", "What they mean: [context.md](context.md).", ContextSettings),
    ("[delegation]", "What they mean: [delegation.md](delegation.md).", DelegationSettings),
    ("[checkpoints]", "What they mean: [checkpoints.md](checkpoints.md).", CheckpointSettings),
    ("[sandbox]", "What it promises: [sandbox.md](sandbox.md).", SandboxSettings),
    *(
        (f"[environments.{name}]", "Examples: [environments.md](environments.md).", field.annotation)
        for name, field in EnvironmentsSettings.model_fields.items()
    ),
    ("[secrets]", "", SecretSettings),
    ("[[hook]]", "When they run, and what they can answer: [hooks.md](hooks.md).", HookSettings),
)
"""The tables of config.toml: name, remark, and the model with its keys."""

EXITS = {
    Exit.DONE: "done",
    Exit.FAILED: "the task failed",
    Exit.USAGE: "wrong usage or configuration",
    Exit.BUDGET: "a budget was reached",
    Exit.DENIED: "a permission was denied and nothing could be done",
    Exit.MODEL: "the model or its provider failed",
    Exit.INTERRUPTED: "interrupted",
}


def cell(text: object) -> str:
    """Return a text on one line and with escaped bars, for a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def words(action: argparse.Action) -> str:
    """Return an option in all spellings with its value, or the name of an argument."""
    value = action.metavar or ("|".join(action.choices) if action.choices else "")
    if not action.option_strings:
        return str(value or action.dest)
    value = value or action.dest.upper()
    shown = ", ".join(action.option_strings)
    return f"{shown} {value}" if action.nargs != 0 and value else shown


def arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the table of a parser's arguments, without the options of its groups of common options."""
    shared = {"--debug"}.union(
        *(action.option_strings for group in groups_of(parser) for action in group_options(group))
    )
    own = [
        action
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
        and not set(action.option_strings) & shared
    ]
    if own:
        yield "\n| argument | meaning |\n|---|---|"
        yield from (f"| `{cell(words(action))}` | {cell(action.help)} |" for action in own)


def common(parser: argparse.ArgumentParser) -> set[str]:
    """Return all options of a parser, except those for help."""
    return {
        word for action in parser._actions for word in action.option_strings if word not in ("-h", "--help")
    }


def group_options(group: str) -> list[argparse.Action]:
    """Return the options of one of the `GROUPS`."""
    parser = argparse.ArgumentParser(add_help=False)
    GROUPS[group](parser)
    return parser._actions


def groups_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the names of the groups of common options that a parser has."""
    has = common(parser)
    return [
        group
        for group in GROUPS
        if all(has.issuperset(action.option_strings) for action in group_options(group))
    ]


def describe(prog: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the arguments, common options and examples of one command."""
    yield from arguments(parser)
    if shared := groups_of(parser):
        yield f"\nCommon options: {', '.join(shared)}."
    if parser.epilog and "examples:" in parser.epilog and not prog.count(" ") > 1:
        examples, _, rest = parser.epilog.split("examples:\n")[1].partition("\n\n")
        yield "\n```\n" + "\n".join(line.strip() for line in examples.splitlines()) + "\n```"
        if rest:
            yield f"\n{rest.strip()}"


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of each verb of a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def command(name: str, verb: Verb) -> Iterator[str]:
    """Yield the section of a command, followed by those of its verbs."""
    prog = f"tui-agent {name}".strip()
    parser = parser_for(prog, verb, import_module(verb.module))
    yield f"\n## {prog}\n\n{parser.description}"
    yield from describe(prog, parser)
    for inner_name, inner in subcommands(parser):
        summary = str(inner.description)
        yield f"\n### {prog} {inner_name}\n\n{summary[:1].upper()}{summary[1:]}."
        yield from describe(f"{prog} {inner_name}", inner)


def command_line_page() -> str:
    """Return the text of docs/command-line.md."""
    lines = [f"# The command line\n\n{NOTE}\n"]
    lines.append(
        "An error is one line on standard error. The line says what failed and what to do. `--debug` adds a traceback."
    )
    lines.append("Output is coloured on a terminal, unless `NO_COLOR` is set.")
    lines.append("\n| exit status | meaning |\n|---|---|")
    lines += [f"| {int(status)} | {meaning} |" for status, meaning in EXITS.items()]
    lines.append(
        "\n## Common options\n\nThese options mean the same for every command. You can put them before or after the command's name."
    )
    for group in GROUPS:
        lines.append(f"\n| {group} | meaning |\n|---|---|")
        lines += [f"| `{cell(words(action))}` | {cell(action.help)} |" for action in group_options(group)]
    for name, verb in {"": APP, **VERBS}.items():
        lines += command(name, verb)
    return "\n".join(lines) + "\n"


def limits_by_setting() -> dict[str, str]:
    """Return the help of the options for limits, by the name of the setting."""
    return {
        "max_cost_usd" if action.dest == "max_cost" else action.dest: str(action.help)
        for action in group_options("limits")
    }


def settings(model: type[BaseModel]) -> Iterator[str]:
    """Yield a table row for each setting of a model."""
    limits = limits_by_setting()
    for name, field in model.model_fields.items():
        default = "" if field.default in (PydanticUndefined, None, "", ()) else field.default
        shown = "required" if field.is_required() else ""
        if isinstance(default, bool | int | float | str) and default != "":
            shown = f"`{json.dumps(default)}`"
        meaning = field.description or limits.get(name, "")
        yield f"| `{name}` | {cell(meaning)} | {cell(shown)} |"


def configuration_page() -> str:
    """Return the text of docs/configuration.md."""
    lines = [INTRODUCTION, HEAD, *settings(Config)]
    for table, remark, model in SETTINGS_TABLES:
        lines += [f"\n## `{table}`" + (f"\n\n{remark}" if remark else ""), HEAD, *settings(model)]
    return "\n".join([*lines, *variables()]) + "\n"


def variables() -> Iterator[str]:
    """Yield the section about environment variables."""
    yield "\n## Environment variables\n\n| variable | sets |\n|---|---|"
    yield from (f"| `{name}` | `{'.'.join(key)}` |" for name, key in VARIABLES.items())
    yield "| `TUI_AGENT_HOME` | `data_dir` |"
    yield from (f"| `{name}` | `{'.'.join(key)}`, if nothing else does |" for name, key in FALLBACKS.items())
    yield "| `NO_COLOR` | no colour anywhere |"


def main() -> None:
    """Write both pages."""
    COMMAND_LINE.write_text(command_line_page(), encoding="utf-8")
    CONFIGURATION.write_text(configuration_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
