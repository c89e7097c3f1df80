"""The API keys of model providers: from the environment, stored, or entered in this run."""

from dataclasses import replace

from tui_agent.config.options import SessionOptions
from tui_agent.config.settings import layers
from tui_agent.config.settings.api_keys import Keys
from tui_agent.errors import ConfigError
from tui_agent.tui.cli_client import Ask, CommandLine
from tui_agent.tui.controller.host import SessionHost


class ApiKeys:
    """Tells which API keys the app can use. Also applies a key entered by the user."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    def names(self) -> frozenset[str]:
        """Return the names of the API keys and environment variables that have a value."""
        app, config = self._host.app, self._host.config
        names = frozenset(name for name, value in app.environ.items() if value)
        if config is None:
            return names
        typed = {name for name, _ in app.options.typed_keys}
        try:
            variables = layers.merge_environment(app.options, app.environ)
            return Keys(variables, config.paths.secrets).names() | typed
        except ConfigError as fault:
            app.say(str(fault), "warning")
            return names | typed

    def ask_with(self, variable: str, key: str) -> Ask:
        """Return a function that runs `tui-agent` commands with `key` as the environment variable `variable`."""
        app = self._host.app
        return app.outside or CommandLine(_with_key(app.options, variable, key), app.environ)

    async def use(self, variable: str, key: str, model: str, base_url: str) -> bool:
        """Use the API key `key` (environment variable `variable`) until the app quits, and reopen the session with
        `model`."""
        host, app = self._host, self._host.app
        host.ask = self.ask_with(variable, key)
        app.options = _with_key(app.options, variable, key)
        host.start_page.expect_model(model)
        return await host.sessions.reopen(model, base_url)


def _with_key(options: SessionOptions, variable: str, key: str) -> SessionOptions:
    # A key entered now wins over one in the environment, which evidently did not work.
    return replace(options, typed_keys=tuple({**dict(options.typed_keys), variable: key}.items()))
