"""A plugin that ends the program or takes too long while it is loaded is left out, until its files change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.plugin_host.test_plugin_loading import NOTHING, failure, write
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.load_records import ENDED_THE_PROGRAM, RECORDS_FOLDER, LoadRecords
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.plugin_imports import files_state
from tui_agent.session.engine_crash import describe_crash

CRASH = "import ctypes\nctypes.CDLL(None)._exit(7)\n"
LOAD = """
import sys
from pathlib import Path
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import PluginHost
PluginHost(PluginPlaces(user=Path(sys.argv[1]), entry_points=False), records=Path(sys.argv[2])).load()
"""


def load(plugins: Path, records: Path) -> LoadedPlugins:
    places = PluginPlaces(user=plugins, entry_points=False)
    return PluginHost(places, limit=120, records=records).load()  # a trial takes long on a busy machine


def test_the_plugin_that_crashed_is_named_and_the_others_load(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    write(plugins, "fine", NOTHING)
    crasher = write(plugins, "crasher", CRASH)
    died = subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(records)], check=False, timeout=60)
    assert died.returncode == 7
    for _ in range(2):  # also at the start after that
        loaded = load(plugins, records)
        assert loaded.loaded == ["fine"] and ENDED_THE_PROGRAM in failure(loaded, "crasher")
    (crasher / "__init__.py").write_text(NOTHING, encoding="utf-8")
    assert load(plugins, records).loaded == ["crasher", "fine"]
    assert list(records.iterdir()) == []


@pytest.mark.slow
def test_a_plugin_that_was_loading_beside_the_one_that_crashed_is_not_left_out(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    write(plugins, "slow", "import time\ntime.sleep(1)\n" + NOTHING)
    write(plugins, "crasher", "import time\ntime.sleep(0.3)\n" + CRASH.replace("7", "0"))
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(records)], check=True, timeout=60)
    assert {record.name for record in records.iterdir()} == {"slow", "crasher"}
    loaded = load(plugins, records)
    assert loaded.loaded == ["slow"] and ENDED_THE_PROGRAM in failure(loaded, "crasher")
    host = PluginHost(PluginPlaces(user=plugins, entry_points=False), records=records)
    assert [found.name for found in host.list_plugins() if host.find_left_out_reason(found)] == ["crasher"]


def test_a_suspect_whose_trial_takes_too_long_is_left_out_and_can_be_tried_again(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    write(plugins, "crasher", CRASH)
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(records)], check=False, timeout=60)
    (crasher,) = PluginHost(PluginPlaces(user=plugins, entry_points=False)).list_plugins()
    files = files_state(crasher.path)
    assert LoadRecords(records).check(crasher, files, 0.0).startswith("Loading it took more than 0 s,")
    assert "Loading it took more than 0 s," in failure(load(plugins, records), "crasher")
    LoadRecords(records).try_again("crasher")
    assert LoadRecords(records).find_reason("crasher", files) == ""


LOOPS_WHILE = """
from pathlib import Path
while Path({flag!r}).exists():
    pass
def register(api): ...
"""


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "code", [LOOPS_WHILE, LOOPS_WHILE.replace("    pass", "    __import__('time').sleep(100)")]
)
def test_a_plugin_that_took_too_long_is_left_out_at_the_next_starts(tmp_path: Path, code: str) -> None:
    plugins, records, flag = tmp_path / "plugins", tmp_path / "records", tmp_path / "flag"
    flag.touch()
    write(plugins, "fine", NOTHING)
    looper = write(plugins, "looper", code.format(flag=str(flag)))
    places = PluginPlaces(user=plugins, entry_points=False)

    def start(limit: float) -> PluginHost:
        return PluginHost(places, limit=limit, records=records)

    first = start(0.5)
    first_events = first.load()
    for loaded in (first_events, start(60).load(), start(60).load()):  # only the first one runs its code
        assert loaded.loaded == ["fine"]
        message = failure(loaded, "looper")
        assert message.startswith(
            "Loading it took more than 0.5 s, so it is not loaded again until its files change."
        )
        assert "/reload" in message and "tui-agent plugins enable looper" in message
    flag.unlink()
    first.try_left_out()
    assert first.load().loaded == ["looper"] and start(60).load().loaded == ["fine", "looper"]
    flag.touch()
    start(0.5).load()
    (looper / "__init__.py").write_text(NOTHING, encoding="utf-8")
    assert start(60).load().loaded == ["fine", "looper"] and LoadRecords(records).files() == []


def test_a_new_version_that_took_too_long_is_not_called_left_out(tmp_path: Path) -> None:
    plugins, flag = tmp_path / "plugins", tmp_path / "flag"
    entry = write(plugins, "looper", NOTHING) / "__init__.py"
    host = PluginHost(PluginPlaces(user=plugins, entry_points=False), limit=0.5, records=tmp_path / "records")
    host.load()
    flag.touch()
    entry.write_text(LOOPS_WHILE.format(flag=str(flag)), encoding="utf-8")
    message = failure(host.load(), "looper")
    flag.unlink()
    assert "left out" not in message and message.endswith("The previous version stays in use."), message
    assert message.startswith(
        "Loading it took more than 0.5 s, so it is not loaded again until its files change. To try again: /reload"
    )


def test_the_first_message_names_the_plugin_that_ended_the_engine(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "cache" / "tui-agent" / RECORDS_FOLDER
    write(plugins, "crasher", CRASH)
    process = subprocess.Popen([sys.executable, "-c", LOAD, str(plugins), str(records)])
    process.wait(60)
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    error = describe_crash(process.pid, "", environ, tmp_path)
    assert error.message == "The engine process ended while it loaded the plugin crasher: no message."
    assert "plugins disable crasher" in error.hint
    assert describe_crash(1, "Killed", environ, tmp_path).message == "The engine process ended: Killed."


def test_a_plugin_that_another_running_process_loads_is_not_suspected(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    write(plugins, "fine", NOTHING)
    load(plugins, records)
    host = PluginHost(PluginPlaces(user=plugins, entry_points=False), records=records)
    with host._records.mark("fine", "state"):
        record = records / "fine"
        record.write_text(record.read_text().replace(str(os.getpid()), str(os.getppid())))
        assert not host._records._is_suspect("fine", "state")


def test_a_cut_record_and_a_folder_that_cannot_be_written_stop_nothing(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    write(plugins, "fine", NOTHING)
    records.mkdir()
    (records / "fine").write_text("{")
    assert load(plugins, records).loaded == ["fine"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert load(plugins, blocked).loaded == ["fine"]


@pytest.mark.slow
def test_a_plugin_that_is_enabled_again_is_tried_and_taken_by_an_open_session(tmp_path: Path) -> None:
    plugins, records = tmp_path / "plugins", tmp_path / "records"
    other = tmp_path / "other"
    other.touch()
    write(
        plugins,
        "crasher",
        f"from pathlib import Path\nif Path({str(other)!r}).exists():\n    import ctypes\n    ctypes.CDLL(None)._exit(7)\n"
        + NOTHING,
    )
    subprocess.run([sys.executable, "-c", LOAD, str(plugins), str(records)], check=False, timeout=60)
    places = PluginPlaces(user=plugins, entry_points=False)
    host = PluginHost(places, limit=120, records=records)
    assert ENDED_THE_PROGRAM in failure(host.load(), "crasher")
    assert host.load().events == []
    assert LoadRecords(records).files() == [records / "crasher"]
    LoadRecords(records).try_again("crasher")
    assert ENDED_THE_PROGRAM in failure(host.load(), "crasher")  # it still crashes, but only in its trial
    other.unlink()
    LoadRecords(records).try_again("crasher")
    assert host.load().loaded == ["crasher"]
    assert LoadRecords(records).files() == []
