"""Options are told from operands exactly as getopt_long would, and only by the positive list."""

from tests.stubs.rows import rows
from tests.unit.policy.interpreter.lines import settled_by_names
from tui_agent.policy.catalog.catalog_entry import Entry, make_entry
from tui_agent.policy.interpreter.call_options import UNLISTED, ParsedCall, parse_call
from tui_agent.policy.interpreter.command_report import Certainty, Value

GNU = {
    "about": "Has one option of each kind.",
    "flags": ["-a --all", "-l"],
    "options": {
        "-n --lines": {"means": "number"},
        "-e": {"repeats": True},
        "-U --unified": {"word": "attached"},
        "--color": {"word": "attached", "values": ["auto", "never"]},
        "--arg": {"second": "text"},
        "-c": {"means": "setting", "values": ["color.*"]},
        "--version": {"word": "none", "ends": True},
    },
}


def entry(**keys: object) -> Entry:
    return make_entry("prog", "programs/prog.toml", {**GNU, **keys}, None)


def word(text: str) -> Value:
    return Value(text, Certainty.KNOWN, text)


def star(text: str = "*", **keys: bool) -> Value:
    return Value(text, Certainty.BOUNDED, text, **{"many": True, "may_be_option": True, **keys})


def unknown(prefix: str = "", *, many: bool = False) -> Value:
    source = f"{prefix}$x"
    return Value(source, Certainty.UNKNOWN, many=many, may_be_option=not prefix, prefix=prefix)


def parse(line: str, **keys: object) -> ParsedCall:
    return parse_call(entry(**keys), [word(text) for text in line.split()])


def show_call(call: ParsedCall) -> str:
    """All that was parsed: options with their words, a bar, operands; an unlisted option with `!`."""
    options = (
        f"{'!' if option.option is UNLISTED else ''}{option.spelling}"
        + "".join(
            f":{value.text or value.source}" for value in (option.word, option.second) if value is not None
        )
        for option in call.options
    )
    return " ".join([*options, "|", *(value.source for value in call.operands)])


@rows(
    "line, expected",
    [
        ("-la x", "-l -a | x"),
        ("x -l y -a", "-l -a | x y"),
        ("-n5 x", "-n:5 | x"),
        ("-n 5 x", "-n:5 | x"),
        ("-ln5 x", "-l -n:5 | x"),
        ("-ln 5 x", "-l -n:5 | x"),
        ("-nl x", "-n:l | x"),
        ("--lines=5 x", "--lines:5 | x"),
        ("--lines 5 x", "--lines:5 | x"),
        ("--lines= x", "--lines:--lines= | x"),
        ("-n -- -- x", "-n:-- | x"),
        ("-e -l -e x", "-e:-l -e:x |"),
        ("-l -- -a -n", "-l | -a -n"),
        ("- x", "| - x"),
        ("-U x", "-U | x"),
        ("-U3 x", "-U:3 | x"),
        ("--unified x", "--unified | x"),
        ("--unified=3 x", "--unified:3 | x"),
        ("--color=auto x", "--color:auto | x"),
        ("--arg a b x", "--arg:a:b | x"),
        ("-c color.ui=never x", "-c:color.ui=never | x"),
        ("-l -l --all -a x", "-l -l --all -a | x"),
        ("+5 x", "| +5 x"),
    ],
)
def test_listed_options_are_parsed_without_a_doubt(line: str, expected: str) -> None:
    call = parse(line)
    assert show_call(call) == expected
    assert call.doubts == ()


@rows(
    "line, expected, reason",
    [
        ("-x y", "!-x | y", "-x of prog is not known to be harmless"),
        ("-lxy z", "-l !-x:y | z", "-x of prog is not known to be harmless"),
        ("--output=F x", "!--output:F | x", "--output of prog is not known to be harmless"),
        ("--output F x", "!--output | F x", "--output of prog is not known to be harmless"),
        ("--li 5 x", "!--li | 5 x", "--li of prog may be short for --lines"),
        ("--all=yes x", "--all:yes | x", "--all of prog takes no value"),
        ("x -n", "-n | x", "-n of prog lacks its value"),
        ("--arg a", "--arg:a |", "--arg of prog lacks its value"),
        ("-n 1 --lines=2 x", "-n:1 --lines:2 | x", "--lines of prog is given twice"),
        ("-U --unified x", "-U --unified | x", "--unified of prog is given twice"),
        ("--color=html x", "--color:html | x", "--color=html of prog is not known to be harmless"),
        ("-c core.pager=x y", "-c:core.pager=x | y", "-c core.pager=x of prog is not known to be harmless"),
        ("-5 x", "!-5 | x", "-5 of prog is not known to be harmless"),
        ("-x --version", "!-x --version |", "-x of prog is not known to be harmless"),
    ],
)
def test_what_is_not_listed_raises_a_doubt_and_parsing_goes_on(line: str, expected: str, reason: str) -> None:
    call = parse(line)
    assert show_call(call) == expected
    assert [(doubt.name, doubt.reason) for doubt in call.doubts] == [("option", reason)]


@rows(
    "style, line, expected, doubts",
    [
        ("first", "-l x -a", "-l | x -a", 0),
        ("first", "-l -- -a", "-l | -a", 0),
        ("none", "-l -x -- y", "| -l -x -- y", 0),
        ("words", "-la x", "!-la | x", 1),
        ("words", "-l -n 5 x", "-l -n:5 | x", 0),
        ("words", "-n=5 --color=never x", "-n:5 --color:never | x", 0),
        ("words", "-n5 x", "!-n5 | x", 1),
        ("words", "-l -- -x", "-l !-- !-x |", 2),
        ("tar", "lne 5 6 x", "-l -n:5 -e:6 | x", 0),
        ("tar", "lx y", "-l !-x | y", 1),
        ("tar", "-nl x", "-n:l | x", 0),
    ],
)
def test_option_styles(style: str, line: str, expected: str, doubts: int) -> None:
    call = parse(line, option_style=style)
    assert show_call(call) == expected
    assert len(call.doubts) == doubts


def test_a_bundle_holds_only_letters_that_are_listed_without_a_dash_where_there_are_some() -> None:
    ps = entry(flags=["a", "x", "-e"], options={}, option_style="tar")
    assert not parse_call(ps, [word("ax")]).doubts
    assert not parse_call(ps, [word("-e")]).doubts
    assert [doubt.reason for doubt in parse_call(ps, [word("axe")]).doubts] == [
        "e of prog is not known to be harmless"
    ]


def test_a_first_word_that_is_not_certain_may_be_a_bundle() -> None:
    for value in (unknown(), star("src/*", may_be_option=False)):
        doubts = parse_call(entry(option_style="tar"), [value]).doubts
        assert f"{value.source} may expand to an option of prog" in [doubt.reason for doubt in doubts]


def test_a_numeric_option_is_allowed_only_where_the_entry_says_so() -> None:
    assert parse("-5 x", numeric_option=True).doubts == ()
    assert parse("-5x y", numeric_option=True).doubts != ()


@rows(
    "line, ends",
    [
        ("--version", True),
        ("-l --version -a", True),
        ("--version x", False),
        ("--zzz --version", False),
        ("--version --zzz", False),
        ("-e --version", False),
    ],
)
def test_an_option_that_only_tells_about_the_program_counts_where_nothing_speaks_against_it(
    line: str, ends: bool
) -> None:
    assert parse(line).ends is ends


@rows(
    "line, expected, doubts",
    [
        ("-l -a x", "-l -a | x", 0),
        ("-la x", "!-la | x", 1),
        ("-n5 x", "-n:5 | x", 0),
        ("-n 5 x", "-n:5 | x", 0),
        ("-ln --output=a", "!-ln !--output:a |", 2),
        ("-- --output=a", "| --output=a", 1),
        ("-- x -", "| x -", 0),
    ],
)
def test_letters_are_not_clustered_where_the_program_does_not(line: str, expected: str, doubts: int) -> None:
    call = parse(line, option_style="single")
    assert show_call(call) == expected
    assert len(call.doubts) == doubts


def test_a_word_that_an_option_refuses_raises_a_doubt() -> None:
    program = entry(flags=[], options={"--format": {"refuses": ["%G"]}})
    for value, count in [(word("%h %s"), 0), (word("%h %GK"), 1), (unknown(), 1)]:
        assert len(parse_call(program, [word("--format"), value]).doubts) == count


@rows(
    "values, doubts",
    [
        ([star()], ["* may expand to an option of prog"]),
        ([star("./*", may_be_option=False)], []),
        ([word("--"), star()], []),
        ([word("x"), star()], ["* may expand to an option of prog"]),
        ([unknown()], ["$x may expand to an option of prog"]),
        ([unknown("./")], []),
        ([word("--"), unknown()], []),
        ([word("-e"), unknown()], []),
        ([word("-e"), unknown(many=True)], ["$x may expand to several arguments of prog, or to none"]),
        ([unknown("-")], ["-$x may expand to an option of prog"]),
        ([unknown("-e")], ["-e$x of prog may be empty; -e would then take the next word"]),
        ([unknown("-ea")], []),
        ([unknown("-l")], ["-l$x may expand to an option of prog"]),
        ([unknown("--")], ["--$x may expand to an option of prog"]),
        ([unknown("--col")], ["--col$x may expand to an option of prog"]),
        ([unknown("--lines=")], []),
        ([unknown("--lines=", many=True)], ["--lines=$x may expand to an option of prog"]),
        ([unknown("--color=")], ["--color=$x of prog is not known to be harmless"]),
    ],
)
def test_a_word_that_is_not_certain_is_no_operand_where_an_option_may_stand(
    values: list[Value], doubts: list[str]
) -> None:
    assert [doubt.reason for doubt in parse_call(entry(), values).doubts] == doubts


def test_a_word_that_is_not_certain_is_an_operand_of_a_program_without_options() -> None:
    assert parse_call(entry(option_style="none"), [unknown(), star()]).doubts == ()


@rows(
    "line, expected",
    [
        ("show *", ["option-like *"]),
        ("filter *", []),
        ("show -n *", []),
        ("show -n*", ["option-like -n*"]),
        ("show a*", []),
        ("cd src && show *", ["option-like *"]),
        ("show -C src *", []),
        ("env -C src show *", []),
        ("for f in *; do show $f; done", ["option-like *", "value *"]),
        ("for f in *; do (cd src; show $f); done", []),
        ("files | xargs show", ["option-like **", "value **"]),
        ("files | xargs filter", ["value **"]),
        ("files | xargs -0 show", ["option-like **"]),
        ("show $(files)", ["option-like **", "value **"]),
        ("cd src && show $(files)", ["option-like **", "value **"]),
        ("show $(cd src && files)", []),
        ("files | while read -r f; do show $f; done", ["option-like **", "value **"]),
        ("files | while read -r f; do cd src; show $f; done", []),
        ("files | (cd src; while read -r f; do show $f; done)", []),
        ("cd src; files | xargs show", ["option-like **", "value **"]),
        ("cd src && f=$(files); cd lib; show $f", []),
    ],
)
def test_names_in_the_workspace_settle_doubts_only_where_they_are_meant(
    line: str, expected: list[str]
) -> None:
    assert settled_by_names(line) == expected
