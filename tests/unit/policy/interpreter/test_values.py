"""Variables, substitutions and patterns become every word that bash could make of them."""

from tests.stubs.rows import rows
from tests.unit.policy.interpreter.lines import calls, doubts, effects, files, read
from tui_agent.policy.interpreter.command_report import Certainty, Value


def word(line: str, place: int = 1) -> Value:
    """A word of the last command."""
    return read(line).commands[-1].words[place]


@rows(
    "line, expected",
    [
        ("x=a; show $x ${x}b", ["show a ab"]),
        ('x="a b"; show $x "$x"', ["show a b a b"]),
        ("x=; show $x a", ["show a"]),
        ('x=; show "$x" a', ["show  a"]),
        ("x=' a '; show $x$x", ["show a a"]),
        ("x=-l; show $x a", ["show -l a"]),
        ("x=a && x=b && show $x", ["show b"]),
        ("x=a || x=b; show $x", ["show $x"]),
        ("if show a; then x=b; else x=c; fi; show $x", ["show a", "show $x"]),
        ("if show a; then x=b; fi; show $x", ["show a", "show $x"]),
        ("x=a; (x=b); show $x", ["show a"]),
        ("x=a; x=b | show c; show $x", ["show c", "show a"]),
        ("x=a; { x=b; }; show $x", ["show b"]),
        ("x=a show $x", ["show $x"]),
        ("for x in a b; do show $x $x.c; done", ["show a a.c", "show b b.c"]),
        (
            "for x in a b; do for y in c d; do show $x$y; done; done",
            ["show ac", "show ad", "show bc", "show bd"],
        ),
        ("for x in a; do y=$x; done; show $y", ["show $y"]),
        ("x=a; ! true && x=b; show $x", ["true", "show $x"]),
        ("x=a; x=b && true & show $x", ["true", "show a"]),
        ("x=a; for y in c; do x=b; show d && break; x=a; done; show $x", ["show d", "break", "show $x"]),
        (
            "x=a; for y in c; do x=b; show d && continue; x=a; done; show $x",
            ["show d", "continue", "show $x"],
        ),
        ("x=a; for y in c; do for z in d; do x=b; break 2; done; x=a; done; show $x", ["break 2", "show $x"]),
        ("x=a; { return; x=b; }; show $x", ["return", "show b"]),
        ("x=a; { exit; show $x; }; show $x", ["exit", "?: show $x"]),
        ("x=a; builtin export x=b; show $x", ["builtin export x=b", "export x=b", "show b"]),
        ("export x=a; show $x", ["export x=a", "show a"]),
        ("x=a; unset x; show $x", ["unset x", "show $x"]),
        ("x=$(echo a b); show $x", ["echo a b", "show a b"]),
        ('show "$(echo a)"/b', ["echo a", "show a/b"]),
        ("show $(true)", ["true", "show"]),
        ("show {a,b}.c", ["show a.c b.c"]),
        ("x=a/b/c.d.e; show ${x##*/} ${x#*/} ${x%/*} ${x%%/*}", ["show c.d.e b/c.d.e a/b a"]),
        (
            "x=a/b/c.d.e; show ${x%.*} ${x%%.*} ${x#b} ${x%b} ${x##?*}",
            ["show a/b/c.d a/b/c a/b/c.d.e a/b/c.d.e"],
        ),
        ('x=; y=a; show "${x:-b}" ${y:-b} "${x:-}" ${x:-}', ["show b a "]),
        ("x=$(date); show ${x:-a} $y ${y##*/}", ["date", "show ${x:-a} $y ${y##*/}"]),
        ("x=~/a; show ${x##*/} ${HOME##*/} ${PWD##*/}", ["show ${x##*/} ${HOME##*/} ${PWD##*/}"]),
        ("show 'a$x' \"a\\$x\"", ["show a$x a$x"]),
    ],
)
def test_known_words(line: str, expected: list[str]) -> None:
    assert calls(line) == expected


@rows(
    "line, text, many, option, files, splits",
    [
        ("show *.py", "*.py", True, True, True, False),
        ("show src/*.py", "src/*.py", True, False, True, False),
        ("show ./*", "./*", True, False, True, False),
        ('x=src; show "$x"/*', "src/*", True, False, True, False),
        ("x='*.py'; show $x", "*.py", True, True, True, False),
        ('for f in *.py; do show "$f"; done', "*.py", False, True, True, False),
        ('for f in ./*.py; do show "$f"; done', "./*.py", False, False, True, False),
        ("for f in ./*.py; do show $f; done", "./*.py", True, True, True, True),
        ('for f in $(files src); do show "$f"; done', "src/**", False, True, True, True),
        ('show "$(files src)"', "src/**", False, False, True, False),
        ("show $(files)", "**", True, True, True, True),
        ("show $(files a/b a/c)", "a/**", True, True, True, True),
        ("show $(count)", "*", True, False, False, False),
        ('show "$(hash)"', "*", False, False, False, False),
        ("show $?", "*", True, False, False, False),
        ('files src | while read -r f; do show "$f"; done', "src/**", False, True, True, True),
        ('hash | while read -r f; do show "$f"; done', "*", False, False, False, False),
        (
            'files src | filter | filter | while read -r f; do show "$f"; done',
            "src/**",
            False,
            True,
            True,
            True,
        ),
        ('show "$(files src | filter)"', "src/**", False, True, True, True),
        ('show "$(hash | filter)"', "*", False, False, False, False),
        ('f=$(files src); cd x; show "$f"', "src/**", False, False, True, False),
        ("show a'*'?", "a\\*?", True, False, True, False),
        ('show "$(files)".bak', "**/*.bak", False, True, True, False),
        ('show ".e$(count)nv"', ".e*nv", False, False, False, False),
        ("show $!-la", "*-la", False, True, False, False),
        ("show -j$(count)", "-j*", True, True, False, False),
        ("show $(hash):a", "*:a", True, False, False, False),
        ('show ""$(name)', "**", True, True, False, False),
    ],
)
def test_bounded_words(line: str, text: str, many: bool, option: bool, files: bool, splits: bool) -> None:
    value = word(line)
    assert (value.certainty, value.text) == (Certainty.BOUNDED, text)
    assert (value.many, value.may_be_option, value.names_files, value.splits) == (many, option, files, splits)


@rows(
    "line, prefix, many",
    [
        ('show "$X"', "", False),
        ("show $X", "", True),
        ('show "src/$X"', "src/", False),
        ('show "$X/a"', "", False),
        ("show $(show a)", "", True),
        ('show "$(files 2>&1)"', "", False),
        ('show "$(files -z)"', "", False),
        ('show "$(files src)".bak', "", False),
        ('show "a$(files src)".bak', "a", False),
        ('x=""$(files src); show "a$x"', "a", False),
        ('show "$(files /x y)"', "", False),
        ('show "$(files; files)"', "", False),
        ('files | show | while read -r f; do show "$f"; done', "", False),
        ('files | while read -r f g; do show "$f"; done', "", False),
        ('files | filter a | while read -r f; do show "$f"; done', "", False),
        ('while read -r f; do show "$f"; done < names', "", False),
        ("show a~$HOME", "a~", True),
        ('show "$@"', "", True),
        ('files | while IFS=s read -r f; do show "$f"; done', "", False),
        ('files | while read -r -d / f; do show "$f"; done', "", False),
        ('files | { read -r -n 1 f; show "$f"; }', "", False),
        ("show $(< names)", "", True),
        ("show $1", "", True),
        ("show x$(files)", "x", True),
        ("show $(dirname ~)", "", True),
        ("show $(dirname $PWD)", "", True),
        ("show $(basename ~)", "", True),
    ],
)
def test_unknown_words(line: str, prefix: str, many: bool) -> None:
    value = word(line)
    assert (value.certainty, value.text, value.prefix, value.many) == (Certainty.UNKNOWN, "", prefix, many)


@rows(
    "line, content",
    [
        ("show $(count)", "number"),
        ("show $?", "number"),
        ("show $(hash)", "hash"),
        ("show $(name)", "revision"),
        ("show x$(count)", "revision"),
        ("show $(hash)..$(name)", "revision"),
        ("show x$(name)", "revision"),
        ('for x in $(hash); do show "$x"; done', "hash"),
        ('hash | filter | while read -r x; do show "$x"; done', "hash"),
        ("show [0-9]*", ""),
        ("show $(files)", ""),
        ("show $(hash)$X", ""),
        ("show $(hash)*", ""),
        ("git log -p; show $(git log -x 1)", "hash"),
        ("show $(git log -x 1 -q)", "hash"),
        ("show $(git log -q)", ""),
        ("show $(git log -x 1 -p)", ""),
        ("show $(git log -x 2)", ""),
        ("show $(git log -x 1 main)", ""),
    ],
)
def test_words_of_which_it_is_certain_what_they_are(line: str, content: str) -> None:
    assert word(line).content == content


@rows(
    "line, expected",
    [
        ("shell -c 'show $1' _ a", "show a"),
        ("shell -c 'show $0 $2' x y z", "show x z"),
        ("shell -c 'show \"$1\"' _ 'a b'", "show a b"),
        ("shell -c 'show $1' _ 'a b'", "show a b"),
        ("shell -c 'show \"$@\"' _ a", 'show "$@"'),
        ("shell -c 'show \"$@\"' _ a b", 'show "$@"'),
        ("shell -c 'show $2' _ * a", "show $2"),
        ("shell -c 'show $1'", "show $1"),
        ("shell -c '$1 $2' _ show a", "show a"),
        ("shell -c \"shell -c 'show \\$1' _ \\$1\" _ a", "show a"),
        ("show a; show $1", "show $1"),
    ],
)
def test_words_behind_a_script_are_its_parameters(line: str, expected: str) -> None:
    assert calls(line)[-1] == expected


def test_a_loop_over_many_words_forgets_them() -> None:
    line = f"for x in {' '.join(f'a{n}' for n in range(40))}; do show $x; done"
    assert calls(line) == ["show $x"]


def test_a_variable_that_a_loop_lengthens_is_not_known() -> None:
    assert calls("x=a; while show b; do x=$x/a; done; show $x")[-1] == "show $x"


def test_commands_in_substitutions_stand_in_front_of_theirs() -> None:
    assert calls("show $(files $(hash))") == ["hash", "files $(hash)", "show $(files $(hash))"]


def test_a_variable_of_the_environment_may_be_a_secret() -> None:
    assert effects('echo "$TOKEN"') == {"prints secrets"}
    assert doubts("x=$TOKEN; echo a$x") == ["it shows $TOKEN, which may hold a secret"]
    assert doubts("show <<< $TOKEN") == ["it shows $TOKEN, which may hold a secret"]
    assert effects("set") == effects("export") == {"prints secrets"}
    assert effects('[ -n "$TOKEN" ] && echo $HOME $PWD $USER') == set()


@rows(
    "line, name",
    [
        ("PATH=. show a", "PATH"),
        ("PATH=.; show a", "PATH"),
        ("Path=. ; show a", "Path"),
        ("for PATH in a; do show b; done", "PATH"),
        ("read -r PATH", "PATH"),
        ("unset IFS", "IFS"),
        ("IFS=, ; show a", "IFS"),
        ("IFS=, show a", "IFS"),
        ("export DIFF=x", "DIFF"),
        ("export FILE=x", "FILE"),
        ("http_proxy=x show a", "http_proxy"),
        ("env LD_PRELOAD=x show a", "LD_PRELOAD"),
        ("env $X=a show a", "$X=a"),
        ("GIT_PAGER=./x git log", "GIT_PAGER"),
        ("TERM=$x show a", "TERM"),
        ("MY_OWN=1 show a", "MY_OWN"),
        ("read 'a[$(put b c)]' <<< x", "a[$(put b c)] is not a variable"),
        ("export 'a[$(put b c)]=1'", "a[$(put b c)] is not"),
        ("unset 'a[1]'", "a[1] is not a variable"),
    ],
)
def test_a_variable_that_may_change_programs_raises_a_doubt(line: str, name: str) -> None:
    assert any(reason.startswith(name) for reason in doubts(line))


@rows(
    "line",
    [
        "x=1; FILE=a; show $x $FILE",
        "for FILE in a b; do show $FILE; done",
        "files | while IFS= read -r name; do echo x; done",
        "NO_COLOR=1 GIT_PAGER=cat git log",
        "export LANG=C && show a",
        "env CI=1 show a",
    ],
)
def test_harmless_variables_raise_none(line: str) -> None:
    assert doubts(line) == []


def test_files_of_names_that_are_not_certain() -> None:
    assert files("show $X") == ["read ?"]
    assert files("for f in *.py; do show -- $f; done") == ["read ≈*.py"]
    assert doubts("for f in *.py; do show -- $f; done") == [
        "$f is not quoted, so bash splits file names that contain spaces"
    ]


def test_a_value_that_grows_without_end_is_forgotten() -> None:
    assert word("x=aaaaaaaa; " + "x=$x$x; " * 40 + "show $x").certainty is Certainty.UNKNOWN
