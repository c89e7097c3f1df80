"""Everything a plugin can register is documented, and the examples in the documentation work."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_agent.config.settings.settings import Config
from tui_agent.folds.session.fold import SessionState
from tui_agent.plugin_api import PluginApi
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import PluginHost
from tui_agent.plugin_host.plugin_check import check_plugin
from tui_agent.testing import PluginSession

DOCS = (Path(__file__).parents[3] / "docs" / "plugins.md").read_text(encoding="utf-8")


def test_every_hook_of_the_interface_has_its_section() -> None:
    hooks = [name for name in vars(PluginApi) if not name.startswith("_")]
    assert len(hooks) >= 9
    missing = [name for name in hooks if not re.search(rf"^### api\.{name}\b", DOCS, re.MULTILINE)]
    assert not missing


def test_no_section_speaks_of_a_hook_that_is_gone() -> None:
    for name in re.findall(r"^### api\.(\w+)", DOCS, re.MULTILINE):
        assert hasattr(PluginApi, name), name


def test_the_example_in_the_documentation_is_a_plugin(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", DOCS, re.DOTALL)
    assert code is not None
    plugin = tmp_path / "count"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(code[1], encoding="utf-8")
    report = check_plugin(plugin)
    assert report.ok, report.faults
    assert report.offers == ("tool:count_lines",)


def test_everything_that_can_be_registered_is_listed() -> None:
    section = DOCS.partition("## What you can register")[2].partition("\n## ")[0]
    said = re.findall(r"^### api\.(\w+)", section, re.MULTILINE)
    assert sorted(said) == sorted(name for name in vars(PluginApi) if not name.startswith("_"))


def examples() -> dict[str, str]:
    """The complete plugins in the documentation, by the name of what they add."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    names = ("count_lines", "calls", "keep_changelog", "standup", "Language")
    return {
        next(name for name in names if name in block): block
        for block in blocks
        if "from tui_agent.plugin_api import" in block
    }


@pytest.fixture
def session(tmp_path: Path) -> Callable[[str], PluginSession]:
    """Makes a session of a plugin in the documentation."""

    def make(name: str) -> PluginSession:
        plugin = tmp_path / "mine"
        plugin.mkdir()
        module = "folds.py" if name == "calls" else "__init__.py"
        (plugin / module).write_text(examples()[name], encoding="utf-8")
        (plugin / "plugin.toml").write_text('panes = ["calls"]' if name == "calls" else "", encoding="utf-8")
        return PluginSession(plugin, tmp_path, tmp_path / "golden")

    return make


def test_there_are_five_complete_examples() -> None:
    assert len(examples()) == 5


def test_the_tool_in_the_documentation_works(session: Callable[[str], PluginSession]) -> None:
    plugin = session("count_lines")
    (plugin.workspace / "a.txt").write_text("1\n2\n")
    result = plugin.call("count_lines", path="a.txt")
    assert (result.status, result.text) == ("ok", "a.txt has 2 lines")


def test_the_pane_in_the_documentation_works(session: Callable[[str], PluginSession]) -> None:
    assert session("calls").pane("calls") == ["  3 tool calls"]


def test_the_hook_in_the_documentation_works(session: Callable[[str], PluginSession]) -> None:
    plugin = session("keep_changelog")
    result = plugin.call("write_file", path="CHANGELOG.md", content="Nothing.")
    assert result.status == "denied" and "Add to CHANGELOG.md with edit_file." in result.text


def test_the_command_in_the_documentation_works(session: Callable[[str], PluginSession]) -> None:
    events = session("standup").run([{"text": "Nothing."}], "/standup Monday")
    (message,) = [event.payload for event in events if event.payload.kind == "user.message"]
    assert message.text == "Summarise what was done on Monday in this repository."


def test_the_settings_in_the_documentation_work(session: Callable[[str], PluginSession]) -> None:
    plugin = session("Language")
    config = Config(plugins={"mine": {"language": "French"}})
    loaded = PluginHost(PluginPlaces(extra=(plugin.plugin,), entry_points=False, config=config)).load()
    (fragment,) = loaded.middlewares[0].middleware.contribute(SessionState().view())
    assert fragment.text == "Answer in French."
