"""Qualified names of symbols, such as `Cart.total`.

Invariant: a name is never given a class or module that it does not belong to.
"""

import re

from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.named_files import PACKAGE_FILES


def split_qualified_name(name: str) -> tuple[str, str]:
    """Return the class or module that the name gives (empty if none), and the symbol's own name."""
    owner, _, own_name = name.replace("::", ".").rpartition(".")
    return owner.rpartition(".")[2], own_name


def qualified_name(symbol: Symbol) -> str:
    """Return the symbol's name with its class, if it has one."""
    name = f"{symbol.parent}.{symbol.name}" if symbol.parent else symbol.name
    return name.replace("::", ".")


def belongs_to(symbol: Symbol, path: str, owner: str) -> bool:
    """Return True if the symbol is defined in the class or module `owner`. `path`: file of the symbol."""
    parent, _, own_name = qualified_name(symbol).rpartition(".")
    if parent:
        return f".{parent}".endswith(f".{owner}")
    before_name = symbol.signature.rpartition(own_name)[0]
    return owner == _module_name(path) or re.search(rf"\b{re.escape(owner)}\b", before_name) is not None


def _module_name(path: str) -> str:
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    return folders[-1] if stem in PACKAGE_FILES and folders else stem
