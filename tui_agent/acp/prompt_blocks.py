"""Conversion of an editor's prompt (text, links to files, embedded files, images) to a message of a session."""

import base64
import binascii
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkstemp
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from tui_agent.errors import UsageError
from tui_agent.protocol.commands import Attachment, SubmitPrompt
from tui_agent.protocol.parts import image_type

PromptBlock: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
_SUFFIXES: Final = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def build_prompt(blocks: Sequence[PromptBlock], workspace: Path, image_folder: Path) -> SubmitPrompt:
    """Convert an editor's prompt to a message. Images are written to `image_folder`.

    A link to a file of the workspace becomes a mention (`@path`). The text of an embedded file is added at the end.
    Raise `UsageError` for a block that cannot be sent.
    """
    # An embedded file's text is used instead of the file on disk, which can lack changes that were not saved.
    words: list[str] = []
    appended: list[str] = []
    attachments: list[Attachment] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri):
                words.append(f" {_mention(uri, workspace)} ")
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                name = _path_in_workspace(uri, workspace) or uri
                words.append(f" {name} ")
                appended.append(f'<file path="{name}">\n{text}\n</file>')
            case ImageContentBlock(data=data):
                attachments.append(_save_image(data, image_folder))
            case _:
                raise UsageError(
                    f"A prompt cannot contain {block.type}.", hint="Send text, files as text, or images."
                )
    text = "\n\n".join(["".join(words).strip(), *appended]).strip()
    if not text and not attachments:
        raise UsageError("The prompt is empty.")
    return SubmitPrompt(text=text, attachments=tuple(attachments))


def _mention(uri: str, workspace: Path) -> str:
    path = _path_in_workspace(uri, workspace)
    if not path:
        return uri
    return f'@"{path}"' if any(char.isspace() for char in path) else f"@{path}"


def _path_in_workspace(uri: str, workspace: Path) -> str:
    """Return the path of a `file:` URI relative to the workspace; empty if the URI points elsewhere."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = Path(unquote(parts.path))
    return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else ""


def _save_image(data: str, folder: Path) -> Attachment:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError("An image of the prompt is not valid base64.") from error
    media_type = image_type(content)
    if not media_type:
        raise UsageError("An image of the prompt is not PNG, JPEG, GIF or WebP.")
    descriptor, path = mkstemp(dir=folder, suffix=_SUFFIXES[media_type])
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return Attachment(path=path, media_type=media_type)
