"""Lines of bash for the comparison with the real one: a grammar that aims at what readers disagree about, and mutations of
its lines and of lines from the corpora and tests.
"""

import ast
import random
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[2]

ATTACKS = (
    "ls\n\\rm -rf src",
    "echo a\n\\\nrm -rf ~",
    "echo =~\nrm -rf src",
    "ls ==\nsudo reboot",
    "grep =~\nx=1 rm y",
    "echo a\n\\\ncat ~/.ssh/id_rsa",
    "for ((PATH=1;;)); do ls; break; done",
    "arr=(a b)#; rm x",
    "cat <<'E'}\nx\nE}\nrm x\nE",
    "cat <<E\n`rm x`\nE",
    "ls $x{a,b} ${x}{a,b}",
    "ls $x{1..1}",
    "time -p -- rm x",
    "time > f -p rm",
    "ls |\n\ntime rm x",
    'ls $(cat <<E\nE\n\ncat "a$(\nls\n)";rm x)',
    "ls $(cat <<'E'\na\nE\n) \"$(cat <<E\nb\nE\n)\"",
    "time -- rm x",
    'ls "$(time ls 2>&1)" $({ time rm x; } 2>&1)',
    "x={a,b} y=~:~/a ls x=~/a",
    "ls {a,b}>f {x}>f",
    "echo \"$(cat <<E\na)\nE\n)\"; rm x",
    "ls 2>&1& rm x",
    "ls # a \\\nrm x",
)  # fmt: skip
NAMES = (
    "ls",
    "rm",
    "cat",
    "git",
    "grep",
    "cp",
    "echo",
    "[",
    "foo",
    ":",
    "export",
    '"ls"',
    "'rm'",
    "time ls",
    "time -p rm",
    "l's'",
)
WORDS = (
    "$x{a,b}", "{a,$x}b", "$1{0,1}", "{a,b}$(ls)", "$10", "$x\u00e9", "${x}é",
    "a", "b.py", "-l", "--x=y", "src/a", "==", "=", "=~", "!=", "!", "]", "]]", "-", "--", "5", "a=b", "a+=b", "a[0]=b", "%1", "a#b",
    "'a b'", "'a\nb'", "'#'", "'$x'", "'\\'", '"a b"', '"$x"', '"${x}y"', '"\\$x \\"q\\" \\n"', '"a\nb"', '"#"', '"$"', '""', "''",
    "\\;", "\\ ", "a\\ b", "\\(", "\\$x", "\\\\", "\\!", "\\#", "\\{a,b\\}", "\\~", "a\\'b", "$x", "${x}", "$?", "$#", "$1", "$$",
    "${x:-b}", '"${x##*/}"', "${x%.*}", '"${x#a}"', "${x%%?}", '"${x:-}"', "${x:-b}.c", "${y#-}",
    "*", "*.py", "?", "[a-c]", "[!a]x", "a*b?", "'a'*", "**/*.py", "{a,b}", "{1..3}", "{a..c}", "{3..1}", "a{,.b}", "{a,{b,c}}d",
    "{'a b',c}", "{}", "HEAD@{1}", "x{a}y", "~", "~/a", "a~", "~a", "HEAD~1", "HEAD^", "a:b", "a,b", "@", "+x", "if", "then", "do", "done",
    "}", "{", "in", "fi", "case", "time", "function", "é", "日本", "'é\u00e0'", "x\"y\"'z'", "$x$y", "$x.py", "${x}{a,b}", "\"$x\"{a,b}",
    "$(ls)", '"$(ls a)"', "$(cat b | grep c)", '"a $(rm "b c") d"', "$(ls; rm x)", "$(<f)", "$( (ls) )", "a$(ls)b", "$(echo $(ls))",
)  # fmt: skip
REDIRECTS = (
    ">f", "> f", ">>f", ">|f", "2>f", "2>/dev/null", "2>&1", ">&2", "1>&2", "&>f", "&>>f", "</dev/null", "<<<x", "<<< 'a b'", '<<<"$x"',
    ">'f g'", "3<&0", ">$x", ">&f", "2>&-", "<>f",
)  # fmt: skip
BODY_LINES = (
    "a", "rm x", "it is", "$x", 'a ${y}"', "$(rm x)", "'$(ls $x)", "$(ls", "$(cat <<F", "$(cat <<'F'", "F", "`rm x`", ")", "b;c", "#", "\\", "",
)  # fmt: skip
SEPARATORS = (
    ";",
    "\n",
    " && ",
    " || ",
    " | ",
    " & ",
    ";\n",
    " &&\n",
    " |\n",
    " |& ",
    " # c\n",
    "\n# c\n",
    "\n\n",
    " ; ",
    "&&",
    "|",
)
TOKENS = (
    "\n", "\\\n", "\\", " ", "\t", "'", '"', "`", "$(", ")", "(", "((", "))", "$((", "#", " #", "=~", "==", "{", "}", ",", "..", "*", "[",
    "]", "!", "~", ":", "=", "\r", "\u00a0", "\u2003", "\u200b", "\u3000", "é", "à", "\x0c", "\x1b", ";", "&", "|", "&&", "||", "|&", ";;",
    ";&", "&>", "2>&1", "2>", ">", "<", ">|", "<>", "<(", ">(", "<<<", "<<E\n", "\nE\n", "E", "<<'E'\n", "<<-E\n", "{fd}>", "time ", "! ",
    "then", "do", " do ", "done", "; done", "fi", "if ", "in", "[[", "]]", "[[ ", " ]]", "$'", '$"', "$", "${", "${x", "$x", "$_", "${x:-",
    "x=", "x+=", "a[0]=", "y=~/", "case ", "esac", "coproc ", "function ", "f()", "%", "^", "@(", "!(", "+(", "rm x", "rm", ";rm x", "\nrm x\n",
)  # fmt: skip


@cache
def seeds() -> tuple[str, ...]:
    """Lines of attacks, of the corpora, and every text of the policy's tests that could be a line."""
    lines = list(ATTACKS)
    for path in sorted((TESTS / "corpora" / "policy").glob("*.txt")):
        lines += [
            line.replace("␤", "\n") for line in path.read_text().splitlines() if line and line[0] != "#"
        ]
    for path in sorted((TESTS / "unit" / "policy").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                lines.append(node.value)
    return tuple(line for line in dict.fromkeys(lines) if len(line) < 300 and "\0" not in line)


class LineSource:
    """An endless, repeatable source of lines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def line(self) -> str:
        """Return a line of the grammar, a seed, or a mutation of either."""
        chance = self._random.random()
        if chance < 0.75:
            line = self._script(self._random.choice((0, 0, 1, 2)))
        else:
            line = self._pick(ATTACKS if chance < 0.8 else seeds())
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 3))):
            line = self._mutate(line)
        return line.replace("\0", "")

    def _pick(self, texts: tuple[str, ...]) -> str:
        return self._random.choice(texts)

    def _mutate(self, line: str) -> str:
        start = self._random.randint(0, len(line))
        match self._random.randrange(4):
            case 0:
                return line[:start] + line[start + self._random.choice((1, 1, 2, 5)) :]
            case 1:
                stop = min(len(line), start + self._random.randint(1, 8))
                place = self._random.randint(0, len(line))
                return line[:place] + line[start:stop] + line[place:]
            case _:
                blank = self._random.choice(("", "", " "))
                return f"{line[:start]}{blank}{self._pick(TOKENS)}{blank}{line[start:]}"

    def _script(self, depth: int) -> str:
        parts = [self._command(depth)]
        while self._random.random() < 0.4:
            parts += [self._pick(SEPARATORS), self._command(depth)]
        return "".join(parts)

    def _command(self, depth: int) -> str:
        if not depth or self._random.random() < 0.4:
            return self._simple()
        inner, other = self._script(depth - 1), self._script(depth - 1)
        blank = self._random.choice((" ", "\n", " \n "))
        shape = self._pick(
            (
                "for x in {words}; do {a}; done", "for f in {words}\ndo{blank}{a}\ndone", "while {a}; do {b}; done", "until {a}\ndo {b}\ndone",
                "if {a}; then{blank}{b}; fi", "if {a}; then {b}; else {a}; fi", "if {a}\nthen {b}\nelif {a}; then {b}\nfi", "{{ {a}; }}",
                "{{{blank}{a}\n}}", "({a})", "( {a} )", "! {a}", "ls $({a})", 'ls "$({a})" b', "x=$({a}) ls", 'cat "a$(\n{a}\n)"', "{a} | {b}",
                "cat <({a})", "ls x <({a}) <( {b} ) y", "cat a<({a})", "cat <({a}){b}",
            )
        )  # fmt: skip
        text = shape.format(a=inner, b=other, blank=blank, words=self._words(3) or "a")
        if self._random.random() < 0.1:
            text += f" {self._pick(REDIRECTS)}"
        return text

    def _words(self, most: int) -> str:
        return " ".join(self._pick(WORDS) for _ in range(self._random.randint(0, most)))

    def _simple(self) -> str:
        chance = self._random.random()
        if chance < 0.05:
            return self._pick(
                (
                    "[[ -f {w} ]]",
                    "[[ {w} == {w} ]]",
                    "[[ ! -n {w} ]]",
                    "[[ {w} && {w} ]]",
                    "[[ -f {w} && {w} != {w} ]]",
                    "[[ -n {w}||! -d {w} ]]",
                    "[[ -f {w} && ]]",
                    "[[ {w} =~ {w} ]]",
                )
            ).format(w=self._pick(WORDS))
        if chance < 0.12:
            return self._here_document()
        parts = [self._pick(NAMES), *(self._pick(WORDS) for _ in range(self._random.choice((0, 1, 1, 2, 3))))]
        if self._random.random() < 0.15:
            parts.insert(
                0,
                self._pick(("x=1", "x=", "y='a b'", "x=$(ls)", 'x="$y"', "x=~/a", "x=a:b", "x=*", "x=a y=b")),
            )
        if self._random.random() < 0.25:
            parts.insert(self._random.randint(0, len(parts)), self._pick(REDIRECTS))
        return " ".join(parts)

    def _here_document(self) -> str:
        delimiter = self._pick(("E", "'E'", '"E"', "EOF", "'EOF'"))
        name = delimiter.strip("'\"")
        own = (f"{name}x", f" {name}")
        count = self._random.randint(0, 3)
        body = "".join(f"{self._pick((*BODY_LINES, *own))}\n" for _ in range(count))
        rest = self._pick(
            (
                "",
                "",
                " | grep x",
                " && ls",
                " > f",
                "; rm y",
                " -n",
                " # c",
                " ;",
                ' "a b"',
                " && {\nls\n}",
                " 'a\nb'",
                ' "$(ls)"',
                " <<F",
            )
        )
        return f"cat <<{self._random.choice(('', ' '))}{delimiter}{rest}\n{body}{name}{self._random.choice(('', chr(10)))}"
