"""A pilot for Textual's apps that goes on as soon as there is nothing left to do.

Textual's own takes an app for settled once the process used no time for 20 ms, twice for each key: most of a test's
time is that wait, and a busy machine makes it longer. This one asks the event loop, and the threads that it gave
work to. What waits for a moment of the clock is not waited for.
"""

import asyncio
import gc
import itertools
import unicodedata
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar
from unittest.mock import patch

from anyio._backends._asyncio import _threadpool_idle_workers, _threadpool_workers
from rich.segment import Segment
from rich.style import Style
from textual import Logger, strip
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual._styles_cache import StylesCache
from textual.app import App
from textual.color import Color
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.events import Key
from textual.geometry import Size
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.reactive import Reactive
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip

ResultT = TypeVar("ResultT")
ROUNDS = 3
"""Turns of the loop, one after the other, in which nothing was ready: one may be between a socket and its reader."""
THREADS_S = 30.0
"""The longest wait for work in threads, which a busy machine makes long."""
LOOK_S = 0.001
COLLECTED_AFTER = 16
OPENED = itertools.count(1)
"""Number of apps so far. The app's thresholds make automatic collections rare, so that one is due after some apps."""
FRAMES = 20
"""Paintings that follow one another, at most: what moves by itself never comes to an end. Opening a page takes six."""


class QuickPilot(Pilot[ResultT]):
    """Keys, clicks and pauses as a `Pilot` has them, without its waits.

    `thread_work` is the work in threads that the loop waits for.
    """

    def __init__(self, app: App[ResultT], thread_work: Collection[asyncio.Future[Any]]) -> None:
        super().__init__(app)
        self._thread_work = thread_work

    async def press(self, *keys: str) -> None:
        """Each key, and what it sets off."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            event = _event(key)
            event.set_sender(self.app)
            driver.send_message(event)
            await self._settled()
            await self.app.animator.wait_until_complete()
            await self._settled()

    async def pause(self, delay: float | None = None) -> None:
        """Let the app do what it has to do, or so many seconds go by."""
        if delay is None:
            await self._settled()
        else:
            await asyncio.sleep(delay)
            self._paint()

    async def _settled(self) -> None:
        """Wait until the loop has nothing to do but to wait, and what it did is painted."""
        for _ in range(FRAMES):
            await self._quiet()
            if not self._paint():
                return

    def _paint(self) -> bool:
        """Lay out and paint what changed, below a dialog too. Return False if nothing did."""
        shown = [
            *self.app._background_screens,
            self.app.screen,
        ]  # what is below a dialog makes the dialog paint again
        screens = [screen for screen in shown if screen._dirty_widgets or _needs_layout(screen)]
        for screen in screens:
            screen._on_timer_update()
        return bool(screens)

    async def _quiet(self) -> None:
        loop = asyncio.get_running_loop()
        end, quiet = loop.time() + THREADS_S, 0
        while quiet < ROUNDS:
            working = self._is_working() and loop.time() < end
            await asyncio.sleep(LOOK_S if working else 0)
            quiet = 0 if working or loop._ready else quiet + 1  # type: ignore[attr-defined]

    def _is_working(self) -> bool:
        """Return True if a thread has work that was given to it by the loop, or a new size is about to be taken."""
        threads, idle = _threadpool_workers.get(None) or (), _threadpool_idle_workers.get(None) or ()
        return bool(self._thread_work) or len(threads) > len(idle) or self.app._resize_timer is not None


def _needs_layout(screen: Screen[Any]) -> bool:
    return bool(
        screen._layout_required or screen._scroll_required or screen._recompose_required or screen._callbacks
    )


def _note_thread_work(
    loop: asyncio.AbstractEventLoop, thread_work: set[asyncio.Future[Any]]
) -> Callable[..., asyncio.Future[Any]]:
    """Return a replacement for the loop's `run_in_executor` that keeps what is not done yet in `thread_work`."""
    run_in_executor = loop.run_in_executor

    def run(executor: Executor | None, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        future = run_in_executor(executor, function, *args)
        thread_work.add(future)
        future.add_done_callback(thread_work.discard)
        return future

    return run


def _skip_paint(compositor: Compositor, *, screen_stack: list[Screen[Any]] | None = None, **_: bool) -> None:
    """Replace `Compositor.render_update`: mark everything as painted without rendering it.

    There is no terminal to show the result. A test that reads the screen renders it then (`render_strips`).
    """
    visible_screen_stack.set(screen_stack or [])
    compositor._dirty_regions.clear()


def _render_over(app: App[Any]) -> Callable[[Compositor, Size | None], list[Strip]]:
    """Return a `Compositor.render_strips` that renders the top screen over those below it.

    Textual takes these from a list that each rendering empties, and fills the list again only when it paints.
    """
    render_strips = Compositor.render_strips

    def render(compositor: Compositor, size: Size | None = None) -> list[Strip]:
        if compositor is app.screen._compositor:
            visible_screen_stack.set(list(app._background_screens))
        return render_strips(compositor, size)

    return render


def _parse_once(stylesheet: Stylesheet, css: str, *args: Any, **options: Any) -> list[RuleSet]:
    """Replace `Stylesheet._parse_rules`: parse each source once in a process, instead of once in each app."""
    key = (css, args, tuple(options.items()), tuple(stylesheet._variables.items()))
    if key not in _RULES:
        _RULES[key] = _PARSE_RULES(stylesheet, css, *args, **options)
    return _RULES[key]


_RULES: dict[tuple[object, ...], list[RuleSet]] = {}
_PARSE_RULES = Stylesheet._parse_rules


def _tint_segments(segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
    """Replace `BackgroundScreen.process_segments`: compute each style below a dialog once, not once for each segment."""
    for segment in segments:
        yield segment if segment.control else Segment(segment.text, _tint(segment.style, color))


@cache
def _tint(style: Style | None, color: Color) -> Style | None:
    return next(iter(_TINT_SEGMENTS([Segment("", style)], color))).style


_TINT_SEGMENTS = BackgroundScreen.process_segments


def _dispatch_methods(pump: MessagePump, method_name: str, message: Message) -> Iterable[tuple[type, Any]]:
    """Replace `MessagePump._get_dispatch_methods`: look through the classes once for each kind of message, not for each
    message. Handlers that depend on a selector are left to Textual."""
    key = (pump.__class__, method_name, message.__class__)
    if key not in _HANDLERS:
        _HANDLERS[key] = _find_handlers(*key)
    handlers = _HANDLERS[key]
    if handlers is None:
        yield from _GET_DISPATCH_METHODS(pump, method_name, message)
        return
    for cls, method in handlers:
        if message._no_default_action:
            break
        yield cls, method.__get__(pump, cls)


def _find_handlers(
    pump_class: type[MessagePump], method_name: str, message_class: type[Message]
) -> list[tuple[type, Any]] | None:
    """Return the handlers of these messages in the order of Textual; None if one of them depends on a selector."""
    found: list[tuple[type, Any]] = []
    dispatched: set[object] = set()
    for cls in pump_class.__mro__:
        decorated = cls.__dict__.get("_decorated_handlers") or {}
        for base in message_class.__mro__:
            for method, selectors in decorated.get(base, ()):
                if selectors:
                    return None
                if method not in dispatched:
                    dispatched.add(method)
                    found.append((cls, method))
        named = cls.__dict__.get(f"_{method_name}") or cls.__dict__.get(method_name)
        if named is not None and not getattr(named, "_textual_on", None):
            found.append((cls, named))
    return found


_HANDLERS: dict[tuple[type[MessagePump], str, type[Message]], list[tuple[type, Any]] | None] = {}
_GET_DISPATCH_METHODS = MessagePump._get_dispatch_methods


def _get_reactive(reactive: Reactive[Any], node: Any, node_type: type) -> Any:
    """Replace `Reactive.__get__`: return a value that is there and is not computed with one look instead of five."""
    try:
        value = node.__dict__[reactive.internal_name]
        computed = _COMPUTED[node_type, reactive.compute_name]
    except (AttributeError, KeyError):
        if node is not None:
            _COMPUTED[node_type, reactive.compute_name] = hasattr(node_type, reactive.compute_name)
        return _GET_REACTIVE(reactive, node, node_type)
    return _GET_REACTIVE(reactive, node, node_type) if computed else value


_COMPUTED: dict[tuple[type, str], bool] = {}
_GET_REACTIVE = Reactive.__get__


def _prevent(pump: MessagePump, *message_types: type[Message]) -> AbstractContextManager[None]:
    """Replace `MessagePump.prevent`: start no generator if nothing is to be prevented, which is nearly always so."""
    return _PREVENT(pump, *message_types) if message_types else _NOTHING_PREVENTED


_NOTHING_PREVENTED = nullcontext()
_PREVENT = MessagePump.prevent


class _NoCache:
    """Stands in for each of the seven caches that Textual makes for every row of a widget. Headless rows are rarely
    rendered twice, so that making the caches takes longer than they save."""

    def get(self, key: object) -> None: ...

    def __setitem__(self, key: object, value: object) -> None: ...


_NO_CACHE = _NoCache()


def _log_nothing(logger: Logger, *args: object, **options: object) -> None:
    """Replace `Logger.__call__`: no console listens to the log of an app without a terminal."""


def _same_logger(logger: Logger, *verbose: bool) -> Logger:
    """Replace `Logger.event` and `Logger.verbosity`, which make two loggers for each message."""
    return logger


@asynccontextmanager
async def piloted(
    app: App[ResultT], size: tuple[int, int] = (80, 24), *, paint: bool = False
) -> AsyncIterator[QuickPilot[ResultT]]:
    """Run the app without a terminal. It lays out its widgets, but renders their rows only with `paint` or when a test
    reads them.

    The app must not tell the garbage collector to ignore all existing objects: those of earlier apps are among them.
    """
    painting = Compositor.render_update if paint else _skip_paint
    loop = asyncio.get_running_loop()
    thread_work: set[asyncio.Future[Any]] = set()
    try:
        with (
            patch.object(loop, "run_in_executor", _note_thread_work(loop, thread_work)),
            patch.object(gc, "freeze"),
            patch.object(BackgroundScreen, "process_segments", staticmethod(_tint_segments)),
            patch.object(Stylesheet, "_parse_rules", _parse_once),
            patch.object(strip, "FIFOCache", lambda size: _NO_CACHE),
            patch.object(MessagePump, "_get_dispatch_methods", _dispatch_methods),
            patch.object(MessagePump, "prevent", _prevent),
            patch.object(Reactive, "__get__", _get_reactive),
            patch.object(Logger, "__call__", _log_nothing),
            patch.object(Logger, "event", property(_same_logger)),
            patch.object(Logger, "verbosity", _same_logger),
            patch.object(Compositor, "render_update", painting),
            patch.object(Compositor, "render_strips", _render_over(app)),
        ):
            async with app.run_test(size=size):
                yield QuickPilot(app, thread_work)
    finally:
        StylesCache.get_inner_outer.cache_clear()  # it keeps a thousand widgets' rows of earlier apps
        if next(OPENED) % COLLECTED_AFTER == 0:
            gc.collect()


def _event(key: str) -> Key:
    """As a terminal's driver makes it."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        char: str | None = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        char = name if len(name) == 1 else None
    return Key(name, char)
