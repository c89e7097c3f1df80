"""Making a store of a bundle that came from elsewhere.

Invariant: what it brings is checked object by object before it counts; a store that is not sound does not stay.
"""

import shutil
from pathlib import Path

from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError
from tui_agent.workspace.checkpoints.state import KEPT, MAIN, Shadow
from tui_agent.workspace.checkpoints.store_setup import open_store

_PATHS = ("hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "nullSha1")
_STRICT = tuple(word for name in _PATHS for word in ("-c", f"fsck.{name}=error"))


async def import_bundle(shadow: Shadow, bundle: Path) -> None:
    """Make the store, which must not be there yet, of a bundle. Raises `CheckpointError` and leaves nothing then."""
    try:
        await open_store(shadow)
        await shadow.git("bundle", "verify", "--quiet", str(bundle))
        heads = await shadow.git("bundle", "unbundle", str(bundle))
        for line in heads.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition(" ")
            if name == MAIN or name.startswith(KEPT):
                await shadow.git("update-ref", name, f"{commit}^{{commit}}")
        ended = await shadow.git.end(*_STRICT, "fsck", "--full", "--no-dangling", "--no-progress")
        if ended.code:
            raise shadow.git.fault("fsck", ended)
    except CheckpointError:
        await run_sync(lambda: shutil.rmtree(shadow.git.folder, ignore_errors=True))
        raise
