"""Artifacts for plugins: long texts of a session, split into numbered rows for reading."""

import asyncio
from collections.abc import Iterator

from tui_agent.errors import BlobNotFound, ToolError
from tui_agent.ports.tool import ToolContext
from tui_agent.protocol.artifacts import ARTIFACT_PREFIX, Artifact

MAX_LISTED = 5
MAX_ROW_CHARS = 2_000
"""Maximum number of characters in a row; a longer line becomes several rows."""


def is_artifact(path: str) -> bool:
    """Return True if a tool's argument `path` names an artifact of the session and not a file."""
    return path.strip().startswith(ARTIFACT_PREFIX)


async def read_artifact(artifact_id: str, ctx: ToolContext) -> list[str]:
    """Return the rows of an artifact of this session, with secrets redacted.

    Raise `ToolError` if the artifact is missing.
    """
    artifact = _find_artifact(artifact_id.strip(), ctx)
    try:
        text = await asyncio.to_thread(ctx.blobs.read_text, artifact.text)
    except BlobNotFound as fault:
        raise ToolError(
            f"The stored output {artifact.id} is missing or damaged.",
            hint="Run the call again to get the output.",
        ) from fault
    return await asyncio.to_thread(lambda: list(_split_rows(text)))


def _find_artifact(artifact_id: str, ctx: ToolContext) -> Artifact:
    known = ctx.state.artifacts
    artifact = known.get(artifact_id)
    if artifact is None:
        newest = ", ".join(
            f"{artifact.id} ({artifact.tool})" for artifact in list(known.values())[-MAX_LISTED:]
        )
        hint = f"The newest are: {newest}." if newest else "The session has no artifacts yet."
        raise ToolError(f"The session has no {artifact_id}.", hint=hint)
    return artifact


def _split_rows(text: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n"):
        for start in range(0, max(len(line), 1), MAX_ROW_CHARS):
            yield line[start : start + MAX_ROW_CHARS].removesuffix("\r")
