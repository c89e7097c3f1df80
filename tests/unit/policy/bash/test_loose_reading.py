"""Readings of texts outside the subset: a command that might be run is found however it is spelled."""

from tests.stubs.rows import rows
from tui_agent.policy.bash.loose_reading import PossibleCommands, loose_commands


@rows(
    "text",
    [
        "ls\n\\git push",
        "echo a\n\\\ngit push",
        "echo =~\ngit push",
        "ls ==\nX=1 git push",
        "arr=(a b)#; git push",
        "for ((i=0;i<3;i++)); do git push; done",
        "case x in a) git push;; esac",
        "f() { git push; }",
        "function f { time -p git push; }",
        "coproc git push",
        "echo `git push`",
        "diff <(git push) a",
        "echo $((1)) | ! A=1 b[0]=2 c+=3 git push",
        "if ((1)); then git push; fi",
        "gi\\\nt pu\\\nsh",
        "g''it \"pu\"s\\h $((1))",
        "$'gi\\x74' $'\\160u\\u0073h'",
        "git${IFS}push",
        "git$IFS'push'",
        "{git,push}",
        "g$@it$1 push ``",
        "git >f 2>&1 {fd}<g push",
        "<<< 'a b' git 2>&- >\"f g\" push ((",
        "cat <<E'F\ngit push\nE",
        "bash <<-E\n\tgit push\nE",
        "git\rpush",
        "echo $((1)); x='a\ngit push\n'",
        "$unknown git push",
        "git -c 'a;b' push $((1))",
        "(((((git push",
        "((((" * 60 + "git push",
    ],
)
def test_a_command_is_found_in_some_reading(text: str) -> None:
    commands = loose_commands(text).commands
    assert any(
        words[:1] == ("git",) and "push" in words and {*words} <= {"git", "push", "-c", "a;b", None}
        for words in commands
    ), commands


def test_a_word_that_bash_expands_is_none() -> None:
    commands = loose_commands("ls $x \"a$y\" *.py {a,b} `c` '$z' a\\$b ((").commands
    assert ("ls", None, None, None, None, None, "$z", "a$b") in commands


def test_quoted_texts_that_could_be_scripts_are_listed() -> None:
    reading = loose_commands("bash -c 'git push' \"a;\\\"b\" 'word' ((")
    assert reading.texts == ("git push", 'a;"b')


@rows(
    "text",
    [
        "a" * 40_001,
        "x" * 10_001 + "((",
        "ls|" * 401,
        "a=(" * 51,
        "ls " + "<(" * 51 + ")" * 51,
        ")" * 9_900,
        "foo@" * 2_400,
        "<<a\n" * 201,
        "! " * 300 + "git push",
        "a;b " * 5_000,
    ],
)
def test_a_text_that_is_too_much_is_unreadable(text: str) -> None:
    assert loose_commands(text).unreadable


def test_a_text_that_is_too_long_has_no_commands() -> None:
    assert loose_commands("git push;" * 5_000) == PossibleCommands((), unreadable=True)


def test_an_ordinary_text_is_readable() -> None:
    assert not loose_commands("for ((i=0;i<3;i++)); do ls; done").unreadable
    assert loose_commands("") == PossibleCommands(())
