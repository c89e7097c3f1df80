"""L3: whether a filter of jq or yq only computes from what it is given.

Invariant: what reads the environment, other files or modules is never harmless.
"""

_NEVER = frozenset(
    {"env", "ENV", "input_filename", "include", "import", "modulemeta", "get_search_list", "strenv", "envsubst", "load",
     "load_str", "load_xml", "load_props", "load_base64", "system", "exec", "eval", "split_doc"}
)  # fmt: skip


def only_filters(script: str) -> bool:
    """True for filters without the environment, files and modules."""
    nested: list[int] = []
    """Brackets that are open in each piece of code inside a string."""
    at = 0
    inside = False
    while at < len(script):
        char = script[at]
        if inside:
            if script.startswith("\\(", at):
                nested.append(0)
                inside = False
            elif char == '"':
                inside = False
            at += 2 if char == "\\" else 1
            continue
        if char == '"':
            inside = True
        elif char == "(" and nested:
            nested[-1] += 1
        elif char == ")" and nested:
            nested[-1] -= 1
            if nested[-1] < 0:
                nested.pop()
                inside = True
        elif char == "#":
            end = script.find("\n", at)
            end = len(script) if end < 0 else end
            if "\\" in script[at:end] or nested:
                return False
            at = end
            continue
        elif char.isalpha() or char == "_":
            end = _word_end(script, at)
            if script[at:end] in _NEVER and not _name(script, at, end):
                return False
            at = end
            continue
        at += 1
    return not inside and not nested


def _word_end(script: str, at: int) -> int:
    while at < len(script) and (script[at].isalnum() or script[at] == "_"):
        at += 1
    return at


def _name(script: str, start: int, end: int) -> bool:
    """Whether the word names a field: `.env`, or `env:` in an object."""
    if script[start - 1 : start] == "." and script[start - 2 : start - 1] != ".":
        return True
    before = script[:start].rstrip()[-1:]
    return before in ("{", ",") and script[end:].lstrip()[:1] == ":"
