"""Every key of the registry can be changed: the new key does what the old one did, and the old one nothing."""

from typing import Any

import pytest

from tests.stubs.rows import rows
from tui_agent.tui.commands.context import ContextSheet
from tui_agent.tui.commands.handlers import HANDLERS
from tui_agent.tui.commands.keys import KeyCapture
from tui_agent.tui.controller.chat import ChatWidget
from tui_agent.tui.keys_and_commands import ACTIONS, BY_NAME, Action, Scope, key_name
from tui_agent.tui.modals.approval import Approval
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.diff import DiffSheet
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.model_setup import ProviderForm
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.policy import PolicySheet
from tui_agent.tui.modals.question import Question
from tui_agent.tui.modals.trust import TrustSheet
from tui_agent.tui.modals.undo_question import FileChoice
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.start import Start
from tui_agent.tui.prompt.editor import Editor
from tui_agent.tui.screens.compare.screen import CompareScreen
from tui_agent.tui.screens.eval_board import BoardScreen
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.map.screen import MapScreen
from tui_agent.tui.screens.plugin_pane import PluginPaneScreen
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.simulation_history import HistoryScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.screens.tree.screen import TreeScreen
from tui_agent.tui.widgets.key_settings import apply_key_settings
from tui_agent.tui.widgets.keymap import ACTIVE_TOGETHER, KeyActions, KeyMap

FREE = [f"ctrl+f{number}" for number in range(5, 15)]
"""Keys that nothing uses."""
TAKERS: dict[Scope, tuple[type[KeyActions], ...]] = {
    "prompt": (Editor,),
    "menu": (Editor,),
    "approval": (Approval,),
    "reason": (Approval,),
    "rule": (Approval,),
    "question": (Question,),
    "trace": (TraceScreen,),
    "list": (Picker,),
    "pane": (PluginPaneScreen,),
    "viewer": (Viewer, ContextSheet, DiffSheet, PluginPaneScreen),
    "diff": (DiffSheet,),
    "context": (ContextSheet,),
    "start": (Start,),
    "chat": (ChatWidget,),
    "find": (ChatWidget,),
    "turn": (ChatWidget,),
    "trust": (TrustSheet,),
    "replay": (ReplayScreen,),
    "compare": (CompareScreen,),
    "tree": (TreeScreen,),
    "checkpoints": (CheckpointsScreen,),
    "jobs": (JobsScreen,),
    "evals": (BoardScreen,),
    "map": (MapScreen,),
    "map_find": (MapScreen,),
    "history": (HistoryScreen,),
    "fork": (ForkForm,),
    "sessions": (SessionsScreen,),
    "sessions_find": (SessionsScreen,),
    "policy": (PolicySheet,),
    "provider": (ProviderForm,),
    "files": (FileChoice,),
    "confirm": (Confirm,),
    "keys": (KeyCapture,),
    "field": (SessionsScreen, ReplayScreen),
    "sheet": (
        Viewer,
        Question,
        Approval,
        ForkForm,
        TrustSheet,
        PolicySheet,
        ProviderForm,
        FileChoice,
        Confirm,
        PluginPaneScreen,
    ),
    "page": (TreeScreen, CheckpointsScreen, JobsScreen, BoardScreen, MapScreen, SessionsScreen),
    "rows": (
        TreeScreen,
        CheckpointsScreen,
        JobsScreen,
        BoardScreen,
        MapScreen,
        SessionsScreen,
        TraceScreen,
        Picker,
    ),
}
"""Who takes the keys of a scope. Those of `app` and `transcript` are the app's own, and tested in the app."""
UNUSED = {("page_ends", Picker)}
"""Shared keys that one of the screens leaves to its field."""
KEYED = [action for action in ACTIONS if action.keys]


def method_of(taker: type[KeyActions], action: Action) -> tuple[Any, ...]:
    """The name of the method that an action calls, and its arguments. No name if it calls none."""
    entry = taker.key_methods.get(action.name, action.method)
    return (entry,) if isinstance(entry, str) else entry


def bare(
    taker: type[KeyActions], action: Action, keys: KeyMap
) -> tuple[KeyActions, list[tuple[object, ...]]]:
    """A screen of this class without its content, and the calls of the method that this action leads to."""
    calls: list[tuple[object, ...]] = []

    class Bare(taker):  # type: ignore[valid-type,misc]
        key_map = keys

        def __init__(self) -> None:
            """Nothing of the screen is needed."""

        def key_scopes(self) -> tuple[Scope, ...]:
            return action.scope, *ACTIVE_TOGETHER.get(action.scope, ())

    method, *fixed = method_of(taker, action)
    screen = Bare()
    for other in ACTIONS:
        name, *_ = method_of(taker, other)
        setattr(screen, name, lambda *arguments: False)

    def record(*arguments: object) -> bool:
        meant = list(arguments[: len(fixed)]) == fixed
        if meant:
            calls.append(arguments)
        return meant

    setattr(screen, method, record)
    return screen, calls


@pytest.mark.slow
@rows(
    "action, taker",
    [
        (action, taker)
        for action in KEYED
        for taker in TAKERS.get(action.scope, ())
        if (action.name, taker) not in UNUSED
    ],
)
def test_a_changed_key_does_what_the_old_one_did_and_the_old_one_nothing(
    action: Action, taker: type[KeyActions]
) -> None:
    given = FREE[: action.choices]
    settings = apply_key_settings({action.name: given})
    assert settings.faults == []
    default, by_default = bare(taker, action, KeyMap())
    for key in action.keys[: action.choices]:
        default.run_key(key)
    screen, calls = bare(taker, action, KeyMap(settings.actions))
    for key in action.keys:
        screen.run_key(key)
    assert calls == []
    for key in given:
        assert screen.run_key(key)
    assert calls == by_default and len(calls) == action.choices


@rows("action", KEYED)
def test_every_action_with_a_key_has_someone_who_takes_it(action: Action) -> None:
    if action.scope in ("app", "transcript"):
        assert action.name in {*HANDLERS, "quit", "quit_empty", "stop", "copy_or_stop", "scroll"}
        return
    for taker in TAKERS[action.scope]:
        assert taker is Editor or hasattr(taker, method_of(taker, action)[0]), taker


@rows("taker", sorted({one for many in TAKERS.values() for one in many}, key=lambda one: one.__name__))
def test_every_method_that_a_screen_names_itself_exists_and_its_action_too(taker: type[KeyActions]) -> None:
    for name, method in taker.key_methods.items():
        assert name in BY_NAME and hasattr(taker, method)


@pytest.mark.slow
@rows("action", KEYED)
def test_lists_of_keys_show_the_changed_key(action: Action) -> None:
    given = FREE[: action.choices]
    keys = KeyMap(apply_key_settings({action.name: given}).actions)
    assert keys.key_of(action.name) == key_name(given[0])
    assert keys.label(action.name).startswith(key_name(given[0]))


@pytest.mark.parametrize("pressed", ["N", "upper_n", "shift+n"])
def test_a_letter_with_shift_is_one_key_however_the_terminal_reports_it(pressed: str) -> None:
    [(action, choice), *_] = KeyMap().find(pressed, ("replay",))
    assert (action.name, choice) == ("replay_again", 0)


def test_the_keys_of_the_previous_come_before_those_of_the_next_in_every_search() -> None:
    for name in ("find_next", "replay_again"):
        assert KeyMap().key_of(name, 0) == "Shift+N" and KeyMap().key_of(name, 1) == "N"


def test_a_letter_with_shift_means_what_it_means_without_where_it_has_no_meaning_of_its_own() -> None:
    assert [action.name for action, _ in KeyMap().find("Y", ("approval",))] == ["yes"]
