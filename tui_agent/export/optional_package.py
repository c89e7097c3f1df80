"""Import of optional packages, which only some exports and evaluations need, at their first use."""

from importlib import import_module
from types import ModuleType
from typing import Final

from tui_agent.config.extras import install_hint
from tui_agent.errors import UsageError

EXTRAS: Final = {"duckdb": "parquet", "boto3": "s3", "ray": "ray"}
"""The extra of tui-agent that installs each package."""


def load_package(name: str) -> ModuleType:
    """Import one of the packages in `EXTRAS`. Raises `UsageError` with the line that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as fault:
        if fault.name != name:
            raise
        raise UsageError(
            f"This needs the package {name}, which is not installed.",
            hint=install_hint(EXTRAS[name]),
        ) from fault
