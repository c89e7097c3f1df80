"""Dispatch of events to the functions of a fold by payload class."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT

FoldT = TypeVar("FoldT")
PayloadT = TypeVar("PayloadT", bound=Payload)
Handler: TypeAlias = Callable[[FoldT, Envelope, PayloadT], bool | None]
"""Function of a fold that handles one class of payload. It returns False if the fold's view did not change."""


class Handlers(Generic[FoldT]):
    """The functions of a fold, one for each class of payload."""

    def __init__(self) -> None:
        self._by_class: dict[type[Payload], Callable[..., bool | None]] = {}

    def on(
        self, payload: type[PayloadT], *, main_only: bool = False
    ) -> Callable[[Handler[FoldT, PayloadT]], Handler[FoldT, PayloadT]]:
        """Register the decorated function for one class of payload.

        `main_only`: call the function only for events of the main agent.
        """

        def register(handler: Handler[FoldT, PayloadT]) -> Handler[FoldT, PayloadT]:
            self._by_class[payload] = partial(_apply_to_main, handler) if main_only else handler
            return handler

        return register

    @classmethod
    def join(cls, *tables: "Handlers[FoldT]") -> "Handlers[FoldT]":
        """Return one table with the functions of all `tables`. The functions of earlier tables run first."""
        table_of_all = cls()
        for table in tables:
            for payload, handler in table._by_class.items():
                earlier = table_of_all._by_class.get(payload)
                table_of_all._by_class[payload] = (
                    handler if earlier is None else partial(_apply_in_order, earlier, handler)
                )
        return table_of_all

    def apply(self, fold: FoldT, ev: Envelope) -> bool:
        """Pass the event to the function for its payload."""
        handler = self._by_class.get(type(ev.payload))
        return handler is not None and handler(fold, ev, ev.payload) is not False


def _apply_to_main(handler: Handler[FoldT, PayloadT], fold: FoldT, ev: Envelope, payload: PayloadT) -> bool:
    return ev.agent == MAIN_AGENT and handler(fold, ev, payload) is not False


def _apply_in_order(
    first: Handler[FoldT, PayloadT],
    second: Handler[FoldT, PayloadT],
    fold: FoldT,
    ev: Envelope,
    payload: PayloadT,
) -> bool:
    has_changed = first(fold, ev, payload) is not False
    return second(fold, ev, payload) is not False or has_changed
