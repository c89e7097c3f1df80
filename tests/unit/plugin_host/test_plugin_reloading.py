"""A second `load` takes in what changed on disk, and keeps the last version that worked."""

import os
from pathlib import Path

import pytest

from tests.unit.plugin_host.test_plugin_loading import NOTHING, TOOL, write
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded


class Host:
    """A host over one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = PluginHost(PluginPlaces(user=folder, entry_points=False), limit=5)

    def load(self) -> LoadedPlugins:
        return self.host.load()

    def edit(self, name: str, code: str) -> None:
        file = self.folder / name / "__init__.py"
        file.write_text(code, encoding="utf-8")
        info = file.stat()
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns + 1))  # even within one tick of the clock


@pytest.fixture
def host(tmp_path: Path) -> Host:
    write(tmp_path, "tool", TOOL)
    write(tmp_path, "other", NOTHING)
    return Host(tmp_path)


def descriptions(loaded: LoadedPlugins) -> list[str]:
    return [offer.tool.spec.description for offer in loaded.tools]


def test_without_a_change_everything_stays_and_nothing_is_told(host: Host) -> None:
    first, second = host.load(), host.load()
    assert second.events == [] and second.tools == first.tools and len(second.tools) == 1


def test_a_changed_plugin_is_loaded_again_and_the_others_are_not(host: Host) -> None:
    host.load()
    host.edit("tool", TOOL.replace("Does nothing.", "Does more now."))
    loaded = host.load()
    assert [(type(event), event.plugin) for event in loaded.events] == [(PluginLoaded, "tool")]
    assert descriptions(loaded) == ["Does more now."]


def test_a_changed_module_beside_it_counts_too(host: Host) -> None:
    code = TOOL.replace('"Does nothing."', "words.SAID").replace(
        "from typing", "from . import words\nfrom typing", 1
    )
    words = host.folder / "tool" / "words.py"
    words.write_text("SAID = 'Old.'\n", encoding="utf-8")
    host.edit("tool", code)
    assert descriptions(host.load()) == ["Old."]
    words.write_text("SAID = 'New.'\n", encoding="utf-8")  # the same size, perhaps the same second
    os.utime(words, ns=(1, 1))
    assert descriptions(host.load()) == ["New."]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def register(api:\n", "SyntaxError"),
        (TOOL + "    raise ValueError('late')\n", "ValueError: late"),
        (TOOL + "    import sys\n    sys.exit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_changed_plugin_that_fails_keeps_its_last_version(host: Host, code: str, said: str) -> None:
    kept = host.load().tools
    host.edit("tool", code)
    loaded = host.load()
    (failed,) = loaded.events
    assert isinstance(failed, PluginFailed) and failed.plugin == "tool"
    assert said in failed.message and failed.message.endswith("The previous version stays in use.")
    assert failed.where.startswith(str(host.folder / "tool" / "__init__.py:"))
    assert loaded.tools == kept
    assert host.load().events == []  # told once
    host.edit("tool", TOOL.replace("Does nothing.", "Works again."))
    assert descriptions(host.load()) == ["Works again."]


def test_one_that_failed_from_the_start_is_loaded_once_it_works(host: Host) -> None:
    host.edit("tool", "1 / 0\n")
    assert descriptions(host.load()) == []
    host.edit("tool", TOOL)
    assert descriptions(host.load()) == ["Does nothing."]


def test_a_new_plugin_is_loaded_and_a_removed_one_unloaded(host: Host) -> None:
    host.load()
    (host.folder / "tool" / "__init__.py").unlink()
    write(host.folder, "third", NOTHING)
    loaded = host.load()
    assert {(type(event), event.plugin) for event in loaded.events} == {
        (PluginLoaded, "third"),
        (PluginUnloaded, "tool"),
    }
    assert loaded.tools == []


def test_a_name_that_a_removed_plugin_held_is_free_again(host: Host) -> None:
    write(host.folder, "zweiter", TOOL)
    assert [event.plugin for event in host.load().failed] == ["zweiter"]
    (host.folder / "tool" / "__init__.py").unlink()
    loaded = host.load()
    assert [offer.owner for offer in loaded.tools] == ["zweiter"]
    assert {(type(event), event.plugin) for event in loaded.events} == {
        (PluginLoaded, "zweiter"),
        (PluginUnloaded, "tool"),
    }
