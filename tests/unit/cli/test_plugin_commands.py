"""`plugins new`, `check` and `list`, called as the program calls them."""

import json
import os
import re
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Call, json_lines
from tui_agent.cli.plugins import trial as plugin_trial
from tui_agent.cli.plugins.trial import try_panes
from tui_agent.config.session_options import SessionOptions
from tui_agent.plugin_host.load_records import ENDED_THE_PROGRAM
from tui_agent.plugin_host.plugin_check import check_plugin
from tui_agent.plugin_host.plugin_imports import files_state
from tui_agent.testing import PluginSession
from tui_agent.wiring.plugins import plugin_host
from tui_agent.wiring.startup_context import load_startup_context


@pytest.mark.slow
def test_a_new_plugin_passes_its_own_check_and_is_listed(call: Call, work: Path) -> None:
    status, out, _ = call("plugins", "new", "word_count")
    assert status == 0
    assert "plugins check" in out
    status, out, _ = call("plugins", "check", "./word_count", "--json")
    report = json_lines(out)[0]
    assert (status, report["ok"], report["notes"], report["faults"]) == (0, True, [], [])
    assert report["offers"] == ["tool:word_count"]
    assert call("plugins", "new", "standup", "--kind", "command")[0] == 0
    status, out, _ = call("plugins", "check", "./standup", "--json")
    report = json_lines(out)[0]
    assert (status, report["offers"], report["notes"]) == (0, ["command:standup"], [])
    _, out, _ = call("plugins", "list", "--json", "--plugin-dir", str(work / "word_count"))
    listed = {line["name"]: line for line in json_lines(out)}
    assert listed["word_count"]["state"] == "on"
    assert listed["files"]["source"] == "bundled"
    assert call("plugins", "new", "word_count")[0] == 2
    assert call("plugins", "new", "Word-Count")[0] == 2
    assert call("plugins", "new", "class")[0] == 2


EFFECTS = """
from pydantic import BaseModel
from tui_agent.plugin_api import BaseTool, ToolSpec

class Args(BaseModel):
    path: str
    times: int = 1

class Odd(BaseTool):
    spec = ToolSpec("odd", "Is odd.", Args, "odd")
    def target(self, args): return args.path
    def effects(self, args): return EFFECTS
    async def run(self, args, ctx): ...

def register(api):
    api.tool(Odd())
"""


@pytest.mark.slow
def test_the_names_of_bundled_plugins_and_their_tools_are_taken(call: Call, work: Path) -> None:
    status, out, err = call("plugins", "new", "git")
    assert status == 2 and "git is the name of a bundled plugin" in err and "my_git" in err
    assert not (work / "git").exists()
    assert call("plugins", "new", "notes", "--kind", "mcp")[0] == 0
    status, out, err = call("plugins", "new", "read_file")
    assert status == 2 and "tool read_file is already registered by the bundled plugin files" in err
    assert "my_read_file" in err and not (work / "read_file").exists()
    assert call("plugins", "new", "read_file", "--kind", "command")[0] == 0
    status, out, err = call("plugins", "new", "undo", "--kind", "command")
    assert status == 2 and "The app has its own command /undo and would never run the plugin's. Choose" in err
    called_undo = (work / "read_file" / "__init__.py").read_text().replace("/read_file", "/undo")
    (work / "read_file" / "__init__.py").write_text(called_undo)
    status, out, _ = call("plugins", "check", "read_file")
    assert status == 1 and "problem: The app has its own command /undo" in out
    source = """from tui_agent.plugin_api import tool

@tool(internal="x")
def git_log() -> str:
    "Show the log."
    return ""
"""
    for name in ("mine.py", "web.py"):
        (work / name).write_text(source)
        status, out, _ = call("plugins", "check", name)
        assert status == 1 and "The tool git_log is already registered by the bundled plugin git." in out
    assert "web is the name of a bundled plugin" in out


@pytest.mark.parametrize(
    ("effects", "status", "words"),
    [
        ("()", 0, "declares no effects, so every call needs approval"),
        ("1 / 0", 1, "in `effects`, failed: ZeroDivisionError"),
        ("('x',)", 1, "`effects` returned str instead of effects"),
    ],
)
def test_a_check_tries_the_effects_of_each_tool(
    call: Call, work: Path, effects: str, status: int, words: str
) -> None:
    (work / "odd.py").write_text(EFFECTS.replace("EFFECTS", effects))
    ended, out, _ = call("plugins", "check", "odd.py")
    assert (ended, words in out) == (status, True), out


def test_a_check_ends_and_names_effects_that_never_end(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_trial, "TOOL_LIMIT_S", 0.3)
    loops = EFFECTS.replace("return EFFECTS", "\n        while True: pass")
    (work / "odd.py").write_text(loops, encoding="utf-8")
    status, out, _ = call("plugins", "check", "odd.py")
    assert status == 1 and "`effects` of the tool odd did not end within 0.3 s." in out


def test_a_plugin_that_ended_the_program_is_listed_and_can_be_enabled_again(call: Call, work: Path) -> None:
    (work / "bad.py").write_text("import os\nos._exit(9)\n", encoding="utf-8")
    options = ("--json", "--plugin-dir", str(work / "bad.py"))
    records = plugin_host(load_startup_context(SessionOptions(cwd=work)))._records
    files = files_state(work / "bad.py")
    records.leave_out("bad", files, ENDED_THE_PROGRAM)
    listed = {line["name"]: line for line in json_lines(call("plugins", "list", *options)[1])}
    assert "tui-agent exited while loading it" in listed["bad"]["fault"]
    assert call("plugins", "enable", "bad", *options)[0] == 0
    assert not records.find_reason("bad", files) and records._is_suspect("bad", files)


def test_a_check_runs_the_plugins_own_tests(call: Call, work: Path) -> None:
    call("plugins", "new", "word_count")
    test = work / "word_count" / "tests" / "test_word_count.py"
    test.write_text(test.read_text().replace("2 words", "3 words"))
    status, out, _ = call("plugins", "check", "./word_count")
    assert status == 1 and "The plugin's tests failed" in out and "'3 words'" in out


@pytest.mark.slow
def test_a_check_runs_the_tests_in_the_documentation_beside_a_single_file(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = (Path(__file__).parents[3] / "docs" / "plugins.md").read_text(encoding="utf-8")
    plugin, *tests = re.findall(r"```python\n(.*?)```", docs, re.DOTALL)[:3]
    (work / "lines.py").write_text(plugin)
    (work / "test_lines.py").write_text("\n\n".join(tests))
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    call("plugins", "check", "lines.py")
    assert '{"kind": "reads", "path": "a.txt"}' in (work / "golden" / "count.jsonl").read_text()
    monkeypatch.delenv("UPDATE_GOLDEN")
    status, out, _ = call("plugins", "check", "lines.py")
    assert status == 0 and "tests: 2 passed" in out, out


def test_a_golden_log_is_written_on_request_and_differs_from_another_session(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "odd.py").write_text(EFFECTS.replace("EFFECTS", "()"))

    def session(folder: str) -> PluginSession:
        (tmp_path / folder).mkdir()
        return PluginSession(work / "odd.py", tmp_path / folder, tmp_path / "golden")

    first = session("first")
    first.call("list_directory", path=".")
    with pytest.raises(AssertionError, match="run the test once with UPDATE_GOLDEN=1"):
        first.check_golden_log("list")
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    first.check_golden_log("list")
    monkeypatch.delenv("UPDATE_GOLDEN")
    text = (tmp_path / "golden" / "list.jsonl").read_text()
    kinds = [json.loads(line)["kind"] for line in text.splitlines()]
    assert kinds[0] == "user.message" and kinds[-1] == "turn.finished" and "tool.finished" in kinds
    assert str(tmp_path) not in text
    second = session("second")
    second.call("list_directory", path=".")
    second.check_golden_log("list")
    second.run([{"text": "Nothing."}])
    with pytest.raises(AssertionError, match=r'(?s)differs from its golden log.*-.*"tool.called"'):
        second.check_golden_log("list")


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pipe.py", "is neither a folder nor a .py file."),
        ("/dev/zero", "is neither a folder nor a .py file."),
        ("note.txt", "is neither a folder nor a .py file."),
        ("several", "has several plugins: one, two. Give the path of one of them."),
        ("empty", "No plugin at"),
    ],
)
def test_a_check_of_what_is_no_plugin_ends_and_says_so(call: Call, work: Path, path: str, words: str) -> None:
    os.mkfifo(work / "pipe.py")
    for file in ("note.txt", "several/one.py", "several/two.py", "empty/note.txt"):
        (work / file).parent.mkdir(exist_ok=True)
        (work / file).write_text("x = 1\n")
    status, out, _ = call("plugins", "check", path)
    assert (status, words in out) == (1, True), out


def new_pane(call: Call, work: Path) -> Path:
    """Create a plugin with a pane."""
    assert call("plugins", "new", "spending", "--kind", "pane")[0] == 0
    return work / "spending"


def test_a_new_pane_passes_its_own_test_and_check(call: Call, work: Path, tmp_path: Path) -> None:
    plugin, names = new_pane(call, work), {"__name__": "test_spending"}
    exec((plugin / "tests" / "test_spending.py").read_text(), names)
    session = PluginSession(plugin, tmp_path, tmp_path / "golden")
    names["test_it_counts_the_tool_calls"](session)  # type: ignore[operator]
    assert try_panes(plugin, now=lambda: 0.0) == ([], [])
    assert check_plugin(plugin).offers == ("pane:spending",)


@pytest.mark.slow
def test_a_new_mcp_server_passes_its_test_and_offers_its_tool(
    call: Call, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = call("plugins", "new", "words", "--kind", "mcp")
    assert status == 0
    checked, text, _ = call("plugins", "check", "words", "--json")
    [report] = json_lines(text)
    assert (checked, report["offers"], report["faults"]) == (0, ["tool:mcp_words_words"], [])
    assert report["tests"].startswith("1 passed") and "tui-agent mcp check words" in report["notes"][0]
    table = out[out.index("[mcp.words]") : out.index("Then check the server")]
    config = tmp_path / "home" / ".config" / "tui-agent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(table)
    status, out, _ = call("mcp", "check", "words", "--json")
    (report,) = json_lines(out)
    assert (status, report["fault"]) == (0, "")
    assert [(tool["name"], tool["description"]) for tool in report["tools"]] == [
        ("mcp_words_words", "Count the words of a text.")
    ]
    monkeypatch.syspath_prepend(str(work / "words"))
    names: dict[str, Any] = {}
    exec((work / "words" / "test_words.py").read_text(), names)
    names["test_it_counts_words"]()
    del sys.modules["server"]


def test_a_check_names_the_fault_of_an_mcp_server(call: Call, work: Path) -> None:
    (work / "words").mkdir()
    (work / "words" / "server.py").write_text("raise SystemExit('no words today')\n")
    status, out, _ = call("plugins", "check", "words")
    assert status == 1 and "problem: The MCP server does not work: " in out and "no words today" in out, out


def test_a_check_without_pytest_says_how_to_install_it(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("plugins", "new", "word_count")
    monkeypatch.setattr(plugin_trial, "find_spec", lambda name: None)
    status, out, _ = call("plugins", "check", "word_count")
    assert status == 0 and "To install it: " in out and out.rstrip().endswith("install pytest"), out


@pytest.mark.slow
def test_a_check_shows_each_pane_over_a_log_with_every_kind_of_event(call: Call, work: Path) -> None:
    plugin = new_pane(call, work)
    folds, manifest = plugin / "folds.py", plugin / "plugin.toml"
    folds.write_text(
        folds.read_text() + "\n@pane(Calls)\ndef silent(calls):\n    return ()\n"
        "\n@pane(Calls)\ndef broken(calls):\n    return calls.x\n\n@pane(Calls)\ndef unlisted(calls): ...\n"
    )
    manifest.write_text(manifest.read_text().replace('["spending"]', '["spending", "silent", "broken"]'))
    assert try_panes(plugin, now=lambda: 0.0) == (
        ["The pane broken: AttributeError: 'int' object has no attribute 'x' (folds.py:27)"],
        [
            "The pane unlisted is not shown: add it to `panes` in plugin.toml.",
            "The pane silent stayed empty for a sample log with every kind of event.",
        ],
    )


@pytest.mark.slow
def test_a_check_says_that_a_pane_is_slow(call: Call, work: Path) -> None:
    faults, notes = try_panes(new_pane(call, work), now=count(0.0, 4.0).__next__)
    assert faults == [] and notes == [
        "The pane spending took 4.0 s. A pane is stopped after 1 s of computing or 5 s of waiting."
    ]


@pytest.mark.parametrize(
    ("before", "after", "status", "words"),
    [
        (
            "about =",
            'about = "\\u001b[31m" #',
            1,
            "looks/dusk.toml needs `dark` as true or false",
        ),
        ("t1 =", 't1 = "#181818" #', 0, "other colour pairs are also hard to read."),
        (
            "name =",
            'name = "night" #',
            1,
            "looks/dusk.toml has the same name as another theme, night.",
        ),
    ],
)
def test_a_check_loads_the_plugins_themes_as_the_app_does(
    call: Call, work: Path, before: str, after: str, status: int, words: str
) -> None:
    (work / "looks").mkdir()
    (work / "looks" / "plugin.toml").write_text('themes = ["dusk.toml"]')
    text = (Path(__file__).parents[3] / "themes" / "night.toml").read_text()
    text = text.replace('name = "night"', 'name = "dusk"').replace(before, after, 1)
    (work / "looks" / "dusk.toml").write_text(text)
    ended, out, _ = call("plugins", "check", "looks")
    assert (ended, words in out) == (status, True), out


def test_a_check_notes_an_import_of_textual_outside_the_folder_tui(call: Call, work: Path) -> None:
    call("plugins", "new", "word_count")
    (work / "word_count" / "tui").mkdir()
    for name in ("tui/view.py", "tests/test_view.py", "more.py"):
        (work / "word_count" / name).write_text("from textual.widget import Widget\n")
    assert [note for note in check_plugin(work / "word_count").notes if "textual" in note] == [
        "more.py imports textual; only modules in the plugin's tui/ folder may do this."
    ]


def test_a_broken_plugin_is_told_by_check_and_doctor(call: Call, work: Path) -> None:
    (work / "broken").mkdir()
    (work / "broken" / "__init__.py").write_text("raise RuntimeError('no good')\n")
    status, out, _ = call("plugins", "check", "broken")
    assert status == 1
    assert "no good" in out
    status, out, _ = call("doctor", "--plugin-dir", "broken")
    assert status == 1
    assert "no good" in out


def test_listing_plugins_imports_none_of_them(call: Call, work: Path) -> None:
    (work / "rude.py").write_text(
        "from pathlib import Path\nPath('imported').touch()\nraise KeyboardInterrupt\n"
    )
    status, out, _ = call("plugins", "list", "--json", "--plugin-dir", "rude.py")
    assert status == 0
    assert next(line for line in json_lines(out) if line["name"] == "rude")["state"] == "on"
    assert not (work / "imported").exists()


def test_a_place_of_plugins_that_is_not_there_is_a_usage_error(call: Call, work: Path) -> None:
    status, _, err = call("plugins", "list", "--plugin-dir", "nowhere")
    assert status == 2
    assert "--plugin-dir: " in err and "nowhere" in err
