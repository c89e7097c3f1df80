"""L3: walks the syntax tree of a shell script and lists its simple commands, wherever they stand.

Invariant: a construct that is not known becomes a problem; what is inside it is listed all the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_agent.policy.shell.heredocs import backquoted, certain_end, dash_before, expands, given, heredoc_text
from tui_agent.policy.shell.script import Command, Redirect, Script, Word
from tui_agent.policy.shell.seen import as_line, hides, unread
from tui_agent.policy.shell.sums import may_ask, only_numbers, safe_test
from tui_agent.policy.shell.tree import (
    OF_BASH,
    SPECIAL_BUILTINS,
    STATEMENTS,
    chain,
    read_variable,
    simple,
    spawning,
    well_formed,
)
from tui_agent.policy.shell.words import PATTERNS, Scope, WordReader

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_COMMANDS = 6_000
MAX_WORDS = 2_000
"""Words of one command that are read."""
MAX_REDIRECTS = 200
MAX_BACKQUOTED = 50
"""Scripts between backquotes in one here-document that are read; they are never allowed."""
MAX_DEPTH = 100
NESTED = 12
"""What one substitution inside another counts of the depth."""
MAX_FEEDING = 8
"""Commands of a pipeline through which names are followed."""

_OWN_SCOPE = frozenset({"subshell", "pipeline", "command_substitution", "process_substitution"})
_ASSIGNMENTS = ("variable_assignment", "variable_assignments")
_DECLARATIONS = frozenset({"declaration_command", "unset_command"})
_MAX_INLINED = 200
"""Calls of a script's own functions that are followed."""


class ScriptReader:
    """Walks the tree once and collects simple commands."""

    def __init__(
        self,
        raw: bytes,
        certain: frozenset[str],
        counts: frozenset[str],
        several: frozenset[str],
        analyse: Callable[[str], Script],
    ) -> None:
        self._raw = raw
        self._analyse = analyse
        self._certain = certain
        self._counts = counts
        self.commands: list[Command] = []
        self.problems: list[str] = []
        self.functions: set[str] = set()
        self.ruin = ""
        self.unread = False
        self.top = False
        self._words = WordReader(raw, self._substitution, self.problems.append, certain, counts, several)
        self._seen = self._words.seen
        self._bodies: dict[str, Node] = {}
        self._inside: list[str] = []
        """The functions whose bodies are being read."""
        self._called: set[str] = set()
        self._calls = 0

    def visit(self, node: "Node", scope: Scope, depth: int) -> Scope:
        """Read a statement; the scope in which what follows it stands if it succeeds."""
        if depth > MAX_DEPTH or len(self.commands) > MAX_COMMANDS:
            if depth > MAX_DEPTH:
                self.problems.append("it is nested too deeply")
                self.unread = True
            else:
                self._too_many("parts")
            return scope
        self._seen.add(node.id)
        kind = node.type
        if kind == "command":
            return self._command(node, scope, (), depth)
        if kind in ("while_statement", "c_style_for_statement"):
            started = spawning(node)
            if started:
                self.problems.append("a loop in it starts programs without waiting for them")
            if started == "only":
                self.ruin = "a loop in it starts programs for ever"
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
        if kind == "c_style_for_statement" or (
            kind == "compound_statement" and node.children[0].type == "(("
        ):
            return self._sum(node, scope, depth)
        if kind == "test_command":
            self._test(node, scope, depth)
            return scope
        if kind in _DECLARATIONS:
            self._declaration(node, scope)
            return scope
        if kind == "function_definition":
            self._function(node, scope, depth)
            return scope
        if kind in STATEMENTS:
            return self._children(node, scope, depth)
        if node.is_named and kind != "comment":
            self._unknown(node, scope, depth)
        return scope

    def _children(self, node: "Node", scope: Scope, depth: int) -> Scope:
        inner = scope
        for child in node.children:
            if node.type in ("case_statement", "case_item") and self._words.is_pattern(node, child):
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
            inner = inner.joined(self.visit(child, self._filled(child, inner, feeding), depth + 1))
            if not simple(child) or not self.commands:
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

    def _filled(self, loop: "Node", scope: Scope, names: "tuple[Command, ...] | None") -> Scope:
        """The scope of `while read NAME` with NAME standing for what these commands print."""
        name = read_variable(loop)
        return self._with(scope, name, [Word(f"${name}", None, made_by=names)]) if name and names else scope

    def _sum(self, node: "Node", scope: Scope, depth: int) -> Scope:
        """`((…))` and `for ((…; …; …))`: numbers only."""
        terms = [
            child for child in node.named_children if child.type not in ("do_group", "compound_statement")
        ]
        for child in terms:
            self._words.inside(child, scope)
            if not only_numbers(child, self._counts, itself=True) or (
                self._text(child) != self._text(child).lower()  # `PATH` and its like are no counters
            ):
                self.problems.append("it computes with something unknown")
        self.commands.append(Command(self._text(node), (), (), (), scope.places))
        for child in node.named_children:
            if child not in terms:
                scope = scope.joined(self.visit(child, scope, depth + 1))
        return scope

    def _list(self, node: "Node", scope: Scope, depth: int) -> Scope:
        first, links = chain(node)
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
            for word in self._words.words(child, scope)
        ]
        called = self._text(name) if name is not None else ""
        self.commands.append(Command(f"for {called}", (), ((called, Word("", None)),), (), scope.places))
        inner = self._with(scope, called, words)
        for child in node.children:
            if child.type == "do_group":
                inner = inner.joined(self.visit(child, inner, depth + 1))
        return scope.joined(inner)

    def _function(self, node: "Node", scope: Scope, depth: int) -> None:
        """A definition that certainly counts is read where it is called; any other is a problem."""
        name = self._text(node.child_by_field_name("name") or node.children[0])
        top = node.parent is not None and node.parent.type == "program"
        if top and name not in self.functions and name not in SPECIAL_BUILTINS and name.isidentifier():
            self.functions.add(name)
            self._bodies[name] = node
            return
        self.functions.add(name)
        self._bodies.pop(name, None)
        self._defined(name, node, scope, depth)

    def _defined(self, name: str, node: "Node", scope: Scope, depth: int) -> None:
        self.problems.append("it defines a function")
        first = len(self.commands)
        self._redirected(node, scope, depth + 1)
        calls = [
            command for command in self.commands[first:] if command.words and command.words[0].text == name
        ]
        text = node.text or b""
        if calls and (b"|" in text or b"&" in text):
            self.ruin = f"the function {name} starts itself again and again"

    def rest(self, root: "Node") -> None:
        """Read the functions that nothing calls, or that call themselves, and what bash runs in texts: their commands are listed
        all the same. It is the last that is read; where anything is left, nobody knows what it runs."""
        for name, node in list(self._bodies.items()):
            if name not in self._called:
                del self._bodies[name]
                self._defined(name, node, Scope(places=(None,)), 0)
        for node in unread(root, self._seen):
            line = "" if node.child_count else as_line(self._text(node))
            if line:
                self.read_also(line)
            else:
                self.problems.append("part of it was not read")
                self.unread = True
        self.top = self._words.top

    def _call(self, command: Command, scope: Scope, depth: int) -> Scope:
        """A call of the script's own function: what its body does with these words."""
        name = command.words[0].value or ""
        self._called.add(name)
        self._calls += 1
        self._inside.append(name)
        known = {key: value for key, value in scope.variables.items() if not key.isdecimal() and key != "@"}
        inner = replace(scope, variables=known)
        for index, word in enumerate(command.words[1:], 1):
            if word.many:
                break  # which word is which is not certain from here on
            inner = inner.with_variable(str(index), [word])
        inner = inner.with_variable("@", list(command.words[1:]))
        after = self._redirected(self._bodies[name], inner, depth + 1)
        self._inside.pop()
        self.commands.append(replace(command, words=()))
        return replace(scope.joined(after), variables=scope.variables)

    def _redirected(self, node: "Node", scope: Scope, depth: int) -> Scope:
        redirects: list[Redirect] = []
        extra: list[Word] = []
        body: Node | None = None
        begin = len(self.commands)
        for child in node.children:
            if child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, redirects, extra)
            elif child.is_named:
                body = child
        behind = self.commands[begin:]  # what stands behind the command that is redirected
        del self.commands[begin:]
        if body is not None and body.type == "command":
            after = self._command(body, scope, tuple(redirects), depth, extra)
            self.commands += behind
            return after
        first = len(self.commands)
        targets = [one.target for one in redirects if one.reads and not one.text]
        names = next((one.made_by for one in targets if one.whole), None)
        inside = self._filled(body, scope, names) if body is not None else scope
        after = scope if body is None else self.visit(body, inside, depth + 1)
        if any(child.type.startswith("here") for child in node.children) or any(
            one.reads for one in redirects
        ):
            self.commands[first:] = [replace(command, fed_by=()) for command in self.commands[first:]]
        files = [one for one in redirects if not one.text]
        if files or extra:
            text = " ".join(self._text(child) for child in node.children if child.type.endswith("_redirect"))
            words = (Word(":", (":",)),) if body is None else tuple(extra)  # `> a` empties it as `: > a` does
            self.commands.append(Command(text, words, (), tuple(files), after.seen))
        self.commands += behind
        return after

    def _redirect(
        self, node: "Node", scope: Scope, depth: int, into: list[Redirect], extra: list[Word]
    ) -> None:
        self._seen.add(node.id)
        if len(into) >= MAX_REDIRECTS:
            self._too_many("redirections")
            return
        if node.type == "heredoc_redirect":
            self._heredoc(node, scope, depth, into, extra)
            return
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [
            child
            for child in node.children
            if child.is_named and child.type not in ("file_descriptor", "ERROR")
        ]
        words = [self._words.read(child, scope) for child in targets]
        if words and b"\n" in self._raw[node.start_byte : targets[0].start_byte]:
            self.problems.append("a redirection has no target")
        extra += words[1:]
        if operator == "<&" or node.type == "herestring_redirect":
            into += given(node, words if operator != "<&" else [], self._text)
        if operator in ("<&-", ">&-") or node.type == "herestring_redirect":
            return
        if not words:
            self.problems.append("a redirection has no target")
            return
        if operator in (">&", "<&") and words[0].text.rstrip("-").isdigit():
            return
        both = any(child.type == "ERROR" for child in node.children)
        into.append(
            Redirect(
                words[0], reads=operator in ("<", "<&") and not both, empties=operator in (">", ">|", "&>")
            )
        )

    def _heredoc(
        self, node: "Node", scope: Scope, depth: int, into: list[Redirect], extra: list[Word]
    ) -> None:
        start = next((self._text(child) for child in node.children if child.type == "heredoc_start"), "")
        if not certain_end(node, self._raw):
            self.problems.append("the end of a text in it is not certain")
        into += given(node, [heredoc_text(node, start, self._text)], self._text)
        extra += dash_before(self._raw, node.start_byte)
        for child in node.children:
            if child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, into, extra)
            elif child.type == "heredoc_body":
                self._words.inside(child, scope)
                if expands(start):
                    for inner in backquoted(self._text(child))[:MAX_BACKQUOTED]:
                        self.problems.append(
                            "a text in it runs something"
                        )  # the grammar takes it for letters
                        self.read_also(inner)
                    if not child.child_count and hides(self._text(child).replace("`", " "), quoted=True):
                        self.problems.append("part of it was not read")
                        self.unread = True
            elif self._words.is_word(child):
                extra.append(self._words.read(child, scope))
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                self.visit(child, scope, depth + 1)

    def read_also(self, line: str) -> None:
        """Read a line inside a text, which runs wherever the script is by then."""
        found = self._analyse(line)
        self.problems += found.problems
        stays = all(one.places == ("",) and not one.moves for one in self.commands)
        self.commands += [one if stays else replace(one, places=(None,)) for one in found.commands]
        self.ruin, self.unread = self.ruin or found.ruin, self.unread or found.unread

    def _command(
        self,
        node: "Node",
        scope: Scope,
        redirects: tuple[Redirect, ...],
        depth: int,
        extra: list[Word] | None = None,
    ) -> Scope:
        self._seen.add(node.id)
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        own = list(redirects)
        late = list(extra or ())
        for child in node.children:
            if child.type == "command_name":
                words += self._words.words(child.children[0] if child.children else child, scope)
            elif child.type == "variable_assignment":
                assignments.append(self._words.assignment(child, scope))
            elif child.type.endswith("_redirect"):
                self._redirect(child, scope, depth, own, late)
            elif len(words) > MAX_WORDS:
                self._too_many("words")
                break
            elif self._words.is_word(child):
                words += self._words.words(child, scope)
            elif child.is_named:
                self._unknown(child, scope, depth)
        text = self._text(node)
        command = Command(text, (*words, *late), tuple(assignments), tuple(own), scope.places)
        name = command.words[0].value or "" if command.words else ""
        if name == "set" and self._inside:
            self.problems.append("a function in it changes its own words")
        if name in self._bodies:
            if name not in self._inside and self._calls < _MAX_INLINED:
                return self._call(command, scope, depth)
            self._called.discard(name)
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
        own = name in self._certain and name.isascii() and name.isidentifier() and name not in OF_BASH
        return scope.with_variable(name, words) if own else scope

    def _declaration(self, node: "Node", scope: Scope) -> None:
        """`export`, `local` and their like; where they only set variables they are read as assignments."""
        name = self._text(node).split(maxsplit=1)[0]
        words = [Word(name, (name,))]
        pairs: list[tuple[str, Word]] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                pairs.append(self._words.assignment(child, scope))
            elif child.type == "variable_name":
                pairs.append((self._text(child), Word("", ("",))))
            elif child.is_named:
                words.append(self._words.read(child, scope))
        plain = {"-x", "-r", "-a", "-A", "-g", "-rx", "-gr"} if name != "unset" else set()
        if pairs and all(word.value in plain for word in words[1:]):
            self.commands.append(Command(self._text(node), (), tuple(pairs), (), scope.places))
            return
        words += [Word(f"{key}={word.text}", None) for key, word in pairs]
        self.commands.append(Command(self._text(node), tuple(words), (), (), scope.places))

    def _test(self, node: "Node", scope: Scope, depth: int, *, computes: bool | None = None) -> None:
        """`[ … ]` and `[[ … ]]`: no command, but a file may be looked at, and `[[` takes a number for an expression."""
        if computes is None:
            computes = node.children[0].type == "[["
        for child in node.named_children:
            if child.type in PATTERNS:
                if child.type == "test_operator" and not safe_test(
                    child, node, self._counts, computes=computes
                ):
                    self.problems.append("a test computes with something unknown")
            elif self._words.is_word(child):
                word = self._words.tested(child, scope)
                if "[" in word.text or (not computes and may_ask(word)):
                    self.problems.append("a test may ask for what an index names")
            elif child.type.endswith("_expression"):
                if not well_formed(child, self._raw):
                    self.problems.append("a test in it is not certain")
                if depth > MAX_DEPTH:
                    self.problems.append("it is nested too deeply")
                else:
                    self._test(child, scope, depth + 1, computes=computes)
            else:
                self._unknown(child, scope, depth)

    def _unknown(self, node: "Node", scope: Scope, depth: int) -> None:
        self.problems.append(f"it uses {node.type.replace('_', ' ')}")
        if depth > MAX_DEPTH:
            self.unread = True
            return
        for child in node.named_children:
            self.visit(child, scope, depth + 1)

    def _substitution(self, node: "Node", scope: Scope) -> tuple[Command, ...]:
        """Commands inside a word: they run in a shell of their own. The pipeline that it is, where it is nothing else."""
        self._seen.add(node.id)
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
        if only is None or not self.commands or not (simple(only) or only.type == "pipeline"):
            return ()
        last = self.commands[-1]
        whole = only.type != "pipeline" or len(last.fed_by) == only.named_child_count - 1
        return (*last.fed_by, last) if whole else ()

    def _too_many(self, what: str) -> None:
        self.problems.append(f"it has too many {what}")
        self.unread = True

    def _text(self, node: "Node") -> str:
        return self._raw[node.start_byte : node.end_byte].decode("utf-8", "replace")
