"""A plugin that ends the program while it is loaded is left out at the next start, until its files change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.plugin_host.test_plugin_loading import NOTHING, failure, write
from tui_agent.errors import PluginError
from tui_agent.plugin_host.crash_marks import MARKS_FOLDER, CrashMarks
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import ENDED_THE_PROGRAM, LoadedPlugins, PluginHost
from tui_agent.plugin_host.modules import files_state
from tui_agent.session.engine_crash import describe_crash

CRASH = "import ctypes\nctypes.CDLL(None)._exit(7)\n"
LOAD = """
import sys
from pathlib import Path
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import PluginHost
PluginHost(PluginPlaces(user=Path(sys.argv[1]), entry_points=False), marks=Path(sys.argv[2])).load()
"""


def load(plugins: Path, marks: Path) -> LoadedPlugins:
    places = PluginPlaces(user=plugins, entry_points=False)
    return PluginHost(places, limit=120, marks=marks).load()  # a trial takes long on a busy machine


def test_the_plugin_that_crashed_is_named_and_the_others_load(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    write(plugins, "fine", NOTHING)
    crasher = write(plugins, "crasher", CRASH)
    died = subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(marks)], check=False, timeout=60)
    assert died.returncode == 7
    for _ in range(2):  # also at the start after that
        loaded = load(plugins, marks)
        assert loaded.loaded == ["fine"] and ENDED_THE_PROGRAM in failure(loaded, "crasher")
    (crasher / "__init__.py").write_text(NOTHING, encoding="utf-8")
    assert load(plugins, marks).loaded == ["crasher", "fine"]
    assert list(marks.iterdir()) == []


def test_a_plugin_that_was_loading_beside_the_one_that_crashed_is_not_left_out(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    write(plugins, "slow", "import time\ntime.sleep(1)\n" + NOTHING)
    write(plugins, "crasher", "import time\ntime.sleep(0.3)\n" + CRASH.replace("7", "0"))
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(marks)], check=True, timeout=60)
    assert {mark.name for mark in marks.iterdir()} == {"slow", "crasher"}
    loaded = load(plugins, marks)
    assert loaded.loaded == ["slow"] and ENDED_THE_PROGRAM in failure(loaded, "crasher")
    host = PluginHost(PluginPlaces(user=plugins, entry_points=False), marks=marks)
    assert [found.name for found in host.list_plugins() if host.is_left_out(found)] == ["crasher"]


def test_a_suspect_whose_trial_takes_too_long_is_left_out_once(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    write(plugins, "crasher", CRASH)
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(marks)], check=False, timeout=60)
    (crasher,) = PluginHost(PluginPlaces(user=plugins, entry_points=False)).list_plugins()
    with pytest.raises(PluginError, match="The plugin is left out this time"):
        CrashMarks(marks).ends_the_program(crasher, files_state(crasher.path), 0.0)
    assert ENDED_THE_PROGRAM in failure(load(plugins, marks), "crasher")


def test_the_first_message_names_the_plugin_that_ended_the_engine(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "cache" / "tui-agent" / MARKS_FOLDER
    write(plugins, "crasher", CRASH)
    process = subprocess.Popen([sys.executable, "-c", LOAD, str(plugins), str(marks)])
    process.wait(60)
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    error = describe_crash(process.pid, "", environ, tmp_path)
    assert error.message == "The engine process ended while it loaded the plugin crasher: no message."
    assert "plugins disable crasher" in error.hint
    assert describe_crash(1, "Killed", environ, tmp_path).message == "The engine process ended: Killed."


def test_a_plugin_that_another_running_process_loads_is_not_suspected(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    write(plugins, "fine", NOTHING)
    load(plugins, marks)
    host = PluginHost(PluginPlaces(user=plugins, entry_points=False), marks=marks)
    with host._marks.mark("fine", "state"):
        mark = marks / "fine"
        mark.write_text(mark.read_text().replace(str(os.getpid()), str(os.getppid())))
        assert not host._marks.is_suspect("fine", "state")


def test_a_cut_mark_and_a_folder_that_cannot_be_written_stop_nothing(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    write(plugins, "fine", NOTHING)
    marks.mkdir()
    (marks / "fine").write_text("{")
    assert load(plugins, marks).loaded == ["fine"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert load(plugins, blocked).loaded == ["fine"]


def test_a_plugin_that_is_enabled_again_is_tried_and_taken_by_an_open_session(tmp_path: Path) -> None:
    plugins, marks = tmp_path / "plugins", tmp_path / "marks"
    other = tmp_path / "other"
    other.touch()
    write(
        plugins,
        "crasher",
        f"from pathlib import Path\nif Path({str(other)!r}).exists():\n    import ctypes\n    ctypes.CDLL(None)._exit(7)\n"
        + NOTHING,
    )
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(marks)], check=False, timeout=60)
    places = PluginPlaces(user=plugins, entry_points=False)
    host = PluginHost(places, limit=120, marks=marks)
    assert ENDED_THE_PROGRAM in failure(host.load(), "crasher")
    assert host.load().events == []
    assert CrashMarks(marks).files() == [marks / "crasher"]
    CrashMarks(marks).try_again("crasher")
    assert ENDED_THE_PROGRAM in failure(host.load(), "crasher")  # it still crashes, but only in its trial
    other.unlink()
    CrashMarks(marks).try_again("crasher")
    assert host.load().loaded == ["crasher"]
    assert CrashMarks(marks).files() == []
