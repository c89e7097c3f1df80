"""Dispatch of events to the functions of a fold: one look-up per event, however many kinds and tables there are."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.base import Payload

FoldT = TypeVar("FoldT")
PayloadT = TypeVar("PayloadT", bound=Payload)


class Handlers(Generic[FoldT]):
    """A fold's functions by payload class. Each returns True if it changed the view."""

    def __init__(self) -> None:
        self._by_class: dict[type[Payload], Callable[..., bool]] = {}

    def on(
        self, payload: type[PayloadT]
    ) -> Callable[[Callable[[FoldT, Envelope, PayloadT], bool]], Callable[[FoldT, Envelope, PayloadT], bool]]:
        """Register the decorated function for one class of payload."""

        def register(
            handler: Callable[[FoldT, Envelope, PayloadT], bool],
        ) -> Callable[[FoldT, Envelope, PayloadT], bool]:
            self._by_class[payload] = handler
            return handler

        return register

    @classmethod
    def joined(cls, *tables: "Handlers[FoldT]") -> "Handlers[FoldT]":
        """Return one table of several.

        If more than one has a function for a class, they run in order until one changes the view.
        """
        table_of_all = cls()
        for table in tables:
            for payload, handler in table._by_class.items():
                earlier = table_of_all._by_class.get(payload)
                table_of_all._by_class[payload] = (
                    handler if earlier is None else partial(_apply_in_order, earlier, handler)
                )
        return table_of_all

    @property
    def classes(self) -> tuple[type[Payload], ...]:
        """The payload classes that have a function."""
        return tuple(self._by_class)

    def apply(self, fold: FoldT, ev: Envelope) -> bool:
        """Pass the event to its function; return False if there is none."""
        handler = self._by_class.get(type(ev.payload))
        return False if handler is None else handler(fold, ev, ev.payload)


def _apply_in_order(
    first: Callable[..., bool], second: Callable[..., bool], fold: object, ev: Envelope, payload: Payload
) -> bool:
    return first(fold, ev, payload) or second(fold, ev, payload)
