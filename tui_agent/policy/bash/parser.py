"""L3: reads a script of the bash subset: lists, pipelines, loops, conditions, groups and simple commands.

Invariant: `parse_script` never raises, takes time linear in the text, and returns a tree only where every character was
recognised and tree-sitter sees the same simple commands.
"""

import re
from collections.abc import Sequence
from typing import Final

from tui_agent.policy.bash.cursor import DELIMITER, Cursor, RefusedError, check_characters
from tui_agent.policy.bash.lexer import Role, WordReader
from tui_agent.policy.bash.redirects import RedirectReader
from tui_agent.policy.bash.syntax import (
    Assignment,
    Command,
    Conditional,
    Connector,
    ForLoop,
    Group,
    Pipeline,
    Redirect,
    Refusal,
    Script,
    ScriptItem,
    SimpleCommand,
    Text,
    WhileLoop,
    Word,
)
from tui_agent.policy.bash.tree_check import disagreement, simple_commands

MAX_COMMANDS: Final = 500

_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|in|case|esac|select|function|coproc|\}|\]\])"
    rf"{DELIMITER}|(?:!|\[\[)(?=[ \t])|\{{(?=[ \t\n])"
)
_LOOP = re.compile(r"for[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]+in(?=[ \t])")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_OTHER_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\+=|\[)")
_TIME = re.compile("time" + DELIMITER)
_TIMED = re.compile(
    rf"(time)[ \t]+(?:(-p)[ \t]+)?(?![-<>0-9]|[ \t\n;&|()]|[A-Za-z_][A-Za-z0-9_]*=|time{DELIMITER}|\Z)"
)
_TEST_JOINER = re.compile(rf"&&|\|\||\]\]{DELIMITER}")
_CONNECTORS: Final[tuple[Connector, ...]] = ("&&", "||", "&", ";")
_FILE_TESTS: Final = frozenset(f"-{letter}" for letter in "defhLnrswxz")
_COMPARISONS: Final = frozenset(("=", "==", "!="))


def parse_script(text: str) -> Script | Refusal:
    """Read a command line or script as bash reads it, or say why it is outside the subset."""
    try:
        check_characters(text)
        script = _ScriptReader(text).read_whole()
    except RefusedError as refused:
        return Refusal(refused.reason, refused.start)
    return disagreement(text, script) or script


def _is_simple_test(words: Sequence[Word]) -> bool:
    inner = [word.source for word in words]
    if inner[:1] == ["!"]:
        inner.pop(0)
    of_one = len(inner) == 2 and inner[0] in _FILE_TESTS
    return of_one or (len(inner) == 3 and inner[1] in _COMPARISONS and inner[0][0] not in "-!")


def _is_one_command(script: Script) -> bool:
    commands = [command for item in script.items for command in item.pipeline.commands]
    first = commands[0]
    return len(commands) == 1 and isinstance(first, SimpleCommand) and len(list(simple_commands(script))) == 1


class _ScriptReader:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._words = WordReader(self._cursor, self._read_substitution)
        self._redirects = RedirectReader(self._cursor, self._words)
        self._commands = 0

    def read_whole(self) -> Script:
        """Read the whole text, which may hold no command."""
        self._cursor.skip_lines()
        return self._read_list() if self._cursor.character else Script(())

    def _read_substitution(self) -> Script:
        cursor, start, bodies = self._cursor, self._cursor.position, self._cursor.bodies
        if cursor.awaits_body:
            raise cursor.refusal("a substitution stands behind the begin of a here-document")
        cursor.substitutions += 1
        script = self._read_list(")")
        if cursor.awaits_body:
            raise cursor.refusal("a here-document begins in a substitution and ends behind it")
        # bash 5.2 joins the commands behind a here-document where it writes a substitution anew.
        if cursor.bodies > bodies and not _is_one_command(script):
            raise cursor.refusal("a here-document stands in a substitution of several commands", start)
        cursor.substitutions -= 1
        cursor.position += 1
        return script

    def _read_list(self, *ends: str) -> Script:
        """Read at least one pipeline, up to a reserved word or `)` of `ends`, or without `ends` to the text's end."""
        cursor = self._cursor
        cursor.enter()
        cursor.skip_lines()
        items: list[ScriptItem] = []
        while not items or not self._at_list_end(ends):
            pipeline = self._read_pipeline()
            connector = self._read_connector()
            items.append(ScriptItem(pipeline, connector))
            if connector in ("&&", "||") and self._at_list_end(ends):
                raise cursor.refusal(f"nothing follows on `{connector}`")
            if not connector and not self._at_list_end(ends):
                raise cursor.refusal(f"`{cursor.character}` stands in an odd place")
        cursor.depth -= 1
        return Script(tuple(items))

    def _at_list_end(self, ends: tuple[str, ...]) -> bool:
        cursor = self._cursor
        if not cursor.character:
            if ends:
                raise cursor.refusal(f"`{ends[-1]}` is missing")
            return True
        if cursor.character == ")":
            return ")" in ends
        reserved = cursor.match(_RESERVED)
        return reserved is not None and reserved[0] in ends

    def _read_connector(self) -> Connector:
        """Read the sign that ends a pipeline, and blanks, comments and empty lines behind it."""
        cursor = self._cursor
        cursor.skip_blanks()
        connector: Connector = next(
            (sign for sign in _CONNECTORS if cursor.has(sign) and not cursor.has(";&")), ""
        )
        cursor.position += len(connector)
        if not connector and cursor.character == "\n":
            connector = ";"
        cursor.skip_lines()
        return connector

    def _read_pipeline(self) -> Pipeline:
        cursor = self._cursor
        reserved = cursor.match(_RESERVED)
        negated = reserved is not None and reserved[0] == "!"
        if negated:
            cursor.position += 1
            cursor.skip_blanks()
        commands = [self._read_command()]
        cursor.skip_blanks()
        while cursor.has("|") and not cursor.has("||"):
            cursor.position += 2 if cursor.has("|&") else 1
            cursor.skip_lines()
            if cursor.match(_TIME) is not None:
                raise cursor.refusal("`time` stands behind `|`")
            commands.append(self._read_command())
            cursor.skip_blanks()
        return Pipeline(tuple(commands), negated)

    def _read_command(self) -> Command:
        cursor = self._cursor
        self._commands += 1
        if self._commands > MAX_COMMANDS:
            raise cursor.refusal(f"it has more than {MAX_COMMANDS} commands")
        if cursor.has("(("):
            raise cursor.refusal("it uses arithmetic")
        if cursor.has("("):
            return self._read_group("(", ")")
        reserved = cursor.match(_RESERVED)
        match reserved[0] if reserved is not None else "":
            case "":
                return self._read_simple_command()
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
            case word:
                raise cursor.refusal(f"`{word}` stands in an odd place")

    def _read_group(self, opening: str, end: str) -> Group:
        script = self._read_block(opening, end)
        self._expect(end)
        return Group(script, opening == "(", self._redirects.read_all())

    def _read_block(self, opening: str, *ends: str) -> Script:
        """Read `opening`, which stands at the position, and the list behind it; stop in front of its end."""
        self._expect(opening)
        return self._read_list(*ends)

    def _expect(self, word: str) -> None:
        if not self._cursor.has(word):
            raise self._cursor.refusal(f"`{word}` is missing")
        self._cursor.position += len(word)

    def _read_for_loop(self) -> ForLoop:
        cursor = self._cursor
        variable = cursor.match(_LOOP)
        if variable is None:
            raise cursor.refusal("a loop has not the form `for NAME in WORDS`")
        cursor.position = variable.end()
        items: list[Word] = []
        cursor.skip_blanks()
        while not cursor.at_word_end():
            items += self._words.read(Role.ARGUMENT)
            cursor.skip_blanks()
        if not items or cursor.character not in (";", "\n"):
            raise cursor.refusal("the words of a loop do not end with `;` or a line end")
        if cursor.has(";"):
            cursor.position += 1
        cursor.skip_lines()
        body = self._read_loop_body()
        return ForLoop(variable[1], tuple(items), body, self._redirects.read_all())

    def _read_loop_body(self) -> Script:
        reserved = self._cursor.match(_RESERVED)
        if reserved is None or reserved[0] != "do":
            raise self._cursor.refusal("`do` is missing")
        body = self._read_block("do", "done")
        self._expect("done")
        return body

    def _read_while_loop(self, word: str) -> WhileLoop:
        condition = self._read_block(word, "do")
        body = self._read_loop_body()
        return WhileLoop(condition, body, self._redirects.read_all(), until=word == "until")

    def _read_conditional(self) -> Conditional:
        branches: list[tuple[Script, Script]] = []
        otherwise: Script | None = None
        opening = "if"
        while opening in ("if", "elif"):
            condition = self._read_block(opening, "then")
            branches.append((condition, self._read_block("then", "elif", "else", "fi")))
            opening = "elif" if self._cursor.has("elif") else ""
        if self._cursor.has("else"):
            otherwise = self._read_block("else", "fi")
        self._expect("fi")
        return Conditional(tuple(branches), otherwise, self._redirects.read_all())

    def _read_test(self) -> SimpleCommand:
        """Read `[[ … ]]` with tests joined by `&&` and `||`: of a file, of a text being empty, or of two texts being equal."""
        cursor, start = self._cursor, self._cursor.position
        words = [self._read_token("[[")]
        term: list[Word] = []
        while words[-1].source != "]]" or term:
            cursor.skip_blanks()
            joiner = cursor.match(_TEST_JOINER)
            if joiner is None and not cursor.at_word_end():
                term += self._words.read(Role.TEST)
            elif joiner is not None and _is_simple_test(term):
                words += [*term, self._read_token(joiner[0])]
                term = []
            else:
                raise cursor.refusal("a test in `[[` is not simple", start)
        source = cursor.text[start : cursor.position]
        return SimpleCommand(source, start, tuple(words), (), self._redirects.read_all())

    def _read_token(self, token: str) -> Word:
        """Read a plain word that stands at the position."""
        start = self._cursor.position
        self._cursor.position += len(token)
        return Word(token, start, (Text(token),))

    def _read_simple_command(self) -> SimpleCommand:
        cursor, start = self._cursor, self._cursor.position
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        words: list[Word] = self._read_time()
        of_time = len(words)
        end = start
        while True:
            if len(words) > of_time and self._words.at_process_output():
                words.append(self._words.read_process_output())
            elif self._redirects.at_redirect():
                redirects.append(self._redirects.read())
            elif cursor.at_word_end():
                break
            elif len(words) == of_time:
                self._read_name_or_assignment(words, assignments)
            else:
                words += self._words.read(Role.ARGUMENT)
            end = cursor.position
            cursor.skip_blanks()
        if end == start:
            place = f" in front of `{cursor.character}`" if cursor.character else ""
            raise cursor.refusal(f"a command is missing{place}")
        return SimpleCommand(
            cursor.text[start:end], start, tuple(words), tuple(assignments), tuple(redirects)
        )

    def _read_time(self) -> list[Word]:
        """Read `time` or `time -p`, behind which bash reads the name of a command as if it began there."""
        cursor, words = self._cursor, []
        timed = cursor.match(_TIMED)
        for token in timed.groups() if timed is not None else ():
            if token is not None:
                words.append(self._read_token(token))
                cursor.skip_blanks()
        return words

    def _read_name_or_assignment(self, words: list[Word], assignments: list[Assignment]) -> None:
        cursor = self._cursor
        if cursor.match(_OTHER_ASSIGNMENT) is not None:
            raise cursor.refusal("it uses an array or `+=`")
        reserved = cursor.match(_RESERVED)
        if reserved is not None:
            raise cursor.refusal(f"`{reserved[0]}` stands in an odd place")
        if cursor.match(_TIME) is not None:
            raise cursor.refusal("`time` stands in an odd place, or has no plain command behind it")
        name = cursor.match(_ASSIGNMENT)
        if name is None:
            words += self._words.read(Role.COMMAND)
            return
        cursor.position = name.end()
        (value,) = self._words.read(Role.VALUE)
        assignments.append(Assignment(name[1], value))
