"""`mcp list` and `mcp check`: which servers are configured, and what one offers."""

import json
import sys
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.mcp.offered_tools import tool_name

SERVER = Path(__file__).parents[2] / "stubs" / "mcp_server.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f"""
[mcp.good]
command = "{sys.executable}"
args = ["{SERVER}", "good"]
[mcp.bad]
command = "{sys.executable}"
args = ["{SERVER}", "exits"]
[mcp.doubles]
command = "{sys.executable}"
args = ["{SERVER}", "doubles"]
[mcp.keyless]
url = "https://example.org/mcp"
headers = {{ Authorization = "Bearer ${{NO_SUCH_TOKEN}}" }}
[mcp.resting]
command = "x"
enabled = false
"""
    )
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"good": {"command": "evil"}, "theirs": {"command": "y", "type": "stdio"}}})
    )
    return workspace


def shown(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_list_has_a_projects_servers_only_if_it_is_trusted(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "list", "--json", "-C", str(place)]) == 0
    output = capsys.readouterr()
    found = [json.loads(line) for line in output.out.splitlines()]
    assert f"{place / '.mcp.json'} is not used" in output.err and "tui-agent trust" in output.err
    assert [(each["name"], each["state"]) for each in found] == [
        ("good", "on"),
        ("bad", "on"),
        ("doubles", "on"),
        ("keyless", "faulty"),
        ("resting", "off"),
    ]
    assert found[3]["fault"] == "the variable NO_SUCH_TOKEN is not set"
    assert main(["mcp", "list", "--json", "--trust-project", "-C", str(place)]) == 0
    assert [(each["name"], each["starts"]) for each in shown(capsys)][::5] == [
        ("good", f"{sys.executable} {SERVER} good"),
        ("theirs", "y"),
    ]


def test_a_check_starts_the_server(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "check", "good", "--json", "-C", str(place)]) == 0
    (good,) = shown(capsys)
    assert good["ok"] and [tool["name"] for tool in good["tools"]] == [  # type: ignore[attr-defined]
        "mcp_good_greet",
        "mcp_good_fail",
        "mcp_good_slow",
        "mcp_good_look",
    ]
    assert main(["mcp", "check", "doubles", "-C", str(place)]) == 0
    output = capsys.readouterr()
    names = [line.split(":")[0].strip() for line in output.out.splitlines()[1:]]
    assert names == ["mcp_doubles_greet", "mcp_doubles_a_b", tool_name("doubles", "a/b", ["mcp_doubles_a_b"])]
    assert "The server has two tools named greet" in output.err
    assert main(["mcp", "check", "bad", "-C", str(place)]) == 1
    assert "it ended with 1: no such option: --mcp" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "name", "fault"),
    [
        ("{", ".mcp.json", "it is not valid JSON: Expecting property name enclosed in double quotes"),
        ('{"mcpServers": []}', ".mcp.json", "it has no `mcpServers` object"),
        ('{"mcpServers": {"a": 1}}', "a", "its entry is not an object"),
        ('{"mcpServers": {"a": {}}}', "a", "needs either command or url"),
        ('{"mcpServers": {"a": {"command": "x", "url": "y"}}}', "a", "needs either command or url"),
        ('{"mcpServers": {"a": {"command": "x", "args": 1}}}', "a", "args: Input should be a valid tuple"),
        (
            '{"mcpServers": {"a b": {"command": "x"}}}',
            "a b",
            "its name must consist of at most 40 letters, digits, - and _",
        ),
    ],
)
def test_a_faulty_entry_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], text: str, name: str, fault: str
) -> None:
    (place / ".mcp.json").write_text(text)
    assert main(["mcp", "list", "--json", "--trust-project", "-C", str(place)]) == 0
    found = shown(capsys)[-1]
    assert (found["name"], found["state"]) == (name, "faulty")
    assert str(found["fault"]).startswith(fault)


def test_a_folder_of_that_name_is_no_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / ".mcp.json").unlink()
    (place / ".mcp.json").mkdir()
    assert main(["mcp", "list", "--json", "--trust-project", "-C", str(place)]) == 0
    assert len(shown(capsys)) == 5


def test_a_project_cannot_change_a_server_of_the_user(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / ".tui_agent").mkdir()
    (place / ".tui_agent" / "config.toml").write_text("[mcp.good]\ncommand = 'evil'\n")
    assert main(["mcp", "list", "--trust-project", "-C", str(place)]) == 2
    assert "a project cannot set [mcp]" in capsys.readouterr().err


def test_variables_are_filled_in_and_have_defaults(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", "here")
    entry = {"command": "${WHERE}/run", "args": ["${NONE:-none}", "$WHERE", "${WHERE}"]}
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": entry}}))
    assert main(["mcp", "list", "--json", "--trust-project", "-C", str(place)]) == 0
    assert shown(capsys)[-1]["starts"] == "here/run none $WHERE here"


def test_a_check_without_any_server_says_how_to_add_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["mcp", "check", "time", "-C", str(tmp_path)]) == 2
    written = capsys.readouterr().err
    assert "No MCP servers are configured." in written and "tui-agent config edit" in written
    assert "none" not in written
