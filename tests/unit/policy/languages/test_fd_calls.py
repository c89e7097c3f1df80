"""Calls of fd: listed options are read, and each command is given the path that fd appends."""

from tests.stubs.rows import rows
from tests.unit.policy.languages.calls import call, lines
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.command_report import FileUse
from tui_agent.policy.interpreter.languages.fd import read_arguments

HARMLESS = [
    "", "foo", "-e py", "-t f -e ts . src", "--hidden --exclude .git config", "-H foo", "-HI foo", "-uu foo", "-tf -e=py", "--type=f --extension py", "-d3 foo src tests", "-x wc -l", "-e py -x wc -l {}",
    "-e py -X grep -n foo", ". src -x cat ; -t f", "-S+1k", "--search-path src foo", "-- -foo", "-0 foo", "-l foo", "-g '*.py'", "--changed-within 1d", "-1 foo", "-q foo", "-c never foo", "-Hx ls -l", ". -- -x", "-L foo", ". $x",
]  # fmt: skip
DOUBTED = [
    "--foo", "-Z", "-HZ", "--exec", "-x", "-x ;", "-xcat", "--exec=rm", "-X=rm", "--base-directory x", "--strip-cwd-prefix", "--ignore-file x", "--path-separator x", "$x", "%", "$x*", "foo $x*", "--search-path $x", "-e", "-e -x rm", "-e $x rm",
    "-x grep $x", "-x grep %", ". $x", "--type", "--typ f", "--hidden=1", "-x $x", "--exec-batch", "--gen-completions", "--max-depth -x",
][:-0 or None]  # fmt: skip


@rows("line", [line for line in HARMLESS if line != ". $x"])
def test_a_call_of_listed_options_raises_no_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt == ""


@rows("line", DOUBTED)
def test_a_call_with_anything_else_raises_a_doubt(line: str) -> None:
    assert read_arguments(call(line)).doubt


@rows(
    "line, commands",
    [
        (". -x tee", ["tee ./**"]),
        (". -x uniq README.md", ["uniq README.md ./**"]),
        ("-u . -x cat", ["cat ./**"]),
        ("-H . -x cat", ["cat ./**"]),
        ("-e py -x wc -l", ["wc -l ./**/*.[pP][yY]", "wc -l ./**/.*.[pP][yY]", "wc -l ./**/.[pP][yY]"]),
        ("-H -e py -x wc", ["wc ./**/*.[pP][yY]", "wc ./**/.*.[pP][yY]", "wc ./**/.[pP][yY]"]),
        (". src tests -x cat", ["cat src/**", "cat tests/**"]),
        (". -x echo {} b", ["echo ./** b"]),
        (". -x echo {/}", ["echo ?"]),
        (". -x mv {} {.}.bak", ["mv ./** ?"]),
        (". -x echo {{}}", ["echo ?"]),
        (". -x cat ; -x rm", ["cat ./**", "rm ./**"]),
        (". --exec=rm", ["rm ./**"]),
        (". -Hxrm -f", ["rm -f ./**"]),
        ("--search-path src x -x rm", ["rm src/**"]),
    ],
)  # fmt: skip
def test_a_command_is_given_every_path_that_can_be_found(line: str, commands: list[str]) -> None:
    assert lines(read_arguments(call(line))) == commands


@rows("line, may_be_option", [(". -x cat", True), (". src -x cat", False), (". @a -x cat", True), (". src -x cat {/}", True)])  # fmt: skip
def test_a_path_may_be_an_option_unless_the_search_starts_in_a_named_folder(
    line: str, may_be_option: bool
) -> None:
    assert read_arguments(call(line)).commands[0][-1].may_be_option is may_be_option


@rows(
    "line, prints",
    [("", "./**"), ("-H", "./**"), ("-e py . src", "src/**"), (". src tests", "./**"), ("-x cat", None), ("-l", None), ("--color=always", None), (". src /etc", None)],
)  # fmt: skip
def test_what_it_prints_is_bounded_by_what_it_can_find(line: str, prints: str | None) -> None:
    found = read_arguments(call(line)).prints
    assert (found and found.text) == prints


@rows("line, skips", [("", {"hidden", "ignored"}), ("-H", {"ignored"}), ("-I", {"hidden"}), ("-u", set()), ("--no-ignore-vcs", {"hidden"}), ("-HI", set())])  # fmt: skip
def test_options_show_what_is_passed_over_else(line: str, skips: set[str]) -> None:
    assert read_arguments(call(line)).files == (FileUse(".", "list", below=True, skips=frozenset(skips)),)


@rows("line", ["-x sleep 9", ". src -x /bin/sleep 1 ; -e py", "-X sleep 9"])
def test_waiting_once_for_each_name_may_never_end(line: str) -> None:
    assert read_arguments(call(line)).effects == {Effect.NEVER_ENDS}
    assert not read_arguments(call(line.replace("sleep", "wc"))).effects
