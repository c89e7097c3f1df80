"""Descriptions of the errors that plugins raise. Invariant: a description is one line without a traceback."""

import traceback
from pathlib import Path

from tui_agent.errors import TuiAgentError


def error_line(error: BaseException) -> str:
    """Return the text of an error in one line, or an empty string if there is no usable text."""
    try:
        return " ".join(str(error).split())
    except BaseException:  # noqa: BLE001 - the text is computed by code of the plugin
        return ""


def unwrap_group(error: BaseException) -> BaseException:
    """Return the only error of an exception group. Return any other error unchanged."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def describe_plugin_error(error: BaseException) -> str:
    """Return a one-line description of a plugin's error."""
    error = unwrap_group(error)
    if isinstance(error, TuiAgentError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"It needs the module {error.name}, which is not installed."
    text = error_line(error)
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def locate_plugin_error(error: BaseException, stack: traceback.StackSummary | None, path: Path | None) -> str:
    """Return where in the plugin an error happened, as `FILE:LINE`, or an empty string.

    `path`: the plugin's folder or file.
    `stack`: call stack to search; None for the error's traceback.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    place = ""
    root = None if path is None else str(path)
    for frame in stack or traceback.extract_tb(error.__traceback__):
        if root is not None and frame.filename.startswith(root):
            place = f"{frame.filename}:{frame.lineno}"
    return place
