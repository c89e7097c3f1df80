"""Descriptions of the errors that plugins raise. Invariant: one line each, without a traceback."""

import traceback
from pathlib import Path

from tui_agent.errors import TuiAgentError


def describe_plugin_error(error: BaseException) -> str:
    """Return an error that a plugin raised as one line."""
    if isinstance(error, TuiAgentError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"It needs the module {error.name}, which is not installed."
    text = " ".join(str(error).split())
    kind = "it ended the program" if isinstance(error, SystemExit) else type(error).__name__
    return f"{kind}: {text}" if text else kind


def locate_plugin_error(error: BaseException, stack: traceback.StackSummary | None, path: Path | None) -> str:
    """Return the innermost line of the plugin at `path` that was running, as `FILE:LINE`; empty if there is none.

    `stack` is where the plugin was, if the error does not tell.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    place = ""
    root = None if path is None else str(path)
    for frame in stack or traceback.extract_tb(error.__traceback__):
        if root is not None and frame.filename.startswith(root):
            place = f"{frame.filename}:{frame.lineno}"
    return place
