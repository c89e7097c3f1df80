"""Prompt templates in Jinja2; a variable without a value is an error.

Invariant: a template can use only the given values.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tui_agent.errors import ConfigError
from tui_agent.simulation.yaml_files import FORMAT_HINT

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment


def render(template: str, name: str, **values: object) -> str:
    """Fill in a template with `values`. Raise `ConfigError` if the template is faulty.

    `name`: name of the template in error messages.
    """
    try:
        return _environment().from_string(template).render(**values).strip()
    except import_module("jinja2").TemplateError as error:
        raise ConfigError(f"The template {name} is not valid: {error}.", hint=FORMAT_HINT) from error


@cache
def _environment() -> "SandboxedEnvironment":
    # Imported only here, because only a simulation needs templates.
    undefined = import_module("jinja2").StrictUndefined
    environment: SandboxedEnvironment = import_module("jinja2.sandbox").ImmutableSandboxedEnvironment(
        undefined=undefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    return environment
