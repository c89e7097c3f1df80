"""Modules that stay are loaded beside the garbage collector."""

import gc
import json
import subprocess
import sys

import pytest

from tui_agent.lazy_import import load_module


def test_the_module_is_given_and_the_collector_is_on_again() -> None:
    frozen = gc.get_freeze_count()
    assert load_module("json") is json
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen, "it was loaded before: nothing is kept from the collector"


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pytest.raises(ModuleNotFoundError):
            load_module("tui_agent.there_is_none_such")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_module_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(ModuleNotFoundError):
        load_module("tui_agent.there_is_none_such")
    assert gc.isenabled()


def test_what_is_loaded_sets_no_collection_off_and_is_not_looked_at_again() -> None:
    program = (
        "import gc; from tui_agent.lazy_import import load_module\n"
        "before = sum(one['collections'] for one in gc.get_stats())\n"
        "load_module('tui_agent.wiring.session')\n"
        "print(sum(one['collections'] for one in gc.get_stats()) - before, gc.get_freeze_count(), gc.isenabled())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    collections, frozen, on = done.stdout.split()
    assert (int(collections), on) == (0, "True")
    assert int(frozen) > 50_000
