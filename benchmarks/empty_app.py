"""The floor: the smallest Textual app that takes input. What it costs, the library costs."""

from textual.app import App, ComposeResult
from textual.widgets import Input


class Empty(App[None]):
    """One input line."""

    def compose(self) -> ComposeResult:
        yield Input()


if __name__ == "__main__":
    Empty().run()
