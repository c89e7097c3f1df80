"""Which function of a fold takes which event: one look-up an event, however many kinds and tables there are."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.base import Payload

FoldT = TypeVar("FoldT")
PayloadT = TypeVar("PayloadT", bound=Payload)


class Handlers(Generic[FoldT]):
    """A fold's functions by payload class. Each returns whether the view changed."""

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
        """One table of several: where more than one has a function for a class, the first that changes the view ends the
        round."""
        one = cls()
        for table in tables:
            for payload, handler in table._by_class.items():
                before = one._by_class.get(payload)
                one._by_class[payload] = handler if before is None else partial(_either, before, handler)
        return one

    @property
    def classes(self) -> tuple[type[Payload], ...]:
        """The classes of payload that there is a function for."""
        return tuple(self._by_class)

    def apply(self, fold: FoldT, ev: Envelope) -> bool:
        """Hand the event to its function; False where the fold has none for it."""
        handler = self._by_class.get(type(ev.payload))
        return False if handler is None else handler(fold, ev, ev.payload)


def _either(
    first: Callable[..., bool], second: Callable[..., bool], fold: object, ev: Envelope, payload: Payload
) -> bool:
    return first(fold, ev, payload) or second(fold, ev, payload)
