"""Everything a plugin can register is documented, and the documented example is a plugin that loads."""

import re
from pathlib import Path

from tui_agent.plugin_api import PluginApi
from tui_agent.plugin_host.check import check_plugin

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
