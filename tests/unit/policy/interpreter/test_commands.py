"""Commands are looked up in the catalog, with all that they run, read, write and connect to."""

import shlex

from tests.stubs.rows import rows
from tests.unit.policy.interpreter.lines import CATALOG, calls, doubts, effects, files, read
from tui_agent.policy.interpreter.command_report import CommandReport
from tui_agent.policy.interpreter.line import read_line
from tui_agent.protocol.effects import RunEffect


def command_names(line: str) -> list[str]:
    """Names and places of a line's commands."""
    return [f"{command.name} {command.entry}".strip() for command in read(line).commands]


@rows(
    "line, expected",
    [
        ("show a", ["show test: programs.show"]),
        ("git log", ["git log test: programs.git log"]),
        ("git -C x -c color.ui=never log -p", ["git log test: programs.git log"]),
        ("git branch x", ["git branch test: programs.git branch"]),
        ("git branch -l", ["git branch --list test: programs.git branch --list"]),
        ("git branch -a --list x", ["git branch --list test: programs.git branch --list"]),
        ("git frob", ["git test: programs.git"]),
        ("git $X", ["git test: programs.git"]),
        ("git", ["git test: programs.git"]),
        ("foo", ["foo"]),
        ("/usr/bin/show a", ["show test: programs.show"]),
        ("/usr/bin/../bin/./show a", ["show test: programs.show"]),
        ("//bin//show a", ["show test: programs.show"]),
        ("../../bin/show a", ["show test: programs.show"]),
        ("../x/bin/show a", ["../x/bin/show"]),
        ("./show a", ["./show"]),
        (": a", [": programs/true.toml"]),
    ],
)
def test_entries_are_found_by_program_and_subcommand(line: str, expected: list[str]) -> None:
    assert command_names(line) == expected


@rows(
    "line, reason, hides",
    [
        ("foo a", "it is not known what foo does", False),
        ("'' a", "it is not known what an empty name does", False),
        ("$X a", "it is not certain which program $X is", True),
        ("./show a", "it is not known what ./show does", False),
        ("/usr/local/bin/show a", "/usr/local/bin/show is a file that may differ from the usual show", False),
        ("/bin/echo a", "/bin/echo is a file that may differ from the usual echo", False),
        ("git frob", "it is not known what git frob does", False),
        ("git $X", "it is not known what git $X does", True),
        ("git log *", "git may interpret * as something other than a file name", False),
        ("git log -- *", "git may interpret * as something other than a file name", False),
        ("$(< names)", "it is not certain which program $(< names) is", True),
        ("show --frob", "--frob of show is not known to be harmless", False),
        ("seek -e a -e b c", "-e of seek is given twice", False),
        ("hash a", "a is one operand too many for hash", False),
        ("show -n x", "x of show may be something other than a number", False),
        ('show -n "$X"', '"$X" of show may be something other than a number', False),
        ("git -c core.pager=x log", "-c core.pager=x of git is not known to be harmless", False),
        ("git branch --sort --list", "git branch takes --list as the value of the option before it", False),
        ("show @a", "@a begins with @, which may be special for show", False),
        ("show '|a'", "'|a' begins with |, which may be special for show", False),
        ('show "$X"', 'it is not certain which file "$X" is', False),
        ("seek * a", "* may expand to several arguments of seek, or to none", False),
        ("git log [0-9]*", "git may interpret [0-9]* as something other than a file name", False),
        ("git log $(name)", "$(name) may expand to an option of git log", False),
        ("git log $(name)..b", "$(name)..b may expand to an option of git log", False),
        ("git log x:$(name)", "it is not certain which revision x:$(name) is", False),
        ("git log :$(hash)", "it is not certain which revision :$(hash) is", False),
        ("git log x$(name)", "it is not certain which revision x$(name) is", False),
        ("within $(show a) show b", "$(show a) may expand to several arguments of within, or to none", True),
        ("env $X show b", "$X may expand to an option of env", True),
        ("call $X", "it is not certain which host $X is", False),
        ('shell -c "$X"', 'it is not certain which commands "$X" contains', True),
        ("shell", "it is not certain which commands the input of shell contains", True),
        ("shell <<E\nshow $x\nE", "it is not certain which commands the input of shell contains", True),
        ("show <<E\n$TOKEN\nE", "it shows $TOKEN, which may hold a secret", False),
        ("show a | shell", "it is not certain which commands the input of shell contains", True),
        ("script", "it is not certain which code the input of script is", True),
        ('script -e "$X"', 'it is not certain which code "$X" is', True),
        ("shell -c 'x=$((1))'", "it uses arithmetic", True),
        ('awk "$X" a', 'it is not certain which awk script "$X" is', False),
    ],
)
def test_what_is_not_certain_raises_a_doubt(line: str, reason: str, hides: bool) -> None:
    found = [doubt for command in read(line).commands for doubt in command.doubts]
    assert (reason, hides) in [(doubt.reason, doubt.hides_command) for doubt in found]


@rows(
    "line, expected",
    [
        ("within 5 show a", ["within 5 show a", "show a"]),
        ("within 5 within 6 show a", ["within 5 within 6 show a", "within 6 show a", "show a"]),
        ("within 5 $X a", ["within 5 $X a", "$X a"]),
        ("env A=1 show a", ["env A=1 show a", "show a"]),
        ("env", ["env", "printenv"]),
        ("command show a", ["command show a", "show a"]),
        ("shell -c 'show a && show b'", ["shell -c show a && show b", "show a", "show b"]),
        ("shell -c 'shell -c \"show a\"'", ["shell -c shell -c \"show a\"", "shell -c show a", "show a"]),
        ("shell <<< 'show a'", ["shell", "show a"]),
        ("shell <<'EOF'\nshow a\nshow b\nEOF", ["shell", "show a", "show b"]),
        ("echo show a | shell", ["echo show a", "shell", "show a"]),
        ("show <(put a b) c", ["put a b", "show /dev/fd/63 c"]),
        ("show <<E\n$(put a b)\nE", ["put a b", "show"]),
        ("shell <<E\n$(put a b)\nE", ["put a b", "shell"]),
        ("files src | xargs -r show", ["files src", "xargs -r show", "show files"]),
        ("xargs -r within 5 show a", ["xargs -r within 5 show a", "within 5 show a", "show a"]),
    ],
)  # fmt: skip
def test_commands_that_others_run_have_reports_of_their_own(line: str, expected: list[str]) -> None:
    found = calls(line)
    assert len(found) == len(expected)
    assert all(call.startswith(start) for call, start in zip(found, expected, strict=True))


def test_a_wrapper_only_starts_the_commands_behind_it() -> None:
    line = "within 5 shell -c 'show a'"
    assert [command.runs_next for command in read(line).commands] == [True, True, False]
    assert effects(line) == set()
    assert doubts(line) == []


def test_shells_and_wrappers_inside_each_other_are_followed_to_a_limit() -> None:
    text = "show a"
    for _ in range(7):
        text = f"shell -c {shlex.quote(text)}"
    assert "commands are nested too deeply" in doubts(text)
    assert "commands are nested too deeply" in doubts("within 1 " * 12 + "show a")


@rows(
    "line, expected",
    [
        ("show a", set()),
        ("put a b", {"writes"}),
        ("show --help", set()),
        ("shell --help", {"runs"}),
        ("call example.org", {"connects"}),
        ("show a > b", {"writes"}),
        ("show a >> b", {"writes"}),
        ("show a > /dev/null 2>&1", set()),
        ("show a 2>/dev/null", set()),
        ("show a &> b", {"writes"}),
        ("show a > /dev/tcp/example.org/80", {"connects"}),
        ("for x in a; do show $x; done > b", {"writes"}),
        ("> b", {"writes"}),
        ("show a & show b", {"leaves a process behind"}),
        ("show a && show b & show c", {"leaves a process behind"}),
        ("show a & wait", set()),
        ("while true; do show a; done", {"never ends"}),
        ("until false; do show a; done", {"never ends"}),
        ("while :; do show a; done", {"never ends"}),
        ("while [ 1 ]; do show a; done", {"never ends"}),
        ("until show a; do sleep 1 && break; done", {"never ends"}),
        ('while [ "$(hash)" ]; do show a; done', {"never ends"}),
        ("while true; do show a && break; done", {"never ends"}),
        ("while show a; do show b; done", {"never ends"}),
        ("while read -r x; do show b; done < a", set()),
        ("while IFS= read -r -d '' x; do show b; done < a", set()),
        ("while read -r x < a; do show b; done", {"never ends"}),
        ("while read -rt 0 x; do show b; done < a", {"never ends"}),
        ("while read -r x; show a; do show b; done < a", {"never ends"}),
        ("while read -r x | show; do show b; done < a", {"never ends"}),
        ("while ! read -r x; do show b; done < a", {"never ends"}),
        ("until read -r x; do show b; done < a", {"never ends"}),
        ("shell a.sh", {"runs"}),
        ("shell -c 'put a b'", {"writes"}),
        ("eval 'show a'", {"runs"}),
        ("foo", {"runs"}),
        ("/bin/show a", set()),
        ("../bin/show a", {"runs"}),
    ],
)
def test_effects(line: str, expected: set[str]) -> None:
    assert effects(line) == expected


def test_only_the_commands_of_a_list_in_the_background_are_left_behind() -> None:
    reports = read("show a; show b && show c & show d").commands
    assert [sorted(report.effects) for report in reports] == [
        ["reads"], ["leaves a process behind", "reads"], ["leaves a process behind", "reads"], ["reads"]
    ]  # fmt: skip


@rows(
    "line, expected",
    [
        ("put a /dev/null /dev/stdout", ["read a"]),
        ("put a b c", ["read a", "read b", "write c"]),
        ("show a < b > c", ["read b", "write c", "read a"]),
        ("show a > $X", ["write ?", "read a"]),
        ("show [a]b", ["read ≈[a]b", "read [a]b"]),
        ("foo --out=a/b -ok c x=d", ["mention a/b", "mention k", "mention c", "mention x=d", "mention d"]),
        ("show --out=a b", ["mention a", "read b"]),
        ("show <(show a) <(show b) c", ["read a", "read b", "read c"]),
        ("put a <(show b)", ["read b", "read a"]),
        ("show b <<E\n$(show a)$x\nE", ["read a", "read b"]),
        ("seek p", []),
        ("seek ~/.ssh/* a", ["list ~/.ssh", "read a/**"]),
        ("cd src && seek * a", ["list src", "read src/a/**"]),
        ('show "$X/a/b"', ["read ?", "read ≈**/a/b"]),
        ('show "$X.b"', ["read ?"]),
        ("show ${XDG_CONFIG_HOME}/a", ["read ?", "read ≈~/.config/a"]),
        ('show "$X$Y/a"', ["read ?", "read ≈**/a"]),
        ('show b > "$X/.c"', ["write ?", "write ≈**/.c", "read b"]),
        ("call file:///a/%62", ["read /a/b"]),
        ('call "$X/a"', ["mention ?", "mention ≈**/a"]),
        ("seek p a", ["read a/**"]),
        ("seek -e p a", ["read a/**"]),
        ("shell a.sh", ["read a.sh"]),
        ("xargs -0 show < a", ["read a", "read ?", "read ."]),
        ("files src | xargs -0r show", ["list src/**", "read ≈src/**"]),
        ("git log a", ["read a"]),
        ("git log -- 'a*'", ["read ≈a*", "read ≈**/*"]),
        ("git log -- src/*.py", ["read ≈src/*.py"]),
        ("git log -- 'src/*.py'", ["read ≈src/*.py", "read ≈src/**/*.py"]),
        ("git log -- ':(icase)a'", ["read a", "read ?"]),
        ("git restore ':/a' b", ["write a/**", "write b/**"]),
        ("git restore 'a*/**'", ["write ≈a*/**", "write ≈**/*/**"]),
        ("cd src && shell a.sh", ["read src/a.sh", "list src"]),
        ("cd src && put a b", ["read src/a", "write src/b"]),
        ("git log :f:a", ["read :f:a", "read f:a", "read a"]),
        ("git log HEAD:a", ["read a"]),
        ("git log :a", ["read :a", "read a"]),
        ("git log :2:a", ["read :2:a", "read a"]),
        ("git log -- ':(top,exclude)a' ':!b'", []),
        ("cd x && git log HEAD:a", ["read x/a", "read a"]),
        ("git -C x log HEAD:a", ["list x", "read x/a", "read a"]),
        ("git log $(hash):a", ["read ≈a"]),
        ("git log x$(hash)..b", []),
        ("git log $(hash)", []),
        ("git log x/$(name)", ["read ≈x/**"]),
        ("git log [0-9]*", ["read ≈[0-9]*"]),
    ],
)
def test_files(line: str, expected: list[str]) -> None:
    assert files(line) == expected


def seek(line: str) -> CommandReport:
    return read(line).commands[-1]


def test_files_that_are_left_out_or_chosen_below_a_folder() -> None:
    use = seek("seek -I '*.py' -X '*.min' p src").files[0]
    assert (use.only, use.excludes, use.skips) == (("*.py",), ("*.min",), {"hidden", "ignored"})
    use = seek("seek -I '!a' p src").files[0]
    assert (use.only, use.excludes) == ((), ("a",))
    assert seek('seek -I "$X" p src').files[0].only == ()
    use = seek("seek -I '!a' -I '*.c' -I '!b' p src").files[0]
    assert (use.only, use.excludes) == (("*.c",), ("b",))


def test_a_pattern_of_what_is_left_out_reads_no_hidden_files() -> None:
    assert seek("seek -G '!a' p src").files[0].skips == {"hidden", "ignored"}
    assert seek("seek -G 'a' p src").files[0].skips == {"ignored"}


def test_variables_in_front_are_settings_of_the_commands_that_run() -> None:
    settings = [[name for name, _ in command.settings] for command in read("A=1 env B=2 show c").commands]
    assert settings == [["A", "B"], ["A", "B"]]


def test_a_forbidden_program_says_why() -> None:
    assert [command.program.forbidden for command in read("within 5 halt").commands] == [
        "",
        "it stops the machine",
    ]


def test_hosts_are_told() -> None:
    assert read("call example.org").commands[0].hosts == ("example.org",)
    assert read("show a > /dev/tcp/10.0.0.1/80").commands[0].hosts == ("10.0.0.1",)


def test_an_argument_vector_is_one_command_of_known_words() -> None:
    report = read_line(RunEffect(argv=("show", "$X", "*", "~/a")), CATALOG)
    assert [word.known for word in report.commands[0].words] == ["show", "$X", "*", "~/a"]
    assert [use.path for use in report.commands[0].files] == ["$X", "*", "~/a"]
    assert report.commands[0].doubts == ()


def test_code_that_is_given_as_text_is_kept() -> None:
    assert read("script -e 'a b'").commands[0].code == ("a b",)
    assert read("shell -c 'show a'").commands[0].code == ("show a",)
    assert read("script <<< 'a b'").commands[0].code == ("a b",)
