"""Themes: colour roles read from TOML, validated, converted to Textual themes, and used as styles.

Invariant: a theme defines a colour for exactly the roles in `ROLES`, or uses the terminal's own colours.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from rich.color import Color as RichColor
from rich.style import Style as RichStyle
from textual.theme import Theme

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.protocol.unicode_text import list_first
from tui_agent.tui.theme.glyphs import Symbols

Role: TypeAlias = Literal[
    "sunk", "s0", "s1", "s2", "s3", "selection",
    "t1", "t2", "t3", "accent", "on-accent", "success", "warning", "error",
    "diff-add", "diff-add-strong", "diff-add-text", "diff-del", "diff-del-strong", "diff-del-text",
    "border", "border-strong",
    "keyword", "string", "number", "function", "comment",
]  # fmt: skip
"""Colour roles in this order: backgrounds (lowest first), texts (strongest first), states, diffs, lines, code."""
ColourMode: TypeAlias = Literal["full", "16", "none"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
BUNDLED: Final = ("night", "day", "ember", "frost", "beacon", "ink", "harbour", "terminal")
DEFAULT_THEME: Final = "night"
LIGHT_THEME: Final = "day"
MIN_CONTRAST: Final = 4.5

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TEXTS: Final[tuple[Role, ...]] = ("t1", "t2", "t3", "accent", "success", "warning", "error")
_SURFACES: Final[tuple[Role, ...]] = ("sunk", "s0", "s1", "s2", "s3", "selection")
_CODE: Final[tuple[Role, ...]] = ("keyword", "string", "number", "function", "comment")
_CODE_GROUNDS: Final[tuple[Role, ...]] = ("sunk", "s0", "diff-add", "diff-del")
_PAIRS: Final[tuple[tuple[Role, Role], ...]] = (
    *((text, ground) for ground in _SURFACES for text in _TEXTS),
    *((text, ground) for ground in _CODE_GROUNDS for text in _CODE),
    *((text, ground) for ground in ("diff-add", "diff-del") for text in ("t1", "t2", "t3")),
    ("success", "diff-add"),
    ("error", "diff-del"),
    ("diff-add-text", "diff-add"),
    ("diff-add-text", "diff-add-strong"),
    ("diff-del-text", "diff-del"),
    ("diff-del-text", "diff-del-strong"),
    ("on-accent", "accent"),
    ("s2", "t1"),
)
"""The pairs of text and background that the screens use."""

_SIXTEEN: Final[dict[Role, str]] = {
    "accent": "ansi_blue",
    "function": "ansi_blue",
    "success": "ansi_green",
    "string": "ansi_green",
    "diff-add-text": "ansi_green",
    "warning": "ansi_yellow",
    "number": "ansi_yellow",
    "error": "ansi_red",
    "diff-del-text": "ansi_red",
    "keyword": "ansi_magenta",
    "t3": "ansi_bright_black",
    "comment": "ansi_bright_black",
    "border": "ansi_bright_black",
    "border-strong": "ansi_bright_black",
}
"""Maps a colour role to its colour in a terminal with 16 colours. Other roles have the terminal's default colour."""
_VARIABLES: Final[tuple[tuple[Role, tuple[str, ...]], ...]] = (
    ("accent", ("scrollbar-active", "link-color")),
    ("border", ("border-blurred",)),
    ("border-strong", ("scrollbar", "scrollbar-hover")),
    ("s0", ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")),
    ("s0", ("scrollbar-corner-color", "footer-background", "ansi-background")),
    ("s2", ("block-hover-background",)),
    ("selection", ("input-selection-background", "screen-selection-background")),
    ("t1", ("block-cursor-foreground", "input-selection-foreground", "screen-selection-foreground")),
    ("t1", ("footer-key-foreground", "ansi-foreground")),
    ("t2", ("text-muted",)),
    ("t3", ("text-disabled", "footer-foreground")),
)
"""Maps a colour role to the Textual variables of this colour in every colour mode."""


class ThemeFile(NamedTuple):
    """A validated theme.

    - `colors`: `#rrggbb` for every role; empty if the theme uses the terminal's colours
    - `colors_256`: maps a role to another colour, if the role's colour in `colors` looks wrong in a terminal with only
      256 colours
    """

    name: str
    dark: bool
    colors: Mapping[Role, str]
    about: str = ""
    path: Path | None = None
    colors_256: Mapping[Role, str] = MappingProxyType({})

    def for_256_colours(self) -> "ThemeFile":
        """Return the theme for a terminal with 256 colours."""
        return self._replace(colors={**self.colors, **self.colors_256})

    def mode_in(self, mode: ColourMode) -> ColourMode:
        """Return the colour mode to use for this theme if the terminal's colour mode is `mode`."""
        return mode if self.colors or mode == "none" else "16"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about text colours with a contrast below 4.5:1 on their background."""
        return tuple(
            f"{pair.text} on {pair.ground} has a contrast of {pair.ratio:.2f}:1; "
            f"below {MIN_CONTRAST}:1 is hard to read."
            for pair in contrast_pairs(self)
            if pair.ratio < MIN_CONTRAST
        )


class ContrastPair(NamedTuple):
    """A text role on a background role, and their contrast ratio (WCAG 2, 1 to 21)."""

    text: Role
    ground: Role
    ratio: float


def contrast(first: str, second: str) -> float:
    """Return the WCAG 2 contrast ratio of two `#rrggbb` colours."""
    lights = sorted((_luminance(first), _luminance(second)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def contrast_pairs(theme: ThemeFile) -> list[ContrastPair]:
    """Return the contrast of each used pair of text and background, lowest ratio first.

    The result is empty for the terminal's own colours.
    """
    colors = theme.colors
    used = _PAIRS if colors else ()
    pairs = [ContrastPair(text, ground, contrast(colors[text], colors[ground])) for text, ground in used]
    return sorted(pairs, key=lambda pair: pair.ratio)


def load_theme(path: Path) -> ThemeFile:
    """Read and validate a theme file. Raise ConfigError with the file and the invalid entry."""
    text = read_small(path)
    if text is None:
        raise _refusal(path, "was not found", "Check its name.")
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise _refusal(path, f"is not valid TOML: {fault}", "Correct that line.") from fault
    return parse_theme(raw, path)


def parse_theme(raw: Mapping[str, object], path: Path) -> ThemeFile:
    """Validate the parsed TOML of a theme file. Raise ConfigError with the missing, unknown or invalid entry."""
    unknown = sorted(set(raw) - {"name", "about", "dark", "colors", "colors-256"})
    if unknown:
        raise _refusal(path, f"has an unknown entry {unknown[0]!r}", "Remove it.")
    name = raw.get("name", path.stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _refusal(path, "needs a name of lower-case letters, digits and hyphens", "Correct `name`.")
    dark = raw.get("dark", True)
    about = raw.get("about", "")
    if not isinstance(dark, bool) or not isinstance(about, str) or not about.isprintable():
        raise _refusal(path, "needs `dark` as true or false and `about` as one line of text", "Correct them.")
    colors = raw.get("colors")
    if colors == "terminal":
        return ThemeFile(name, dark, {}, about, path)
    if not isinstance(colors, dict):
        raise _refusal(
            path, "has no [colors] table", "Copy one of the bundled themes and change its colours."
        )
    missing = [role for role in ROLES if role not in colors]
    if missing:
        raise _refusal(
            path, f"has no colour for {list_first(missing, 6)}", 'Add a line for each: role = "#rrggbb".'
        )
    few = raw.get("colors-256", {})
    if not isinstance(few, dict):
        raise _refusal(path, "needs colors-256 as a table", "Write it as [colors-256].")
    return ThemeFile(name, dark, _check_colors(colors, path), about, path, _check_colors(few, path))


def bundled_folder() -> Path:
    """Return the folder of the bundled themes: inside the installed package or, in a checkout, next to the package."""
    package = Path(__file__).resolve().parents[2]
    shipped = package / "_bundled" / "themes"
    return shipped if shipped.is_dir() else package.parent / "themes"


def discover(
    folders: Iterable[Path], plugin_themes: Iterable[tuple[str, Path]] = ()
) -> tuple[dict[str, ThemeFile], dict[Path, ConfigError]]:
    """Load all themes from folders and plugins; return the themes by name, and the errors by file.

    Later folders take precedence. A plugin's theme never replaces another theme.
    """
    themes: dict[str, ThemeFile] = {}
    faults: dict[Path, ConfigError] = {}
    own_themes = (("", path) for folder in folders for path in sorted(folder.glob("*.toml")))
    for plugin, path in (*own_themes, *plugin_themes):
        try:
            theme = load_theme(path)
            if plugin and theme.name in themes:
                raise _refusal(path, f"has the same name as another theme, {theme.name}", "Rename it.")
        except ConfigError as fault:
            owner = f"Plugin {plugin}: " if plugin else ""
            faults[path] = ConfigError(f"{owner}{fault.message}", hint=fault.hint)
        else:
            themes[theme.name] = theme
    return themes, faults


def textual_theme(theme: ThemeFile, mode: ColourMode = "full") -> Theme:
    """Return the Textual theme, with each role as a variable, e.g. `$accent`.

    In the modes "16" and "none", the theme leaves backgrounds to the terminal.
    """
    mode = theme.mode_in(mode)
    colors = dict(theme.colors) if mode == "full" else {role: role_ansi(role, mode) for role in ROLES}
    backdrop = "transparent" if mode != "full" else f"{colors['sunk']} 62%" if theme.dark else "#5b574e 35%"
    return Theme(
        name=theme.name if mode == "full" else f"{theme.name}-{mode}",
        primary=colors["accent"],
        secondary=colors["t2"],
        accent=colors["accent"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        foreground=colors["t1"],
        background=colors["s0"],
        surface=colors["s1"],
        panel=colors["s2"],
        boost=colors["s3"],
        dark=theme.dark,
        ansi=mode != "full",
        variables={**_textual_variables(colors, mode), "backdrop": backdrop},
    )


def role_ansi(role: Role, mode: ColourMode) -> str:
    """Return Textual's name of a role's terminal colour in mode "16" or "none"."""
    return _SIXTEEN.get(role, "ansi_default") if mode == "16" else "ansi_default"


def _textual_variables(colors: Mapping[Role, str], mode: ColourMode) -> dict[str, str]:
    bright = mode == "full"
    return {
        **{str(role): color for role, color in colors.items()},
        **{name: colors[role] for role, names in _VARIABLES for name in names},
        "block-cursor-background": colors["selection"] if bright else "ansi_default",
        "block-cursor-text-style": "none" if bright else "reverse",
        "input-cursor-background": colors["t1"] if bright else "ansi_default",
        "input-cursor-foreground": colors["s2"] if bright else "ansi_default",
        "input-cursor-text-style": "none" if bright else "reverse",
        "link-style": "underline",
    }


def _check_colors(colors: Mapping[str, object], path: Path) -> dict[Role, str]:
    unknown = sorted(set(colors) - set(ROLES))
    if unknown:
        raise _refusal(path, f"has {unknown[0]!r}, which is not a colour role", "Remove it.")
    for role, value in colors.items():
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            raise _refusal(path, f"has {value!r} for {role}", 'Write a colour as "#rrggbb".')
    return {role: cast(str, colors[role]).lower() for role in ROLES if role in colors}


def _refusal(path: Path, problem: str, hint: str) -> ConfigError:
    return ConfigError(f"The theme {path} {problem}.", hint=hint)


def _luminance(color: str) -> float:
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_GROUNDS: Final = frozenset({"sunk", "s0", "s1", "s2", "s3", "diff-add", "diff-del", "border"})
_STRONG: Final = frozenset({"diff-add-strong", "diff-del-strong"})


class Palette:
    """The styles of one theme in one colour mode.

    In the modes "16" and "none", backgrounds are the terminal's own.
    """

    def __init__(self, theme: ThemeFile, mode: ColourMode = "full") -> None:
        self.theme = theme
        self.mode = theme.mode_in(mode)
        self.key: tuple[object, ...] = (theme.name, self.mode, tuple(theme.colors.values()))
        """Identifies the colours: drawn rows are valid as long as this key is the same."""
        self._rich: dict[tuple[object, ...], RichStyle] = {}

    def style(
        self,
        text: Role | None = None,
        ground: Role | None = None,
        *,
        bold: bool = False,
        underline: bool = False,
    ) -> RichStyle:
        """Return a rich style with these roles as the colours of text and background."""
        key = (text, ground, bold, underline)
        style = self._rich.get(key)
        if style is None:
            style = self._rich[key] = self._make_rich(text, ground, bold, underline)
        return style

    def color(self, role: Role) -> str:
        """Return the CSS colour of a role: `#rrggbb`, or the name of a terminal colour."""
        return self.theme.colors[role] if self.mode == "full" else role_ansi(role, self.mode)

    def _make_rich(self, text: Role | None, ground: Role | None, bold: bool, underline: bool) -> RichStyle:
        if self.mode == "full":
            return RichStyle(
                color=None if text is None else RichColor.parse(self.theme.colors[text]),
                bgcolor=None if ground is None else RichColor.parse(self.theme.colors[ground]),
                bold=bold or None,
                underline=underline or None,
            )
        return RichStyle(
            color=self._terminal_color(text, ground),
            bold=bold or None,
            # Backgrounds have no colour here, so a changed word in a diff is underlined, and a selection is reversed.
            underline=underline or ground in _STRONG or None,
            reverse=ground in ("selection", "accent") or None,
        )

    def _terminal_color(self, text: Role | None, ground: Role | None) -> RichColor | None:
        if text is None or self.mode == "none" or ground in ("selection", "accent"):
            return None
        name = role_ansi(text, self.mode).removeprefix("ansi_")
        if name == "default" or (name == "bright_black" and ground not in _GROUNDS and ground is not None):
            return None
        return RichColor.parse(name)


class Looks(NamedTuple):
    """The look of the screen: its styles and symbols, and whether blinking is allowed."""

    palette: Palette
    symbols: Symbols
    motion: bool = True
