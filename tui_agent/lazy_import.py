"""Import of many modules at the start of a process, with garbage collection paused.

Invariant: this module imports nothing from its package, and leaves the garbage collector enabled if it was enabled
before.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType


def load_module(module: str) -> ModuleType:
    """Import a module with garbage collection paused, and exempt all existing objects from later collections.

    A headless run imports a thousand modules in 0.6 s. Without the pause, about 300 collections that free nothing would
    take 0.1 s of that, and later collections another 0.1 s. Must be called only at the start of a process, because
    existing garbage is never freed afterwards. A module that is already loaded is returned unchanged.
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
