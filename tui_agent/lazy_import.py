"""Import of many modules at the start of a process, with garbage collection paused.

Invariant: this module imports nothing else from `tui_agent`.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType


def load_module(module: str) -> ModuleType:
    """Import a module with garbage collection paused.

    Call this only at the start of a process: objects that exist afterwards are never collected.
    """
    if module in sys.modules:
        return import_module(module)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
