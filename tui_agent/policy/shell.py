"""L3: reads a command line as bash reads it. The only importer of tree_sitter in this package.

Invariant: every construct that is not known here becomes a problem, and the commands inside it are still listed, so
that a deny rule sees them. `analyse` never raises.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tui_agent.policy.heredocs import backquoted, expands, plain_end
from tui_agent.policy.script import Command, Redirect, Script, Word
from tui_agent.policy.shell_words import Scope, WordReader
from tui_agent.protocol.letters import concealed

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_CHARS = 10_000
MAX_PARSED = 60_000
MAX_COMMANDS = 6_000
MAX_DEPTH = 100
NESTED = 12
"""What one substitution inside another counts of the depth."""
MAX_BLANKS = 40
MAX_FEEDING = 8
"""Commands of a pipeline through which names are followed."""

_STATEMENTS = frozenset(
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
_OWN_SCOPE = frozenset({"subshell", "pipeline", "command_substitution", "process_substitution"})
_ASSIGNMENTS = ("variable_assignment", "variable_assignments")
_DECLARATIONS = frozenset({"declaration_command", "unset_command"})
_COUNTING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "-N"})
_PATTERNS = frozenset({"extglob_pattern", "regex", "test_operator", "variable_name"})


# The grammar's scanner looks characters up in a table of bytes and can end the program on others. Outside ASCII bash
# knows only letters of words, so the parser is shown a letter for each such byte; texts come from the script itself.
_ASCII = bytes(range(128)) + b"Z" * 128


def analyse(script: str) -> Script:
    """What a script runs, without running it. See `Script`."""
    problems = list(_suspicious(script))
    if len(script) > MAX_PARSED:
        return Script(script, (), ("it is too long to be read",), unread=True)
    if len(script) > MAX_CHARS:
        problems.append("it is longer than 10,000 characters")
    raw = script.encode("utf-8", "surrogatepass")
    root = _parser().parse(raw.translate(_ASCII)).root_node
    if root.has_error:
        problems.append("it cannot be parsed as a shell script")
    reader = _Reader(raw, _assigned_once(root))
    reader.visit(root, Scope(), 0)
    if _gaps(root, raw):
        problems.append("part of it was not understood")
    problems += reader.problems
    if not reader.commands and not problems:
        problems.append("it runs nothing")
    unique = tuple(dict.fromkeys(problems))
    return Script(
        script, tuple(reader.commands), unique, frozenset(reader.functions), reader.ruin, reader.unread
    )


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415 - slow: only a session that runs a script needs it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _suspicious(script: str) -> Iterator[str]:
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


def _gaps(root: "Node", raw: bytes) -> bool:
    """Whether anything but blanks lies between the tokens: text that the parser passed over."""
    end = 0
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        whole = node.child_count == 0 or node.type in ("heredoc_body", "string")
        if whole:
            if raw[end : node.start_byte].replace(b"\\\n", b"").strip(b" \t\n"):
                return True
            end = max(end, node.end_byte)
        elif cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return bool(raw[end:].replace(b"\\\n", b"").strip(b" \t\n"))


def _assigned_once(root: "Node") -> frozenset[str]:
    """Names that the script sets in one place only: what they hold does not depend on the way to it."""
    counts: dict[bytes, int] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        field = {"variable_assignment": "name", "for_statement": "variable"}.get(node.type)
        name = node.child_by_field_name(field) if field else None
        if name is not None:
            text = name.text or b""
            counts[text] = counts.get(text, 0) + 1
        if node.type == "command" and node.children and node.children[0].text == b"read":
            for child in node.children[1:]:
                counts[child.text or b""] = counts.get(child.text or b"", 0) + 1
        stack += node.children
    return frozenset(name.decode() for name, count in counts.items() if count == 1)


class _Reader:
    """Walks the tree once and collects simple commands."""

    def __init__(self, raw: bytes, certain: frozenset[str]) -> None:
        self._raw = raw
        self._certain = certain
        self.commands: list[Command] = []
        self.problems: list[str] = []
        self.functions: set[str] = set()
        self.ruin = ""
        self.unread = False
        self._words = WordReader(raw, self._substitution, self._note)

    def visit(self, node: "Node", scope: Scope, depth: int) -> Scope:
        """Read a statement; the scope in which what follows it stands if it succeeds."""
        if depth > MAX_DEPTH or len(self.commands) > MAX_COMMANDS:
            self.problems.append("it is nested too deeply" if depth > MAX_DEPTH else "it has too many parts")
            self.unread = True
            return scope
        kind = node.type
        if kind == "command":
            return self._command(node, scope, (), depth)
        if kind == "redirected_statement":
            return self._redirected(node, scope, depth)
        if kind == "list":
            return self._list(node, scope, depth)
        if kind == "for_statement":
            return self._for(node, scope, depth)
        if kind == "pipeline":
            return self._pipeline(node, scope, depth)
        if kind in _ASSIGNMENTS:
            return self._assignment(node, scope)
        if kind == "test_command":
            self._test(node, scope, depth)
            return scope
        if kind in _DECLARATIONS:
            self._declaration(node, scope)
            return scope
        if kind == "function_definition":
            self._function(node, scope, depth)
            return scope
        if kind in _STATEMENTS:
            return self._children(node, scope, depth)
        if node.is_named and kind != "comment":
            self._unknown(node, scope, depth)
        return scope

    def _children(self, node: "Node", scope: Scope, depth: int) -> Scope:
        inner = scope
        for child in node.children:
            if node.type in ("case_statement", "case_item") and self._is_pattern(node, child):
                self._words.read(child, scope)
            elif child.type in _ASSIGNMENTS:
                inner = self.visit(child, inner, depth + 1)
            elif child.is_named:
                inner = inner.joined(self.visit(child, inner, depth + 1))
        return scope if node.type in _OWN_SCOPE else scope.joined(inner)

    def _pipeline(self, node: "Node", scope: Scope, depth: int) -> Scope:
        """Each command with those in front of it; `|&` feeds more than names, and so does a command that is not simple."""
        inner = scope
        feeding: tuple[Command, ...] | None = ()
        if any(child.type == "|&" for child in node.children):
            feeding = None
        for child in node.named_children:
            inner = inner.joined(self.visit(child, inner, depth + 1))
            if not _simple(child) or not self.commands:
                feeding = None
                continue
            last = self.commands[-1]
            if (
                feeding is not None
                and len(feeding) < MAX_FEEDING
                and not any(redirect.reads for redirect in last.redirects)
            ):
                self.commands[-1] = last = replace(last, fed_by=feeding)
                feeding = (*feeding, last)
            else:
                feeding = None
        return scope

    def _is_pattern(self, node: "Node", child: "Node") -> bool:
        return (
            child.type in _PATTERNS
            or self._words.is_word(child)
            or (node.type == "case_statement" and node.child_by_field_name("value") == child)
        )

    def _list(self, node: "Node", scope: Scope, depth: int) -> Scope:
        first, links = _chain(node)
        after = self.visit(first, scope, depth + 1)
        for operator, statement in links:
            before = after if operator == "&&" else scope.joined(after)
            after = self.visit(statement, before, depth + 1)
            if operator != "&&":
                after = before.joined(after)
        return after

    def _for(self, node: "Node", scope: Scope, depth: int) -> Scope:
        if node.children[0].type != "for":
            self.problems.append("it uses select")
        name = node.child_by_field_name("variable")
        words = [
            word
            for child in node.children
            if self._words.is_word(child)
            for word in (self._words.read(child, scope),)
        ]
        inner = self._with(scope, self._text(name) if name is not None else "", words)
        for child in node.children:
            if child.type == "do_group":
                inner = inner.joined(self.visit(child, inner, depth + 1))
        return scope.joined(inner)

    def _function(self, node: "Node", scope: Scope, depth: int) -> None:
        name = self._text(node.child_by_field_name("name") or node.children[0])
        self.functions.add(name)
        self.problems.append("it defines a function")
        body = node.child_by_field_name("body") or node.children[-1]
        first = len(self.commands)
        self.visit(body, scope, depth + 1)
        calls = [
            command for command in self.commands[first:] if command.words and command.words[0].text == name
        ]
        text = body.text or b""
        if calls and (b"|" in text or b"&" in text):
            self.ruin = f"the function {name} starts itself again and again"

    def _redirected(self, node: "Node", scope: Scope, depth: int) -> Scope:
        redirects: list[Redirect] = []
        extra: list[Word] = []
        body: Node | None = None
        for child in node.children:
            if child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, redirects, extra)
            elif child.is_named:
                body = child
        if body is not None and body.type == "command":
            return self._command(body, scope, tuple(redirects), depth, extra)
        first = len(self.commands)
        after = scope if body is None else self.visit(body, scope, depth + 1)
        if any(child.type.startswith("here") for child in node.children) or any(
            one.reads for one in redirects
        ):
            self.commands[first:] = [replace(command, fed_by=()) for command in self.commands[first:]]
        if redirects or extra:
            text = " ".join(self._text(child) for child in node.children if child.type.endswith("_redirect"))
            self.commands.append(Command(text, tuple(extra), (), tuple(redirects), after.seen))
        return after

    def _redirect(
        self, node: "Node", scope: Scope, depth: int, into: list[Redirect], extra: list[Word]
    ) -> None:
        if node.type == "heredoc_redirect":
            self._heredoc(node, scope, depth, into, extra)
            return
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
        words = [self._words.read(child, scope) for child in targets]
        if node.type == "herestring_redirect" or operator in ("<&-", ">&-"):
            extra += words[1:]
            return
        if not words:
            self.problems.append("a redirection has no target")
            return
        extra += words[1:]
        if operator in (">&", "<&") and words[0].text.rstrip("-").isdigit():
            return
        into.append(Redirect(words[0], reads=operator in ("<", "<&")))

    def _heredoc(
        self, node: "Node", scope: Scope, depth: int, into: list[Redirect], extra: list[Word]
    ) -> None:
        start = next((self._text(child) for child in node.children if child.type == "heredoc_start"), "")
        if not plain_end(start):
            self.problems.append("the end of a text in it is not certain")
        for child in node.children:
            if child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, into, extra)
            elif child.type == "heredoc_body":
                self._words.inside(child, scope)
                if expands(start):
                    self._backquotes(self._text(child))
            elif self._words.is_word(child):
                extra.append(self._words.read(child, scope))
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                self.visit(child, scope, depth + 1)

    def _backquotes(self, text: str) -> None:
        """What a here-document runs between backquotes: the grammar takes them for text."""
        for inner in backquoted(text):
            self.problems.append("a text in it runs something")
            found = analyse(inner)
            self.commands += [replace(command, places=(None,)) for command in found.commands]
            self.ruin, self.unread = self.ruin or found.ruin, self.unread or found.unread

    def _command(
        self,
        node: "Node",
        scope: Scope,
        redirects: tuple[Redirect, ...],
        depth: int,
        extra: list[Word] | None = None,
    ) -> Scope:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        own = list(redirects)
        late = list(extra or ())
        for child in node.children:
            if child.type == "command_name":
                words.append(self._words.read(child.children[0] if child.children else child, scope))
            elif child.type == "variable_assignment":
                assignments.append(self._words.assignment(child, scope))
            elif child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, own, late)
            elif self._words.is_word(child):
                words.append(self._words.read(child, scope))
            elif child.is_named:
                self._unknown(child, scope, depth)
        text = self._text(node)
        command = Command(text, (*words, *late), tuple(assignments), tuple(own), scope.places)
        self.commands.append(command)
        return scope.after(command)

    def _assignment(self, node: "Node", scope: Scope) -> Scope:
        nodes = [node] if node.type == "variable_assignment" else list(node.named_children)
        pairs = [self._words.assignment(child, scope) for child in nodes]
        self.commands.append(Command(self._text(node), (), tuple(pairs), (), scope.places))
        for name, word in pairs:
            scope = self._with(scope, name, [word])
        return scope

    def _with(self, scope: Scope, name: str, words: list[Word]) -> Scope:
        """A variable that is set only here, and that is no setting of bash or of a program."""
        own = name in self._certain and name.isascii() and name.isidentifier() and name.islower()
        return scope.with_variable(name, words) if own else scope

    def _declaration(self, node: "Node", scope: Scope) -> None:
        name = self._text(node).split(maxsplit=1)[0]
        words = [Word(name, (name,))]
        pairs: list[tuple[str, Word]] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                pairs.append(self._words.assignment(child, scope))
            elif child.is_named:
                words.append(self._words.read(child, scope))
        words += [Word(f"{key}={word.text}", None) for key, word in pairs]
        self.commands.append(Command(self._text(node), tuple(words), (), (), scope.places))

    def _test(self, node: "Node", scope: Scope, depth: int) -> None:
        """`[ … ]` and `[[ … ]]`: no command, but a file may be looked at and a number may be code."""
        for child in node.named_children:
            if child.type in _PATTERNS:
                if (
                    child.type == "test_operator"
                    and self._text(child) in _COUNTING
                    and not self._counts(node)
                ):
                    self.problems.append("a test computes with something unknown")
            elif self._words.is_word(child):
                word = self._words.read(child, scope)
                if "[" in word.text:
                    self.problems.append("a test holds an index")
            elif child.type.endswith("_expression"):
                if depth > MAX_DEPTH:
                    self.problems.append("it is nested too deeply")
                else:
                    self._test(child, scope, depth + 1)
            else:
                self._unknown(child, scope, depth)

    def _counts(self, node: "Node") -> bool:
        operands = [child for child in node.named_children if child.type != "test_operator"]
        return all(self._text(child).strip("\"'-").isdigit() for child in operands)

    def _unknown(self, node: "Node", scope: Scope, depth: int) -> None:
        self.problems.append(f"it uses {node.type.replace('_', ' ')}")
        if depth > MAX_DEPTH:
            self.unread = True
            return
        for child in node.named_children:
            self.visit(child, scope, depth + 1)

    def _substitution(self, node: "Node", scope: Scope) -> tuple[Command, ...]:
        """Commands inside a word: they run in a shell of their own. The pipeline that it is, where it is nothing else."""
        inner = scope.deeper()
        if inner is None:
            self.problems.append("it is nested too deeply")
            self.unread = True
            return ()
        for child in node.children:
            if child.type.endswith("_redirect"):
                into: list[Redirect] = []
                self._redirect(child, inner, inner.nesting * NESTED, into, [])
                self.commands.append(Command(self._text(node), (), (), tuple(into), inner.places))
            elif child.is_named:
                inner = self.visit(child, inner, inner.nesting * NESTED)
        only = node.named_children[0] if node.named_child_count == 1 else None
        if only is None or not self.commands or not (_simple(only) or only.type == "pipeline"):
            return ()
        last = self.commands[-1]
        whole = only.type != "pipeline" or len(last.fed_by) == only.named_child_count - 1
        return (*last.fed_by, last) if whole else ()

    def _note(self, problem: str) -> None:
        self.problems.append(problem)

    def _text(self, node: "Node") -> str:
        return self._raw[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _simple(node: "Node") -> bool:
    """A command, with or without redirections that write."""
    if node.type == "redirected_statement":
        return any(child.type == "command" for child in node.children) and not any(
            child.type.startswith("here") for child in node.children
        )
    return node.type == "command" and not any(child.type.startswith("here") for child in node.children)


def _chain(node: "Node") -> "tuple[Node, list[tuple[str, Node]]]":
    """`a && b || c` as its first statement, and each operator with the statement behind it."""
    links: list[tuple[str, Node]] = []
    while node.type == "list":
        operator = next((child.type for child in node.children if child.type in ("&&", "||")), "")
        named = node.named_children
        links += [(operator, child) for child in reversed(named[1:])]
        node = named[0]
    return node, links[::-1]
