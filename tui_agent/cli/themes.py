"""The themes: list them, or show one in this terminal's colours."""

import argparse
from pathlib import Path

from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import coloured, say, say_json, table
from tui_agent.errors import UsageError
from tui_agent.tui.theme.theme import ROLES, ThemeFile, bundled_folder, contrast_pairs, discover
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent themes list
  tui-agent themes preview day
  tui-agent --theme beacon
"""


def configure(parser: Parser) -> None:
    """The verbs below `themes`."""
    verbs = parser.add_subparsers(required=True, metavar="list | preview")
    add_verb(verbs, "list", list_themes, help="the themes and where they lie", examples=EXAMPLES)
    preview = add_verb(
        verbs, "preview", preview_theme, help="a theme's colours and contrasts", examples=EXAMPLES
    )
    preview.add_argument("name", metavar="NAME", help="the theme")


def themes(arguments: argparse.Namespace) -> tuple[dict[str, ThemeFile], list[str], str]:
    """The bundled and the user's themes, what is wrong with others, and the configured one's name."""
    config = ground(session_options(arguments, client="headless", interactive=False)).config
    found, faults = discover([bundled_folder(), config.paths.config_dir / "themes"])
    return found, [str(fault) for fault in faults], config.theme


def list_themes(arguments: argparse.Namespace) -> int:
    """Print a line for each theme."""
    found, faults, chosen = themes(arguments)
    if arguments.json:
        for theme in found.values():
            say_json(as_json(theme, chosen))
        return 0
    rows = [[name, "dark" if theme.dark else "light", theme.about] for name, theme in found.items()]
    table(rows, ["name", "ground", "about"])
    for fault in faults:
        say(fault)
    return 0


def as_json(theme: ThemeFile, chosen: str) -> dict[str, object]:
    """A theme as one JSON object."""
    path: Path | None = theme.path
    return {
        "name": theme.name,
        "dark": theme.dark,
        "about": theme.about,
        "path": str(path) if path else "",
        "chosen": theme.name == chosen,
        "colors": dict(theme.colors),
        "warnings": list(theme.warnings),
    }


def preview_theme(arguments: argparse.Namespace) -> int:
    """Print a theme's roles, in colour where there is any, and its lowest contrasts."""
    found, _, chosen = themes(arguments)
    theme = found.get(arguments.name)
    if theme is None:
        raise UsageError(
            f"There is no theme {arguments.name!r}.", hint=f"There are: {', '.join(sorted(found))}."
        )
    if arguments.json:
        say_json(as_json(theme, chosen))
        return 0
    say(f"{theme.name}: {theme.about}" if theme.about else theme.name)
    for role in ROLES:
        color = theme.colors[role]
        print(f"  {swatch(color)}{role:<18} {color}")
    say("\nlowest contrasts:")
    for pair in contrast_pairs(theme)[:5]:
        say(f"  {pair.ratio:5.2f}:1  {pair.text} on {pair.ground}")
    return 0


def swatch(color: str) -> str:
    """Six cells of a colour, nothing where colour is not welcome."""
    if not coloured():
        return ""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"\x1b[48;2;{red};{green};{blue}m      \x1b[0m  "
