"""`--trust-project`: trust a folder's own files, as they are at this moment, for one run.

Invariant: trust is bound to the content that was read, not to names; nothing is stored.
"""

import os
from pathlib import Path

from tui_agent.config.options import SessionOptions
from tui_agent.config.trust import projects
from tui_agent.errors import UsageError


def keys_now(cwd: Path) -> tuple[str, ...]:
    """Return keys that trust the current contents of files that could steer a start in `cwd`.

    Raises `UsageError` if a file cannot be bound to its content.
    """
    found = projects(SessionOptions(cwd=cwd), os.environ, here=Path.cwd())
    for project in found:
        if project.files.fault:
            raise UsageError(
                f"{project.files.folder} cannot be trusted: {project.files.fault}.",
                hint="Only regular files can be trusted; replace it by one, or remove it.",
            )
    return tuple(project.files.key for project in found if project.files.files)
