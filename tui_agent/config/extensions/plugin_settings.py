"""The settings of plugins in the tables `[plugins.NAME]` of config.toml.

Invariant: a wrong value is reported with its file and line, and never reaches the plugin.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from tui_agent.config.settings.layers import find_line
from tui_agent.config.settings.setting_list import kind_of
from tui_agent.config.settings.settings import Config
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.protocol.events.plugin import SettingInfo

ModelT = TypeVar("ModelT", bound=BaseModel)


def load_plugin_settings(config: Config | None, plugin: str, model: type[ModelT]) -> ModelT:
    """Return the settings of a plugin. If there is no configuration, return their default values.

    Raise `ConfigError` if a value is wrong.
    """
    table: dict[str, Any] = config.plugins.get(plugin, {}) if config is not None else {}
    unknown = next((key for key in table if key not in model.model_fields), None)
    known = ", ".join(model.model_fields)
    if unknown is not None:
        raise _fault(config, plugin, (unknown,), f"is an unknown key. Remove or correct it (known: {known}).")
    try:
        return model.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"][:1].lower() + first["msg"][1:]
        missing = first["type"] == "missing"
        problem = (
            "is missing. Add it." if missing else f"is {first['input']!r}: {message}. Correct the value."
        )
        raise _fault(config, plugin, tuple(map(str, first["loc"])), problem) from error


def _fault(config: Config | None, plugin: str, key: tuple[str, ...], problem: str) -> ConfigError:
    full = ("plugins", plugin, *key)
    name = ".".join(full)
    origin = config.origin(".".join(full[:3])) if config is not None else "default"
    text = read_small(Path(origin)) if Path(origin).is_absolute() else None
    line = find_line(text, list(full)) if text is not None else None
    place = "" if text is None else f"{origin}, line {line}: " if line else f"{origin}: "
    return ConfigError(f"{place}'{name}' {problem}")


def describe_settings(model: type[BaseModel]) -> Iterator[SettingInfo]:
    """Yield a description of each setting of a plugin, for the settings screen."""
    for name, field in model.model_fields.items():
        kind, choices = kind_of(field.annotation)
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        yield SettingInfo(
            name=name,
            help=field.description or "",
            kind=kind,
            choices=choices,
            default=to_jsonable_python(default, fallback=str),
        )
