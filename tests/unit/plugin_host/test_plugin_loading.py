"""Plugins are found without being imported, loaded whole or not at all, and the rest goes on."""

import sys
import threading
from pathlib import Path

import pytest

from tui_agent.errors import PluginError
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.plugin_host.discover import PluginPlaces, theme_files
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.parallel_calls import THREAD_NAME
from tui_agent.plugin_host.plugin_check import check_plugin
from tui_agent.plugin_host.plugin_imports import NAMESPACE
from tui_agent.protocol.events.plugin import PluginLoaded

HELLO = Path(__file__).parents[2] / "fixtures" / "plugins" / "hello"

NOTHING = "def register(api):\n    pass\n"
TOOL = """
from typing import ClassVar
from pydantic import BaseModel
from tui_agent.plugin_api import ToolSpec

class NoArgs(BaseModel):
    pass

class NoOp:
    spec: ClassVar[ToolSpec] = ToolSpec("noop", "Does nothing.", NoArgs, "wait")
    def target(self, args): return ""
    def effects(self, args): return ()
    async def preview(self, args, env): ...
    async def run(self, args, ctx): ...

def register(api):
    api.tool(NoOp())
"""


def write(folder: Path, name: str, code: str, manifest: str = "") -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(code, encoding="utf-8")
    if manifest:
        (place / "plugin.toml").write_text(manifest, encoding="utf-8")
    return place


def load(folder: Path, **more: object) -> LoadedPlugins:
    return PluginHost(PluginPlaces(user=folder, entry_points=False), **more).load()  # type: ignore[arg-type]


def failure(loaded: LoadedPlugins, plugin: str) -> str:
    [event] = [event for event in loaded.failed if event.plugin == plugin]
    return event.message


def test_a_strangers_plugin_registers_everything_under_its_name() -> None:
    loaded = PluginHost(PluginPlaces(extra=(HELLO,), entry_points=False)).load()
    [event] = loaded.events
    assert event == PluginLoaded(
        plugin="hello",
        version="1.2.0",
        source="option",
        contributions=(
            "tool:greet",
            "middleware:politeness",
            "language:tally",
            "hook:tool.finished",
        ),
    )
    assert loaded.tools[0].tool.spec.description == "Greet a person by name."
    assert {offer.owner for offer in loaded.tools} == {"hello"}


def test_a_folder_of_plugins_can_be_given_too() -> None:
    loaded = PluginHost(PluginPlaces(extra=(HELLO.parent,), entry_points=False)).load()
    assert loaded.loaded == ["hello"]


def test_names_are_listed_without_importing(tmp_path: Path) -> None:
    write(tmp_path, "loud", "raise RuntimeError('imported')\n", 'version = "3"\n')
    host = PluginHost(PluginPlaces(user=tmp_path, entry_points=False), disabled={"loud"})
    [found] = host.list_plugins()
    assert (found.name, found.version, found.source) == ("loud", "3", "user")
    assert not any(map(host.is_enabled, host.list_plugins()))
    assert host.load().events == []


def test_a_plugin_that_is_off_is_used_once_the_user_enables_it(tmp_path: Path) -> None:
    write(tmp_path, "quiet", NOTHING, "enabled = false\nthemes = ['dusk.toml']\n")
    assert load(tmp_path).events == [] and theme_files([tmp_path]) == []
    assert load(tmp_path, enabled={"quiet"}).loaded == ["quiet"]
    assert load(tmp_path, enabled={"quiet"}, disabled={"quiet"}).events == []
    assert len(theme_files([tmp_path], enabled=["quiet"])) == 1
    named = PluginPlaces(extra=(tmp_path / "quiet",), entry_points=False)
    assert PluginHost(named).load().loaded == ["quiet"]  # as --plugin-dir and `plugins check` name it


def test_the_plugins_of_a_trusted_project_are_loaded_after_the_users(tmp_path: Path) -> None:
    write(tmp_path / "user", "zebra", NOTHING)
    write(tmp_path / "copy", "ape", NOTHING)
    places = PluginPlaces(user=tmp_path / "user", project=tmp_path / "copy", entry_points=False)
    assert PluginHost(places).load().loaded == ["zebra", "ape"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nowhere_at_all\n", "needs the module nowhere_at_all"),
        ("def regster(api): pass\n", "no function register"),
        ("def register(api):\n    raise ValueError('no luck')\n", "ValueError: no luck"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("def register(:\n", "SyntaxError"),
        ("PLUGIN_API = 99\n" + NOTHING, "version 99 of the plugin API"),
        (
            "def register(api):\n    api.language('p', ['p'], grammar='no target', query='x')\n",
            "not a reference",
        ),
        ("def register(api):\n    api.policy_table('absent.toml')\n", "cannot be read"),
        ("def register(api):\n    api.hook('What?', print)\n", "neither an event kind"),
        ("def register(api):\n    api.agent('a b', print)\n", "not valid"),
        ("def register(api):\n    api.tool(object())\n", "no `spec`"),
    ],
)
def test_a_broken_plugin_is_reported_and_the_others_load(tmp_path: Path, code: str, words: str) -> None:
    write(tmp_path, "broken", code)
    write(tmp_path, "good", NOTHING)
    loaded = load(tmp_path)
    assert words in failure(loaded, "broken")
    assert loaded.loaded == ["good"]
    assert not [name for name in sys.modules if name.startswith(f"{NAMESPACE}.broken")]


def test_the_place_of_the_failure_is_told(tmp_path: Path) -> None:
    place = write(tmp_path, "broken", "def register(api):\n    raise ValueError\n")
    [event] = load(tmp_path).failed
    assert event.where == f"{place / '__init__.py'}:2"


def test_nothing_of_a_plugin_that_fails_half_way_remains(tmp_path: Path) -> None:
    write(tmp_path, "half", TOOL + "    raise ValueError('late')\n")
    write(tmp_path, "other", TOOL)
    loaded = load(tmp_path)
    assert [offer.owner for offer in loaded.tools] == ["other"]


def test_a_name_that_is_taken_fails_the_later_plugin(tmp_path: Path) -> None:
    write(tmp_path, "first", TOOL)
    write(tmp_path, "second", TOOL)
    loaded = load(tmp_path)
    assert failure(loaded, "second").startswith("The tool noop of second is already registered by first.")
    assert loaded.loaded == ["first"]


def test_a_later_plugin_of_the_same_name_cannot_take_its_place(tmp_path: Path) -> None:
    write(tmp_path / "user", "twin", TOOL)
    write(tmp_path / "project", "twin", NOTHING)
    places = PluginPlaces(user=tmp_path / "user", project=tmp_path / "project", entry_points=False)
    loaded = PluginHost(places).load()
    assert "already named" in failure(loaded, "twin")
    assert [offer.owner for offer in loaded.tools] == ["twin"]


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("api = 2\n", "version 2 of the plugin API"),
        ("api = '1'\n", "api must be a whole number"),
        ("name = \n", "cannot be read"),
        ("entry = 'x'\n", "unknown fields: entry"),
        ("name = 'No Good'\n", "not valid"),
        ("themes = 'night.toml'\n", "themes must list files or folders inside the plugin's folder"),
        ("enabled = 'no'\n", "enabled must be true or false"),
        ("themes = [7]\n", "themes must list"),
        ("themes = ['../night.toml']\n", "themes must list"),
        ("themes = ['/etc/night.toml']\n", "themes must list"),
    ],
)
def test_a_wrong_manifest_keeps_the_code_from_being_imported(
    tmp_path: Path, manifest: str, words: str
) -> None:
    write(tmp_path, "plug", "raise RuntimeError('imported')\n", manifest)
    [event] = load(tmp_path).failed
    assert words in event.message


def test_a_plugin_may_have_themes_and_no_code(tmp_path: Path) -> None:
    (tmp_path / "looks" / "more").mkdir(parents=True)
    (tmp_path / "looks" / "plugin.toml").write_text("themes = ['dusk.toml', 'more']\n", encoding="utf-8")
    (tmp_path / "looks" / "more" / "dawn.toml").write_text("", encoding="utf-8")
    [event] = load(tmp_path).events
    assert isinstance(event, PluginLoaded)
    assert event.contributions == ("theme:dusk", "theme:more")
    files = [tmp_path / "looks" / "dusk.toml", tmp_path / "looks" / "more" / "dawn.toml"]
    assert theme_files([tmp_path]) == [("looks", file) for file in files]
    assert theme_files([tmp_path / "looks"], ["looks"]) == []


def test_middlewares_stand_in_their_order(tmp_path: Path) -> None:
    code = (
        "from tui_agent.plugin_api import BaseMiddleware\n"
        "class M(BaseMiddleware):\n    name = '{0}'\n"
        "def register(api):\n    api.middleware(M(), order={1})\n"
    )
    write(tmp_path, "alpha", code.format("alpha", 700))
    write(tmp_path, "beta", code.format("beta", 100))
    assert [offer.owner for offer in load(tmp_path).middlewares] == ["beta", "alpha"]


def test_a_single_file_is_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "single.py").write_text(TOOL, encoding="utf-8")
    assert [offer.owner for offer in load(tmp_path).tools] == ["single"]


def test_registering_late_is_refused(tmp_path: Path) -> None:
    code = "kept = []\ndef register(api):\n    kept.append(api)\n"
    write(tmp_path, "late", code)
    load(tmp_path)
    api = sys.modules[f"{NAMESPACE}.late"].kept[0]
    with pytest.raises(PluginError, match="after its register"):
        api.agent("x", object)


def test_a_given_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    loaded = PluginHost(PluginPlaces(extra=(tmp_path / "gone",), entry_points=False)).load()
    assert "was not found" in failure(loaded, "gone")


def test_checking_a_good_plugin_finds_nothing_and_leaves_nothing() -> None:
    report = check_plugin(HELLO)
    assert report.ok
    assert report.notes == ()
    assert "tool:greet" in report.offers
    assert f"{NAMESPACE}.hello" not in sys.modules


def test_checking_names_what_is_wrong(tmp_path: Path) -> None:
    code = "import tui_agent.errors\n" + TOOL.replace('"wait"', '"wait for long"')
    report = check_plugin(write(tmp_path, "sloppy", code))
    assert not report.ok
    assert "wait for long" in report.faults[0]
    assert "tui_agent.errors" in report.notes[0]
    assert not check_plugin(tmp_path / "absent").ok


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            TOOL.replace('"noop"', '"read_file"'),
            "The tool read_file is already registered by the bundled plugin files.",
        ),
        ("def register(api):\n    api.hook('no.such', print)\n", "There is no event 'no.such'."),
        (
            "async def note(event):\n    pass\ndef register(api):\n    api.hook('turn.finished', note)\n",
            "The listener for turn.finished is `async def`",
        ),
        ("async def register(api):\n    pass\n", "register(api) is `async def`"),
    ],
    ids=["taken-name", "unknown-event", "async-listener", "async-register"],
)
def test_checking_names_what_would_never_work(tmp_path: Path, code: str, words: str) -> None:
    report = check_plugin(write(tmp_path, "useless", code))
    assert not report.ok and words in report.faults[0]


def test_the_bundled_folders_are_found_in_a_checkout() -> None:
    root = Path(__file__).parents[3]
    assert bundled_folder("plugins") == root / "plugins"
    assert bundled_folder("themes") == root / "themes"


def test_the_bundled_plugins_load() -> None:
    loaded = PluginHost(PluginPlaces(bundled=bundled_folder("plugins"), only_bundled=True)).load()
    assert loaded.failed == []


SWALLOWS = (
    "while True:\n    try:\n        while True:\n            pass\n    except Exception:\n        pass\n"
)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass\n",
        "import time\ntime.sleep(1000)\n",
        SWALLOWS,
        "def register(api):\n    while True:\n        pass\n",
    ],
)
def test_a_plugin_that_never_ends_loading_is_stopped_and_named_and_the_others_load(
    tmp_path: Path, code: str
) -> None:
    write(tmp_path, "afterwards", NOTHING)
    place = write(tmp_path, "endless", code)
    loaded = load(tmp_path, limit=0.2)
    assert loaded.loaded == ["afterwards"]
    assert failure(loaded, "endless").startswith("It was still loading after 0.2 s.")
    assert loaded.failed[0].where.startswith(str(place / "__init__.py"))


def test_what_a_plugin_prints_while_it_loads_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "chatty", "print('imported')\ndef register(api):\n    print('registered')\n")
    assert load(tmp_path).loaded == ["chatty"]
    assert capsys.readouterr() == ("", "imported\nregistered\n")


def test_plugins_are_loaded_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other's import, which in turn would take the whole limit."""
    meet = """
import time
from pathlib import Path
here = Path(__file__).parent.parent
(here / "NAME.met").touch()
while not (here / "OTHER.met").exists():
    time.sleep(0.001)
def register(api):
    pass
"""
    write(tmp_path, "one", meet.replace("NAME", "one").replace("OTHER", "two"))
    write(tmp_path, "two", meet.replace("NAME", "two").replace("OTHER", "one"))
    assert load(tmp_path, limit=20).loaded == ["one", "two"]


def test_a_plugin_whose_time_ended_registers_nothing_later(tmp_path: Path) -> None:
    code = TOOL.replace("def register(api):", "def register(api):\n    import time\n    time.sleep(0.7)")
    write(tmp_path, "late", code)
    endless = set(threading.enumerate())  # plugins of other tests, which never end
    loaded = load(tmp_path, limit=0.05)
    for thread in set(threading.enumerate()) - endless:
        if thread.name == THREAD_NAME:
            thread.join(10)
    assert loaded.tools == [] and loaded.loaded == []


def test_loading_leaves_no_bytecode_in_the_users_folders(tmp_path: Path) -> None:
    place = write(tmp_path, "tidy", "from . import more\n" + NOTHING)
    (place / "more.py").write_text("", encoding="utf-8")
    assert load(tmp_path).loaded == ["tidy"]
    assert sorted(file.name for file in place.rglob("*")) == ["__init__.py", "more.py"]


def test_a_plugin_that_calls_os_exit_at_import_fails_by_name_and_a_forked_child_may_call_it(
    tmp_path: Path,
) -> None:
    write(tmp_path, "leaver", "import os\nos._exit(7)\n")
    write(tmp_path, "forker", "import os\nif not os.fork(): os._exit(0)\nos.wait()\n" + NOTHING)
    loaded = load(tmp_path)
    assert loaded.loaded == ["forker"]
    assert failure(loaded, "leaver") == (
        "SystemExit: os._exit(7) would end tui-agent itself; raise an error instead"
    )


def test_a_plugin_whose_module_grows_while_it_is_searched_loads(tmp_path: Path) -> None:
    grows = "class Odd:\n    __class__ = property(lambda self: globals().update({str(len(globals())): 1}) or int)\n"
    write(tmp_path, "growing", f"{grows}odd = Odd()\nlast = 1\n{NOTHING}")
    assert load(tmp_path).loaded == ["growing"]
