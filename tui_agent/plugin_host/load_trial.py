"""Entry point of the child process that tries to load one suspect plugin.

The process reads the plugin from standard input, as a pickled `FoundPlugin`.

Invariant: the process writes `TRIAL_ENDED` unless the plugin ends the process.
"""

import pickle
import sys
from contextlib import redirect_stdout

from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.load_records import TRIAL_ENDED
from tui_agent.plugin_host.loader import PluginHost


def main() -> None:
    """Load the plugin. Ignore errors of the plugin, because the real load reports them."""
    plugin = pickle.load(sys.stdin.buffer)
    sys.dont_write_bytecode = True
    with redirect_stdout(sys.stderr):
        PluginHost(PluginPlaces(entry_points=False)).try_loading(plugin)
    sys.stdout.buffer.write(TRIAL_ENDED)


if __name__ == "__main__":
    main()
