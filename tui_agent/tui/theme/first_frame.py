"""Settings of the first frame: theme, symbols, motion, mouse.

Invariant: this module imports nothing slow and never fails.
"""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tui_agent.config.paths import user_config_dir, user_data_dir
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.user_choices import UserChoices, load_choices
from tui_agent.errors import ConfigError
from tui_agent.tui.theme.glyphs import SymbolSet, choose_symbols
from tui_agent.tui.theme.theme import (
    DEFAULT_THEME,
    LIGHT_THEME,
    ColourMode,
    Looks,
    Palette,
    ThemeFile,
    bundled_folder,
    load_theme,
)

PluginThemes: TypeAlias = Callable[[], Sequence[tuple[str, Path]]]
"""Function that returns (plugin name, path) for each theme file of the plugins."""
MANIFEST: Final = "plugin.toml"


class FirstLook(NamedTuple):
    """The look of the first frame: symbols, theme, colours, mouse and side panes."""

    looks: Looks
    theme: ThemeFile
    mode: ColourMode
    mouse: bool = True
    bare: bool = False
    """True if neither a model nor a session is configured."""
    is_theme_guessed: bool = False
    """True if the user has chosen no theme."""
    sidebar: bool = True
    """False if the user hid the side panes."""


_NAMING = (
    "TUI_AGENT_MODEL",
    "TUI_AGENT_OPENAI_MODEL",
    "TUI_AGENT_BASE_URL",
    "OPENAI_MODEL",
    "TUI_AGENT_AGENT",
)
"""Environment variables that set a model, directly or through an agent."""


def has_no_model_or_session(
    options: SessionOptions, environ: Mapping[str, str], settings: Mapping[str, object]
) -> bool:
    """Return True if no option, variable or configuration file names a model, and no option names a session."""
    is_named = any((options.model, options.base_url, options.agent, options.session, options.continue_latest))
    files = [options.cwd / name for name in (".env", ".tui_agent/config.toml")]
    has_files = any(os.path.exists(file) for file in files)  # noqa: PTH110 - false where it may not be read
    return not (
        is_named
        or has_files
        or any(map(settings.get, ("model", "base_url", "agent")))
        or any(map(environ.get, _NAMING))
    )


def first_look(options: SessionOptions, environ: Mapping[str, str]) -> FirstLook:
    """Return the look of the first frame, from the options, the environment, config.toml and remembered choices."""
    settings = _user_file(environ)
    choices = _choices(options, environ, settings)
    name = (
        options.theme or environ.get("TUI_AGENT_THEME") or str(settings.get("theme") or "") or choices.theme
    )
    symbol_set = environ.get("TUI_AGENT_SYMBOLS") or settings.get("symbols") or "auto"
    symbols: SymbolSet = (
        "ascii" if symbol_set == "ascii" else "unicode" if symbol_set == "unicode" else "auto"
    )
    motion = str(environ.get("TUI_AGENT_MOTION") or settings.get("motion") or "auto")
    mode = colour_mode(environ)
    theme = find_theme(name or guess_theme(environ), environ, partial(find_plugin_themes, options, environ))
    looks = Looks(Palette(theme, mode), choose_symbols(symbols, environ), may_blink(motion, environ))
    return FirstLook(
        looks,
        theme,
        mode,
        mouse=settings.get("mouse") is not False,
        bare=not choices.model and has_no_model_or_session(options, environ, settings),
        is_theme_guessed=not name,
        sidebar=choices.sidebar,
    )


def _choices(
    options: SessionOptions, environ: Mapping[str, str], settings: Mapping[str, object]
) -> UserChoices:
    """Return the remembered choices; empty choices if their folder is unknown."""
    data_dir = options.data_dir or (not environ.get("TUI_AGENT_HOME") and settings.get("data_dir"))
    try:
        folder = Path(str(data_dir)) if data_dir else user_data_dir(environ)
        return load_choices(folder)[0]
    except ConfigError:
        return UserChoices()


def may_blink(motion: str, environ: Mapping[str, str]) -> bool:
    """Return True if blinking is allowed; by default, nothing blinks over ssh."""
    return motion == "on" or (motion != "off" and not environ.get("SSH_CONNECTION"))


def colour_mode(environ: Mapping[str, str]) -> ColourMode:
    """Return the colour mode: "none" if NO_COLOR is set, "16" if the terminal has only 16 colours, otherwise "full"."""
    if environ.get("NO_COLOR"):
        return "none"
    colours = environ.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if colours == "auto":
        # The same rule as in Rich: sixteen colours, unless the terminal says that it has more.
        is_full = _is_true_color(environ) or has_256_colours(environ)
        return "full" if is_full else "16"
    return "16" if colours == "standard" else "full"


def has_256_colours(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal supports 256 colours, but not more."""
    colours = environ.get("TEXTUAL_COLOR_SYSTEM", "auto")
    is_named = environ.get("TERM", "").rpartition("-")[2] in ("256color", "kitty")
    return colours == "256" or (colours == "auto" and not _is_true_color(environ) and is_named)


def _is_true_color(environ: Mapping[str, str]) -> bool:
    return environ.get("COLORTERM", "") in ("truecolor", "24bit")


def guess_theme(environ: Mapping[str, str]) -> str:
    """Return the light theme if COLORFGBG names a light background; otherwise the default theme."""
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT_THEME if ground in ("7", "15") else DEFAULT_THEME


def theme_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folder of the bundled themes, then the user's folder. The user's themes take precedence."""
    return bundled_folder(), user_config_dir(environ) / "themes"


def find_theme(name: str, environ: Mapping[str, str], plugin_themes: PluginThemes) -> ThemeFile:
    """Return the theme of this name or, if the theme is not usable, the default theme."""
    try:
        return named_theme(name, environ, plugin_themes)
    except ConfigError:
        return load_theme(bundled_folder() / f"{DEFAULT_THEME}.toml")


def named_theme(name: str, environ: Mapping[str, str], plugin_themes: PluginThemes = lambda: ()) -> ThemeFile:
    """Return the theme with this name. The user's themes come first, then bundled ones, then plugins' ones.

    Raise `ConfigError` if there is no such theme, or if its file is not valid.
    """
    paths = (folder / f"{name}.toml" for folder in reversed(theme_folders(environ)))
    # A name with a slash could lead out of the folders. os.path returns False for a folder that may not be read.
    path = next((path for path in paths if "/" not in name and os.path.isfile(path)), None)  # noqa: PTH113
    if path is None:
        path = next((path for _, path in plugin_themes() if path.stem == name), None)
    if path is None:
        raise ConfigError(f"No theme {name!r}.", hint="/theme lists all themes.")
    theme = load_theme(path)
    return theme.for_256_colours() if has_256_colours(environ) else theme


def find_plugin_themes(options: SessionOptions, environ: Mapping[str, str]) -> Sequence[tuple[str, Path]]:
    """Return (plugin name, theme file) pairs for the user's plugins, without importing a plugin."""
    if options.no_plugins:
        return ()
    settings = _user_file(environ)
    plugin_dirs, disabled, enabled = (
        settings.get(key) for key in ("plugin_dirs", "plugins_disabled", "plugins_enabled")
    )
    more = [Path(str(path)).expanduser() for path in plugin_dirs] if isinstance(plugin_dirs, list) else []
    folders = [user_config_dir(environ) / "plugins", *more, *options.plugin_dirs]
    # Loaded only if there is a manifest, because it costs time at the start.
    manifests = (path for folder in folders for path in (folder / MANIFEST, *folder.glob(f"*/{MANIFEST}")))
    if not any(map(os.path.isfile, manifests)):
        return ()
    themes: Sequence[tuple[str, Path]] = import_module("tui_agent.plugin_host.discover").theme_files(
        folders, *(names if isinstance(names, list) else () for names in (disabled, enabled))
    )
    return themes


def _user_file(environ: Mapping[str, str]) -> dict[str, object]:
    try:
        with (user_config_dir(environ) / "config.toml").open("rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return {}
