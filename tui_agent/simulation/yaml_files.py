"""Reading of YAML files into validated models.

Invariant: the error for a broken file names its path, the field and the reason.
"""

from pathlib import Path
from typing import TypeVar

import yaml

from tui_agent.config.settings.validation_errors import validate
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError

FORMAT_HINT = "The format is described in docs/simulation.md."
T = TypeVar("T")


def read_yaml(path: Path, kind: type[T]) -> T:
    """Return the content of a YAML file as an object of the type `kind`. Raise `ConfigError` if that fails."""
    text = read_small(path)
    if text is None:
        raise ConfigError(f"{path} was not found.", hint=FORMAT_HINT)
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}.", hint="Correct that line.") from error
    return validate(tree, kind, path, FORMAT_HINT)
