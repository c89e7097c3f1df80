"""`--trust-project`: a folder's own files, as they are at this moment, trusted for one run.

Invariant: bound to content that was read, never to a name; nothing is remembered.
"""

import os
from pathlib import Path

from tui_agent.config.options import SessionOptions
from tui_agent.config.project import projects
from tui_agent.errors import UsageError


def keys_now(cwd: Path) -> tuple[str, ...]:
    """The present contents of what could steer a start in `cwd`, as keys that trust them for one run.

    Raises `UsageError` where something cannot be bound to its content.
    """
    looked = projects(SessionOptions(cwd=cwd), os.environ, here=Path.cwd())
    for one in looked:
        if one.files.fault:
            raise UsageError(
                f"{one.files.folder} cannot be trusted: {one.files.fault}.",
                hint="Only plain files can be bound to their content; make it one, or remove it.",
            )
    return tuple(one.files.key for one in looked if one.files.files)
