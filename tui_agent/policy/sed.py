"""L3: whether a sed script only prints, deletes and replaces text.

Invariant: anything that is not recognised is not harmless; commands that read, write or run (r, w, e) never are.
"""

_ADDRESS_END = frozenset("0123456789$,~+! ")
_PLAIN = frozenset("pdqQ=nNgGhHxPD")
_FLAGS = frozenset("gpiIM0123456789")


def only_edits_text(script: str) -> bool:
    """True for scripts of addresses, plain commands and `s`/`y` without side effects."""
    at = 0
    while at < len(script):
        if script[at] in " \t;\n}":
            at += 1
            continue
        at = _past_address(script, at)
        if at >= len(script):
            return False
        command = script[at]
        at += 1
        if command == "{":
            continue
        if command in _PLAIN:
            if at < len(script) and script[at] not in " ;}\n":
                return False
            continue
        if command not in "sy":
            return False
        at = _past_replacement(script, at)
        if at < 0 or (at < len(script) and script[at] not in " ;}\n"):
            return False
    return True


def _past_address(script: str, at: int) -> int:
    while at < len(script):
        if script[at] == "/":
            end = _closing(script, at + 1, "/")
            if end < 0:
                return len(script)
            at = end + 1
            if script[at : at + 1] in ("I", "M"):
                at += 1
        elif script[at] in _ADDRESS_END:
            at += 1
        else:
            return at
    return at


def _past_replacement(script: str, at: int) -> int:
    if at >= len(script) or script[at] in "\\\n ;" or script[at].isalnum():
        return -1
    mark = script[at]
    middle = _closing(script, at + 1, mark)
    end = _closing(script, middle + 1, mark, pattern=False) if middle >= 0 else -1
    if end < 0:
        return -1
    at = end + 1
    while at < len(script) and script[at] in _FLAGS:
        at += 1
    return at


def _closing(script: str, at: int, mark: str, *, pattern: bool = True) -> int:
    """Where the next unescaped `mark` stands, -1 where that is not certain: in brackets it may stand for itself."""
    bracket = False
    while at < len(script):
        char = script[at]
        if char == "\n" or (bracket and char == mark):
            return -1
        if char == "\\" and not bracket:
            at += 2
            continue
        if char == mark:
            return at
        bracket = (bracket or char == "[") and char != "]" if pattern else False
        at += 1
    return -1
