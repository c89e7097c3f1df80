"""Loading by name what a process needs from its beginning to its end.

Invariant: imports nothing of ours, and the garbage collector is on afterwards if it was on before.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType


def load(module: str) -> ModuleType:
    """Import a module and all that it imports, and keep what is there from the collector's eyes for good.

    Modules are never garbage, and loading a thousand of them sets the collector off three hundred times: 0.1 s of
    the 0.6 s that a headless run loads for, and as much again while it works. For the beginning of a process only:
    circles that are garbage by now stay. A module that is loaded already is only given.
    """
    if module in sys.modules:
        return import_module(module)
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
