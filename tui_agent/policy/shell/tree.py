"""L3: what a shell script's text and its syntax tree tell as a whole, before any command of it is read.

Invariant: pure; what a person would not see, or would read otherwise than bash does, is named.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent.letters import concealed
from tui_agent.policy.shell.heredocs import dash_before

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_PARSED = 40_000
MAX_PIPES = 400
MAX_BLANKS = 40
MAX_OPEN = 200
_ODD = frozenset({"in", "{", "comment", ";", ";;", ";&", ";;&"})
_COMPARING = frozenset({"==", "=", "!=", "<", ">", "=~"})
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_SETTERS = frozenset(
    {
        "variable_assignment",
        "for_statement",
        "declaration_command",
        "unset_command",
        "command",
        "c_style_for_statement",
    }
)
FILLING = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "wait", "coproc"})
"""Builtins that may set the variables that their words name."""
STATEMENTS = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "subshell",
        "compound_statement",
        "negated_command",
        "redirected_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "for_statement",
        "do_group",
        "case_statement",
        "case_item",
    }
)
"""Kinds of nodes that hold statements, and whose own words are none."""
OF_BASH = frozenset(
    {"IFS", "HOME", "PWD", "OLDPWD", "REPLY", "RANDOM", "SECONDS", "LINENO", "OPTIND", "OPTARG", "UID", "EUID", "PPID",
     "SHLVL", "GROUPS", "DIRSTACK", "HISTCMD", "SHELLOPTS", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM", "FUNCNAME",
     "PIPESTATUS", "_"}
)  # fmt: skip
"""Variables that hold something else than what a script puts into them."""
SPECIAL_BUILTINS = frozenset(
    {"eval", "exec", "export", "source", "set", "unset", "trap", "return", "break", "continue", "shift", "readonly", "times",
     "exit", "command", "builtin", "declare", "typeset", "local", "cd", "pushd", "popd", "read"}
)  # fmt: skip
"""Names that a function is not followed under: what they do changes how a script is read."""
_SETTING = (
    b"for",
    b"declare",
    b"typeset",
    b"local",
    b"readonly",
    b"export",
    b"unset",
    *(name.encode() for name in sorted(FILLING)),
)


_RESERVED = frozenset(
    {b"fi", b"done", b"do", b"then", b"else", b"elif", b"esac", b"}", b"{", b"if", b"while", b"until", b"for", b"case", b"select", b"function"}
)  # fmt: skip
"""Words that are no program's where a command begins."""


_NO_PATTERN = re.compile(rb"[;&<>\n]|(?<![?*+@!(|\\])\(")
"""A sign that parts commands, or a bracket that opens no list of patterns."""
_ANSI_C = re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_NAMED_DESCRIPTOR = re.compile(rb"\{\w+\}\Z")
_LONGEST_NAME = 100


def misplaced(root: "Node", raw: bytes) -> bool:
    """Return True if a word of the shell's own stands where a program's name is read, or ends a case without its `;;`; if a sign
    that parts commands stands in a pattern; if a text ends for bash elsewhere; or if a redirection sets a variable."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "command_name" and raw[node.start_byte : node.end_byte] in _RESERVED:
            return True
        if node.type == "case_statement" and _unended(node, raw):
            return True
        if _ends_elsewhere(node, raw) or (
            node.type.endswith("_redirect")
            and _NAMED_DESCRIPTOR.search(raw, max(0, node.start_byte - _LONGEST_NAME), node.start_byte)
        ):
            return True
        if node.type == "extglob_pattern" and _NO_PATTERN.search(raw, node.start_byte, node.end_byte):
            return True
        stack += node.named_children
    return False


def _ends_elsewhere(node: "Node", raw: bytes) -> bool:
    """Return True if bash reads the end of `$'…'` or of a backquoted command otherwise than the grammar."""
    text = raw[node.start_byte : node.end_byte]
    if node.type == "ansi_c_string":
        return _ANSI_C.fullmatch(text) is None
    return node.type == "command_substitution" and text[:1] == b"`" and b"\\`" in text


def _unended(node: "Node", raw: bytes) -> bool:
    """Whether nothing parts the last command of a case from its `esac`."""
    last = node.children[-2] if len(node.children) > 1 else None
    if last is None or last.type != "case_item" or not last.named_child_count:
        return False
    between = raw[last.children[-1].end_byte : node.children[-1].start_byte]
    ended = last.children[-1].type in (";;", ";&", ";;&", ")", ";", "&")
    return not ended and b"\n" not in between and b";" not in between and b"&" not in between


def suspicious(script: str) -> Iterator[str]:
    """What a person would not see, or would read otherwise than bash does."""
    hidden = concealed(script[:MAX_PARSED])
    if hidden:
        yield f"it holds {hidden}"
    if " " * MAX_BLANKS in script or "\t" * 12 in script or "\n" * 12 in script:
        yield "a long run of blanks may hide part of it"
    start = 0
    while (at := script.find("\\\n", start)) >= 0:
        before, after = script[at - 1 : at], script[at + 2 : at + 3]
        if before not in ("", " ", "\t", "\n") and after not in ("", " ", "\t", "\n"):
            yield "a line break stands inside a word"
            return
        start = at + 2


def _misplaced(node: "Node", raw: bytes) -> bool:
    """Whether bash reads this token otherwise than the grammar does."""
    if node.type == "in":
        return raw[node.end_byte : node.end_byte + 1] not in (b" ", b"\t", b"\n", b";", b"")
    if node.type == ";":
        return _parent(node) == "case_statement"
    if node.type == "comment":
        return raw[max(node.start_byte - 1, 0) : node.start_byte] not in (
            b"",
            b" ",
            b"\t",
            b"\n",
            b";",
            b"&",
            b"|",
            b"(",
        )
    if node.type == "{":
        return _parent(node) == "compound_statement" and raw[node.end_byte : node.end_byte + 1] not in (
            b" ",
            b"\t",
            b"\n",
        )
    return _parent(node) != "case_item"


def _parent(node: "Node") -> str:
    return node.parent.type if node.parent is not None else ""


def well_formed(node: "Node", raw: bytes) -> bool:
    """Whether an expression of a test is one for bash too: known signs that stand alone, with words on their sides."""
    named = node.named_children
    if node.type == "unary_expression":
        sign = node.children[0]
        alone = sign.type == "!" or raw[sign.end_byte : sign.end_byte + 1] in (b" ", b"\t")
        return (
            sign.type in ("!", "test_operator") and alone and len(named) == 1 + (sign.type == "test_operator")
        )
    if node.type != "binary_expression" or len(node.children) != 3:
        return node.type == "parenthesized_expression"
    left, sign, right = node.children
    if sign.type in ("&&", "||") or (sign.type == "test_operator" and sign.text in (b"-a", b"-o")):
        return True
    spaced = raw[left.end_byte : left.end_byte + 1] in (b" ", b"\t") and raw[
        sign.end_byte : sign.end_byte + 1
    ] in (b" ", b"\t")
    known = sign.type in _COMPARING or sign.type == "test_operator"
    return known and spaced and not any(child.type.endswith("_expression") for child in (left, right))


def unbalanced(script: str) -> bool:
    """Whether brackets are opened that nothing can close, or texts begun, in numbers that only slow a parser down."""
    return (
        abs(script.count("(") - script.count(")")) > MAX_OPEN
        or abs(script.count("{") - script.count("}")) > MAX_OPEN
        or script.count("<<") > MAX_OPEN
        or script.count("`") > 4 * MAX_OPEN
    )


def crowded(script: str) -> bool:
    """Whether there are so many pipes or tests, outside of quotes and here-documents, that parsing them takes long."""
    if script.count("|") <= MAX_PIPES and script.count("[[") <= MAX_PIPES:
        return False
    bare = _QUOTED.sub("", script.partition("<<")[0])
    return bare.count("|") > MAX_PIPES or bare.count("[[") > MAX_PIPES


def gaps(root: "Node", raw: bytes) -> bool:
    """Whether anything but blanks lies between the tokens: text that the parser passed over."""
    end = 0
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if node.type == "array" and any(raw.startswith(b"[", one.start_byte) for one in node.children):
            return True  # bash reads a subscript up to its `]`, past blanks, `)` and `#`
        whole = node.child_count == 0 or node.type in ("heredoc_body", "string")
        if whole:
            between = raw[end : node.start_byte].replace(b"\\\n", b"").strip(b" \t\n")
            if between and not (between == b"-" and node.type == "<<" and dash_before(raw, node.start_byte)):
                return True
            end = max(end, node.end_byte)
            if node.type in _ODD and _misplaced(node, raw):
                return True
        elif cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return bool(raw[end:].replace(b"\\\n", b"").strip(b" \t\n"))


def setters(root: "Node", raw: bytes) -> "list[Node]":
    """The nodes that set variables, in no certain order."""
    if b"=" not in raw and not any(word in raw for word in _SETTING):
        return []
    found: list[Node] = []
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if node.type in _SETTERS:
            found.append(node)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


def assigned_once(setting: "Sequence[Node]") -> frozenset[str]:
    """Names that the script sets in one place only: what they hold does not depend on the way to it."""
    counts: dict[bytes, int] = {}
    for node in setting:
        field = {"variable_assignment": "name", "for_statement": "variable"}.get(node.type)
        name = node.child_by_field_name(field) if field else None
        if name is not None:
            text = name.text or b""
            counts[text] = counts.get(text, 0) + 1
        called = node.child_by_field_name("name") if node.type == "command" else None
        if called is not None and (called.text or b"").decode("utf-8", "replace") in FILLING:
            for child in node.named_children:
                counts[child.text or b""] = counts.get(child.text or b"", 0) + 1
    return frozenset(name.decode() for name, count in counts.items() if count == 1)


def simple(node: "Node") -> bool:
    """A command, with or without redirections that write."""
    if node.type == "redirected_statement":
        return any(child.type == "command" for child in node.children) and not any(
            child.type.startswith("here") for child in node.children
        )
    return node.type == "command" and not any(child.type.startswith("here") for child in node.children)


def chain(node: "Node") -> "tuple[Node, list[tuple[str, Node]]]":
    """`a && b || c` as its first statement, and each operator with the statement behind it."""
    links: list[tuple[str, Node]] = []
    while node.type == "list":
        operator = next((child.type for child in node.children if child.type in ("&&", "||")), "")
        named = node.named_children
        links += [(operator, child) for child in reversed(named[1:])]
        node = named[0]
    return node, links[::-1]


def read_variable(node: "Node") -> str:
    """The one variable that `while read NAME` fills line by line; empty where it is anything else."""
    condition = node.named_children[0] if node.type == "while_statement" and node.named_children else None
    if condition is None or condition.type != "command" or node.children[0].type != "while":
        return ""
    texts = [(child.text or b"").decode("utf-8", "replace") for child in condition.named_children]
    if texts and texts[0] in ("IFS=", "IFS=''", 'IFS=""'):
        texts.pop(0)
    if texts[:1] != ["read"]:
        return ""
    rest = [text for text in texts[1:] if text not in ("-r", "-d", "''", '""', "-rd")]
    return rest[0] if len(rest) == 1 and rest[0].isidentifier() else ""


def spawning(loop: "Node") -> str:
    """Whether a loop that does not end by itself starts programs that it does not wait for: "some", or "only" those."""
    condition = loop.named_children[0] if loop.type == "while_statement" and loop.named_children else None
    head = (condition.text or b"") if condition is not None else b":"
    if head.startswith((b"read", b"IFS=")):
        return ""
    body = next((child for child in loop.children if child.type in ("do_group", "compound_statement")), None)
    count = 0 if body is None else _backgrounds(body)
    if body is None or not count:
        return ""
    endless = head in (b":", b"true", b"false", b"[ 1 ]", b"((1))")
    return "only" if endless and count >= body.named_child_count else "some"


def _backgrounds(body: "Node") -> int:
    count, cursor = 0, body.walk()
    while True:
        node = cursor.node
        assert node is not None
        count += node.type == "&" and _parent(node) != "binary_expression"
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return count
