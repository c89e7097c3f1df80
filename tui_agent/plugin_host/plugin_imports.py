"""Import of plugins under private names, and a guard against `os._exit` in their code.

Invariant: every module of a plugin is in `sys.modules` under `tui_agent_plugins.<name>`, so that plugins and libraries
never collide.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import NoReturn

from tui_agent.errors import PluginError

NAMESPACE = "tui_agent_plugins"
MAX_FILES = 2000
"""Maximum number of a plugin's files that are checked for changes."""
_end_process = os._exit
_guarded: set[str] = set()


def import_from(name: str, path: Path) -> ModuleType:
    """Import the plugin at `path`: either one file, or a folder with `__init__.py`. Its exceptions propagate."""
    _ensure_namespace()
    guard_code(path)
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


def import_folds(name: str, folder: Path) -> ModuleType:
    """Import the module `folds` of the plugin in `folder`, but not the plugin itself."""
    _ensure_namespace()
    full = f"{NAMESPACE}.{name}"
    package = sys.modules[full] = ModuleType(full)
    package.__path__ = [str(folder)]
    return importlib.import_module(f"{full}.folds")


def import_entry(value: str) -> ModuleType:
    """Import the module of an entry point (`package.module`, or `package.module:register`)."""
    module = value.partition(":")[0].strip()
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is not None and spec.origin is not None:
        guard_code(Path(spec.origin) if spec.submodule_search_locations is None else Path(spec.origin).parent)
    return importlib.import_module(module)


def plugin_of(module: str) -> str:
    """Return the name of the plugin to which a module belongs, or an empty string."""
    namespace, _, rest = module.partition(".")
    return rest.partition(".")[0] if namespace == NAMESPACE else ""


def unload_modules(name: str) -> None:
    """Remove all modules of a plugin from `sys.modules`."""
    take_modules(name)


def take_modules(name: str) -> dict[str, ModuleType]:
    """Remove all modules of a plugin from `sys.modules` and return them; objects that use them keep working."""
    full = f"{NAMESPACE}.{name}"
    names = [key for key in list(sys.modules) if key == full or key.startswith(full + ".")]
    parent = sys.modules.get(NAMESPACE)
    if parent is not None and hasattr(parent, name):
        delattr(parent, name)
    if names:
        importlib.invalidate_caches()  # the next version may have other modules
    return {key: sys.modules.pop(key) for key in names}


def restore_modules(modules: Mapping[str, ModuleType]) -> None:
    """Put the modules removed by `take_modules` back into `sys.modules`."""
    sys.modules.update(modules)
    for full, module in modules.items():
        if full.count(".") == 1:
            setattr(sys.modules[NAMESPACE], full.partition(".")[2], module)


def files_state(path: Path | None) -> str:
    """Return a digest of the names, sizes and modification times of a plugin's files. Empty if `path` is None."""
    if path is None:
        return ""
    digest = hashlib.sha256()
    files = sorted(path.rglob("*"))[:MAX_FILES] if path.is_dir() else [path]
    for file in files:
        if "__pycache__" in file.parts:
            continue
        try:
            info = file.stat()
        except OSError:  # removed meanwhile: the next look sees another state
            continue
        digest.update(f"{file}\0{info.st_size}\0{info.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _ensure_namespace() -> None:
    if NAMESPACE not in sys.modules:
        package = ModuleType(NAMESPACE, "The loaded plugins, as modules.")
        package.__path__ = []
        sys.modules[NAMESPACE] = package


def guard_code(path: Path) -> None:
    """Make `os._exit` raise `SystemExit` if code in this file or folder calls it, directly or indirectly."""
    _guarded.add(str(path))
    own_process = os.getpid()

    def end_process(status: int) -> NoReturn:
        caller = sys._getframe(1)
        is_ours = str(caller.f_globals.get("__name__", "")).split(".")[0] == "tui_agent"
        if os.getpid() == own_process and not is_ours and _is_called_by_guarded_code(caller):
            raise SystemExit(f"os._exit({status}) would end tui-agent itself; raise an error instead")
        _end_process(status)

    os._exit = end_process


def _is_called_by_guarded_code(frame: FrameType | None) -> bool:
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _guarded or any(parent in _guarded for parent in _parents(file)):
            return True
        frame = frame.f_back
    return False


def _parents(file: str) -> list[str]:
    return [str(parent) for parent in Path(file).parents]
