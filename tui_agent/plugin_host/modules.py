"""Import of plugins under private names, so that plugins and libraries never collide.

Invariant: every module of a plugin is in `sys.modules` under `tui_agent_plugins.<name>`; `unload_modules` removes them all.
`sys.path` is never changed.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tui_agent.errors import PluginError

NAMESPACE = "tui_agent_plugins"


def import_from(name: str, path: Path) -> ModuleType:
    """Import the plugin at `path`, a folder with `__init__.py` or one file. Exceptions of the plugin propagate."""
    _ensure_namespace()
    full = f"{NAMESPACE}.{name}"
    package = path.is_dir()
    spec = importlib.util.spec_from_file_location(
        full,
        path / "__init__.py" if package else path,
        submodule_search_locations=[str(path)] if package else None,
    )
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    setattr(sys.modules[NAMESPACE], name, module)
    spec.loader.exec_module(module)
    return module


def import_entry(value: str) -> ModuleType:
    """Import the module of an entry point (`package.module`, or `package.module:register`)."""
    return importlib.import_module(value.partition(":")[0].strip())


def unload_modules(name: str) -> None:
    """Remove all modules of a plugin from `sys.modules`."""
    full = f"{NAMESPACE}.{name}"
    for loaded in [key for key in sys.modules if key == full or key.startswith(full + ".")]:
        del sys.modules[loaded]
    parent = sys.modules.get(NAMESPACE)
    if parent is not None and hasattr(parent, name):
        delattr(parent, name)


def _ensure_namespace() -> None:
    if NAMESPACE not in sys.modules:
        package = ModuleType(NAMESPACE, "Plugins, each under its own name.")
        package.__path__ = []
        sys.modules[NAMESPACE] = package
