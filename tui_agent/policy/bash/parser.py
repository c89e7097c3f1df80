"""The parser for the supported subset of bash: lists, pipelines, loops, conditions, groups, simple commands, redirections.

Invariant: `parse_script` never raises and takes time linear in the text. In the body of a here-document, only variables
and substitutions are expanded.
"""

import re
from collections.abc import Sequence
from typing import Final, cast

from tui_agent.policy.bash import syntax
from tui_agent.policy.bash.cursor import DELIMITER, Cursor, RefusedError, check_characters
from tui_agent.policy.bash.lexer import Role, WordReader
from tui_agent.policy.bash.tree_check import disagreement, simple_commands

MAX_COMMANDS: Final = 500
MAX_DEPTH: Final = 40

_KEYWORD: Final = (
    rf"(?:if|then|elif|else|fi|for|while|until|do|done|in|case|esac|select|function|coproc){DELIMITER}"
)
_RESERVED = re.compile(rf"{_KEYWORD}|(?:\}}|\]\]){DELIMITER}|(?:!|\[\[)(?=[ \t])|\{{(?=[ \t\n])|[()]")
_HERE_DOCUMENT = re.compile("(?<!<)<<(?!<)")
_LOOP = re.compile(r"for[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]+in(?=[ \t])")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_OTHER_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\+=|\[)")
_TEST_JOINER = re.compile(rf"&&|\|\||\]\]{DELIMITER}")
_TIME = re.compile("time" + DELIMITER)
_TIMED = re.compile(
    rf"time[ \t]+(?:-p[ \t]+)?(?!time{DELIMITER}|{_KEYWORD})[a-z./][A-Za-z0-9_./-]*{DELIMITER}"
)
_CONNECTORS: Final[tuple[syntax.Connector, ...]] = ("&&", "||", "&", ";")
_FILE_TESTS: Final = frozenset(f"-{letter}" for letter in "defhLnrswxz")
_COMPARISONS: Final = frozenset(("=", "==", "!="))
_REDIRECT_START = re.compile(r"[0-9]*[<>](?!\()|&>")
_OPERATOR = re.compile(r"([0-9]?)(<<<|<<(?!-)|<&|<(?![<>(&])|>>|>&|>\||>(?!\()|&>>|&>)")
_DESCRIPTOR = re.compile(r"[0-9]" + DELIMITER)
_HERE_DELIMITER = re.compile(
    rf"(?:'([A-Za-z0-9_.-]+)'|\"([A-Za-z0-9_.-]+)\"|([A-Za-z_][A-Za-z0-9_]*)){DELIMITER}"
)
_ESCAPING = frozenset("`\\")
_MISREAD_IN_SUBSTITUTION = frozenset("()'\"`\\")
"""Characters in a here-document that make older versions of bash find the wrong end of a substitution."""


def parse_script(text: str) -> syntax.Script | syntax.Refusal:
    """Parse a command line or script as bash does. Return a refusal with the reason if its syntax is unsupported."""
    try:
        check_characters(text)
        script = _ScriptReader(text).read_whole()
    except RefusedError as refused:
        return syntax.Refusal(refused.reason, refused.start)
    return disagreement(text, script) or script


def _is_simple_test(words: Sequence[syntax.Word]) -> bool:
    inner = [word.source for word in words]
    if inner[:1] == ["!"]:
        inner.pop(0)
    of_one = len(inner) == 2 and inner[0] in _FILE_TESTS
    return of_one or (len(inner) == 3 and inner[1] in _COMPARISONS and inner[0][0] not in "-!")


class _ScriptReader:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._words = WordReader(self._cursor, self._read_substitution)
        self._redirects = _RedirectReader(self._cursor, self._words)
        self._commands = 0
        self._depth = 0

    def read_whole(self) -> syntax.Script:
        self._cursor.skip_lines()
        script = self._read_list() if self._cursor.character else syntax.Script(())
        self._cursor.check_body()
        return script

    def _read_substitution(self) -> syntax.Script:
        cursor, start = self._cursor, self._cursor.position
        if cursor.awaits_body:
            raise cursor.refusal("a substitution follows the beginning of a here-document")
        cursor.substitutions += 1
        script = self._read_list(")")
        if cursor.awaits_body:
            raise cursor.refusal("a here-document begins in a substitution and ends after it")
        # bash 5.2 joins the commands after a here-document when it rewrites the text of a substitution.
        holds_body = _HERE_DOCUMENT.search(cursor.text, start, cursor.position) is not None
        if holds_body and list(simple_commands(script)) != [script.items[0].pipeline.commands[0]]:
            raise cursor.refusal(
                "a here-document is inside a command substitution with several commands", start
            )
        cursor.substitutions -= 1
        cursor.position += 1
        return script

    def _read_list(self, *ends: str) -> syntax.Script:
        """Parse pipelines up to `)`, a reserved word in `ends`, or the end of the script."""
        cursor = self._cursor
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise cursor.refusal("it is nested too deeply")
        cursor.skip_lines()
        items: list[syntax.ScriptItem] = []
        connector: syntax.Connector = "&&"
        # After `&&` and `||`, a command must follow, even if a line ends there.
        while connector in ("&&", "||") or not self._at_list_end(ends):
            pipeline = self._read_pipeline()
            connector = self._read_connector()
            items.append(syntax.ScriptItem(pipeline, connector))
            if not connector and not self._at_list_end(ends):
                raise cursor.unexpected_text_error()
        self._depth -= 1
        return syntax.Script(tuple(items))

    def _at_list_end(self, ends: tuple[str, ...]) -> bool:
        return self._reserved in ends if ends else not self._cursor.character

    @property
    def _reserved(self) -> str:
        reserved = self._cursor.match(_RESERVED)
        return reserved[0] if reserved is not None else ""

    def _read_connector(self) -> syntax.Connector:
        cursor = self._cursor
        cursor.skip_blanks()
        connector: syntax.Connector = next(
            (sign for sign in _CONNECTORS if cursor.has(sign) and not cursor.has(";&")), ""
        )
        cursor.position += len(connector)
        if not connector and cursor.character == "\n":
            connector = ";"
        cursor.skip_lines()
        return connector

    def _read_pipeline(self) -> syntax.Pipeline:
        cursor = self._cursor
        negated = self._reserved == "!"
        if negated:
            cursor.position += 1
            cursor.skip_blanks()
        commands = [self._read_command()]
        cursor.skip_blanks()
        while cursor.has("|") and not cursor.has("||"):
            cursor.position += 2 if cursor.has("|&") else 1
            cursor.skip_lines()
            if cursor.match(_TIME) is not None:
                raise cursor.refusal("`time` follows `|`")
            commands.append(self._read_command())
            cursor.skip_blanks()
        return syntax.Pipeline(tuple(commands), negated)

    def _read_command(self) -> syntax.Command:
        cursor = self._cursor
        self._commands += 1
        if self._commands > MAX_COMMANDS:
            raise cursor.refusal(f"it has more than {MAX_COMMANDS} commands")
        # Only the end of the command decides whether `((` begins arithmetic or two subshells.
        if cursor.has("(("):
            raise cursor.refusal("it uses arithmetic")
        match self._reserved:
            case "(":
                return self._read_group("(", ")")
            case "{":
                return self._read_group("{", "}")
            case "[[":
                return self._read_test()
            case "for":
                return self._read_for_loop()
            case "if":
                return self._read_conditional()
            case "while" | "until" as word:
                return self._read_while_loop(word)
            case "case" | "select" | "function" | "coproc" as word:
                raise cursor.refusal(f"it uses `{word}`")
            case _:
                return self._read_simple_command()

    def _read_group(self, opening: str, end: str) -> syntax.Group:
        script = self._read_block(opening, end)
        self._expect(end)
        return syntax.Group(script, opening == "(", self._redirects.read_all())

    def _read_block(self, opening: str, *ends: str) -> syntax.Script:
        self._expect(opening)
        return self._read_list(*ends)

    def _expect(self, word: str) -> None:
        if self._reserved != word:
            raise self._cursor.refusal(f"`{word}` is missing")
        self._cursor.position += len(word)

    def _read_for_loop(self) -> syntax.ForLoop:
        cursor = self._cursor
        variable = cursor.match(_LOOP)
        if variable is None:
            raise cursor.refusal("a loop must have the form `for NAME in WORDS`")
        cursor.position = variable.end()
        items: list[syntax.Word] = []
        cursor.skip_blanks()
        while not cursor.at_word_end():
            items += self._words.read(Role.ARGUMENT)
            cursor.skip_blanks()
        if not items or self._read_connector() != ";":
            raise cursor.refusal("the words of a loop are not followed by `;` or a newline")
        body = self._read_block("do", "done")
        self._expect("done")
        return syntax.ForLoop(variable[1], tuple(items), body, self._redirects.read_all())

    def _read_while_loop(self, word: str) -> syntax.WhileLoop:
        condition = self._read_block(word, "do")
        body = self._read_block("do", "done")
        self._expect("done")
        return syntax.WhileLoop(condition, body, self._redirects.read_all(), until=word == "until")

    def _read_conditional(self) -> syntax.Conditional:
        branches: list[tuple[syntax.Script, syntax.Script]] = []
        otherwise: syntax.Script | None = None
        opening = "if"
        while opening in ("if", "elif"):
            condition = self._read_block(opening, "then")
            branches.append((condition, self._read_block("then", "elif", "else", "fi")))
            opening = self._reserved
        if opening == "else":
            otherwise = self._read_block("else", "fi")
        self._expect("fi")
        return syntax.Conditional(tuple(branches), otherwise, self._redirects.read_all())

    def _read_test(self) -> syntax.SimpleCommand:
        """Parse `[[ … ]]`, with simple tests joined by `&&` and `||`."""
        cursor, start = self._cursor, self._cursor.position
        words = [self._read_token("[[")]
        term: list[syntax.Word] = []
        while words[-1].source != "]]" or term:
            cursor.skip_blanks()
            joiner = cursor.match(_TEST_JOINER)
            if joiner is None:
                term += self._words.read(Role.TEST)
            elif _is_simple_test(term):
                words += [*term, self._read_token(joiner[0])]
                term = []
            else:
                raise cursor.refusal("a test in `[[` is too complex", start)
        source = cursor.text[start : cursor.position]
        return syntax.SimpleCommand(source, start, tuple(words), (), self._redirects.read_all())

    def _read_token(self, token: str) -> syntax.Word:
        start = self._cursor.position
        self._cursor.position += len(token)
        return syntax.Word(token, start, (syntax.Text(token),))

    def _read_simple_command(self) -> syntax.SimpleCommand:
        cursor, start = self._cursor, self._cursor.position
        assignments: list[syntax.Assignment] = []
        redirects: list[syntax.Redirect] = []
        words: list[syntax.Word] = []
        end = start
        while True:
            if words and self._words.at_process_output():
                words.append(self._words.read_process_output())
            elif self._redirects.at_redirect():
                redirects.append(self._redirects.read())
            elif cursor.at_word_end():
                break
            elif not words:
                self._read_name_or_assignment(words, assignments)
            else:
                words += self._words.read(Role.ARGUMENT)
            end = cursor.position
            cursor.skip_blanks()
        if end == start:
            raise cursor.unexpected_text_error()
        return syntax.SimpleCommand(
            cursor.text[start:end], start, tuple(words), tuple(assignments), tuple(redirects)
        )

    def _read_name_or_assignment(
        self, words: list[syntax.Word], assignments: list[syntax.Assignment]
    ) -> None:
        cursor = self._cursor
        if cursor.match(_OTHER_ASSIGNMENT) is not None:
            raise cursor.refusal("it uses an array or `+=`")
        if self._reserved:
            raise cursor.refusal(f"unexpected `{self._reserved}`")
        # In bash, `time` is a keyword for a whole pipeline. Before a plain command, it can be treated as a program.
        if cursor.match(_TIME) is not None and cursor.match(_TIMED) is None:
            raise cursor.refusal("unexpected `time`, or no plain command follows it")
        name = cursor.match(_ASSIGNMENT)
        if name is None:
            words += self._words.read(Role.COMMAND)
            return
        cursor.position = name.end()
        (value,) = self._words.read(Role.VALUE)
        assignments.append(syntax.Assignment(name[1], value))


class _RedirectReader:
    """Parses the redirections of a script, such as `2>&1`, `< file` or `<<END`."""

    def __init__(self, cursor: Cursor, words: WordReader) -> None:
        self._cursor = cursor
        self._words = words

    def at_redirect(self) -> bool:
        return self._cursor.match(_REDIRECT_START) is not None

    def read_all(self) -> tuple[syntax.Redirect, ...]:
        """Parse any redirections after a loop, group, condition or test."""
        redirects: list[syntax.Redirect] = []
        self._cursor.skip_blanks()
        while self.at_redirect():
            redirects.append(self.read())
            self._cursor.skip_blanks()
        return tuple(redirects)

    def read(self) -> syntax.Redirect:
        """Parse the redirection at the current position."""
        cursor, start = self._cursor, self._cursor.position
        operator_match = cursor.match(_OPERATOR)
        if operator_match is None:
            raise cursor.refusal("a redirection is not supported: `<>`, `<<-`, or a descriptor above 9")
        descriptor = int(operator_match[1]) if operator_match[1] else None
        operator = cast(syntax.RedirectOperator, operator_match[2])
        cursor.position = operator_match.end()
        cursor.skip_blanks()
        target: syntax.Word | None = None
        body: syntax.Word | None = None
        if operator == "<<":
            body = self._read_here_document()
        else:
            if operator in ("<&", ">&") and cursor.match(_DESCRIPTOR) is None:
                raise cursor.refusal(f"no descriptor follows `{operator}`")
            (target,) = self._words.read(Role.TARGET)
        return syntax.Redirect(cursor.text[start : cursor.position], operator, descriptor, target, body)

    def _read_here_document(self) -> syntax.Word:
        cursor = self._cursor
        if cursor.awaits_body:
            raise cursor.refusal("two here-documents begin on one line")
        delimiter = cursor.match(_HERE_DELIMITER)
        if delimiter is None:
            raise cursor.refusal("a here-document's delimiter is not a plain word")
        cursor.position = delimiter.end()
        name = re.escape(delimiter[1] or delimiter[2] or delimiter[3])
        document = cursor.match(re.compile(rf"[^\n]*\n((?:(?!{name})[^\n]*\n)*+){name}(?:\n|\Z)"))
        if document is None:
            raise cursor.refusal("a here-document has no end, or one of its lines begins with its end word")
        body, (start, end) = document[1], document.span(1)
        if delimiter[3] is not None and not _ESCAPING.isdisjoint(body):
            raise cursor.refusal("an unquoted here-document has a backslash or a backquote", start)
        if cursor.substitutions and not _MISREAD_IN_SUBSTITUTION.isdisjoint(body):
            raise cursor.refusal("a here-document in a substitution has quotes or brackets", start)
        word = syntax.Word(body, start, (syntax.Text(body, quoted=True),))
        if delimiter[3] is not None and "$" in body:
            word = self._words.read_body(start, end)
        cursor.await_body(document)
        return word
