"""Exit statuses of all commands. Invariant: a status never changes its meaning, because scripts rely on it."""

import errno
from enum import IntEnum

from tui_agent.errors import (
    BudgetExceeded,
    ConfigError,
    ModelError,
    ScriptError,
    SessionLocked,
    SessionNotFound,
    SessionVersionError,
    StoreUnusable,
    UsageError,
)


class Exit(IntEnum):
    """The program's exit statuses."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    BUDGET = 3
    DENIED = 4
    MODEL = 5
    INTERRUPTED = 130


_PATH_ERRNOS = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP))

_TURN_ENDS = {
    "finished": Exit.DONE,
    "rejected": Exit.FAILED,
    "interrupted": Exit.INTERRUPTED,
    "part_limit": Exit.BUDGET,
    "iteration_limit": Exit.BUDGET,
    "turn_limit": Exit.BUDGET,
    "time_limit": Exit.BUDGET,
    "cost_limit": Exit.BUDGET,
    "denied": Exit.DENIED,
    "stuck": Exit.FAILED,
    "model_error": Exit.MODEL,
    "error": Exit.FAILED,
}


def turn_exit_status(reason: str) -> Exit:
    """Return the exit status for a `TurnFinished.reason`; `FAILED` for an unknown reason."""
    return _TURN_ENDS.get(reason, Exit.FAILED)


def is_path_error(error: OSError) -> bool:
    """Return True for an error about the permissions or the type of a file or folder."""
    return bool(error.filename) and error.errno in _PATH_ERRNOS


def error_exit_status(error: BaseException) -> Exit:
    """Return the exit status for an error that ended a command."""
    match error:
        case UsageError() | ConfigError() | SessionNotFound() | SessionLocked():
            return Exit.USAGE
        case SessionVersionError() | StoreUnusable():
            return Exit.USAGE
        case BudgetExceeded():
            return Exit.BUDGET
        case ModelError() | ScriptError():
            return Exit.MODEL
        case OSError() if is_path_error(error):
            return Exit.USAGE
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case _:
            return Exit.FAILED
