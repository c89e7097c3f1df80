"""Conversion of an editor's prompts to messages of a session, and of the editor's MCP servers to settings.

A prompt contains text, links to files, embedded files and images.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import mkstemp
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AcpMcpServer,
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
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


EditorServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
MAX_NAME_CHARS: Final = 40
_NOT_IN_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")


def server_entries(servers: Iterable[EditorServer]) -> tuple[tuple[str, str], ...]:
    """Return (name, settings) for each supported server. The settings are JSON, as in `.mcp.json`."""
    entries: dict[str, str] = {}
    for server in servers:
        settings: dict[str, object]
        match server:
            case McpServerStdio():
                variables = {variable.name: variable.value for variable in server.env}
                settings = {"command": server.command, "args": server.args, "env": variables}
            case HttpMcpServer():
                headers = {header.name: header.value for header in server.headers}
                settings = {"url": server.url, "headers": headers}
            case _:
                continue  # the protocol does not require agents to support these kinds
        name = _NOT_IN_NAME.sub("-", server.name).strip("-_")[:MAX_NAME_CHARS] or "server"
        entries[name] = json.dumps(settings)
    return tuple(entries.items())
