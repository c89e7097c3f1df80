"""L3: whether a sed script only prints, deletes and replaces text.

Invariant: anything that is not recognised is not harmless; commands that read, write or run (r, w, e) never are.
"""

_ADDRESS_END = frozenset("0123456789$,~+! ")
_PLAIN = frozenset("pdqQ=nNgGhHxPDlFz")
_TEXT = frozenset("aic")
_JUMPS = frozenset("btT:")
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
        if command in _TEXT or command in _JUMPS:
            at = _past_text(script, at) if command in _TEXT else _past_label(script, at)
            if at < 0:
                return False
            continue
        if command in _PLAIN:
            while command in "qQl" and at < len(script) and script[at].isdigit():
                at += 1
            if at < len(script) and script[at] not in " ;}\n":
                return False
            continue
        if command not in "sy":
            return False
        at = _past_replacement(script, at)
        if at < 0 or (at < len(script) and script[at] not in " ;}\n"):
            return False
    return True


def _past_text(script: str, at: int) -> int:
    """Behind the text of `a`, `i` or `c`: one line, in which nothing is escaped; -1 where that is not so."""
    rest = script[at:].lstrip(" \t")
    if rest.startswith("\\"):
        rest = rest[1:].lstrip(" \t").removeprefix("\n")
    line, end, _ = rest.partition("\n")
    if not line or "\\" in line:
        return -1
    return len(script) - len(rest) + len(line) + len(end)


def _past_label(script: str, at: int) -> int:
    """Behind a label, which some seds end at a semicolon and others at the line's end; -1 where it has odd letters."""
    while script[at : at + 1] == " ":
        at += 1
    while at < len(script) and (script[at].isascii() and (script[at].isalnum() or script[at] == "_")):
        at += 1
    return at if at == len(script) or script[at] in ";\n}" else -1


def _past_address(script: str, at: int) -> int:
    while at < len(script):
        other = (
            script[at] == "\\"
            and script[at + 1 : at + 2] not in ("", "\\", "\n")
            and not script[at + 1].isalnum()
        )
        if script[at] == "/" or other:
            mark = script[at + other]
            end = _closing(script, at + 1 + other, mark)
            if end < 0:
                return len(script)
            at = end + 1
            while script[at : at + 1] in ("I", "M") and at < len(script):
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
