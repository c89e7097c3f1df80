"""Calls of xargs: the command that it runs with the names that it is fed."""

from tests.stubs.rows import rows
from tests.unit.policy.languages.calls import call, lines
from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.languages.xargs import read_arguments

FED = Value("find .", Certainty.BOUNDED, "./**/*.py", names_files=True)


@rows(
    "line, options, commands",
    [
        ("wc -l", [], ["wc -l ./**/*.py..."]),
        ("", [], ["echo ./**/*.py..."]),
        ("", ["-0"], ["echo ./**/*.py..."]),
        ("rm", ["-r"], ["rm ./**/*.py..."]),
        ("rm wc", ["--max-lines"], ["rm wc ./**/*.py..."]),
        ("rm", ["-l"], ["rm ./**/*.py..."]),
        ("rm", ["-P=4", "-n=1"], ["rm ./**/*.py..."]),
        ("cat {}", [], ["cat {} ./**/*.py..."]),
        ("cat {}", ["-I={}"], ["cat ./**/*.py"]),
        ("cat @", ["-I=@"], ["cat ./**/*.py"]),
        ("cat {}", ["-i"], ["cat ./**/*.py"]),
        ("cat {}", ["--replace"], ["cat ./**/*.py"]),
        ("cat @", ["-i=@"], ["cat ./**/*.py"]),
        ("cat @ {}", ["--replace=@"], ["cat ./**/*.py {}"]),
        ("cp {} {}.bak", ["-I={}"], ["cp ./**/*.py ./**/*.py.bak"]),
        ("cat x", ["-I={}"], ["cat x"]),
        ("{} x", ["-I={}"], ["./**/*.py x"]),
        ("sh -c 'cat {}'", ["-I={}"], ["sh -c cat ./**/*.py"]),
        ("echo 'a*{}'", ["-I={}"], ["echo a\\*./**/*.py"]),
        ("cat $x", ["-I={}"], ["cat ?"]),
        ("cat $x", [], ["cat ? ./**/*.py..."]),
        ("cat src%", ["-I={}"], ["cat src?"]),
        ("cat {}", ["-n=1", "-I={}"], ["cat ./**/*.py", "cat {} ./**/*.py..."]),
        ("cat {}", ["-I={}", "-L=2"], ["cat ./**/*.py", "cat {} ./**/*.py..."]),
        ("cat", ["-a=names"], ["cat ?..."]),
        ("cat", ["--arg-file=names", "-0"], ["cat ?..."]),
        ("cat {}", ["-a=names", "-I={}"], ["cat ?"]),
        ("cat a{}", ["-a=names", "-I={}"], ["cat a?"]),
    ],
)  # fmt: skip
def test_a_command_is_given_what_it_is_fed(line: str, options: list[str], commands: list[str]) -> None:
    reading = read_arguments(call(line, [*options, "-r"], FED))
    assert lines(reading) == commands and reading.doubt == ""


@rows(
    "options, commands",
    [
        ([], ["grep -r a ./**/*.py...", "grep -r a"]),
        (["-r"], ["grep -r a ./**/*.py..."]),
        (["-I={}"], ["grep -r a"]),
        (["--no-run-if-empty", "-0"], ["grep -r a ./**/*.py..."]),
    ],
)
def test_a_command_runs_without_names_too_unless_an_option_forbids_it(
    options: list[str], commands: list[str]
) -> None:
    assert lines(read_arguments(call("grep -r a", options, FED))) == commands


@rows("options", [[], ["-r"], ["-d=\\n"], ["-I={}"], ["-n=1"], ["-L=1"], ["-i"], ["-t"], ["-x"], ["-P=2"]])
def test_a_name_may_fall_into_pieces_that_are_options(options: list[str]) -> None:
    name = read_arguments(call("wc {}", options, FED)).commands[0][-1]
    assert name.splits and name.may_be_option and name.names_files


@rows("options", [["-0"], ["--null"], ["-0", "-n=1"], ["-0", "-I={}"], ["-r", "-0"]])
def test_a_name_stays_whole_where_zero_bytes_part_names(options: list[str]) -> None:
    name = read_arguments(call("wc {}", options, FED)).commands[0][-1]
    assert name.names_files and not name.splits and not name.may_be_option


@rows("line, options", [("cat", []), ("cat", ["-0"]), ("cat {}", ["-I={}"]), ("cat", ["-d=\\n"])])
def test_a_name_that_nothing_bounds_may_be_any_text(line: str, options: list[str]) -> None:
    name = read_arguments(call(line, options)).commands[0][-1]
    assert name.certainty is Certainty.UNKNOWN and name.may_be_option and not name.text


@rows("line, options", [("cat x", ["-I=$x"]), ("cat {}", ["-I={}", "-I=x"]), ("cat {}", ["-i", "-I={}"]), ("cat {}", ["--replace", "-i=x"]), ("cat", ["-I=src%"])])  # fmt: skip
def test_it_is_doubted_which_word_is_replaced(line: str, options: list[str]) -> None:
    reading = read_arguments(call(line, options, FED))
    assert "replaces" in reading.doubt and reading.commands


def test_one_that_runs_another_is_doubted_and_read_once() -> None:
    reading = read_arguments(call("xargs rm", [], FED))
    assert lines(reading) == ["xargs rm ./**/*.py..."] and reading.doubt


@rows("line, may_be_option", [("cat -{}", True), ("cat x{}", False), ("cat {}x", False), ("cat @{}", True)])
def test_a_word_around_a_name_begins_as_it_is_written(line: str, may_be_option: bool) -> None:
    assert read_arguments(call(line, ["-0", "-I={}"], FED)).commands[0][-1].may_be_option is may_be_option


@rows("options", [["-0", "-d=/"], ["-d=/", "-0"], ["-d=,"], ["--delimiter=a"], ["-d=$x"]])
def test_a_name_that_is_split_anywhere_may_be_any_text(options: list[str]) -> None:
    name = read_arguments(call("wc", options, FED)).commands[0][-1]
    assert name.certainty is Certainty.UNKNOWN and name.may_be_option


@rows("options", [[], ["-I={}"], ["-d=\\n"]])
def test_a_number_stays_one_however_it_is_split(options: list[str]) -> None:
    number = Value("seq 3", Certainty.BOUNDED, "[0-9]*", content="number")
    name = read_arguments(call("head -n {}", options, number)).commands[0][-1]
    assert name.text == "[0-9]*" and not name.splits and not name.may_be_option
