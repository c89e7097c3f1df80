"""The smallest Textual app that takes input. Its cost is the minimum that any Textual app has."""

from textual.app import App, ComposeResult
from textual.widgets import Input


class Empty(App[None]):
    """An app with one input line."""

    def compose(self) -> ComposeResult:
        yield Input()


if __name__ == "__main__":
    Empty().run()
