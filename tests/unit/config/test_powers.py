"""What a file could do is told in words, whatever is in it."""

import pytest

from tui_agent.config.project.project_files import ProjectFile
from tui_agent.config.project.trust_effects import describe_effect


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (".env", b"A=1\nexport B=2\nC=3\nD=4\n", "sets A, B, C and 1 more"),
        (".env", b"", "sets no variable"),
        (".env", b"not a line", "sets variables; not a valid .env file"),
        (".env", b"\xff", "sets variables; not a valid .env file"),
        (".tui_agent/config.toml", b'model = "m"\nbase_url = "http://a"\n', "sets the model's address to http://a, sets the model to m"),
        (".tui_agent/config.toml", b'policy = "bypass"\nvim = true\n', "sets the policy to bypass, 1 other setting"),
        (".tui_agent/config.toml", b'[[hook]]\nevent = "x"\n', "runs commands before or after tool calls and turns"),
        (".tui_agent/config.toml", b'[secrets]\nmodel_sees = "plain"\n', "sets whether secrets are sent to the model"),
        (".tui_agent/config.toml", b'model = "m"\n[redaction]\nallow = ["/.*/"]\n', "refused: a project cannot set [redaction], because it could reveal secrets"),
        (".tui_agent/config.toml", b"", "no setting"),
        (".tui_agent/config.toml", b"= [", "settings; not valid TOML"),
        (".tui_agent/config.toml", b"x = " + b"[" * 100_000, "settings; not valid TOML"),
        (".tui_agent/policy.toml", b"[[rule]]\nallow = 'run *'\n[[rule]]\ndeny = 'run x'\n", "lets 1 kind of call run without asking; 1 rule asks or denies"),
        (".tui_agent/policy.toml", b"rule = 1", "policy rules"),
        (".mcp.json", b'{"mcpServers": {"a": {"command": "npx"}, "b": {"url": "http://b"}, "c": {}}}', "starts or connects to npx, http://b, c"),
        (".mcp.json", b"[]", "starts programs that provide tools"),
        (".mcp.json", b'{"mcpServers": {"a": 1}}', "starts programs that provide tools"),
        (".tui_agent/mcp.json", b"[" * 100_000, "starts programs that provide tools"),
        (".tui_agent/plugins/a.py", b"", "code that runs when a session opens"),
        (".tui_agent/plugins/a/words.md", b"", "read by a plugin"),
        (".tui_agent/commands/help.md", b"", "a slash command: its text is sent to the model"),
        (".tui_agent/other", b"", "does nothing by itself, but another file can use it"),
    ],
)  # fmt: skip
def test_a_files_power_by_its_place_and_content(name: str, content: bytes, said: str) -> None:
    assert describe_effect(ProjectFile(name, content)) == said


def test_a_fault_is_what_is_told() -> None:
    assert (
        describe_effect(ProjectFile(".env", fault="is a link to /etc/passwd")) == "is a link to /etc/passwd"
    )
