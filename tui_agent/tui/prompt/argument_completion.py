"""Completions that the prompt asks the session for: arguments of plugins' slash commands, and MCP resources after `@`.

Invariant: the session is asked only when typing pauses, and only once for the same words.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence

from textual.timer import Timer
from textual.widget import Widget

from tui_agent.tui.prompt.completion import Token
from tui_agent.tui.prompt.files import PAUSE_S
from tui_agent.tui.text import clean_line


async def _complete_nothing(command: str, arguments: str) -> Sequence[str]:
    return ()


class ArgumentCompletion:
    """The latest completions for each of `commands` (slash commands or `@`), as `(text, help)` pairs."""

    def __init__(self) -> None:
        self.commands: Collection[str] = ()
        self.ask_session: Callable[[str, str], Awaitable[Sequence[str]]] = _complete_nothing
        """Function that returns completions. Its arguments are a command's name and the text typed after the name."""
        self.completions: dict[str, list[tuple[str, str]]] = {}
        self._asked = ("", "")
        self._timer: Timer | None = None

    def needs_request(self, token: Token) -> bool:
        """Return True if the session must be asked for completions of this argument."""
        return token.command in self.commands and (token.command, token.query) != self._asked

    def request_later(self, widget: Widget, token: Token, show: Callable[[], None]) -> None:
        """Ask the session for completions once typing pauses, then call `show`."""
        if self._timer is not None:
            self._timer.stop()

        def start() -> None:
            work = self._request(token, show)
            widget.app.run_worker(work, exclusive=True, group="arguments", exit_on_error=False)

        self._timer = widget.set_timer(PAUSE_S, start)

    async def _request(self, token: Token, show: Callable[[], None]) -> None:
        texts = await self.ask_session(token.command.removeprefix("/"), token.query)
        self._asked = (token.command, token.query)
        self.completions[token.command] = [(clean_line(text), "") for text in texts]
        show()
