"""The settings of a configuration as a flat list: key, value, origin, and accepted values."""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from tui_agent.config.settings.config_toml_edits import Value
from tui_agent.config.settings.settings import Config
from tui_agent.config.user_choices import FILE_NAME
from tui_agent.protocol.events.plugin import PluginLoaded, SettingKind


class ConfigEntry(NamedTuple):
    """One setting.

    `kind`: how the setting is edited. A `table` has several values, which are edited in the file. A `key` is a
    secret.
    """

    key: tuple[str, ...]
    about: str
    kind: SettingKind
    value: object
    origin: str
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The dotted name, such as `sandbox.mode`."""
        return ".".join(self.key)

    @property
    def shown_value(self) -> str:
        """The value in one line, such as `on`, `0.7` or `2 entries`."""
        if self.kind == "key":
            return "set" if self.value else "not set"
        if isinstance(self.value, bool):
            return "on" if self.value else "off"
        if isinstance(self.value, dict | tuple):
            return f"{len(self.value)} {'entry' if len(self.value) == 1 else 'entries'}"
        return "" if self.value in (None, Path()) else str(self.value)

    def parse(self, text: str) -> Value | None:
        """Convert typed text to a value. Except for a switch, an empty text becomes None."""
        if self.kind == "switch":
            return text == "on"
        if self.kind == "number":
            for number in (int, float):
                try:
                    return number(text)
                except ValueError:
                    continue
        return text or None


def list_settings(config: Config) -> list[ConfigEntry]:
    """Return all settings in the order of the schema; settings outside a table come first."""
    return sorted(_settings_of(config, config, ()), key=lambda entry: len(entry.key) > 1)


def origin_word(config: Config, name: str) -> str:
    """Describe a value's origin in a word or two: `your file`, `project`, `environment NAME`, `option`."""
    origin, paths = config.origin(name), config.paths
    words = {
        str(paths.user_config): "your file",
        str(paths.project_config): "project",
        "options": "option",
        str(config.data_dir / FILE_NAME): "chosen in the app",
    }
    return words.get(origin, origin)


def _settings_of(config: Config, table: BaseModel, above: tuple[str, ...]) -> Iterator[ConfigEntry]:
    for name, field in type(table).model_fields.items():
        value, key = getattr(table, name), (*above, name)
        if isinstance(value, BaseModel):
            yield from _settings_of(config, value, key)
            continue
        kind, choices = kind_of(field.annotation)
        about = field.description or (type(table).__doc__ or "").partition("\n")[0]
        yield ConfigEntry(key, about, kind, value, origin_word(config, ".".join(key)), choices)


def list_plugin_settings(config: Config, loaded: PluginLoaded) -> Iterator[ConfigEntry]:
    """Yield the settings and keys that a plugin has registered, with their values."""
    values = config.plugins.get(loaded.plugin, {})
    for setting in loaded.settings:
        key = ("plugins", loaded.plugin, setting.name)
        value = values.get(setting.name, setting.default)
        value = tuple(value) if isinstance(value, list) else value
        yield ConfigEntry(
            key, setting.help, setting.kind, value, origin_word(config, ".".join(key)), setting.choices
        )


def kind_of(annotation: Any) -> tuple[SettingKind, tuple[str, ...]]:
    """Return the kind of a setting with this annotation, and the values to choose from."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(inner for inner in get_args(annotation) if inner is not type(None))
    if get_origin(annotation) is Literal:
        return "choice", tuple(map(str, get_args(annotation)))
    if annotation is bool:
        return "switch", ("on", "off")
    if annotation in (int, float):
        return "number", ()
    return ("text", ()) if annotation in (str, Path) else ("table", ())
