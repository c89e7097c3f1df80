"""A file filter as grep takes it: a path pattern, or a name in any folder; `!` in front turns it round."""

import re
from collections.abc import Callable

from tui_agent.plugin_api import ToolError

MAX_GLOB = 200
_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|.", re.DOTALL)


def compile_filter(glob: str) -> Callable[[str], bool]:
    """A predicate of paths; an empty filter lets all through."""
    if len(glob) > MAX_GLOB:
        raise ToolError("The glob is too long.")
    negated = glob.startswith("!")
    plain = glob.removeprefix("!").removeprefix("./").lstrip("/")
    if not plain:
        return lambda path: True
    expression = re.compile(_expression(plain), re.DOTALL)
    by_name = "/" not in plain

    def fits(path: str) -> bool:
        return (expression.fullmatch(path.rsplit("/", 1)[-1] if by_name else path) is not None) != negated

    return fits


def _expression(glob: str) -> str:
    out: list[str] = []
    stars = 0
    for token in _TOKENS.findall(glob):
        stars += "*" in token
        if stars > 8:
            raise ToolError("The glob has too many stars.")
        match token[0]:
            case "*" if token == "**/":
                out.append("(?:.*/)?")
            case "*":
                out.append(".*" if token == "**" else "[^/]*")
            case "?":
                out.append("[^/]")
            case "[" if len(token) > 1:
                inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
                out.append(f"[{'^' + inside[1:] if inside.startswith('!') else inside}]")
            case "{" if len(token) > 1:
                out.append("(?:" + "|".join(_expression(choice) for choice in token[1:-1].split(",")) + ")")
            case _:
                out.append(re.escape(token))
    return "".join(out)
