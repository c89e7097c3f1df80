"""List the themes, or preview one in this terminal's colours."""

import argparse
import os

from tui_agent.cli.console.output import say, say_json, say_json_lines, table, wants_colour
from tui_agent.cli.console.shared_options import Parser, Verbs, load_context
from tui_agent.errors import UsageError
from tui_agent.tui.theme.first_frame import find_plugin_themes, theme_folders
from tui_agent.tui.theme.theme import ROLES, ThemeFile, contrast_pairs, discover

EXAMPLES = """\
examples:
  tui-agent themes list
  tui-agent themes preview day
  tui-agent --theme beacon
"""


def configure(parser: Parser) -> None:
    """Add the subcommands of `themes`."""
    verbs = Verbs(parser, EXAMPLES)
    verbs.add("list", list_themes, "list the themes")
    preview = verbs.add("preview", preview_theme, "show a theme's colours and contrasts")
    preview.add_argument("name", metavar="NAME", help="the theme")


def themes(arguments: argparse.Namespace) -> tuple[dict[str, ThemeFile], list[str], str]:
    """Return the themes by name, the errors in theme files, and the configured theme's name."""
    base = load_context(arguments)
    folders = theme_folders(os.environ)
    available, faults = discover(folders, find_plugin_themes(base.options, os.environ))
    return available, [str(fault) for fault in faults.values()], base.config.theme


def list_themes(arguments: argparse.Namespace) -> None:
    """Print a line for each theme."""
    available, faults, chosen = themes(arguments)
    if arguments.json:
        say_json_lines(as_json(theme, chosen) for theme in available.values())
        return
    rows = [[name, _background_name(theme), theme.about] for name, theme in available.items()]
    table(rows, ["name", "background", "about"])
    for fault in faults:
        say(fault)


def _background_name(theme: ThemeFile) -> str:
    return ("dark" if theme.dark else "light") if theme.colors else "terminal"


def as_json(theme: ThemeFile, chosen: str) -> dict[str, object]:
    return {
        "name": theme.name,
        "dark": theme.dark,
        "about": theme.about,
        "path": str(theme.path or ""),
        "chosen": theme.name == chosen,
        "colors": dict(theme.colors),
        "warnings": list(theme.warnings),
    }


def preview_theme(arguments: argparse.Namespace) -> None:
    """Print each colour of a theme with its role, then the five pairs of colours with the lowest contrast."""
    available, _, chosen = themes(arguments)
    theme = available.get(arguments.name)
    if theme is None:
        raise UsageError(
            f"Unknown theme {arguments.name!r}.", hint=f"Available: {', '.join(sorted(available))}."
        )
    if arguments.json:
        say_json(as_json(theme, chosen))
        return
    say(f"{theme.name}: {theme.about}" if theme.about else theme.name)
    if not theme.colors:
        return
    for role in ROLES:
        color = theme.colors[role]
        print(f"  {swatch(color)}{role:<18} {color}")
    say("\nLowest contrasts:")
    for pair in contrast_pairs(theme)[:5]:
        say(f"  {pair.ratio:5.2f}:1  {pair.text} on {pair.ground}")


def swatch(color: str) -> str:
    """Return six terminal cells filled with a colour such as `#a0b1c2`; empty if colour cannot be used."""
    if not wants_colour():
        return ""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"\x1b[48;2;{red};{green};{blue}m      \x1b[0m  "
