"""Tree-sitter's view of a script against ours: any difference in its commands or words refuses the line."""

from dataclasses import replace

from tests.stubs.rows import rows
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal, Script, SimpleCommand
from tui_agent.policy.bash.tree_check import command_spans, disagreement, simple_commands

REASON = "a second parser finds different commands or words"


def parse(text: str) -> Script:
    script = parse_script(text)
    assert isinstance(script, Script), script
    return script


def changed(script: Script, command: SimpleCommand) -> Script:
    """The script with its one command replaced."""
    (item,) = script.items
    return Script((replace(item, pipeline=replace(item.pipeline, commands=(command,))),))


@rows(
    "text",
    [
        "ls ==\nrm -rf src",
        "grep x ==\nX=1 rm y",
        "[ a ==\nrm x ]",
    ],
)
def test_lines_that_the_grammar_joins_are_refused(text: str) -> None:
    refusal = parse_script(text)
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("a second parser")


@rows(
    "text",
    [
        "ls > f -la b",
        "2>f ls -l > g a",
        "cat - <<'E'\na\nE",
        "cat <<E | grep x\na\nE\nls",
        "ls == a; cat a != b",
        "export A=1 B; unset A; declare -p x",
        "cp \"größe\" {a,b}*.py '日本' $x",
        "[ -f a ] && [[ -n $x ]]",
        "x=1 y=$(ls a) rm b",
        "ls $(cat > f -n) -l",
        "ls HEAD@{1} a[0]=b ${x}y",
    ],
)
def test_what_the_grammar_merely_names_otherwise_is_no_difference(text: str) -> None:
    assert disagreement(text, parse(text)) is None


def test_a_script_with_other_words_than_the_text_is_refused() -> None:
    text = "ls -l a > f b"
    script = parse(text)
    (command,) = simple_commands(script)
    for words in (
        command.words[:-1],
        command.words[:1] + command.words[2:],
        command.words[1:],
        command.words * 2,
    ):
        refusal = disagreement(text, changed(script, replace(command, words=words)))
        assert (refusal is None) == (words == command.words * 2), words
    moved = replace(command.words[1], start=4)
    assert disagreement(text, changed(script, replace(command, words=(command.words[0], moved)))) is not None


def test_a_script_without_one_of_the_commands_is_refused() -> None:
    script = parse("ls; rm x")
    assert disagreement("ls; rm x", Script(script.items[:1])) == Refusal(REASON, 4)
    assert disagreement("ls", script) == Refusal(REASON, 4)


def test_a_text_that_the_grammar_cannot_parse_is_refused() -> None:
    assert disagreement("ls (", parse("ls")) == Refusal("a second parser does not accept it", 0)


def test_commands_come_in_the_order_of_the_text() -> None:
    text = "; ".join(f"run{number}" for number in range(40))
    starts = [spans[0] for spans in command_spans(text)]
    assert len(starts) == 40
    assert starts == sorted(starts)
