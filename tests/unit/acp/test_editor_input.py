"""An editor's prompt as a message (text, links, embedded files, images), and its MCP servers as those of a session."""

import base64
import json
from pathlib import Path

import acp
import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from tui_agent.acp.editor_input import PromptBlock, build_prompt, server_entries
from tui_agent.config.extensions.mcp_servers import load_mcp_servers
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.errors import UsageError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
WORK = Path("/work")


def test_files_of_the_workspace_are_mentions_and_embedded_text_follows(tmp_path: Path) -> None:
    blocks: list[PromptBlock] = [
        acp.text_block("Compare"),
        acp.resource_link_block("a.py", "file:///work/src/a.py"),
        acp.text_block("with"),
        acp.resource_link_block("b", "file:///work/b%20c.py"),
        acp.resource_link_block("web", "https://example.com/x"),
        acp.resource_link_block("out", "file:///etc/hosts"),
        acp.resource_block(acp.embedded_text_resource("file:///work/open.py", "unsaved = 1\n")),
    ]
    message = build_prompt(blocks, WORK, tmp_path)
    assert message.text == (
        'Compare @src/a.py with @"b c.py"  https://example.com/x  file:///etc/hosts  open.py\n\n'
        '<file path="open.py">\nunsaved = 1\n\n</file>'
    )


def test_an_image_is_written_to_a_file_of_its_own(tmp_path: Path) -> None:
    image = acp.image_block(base64.b64encode(PNG).decode(), "image/jpeg")
    message = build_prompt([image, image], WORK, tmp_path)
    assert message.text == ""
    assert [attachment.media_type for attachment in message.attachments] == ["image/png"] * 2
    paths = [Path(attachment.path) for attachment in message.attachments]
    assert [path.read_bytes() for path in paths] == [PNG] * 2 and len(set(paths)) == 2
    assert all(path.parent == tmp_path and path.stat().st_mode & 0o077 == 0 for path in paths)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        (acp.text_block("  "), "The prompt is empty."),
        (acp.image_block("no base64!", "image/png"), "not valid base64"),
        (acp.image_block(base64.b64encode(b"GIMP").decode(), "image/png"), "not PNG, JPEG, GIF or WebP"),
        (acp.audio_block("", "audio/wav"), "A prompt cannot contain audio."),
        (
            acp.resource_block(acp.embedded_blob_resource("file:///work/x.bin", "AA==")),
            "A prompt cannot contain resource.",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(block: PromptBlock, fault: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=fault):
        build_prompt([block], WORK, tmp_path)


SERVERS = [
    McpServerStdio(name="My time!", command="/bin/time", args=["-x"], env=[EnvVariable(name="A", value="1")]),
    HttpMcpServer(
        type="http", name="wiki", url="https://wiki.example", headers=[HttpHeader(name="K", value="v")]
    ),
    SseMcpServer(type="sse", name="old", url="https://old.example", headers=[]),
]


def test_an_editors_servers_stand_between_the_users_and_the_projects(tmp_path: Path) -> None:
    entries = server_entries(SERVERS)
    assert [(name, json.loads(settings)) for name, settings in entries] == [
        ("My-time", {"command": "/bin/time", "args": ["-x"], "env": {"A": "1"}}),
        ("wiki", {"url": "https://wiki.example", "headers": {"K": "v"}}),
    ]
    folder = tmp_path / "tui-agent"
    folder.mkdir()
    (folder / "config.toml").write_text('[mcp.wiki]\ncommand = "mine"\n')
    options = SessionOptions(cwd=tmp_path, client="editor", mcp_servers=entries)
    assert SessionOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    config = load_config(options, {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}, here=tmp_path)
    loaded = load_mcp_servers(config, {}, options.mcp_servers)
    assert [(server.name, server.fault) for server in loaded] == [("wiki", ""), ("My-time", "")]
    assert [server.table and server.table.command for server in loaded] == ["mine", "/bin/time"]
    assert loaded[1].source == "the editor"
