"""An editor's MCP servers as those of a session."""

import json
from pathlib import Path

from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from tui_agent.acp.mcp_servers import server_entries
from tui_agent.config.extensions.mcp_servers import load_mcp_servers
from tui_agent.config.options import SessionOptions
from tui_agent.config.settings.layers import load_config

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
