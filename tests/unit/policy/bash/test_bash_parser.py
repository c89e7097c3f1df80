"""Lines inside the subset of bash with their trees, and lines outside of it with the reason and its place."""

from tests.stubs.rows import rows
from tests.unit.policy.bash.trees import show
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import ForLoop, Refusal, Script, SimpleCommand, Word
from tui_agent.policy.bash.tree_check import simple_commands

INSIDE = [
    ("", ""),
    ("# only a comment\n\n", ""),
    ("ls -la src", "ls·-la·src"),
    ("  ls\t-l  ", "ls·-l"),
    ("ls 'a b'\"c d\"e ''", "ls·'a bc d'e·''"),
    ("grep -n 'it\nis' \"x\ny\"", "grep·-n·'it\\nis'·'x\\ny'"),
    ('echo "a\\n\\$x \\"q\\" \\\\ \\\xe9"', "echo·'a\\\\n$x \"q\" \\\\ \\\\é'"),
    ("find . \\( -name a \\) \\; a\\ b \\$x \\#", "find·.·'('·-name·a·')'·';'·a' 'b·'$'x·'#'"),
    ('grep "foo$" "a$|b" py$', "grep·'foo$'·'a$|b'·py$"),
    ('echo ${x:-y} "${x##*/}" ${x%.py}/${x:-}', 'echo·${x:-y}·"${x##*/}"·${x%.py}/${x:-}'),
    ('echo $x "${x}y" $? $# $1 "$@"', 'echo·$x·"$x"\'y\'·$?·$#·$1·"$@"'),
    ("ls *.py a?b [a-c]x [!a]*", "ls·<*>.py·a<?>b·<[a-c]>x·<[!a]><*>"),
    ("cp f{,.bak} {1..3} {3..1} x{a,b}{1,2}y", "cp·f·f.bak·1·2·3·3·2·1·xa1y·xa2y·xb1y·xb2y"),
    ("cp {*,x?y}z", "cp·<*>z·x<?>yz"),
    ("cp 'a b'{c,d}*.py \"$x\"{,.b}", "cp·'a b'c<*>.py·'a b'd<*>.py·\"$x\"·\"$x\".b"),
    ("git show stash@{0} HEAD^ HEAD~2 @{u} v1^{} {}", "git·show·stash@{0}·HEAD^·HEAD~2·@{u}·v1^{}·{}"),
    ("ls ~ ~/a a~ \\~ '~'", "ls·~·~/a·a~·'~'·'~'"),
    ("ls == a", "ls·==·a"),
    ("ls = b ]]", "ls·=·b·]]"),
    ("ls != !", "ls·!=·!"),
    ("ls =a a=b a[0]=b a+=b %1 a#b", "ls·=a·a=b·a<[0]>=b·a+=b·%1·a#b"),
    ("echo if then do done in time", "echo·if·then·do·done·in·time"),
    ("grep gr\xf6\xdfe \u65e5\u672c", "grep·größe·日本"),
    ("ls | head |& cat", "ls | head | cat"),
    ("a && b || c; d & e\nf", "a&& b|| c; d& e; f"),
    ("a |\n# c\nb &&\n\nc # d\n", "a | b&& c;"),
    ("! grep -q x f", "grep·-q·x·f"),
    ("time -p ls -l", "time·-p·ls·-l"),
    ("ls > f 2>&1", "ls (> f) (2>& 1)"),
    ("2>/dev/null ls a >>b c", "ls·a·c (2> /dev/null) (>> b)"),
    ("> f", " (> f)"),
    ("ls &>f; ls &>> f; ls >| f; cat <&3", "ls (&> f); ls (&>> f); ls (>| f); cat (<& 3)"),
    ("cat <<< 'a b'", "cat (<<< 'a b')"),
    ("cat <<'E' | grep x\n$x `y` \\\nE\nls", "cat (<< '$x `y` \\\\\\n') | grep·x; ls"),
    ("cat <<E && ls\nplain (text)\nE", "cat (<< 'plain (text)\\n')&& ls;"),
    ("cat <<E\na $x'\"${y}$(ls a)\nE\nls", "cat (<< 'a '\"$x\"'\\'\"'\"$y\"\"$(ls·a)\"'\\n'); ls"),
    ("cat <<E\n$(cat <<'F'\na\nF\n)\nE\nls", "cat (<< \"$(cat (<< 'a\\n');)\"'\\n'); ls"),
    ('cat <<"E-1"\nE-1', "cat (<< '');"),
    ("cat - <<E\na\nE", "cat·- (<< 'a\\n');"),
    ("x=1 y= z=a:b ls", "x:=1·y:=·z:=a:b·ls"),
    ("x=$(ls -l) y='a b' z=*.py h=~/a", "x:=$(ls·-l)·y:='a b'·z:=*.py·h:=~/a"),
    ('x=1; echo "$x"', 'x:=1; echo·"$x"'),
    ('echo $(ls | wc -l) "a $(git log "-1") b"', "echo·$(ls | wc·-l)·'a '\"$(git·log·'-1')\"' b'"),
    ("echo \"$(cat <<'E'\nbody\nE\n)\"", "echo·\"$(cat (<< 'body\\n');)\""),
    ("diff <(ls a | wc) b <( c )", "diff·<(ls·a | wc)·b·<(c)"),
    ("wc a <(ls <(b))\nls", "wc·a·<(ls·<(b)); ls"),
    ("[[ -d a && ! -f b || $x == c ]]", "[[·-d·a·&&·!·-f·b·||·$x·==·c·]]"),
    ("[[ -n a&&-n b ]] && ls", "[[·-n·a·&&·-n·b·]]&& ls"),
    ("<f time ls | x=1 time -p cat", "time·ls (< f) | x:=1·time·-p·cat"),
    ("wc $( (ls) ) $(<f)", "wc·$(SUBSHELL [ls])·$( (< f))"),
    ("for f in *.py a; do wc $f; done", "FOR f OF <*>.py·a [wc·$f;]"),
    ("for f in a\ndo ls\ndone > g", "FOR f OF a [ls;] (> g)"),
    ("while read -r x; do ls; done < f", "WHILE [read·-r·x;] [ls;] (< f)"),
    ("until a\ndo b; done", "WHILE [a;] [b;]"),
    (
        "if a; then b; elif c; then d\ne; else f; fi 2>/dev/null",
        "IF [a;] [b;] IF [c;] [d; e;] ELSE [f;] (2> /dev/null)",
    ),
    ("{ a; b\n} | c", "GROUP [a; b;] | c"),
    ("(cd a && ls) && b", "SUBSHELL [cd·a&& ls]&& b"),
    ("( (a); b )", "SUBSHELL [SUBSHELL [a]; b]"),
    ('[ -f a ] && [ "$x" != b ]', '[·-f·a·]&& [·"$x"·!=·b·]'),
    ("[[ -f a ]] && ls", "[[·-f·a·]]&& ls"),
    ("[[ ! -n $x ]]; [[ $x == *.py ]]", "[[·!·-n·$x·]]; [[·$x·==·<*>.py·]]"),
    ("'ls' \"-l\" l's'", "'ls'·'-l'·l's'"),
    ("$x a; ~/bin/b; ./c", "$x·a; ~/bin/b; ./c"),
]

_NOT_TIMED = "unexpected `time`, or no plain command follows it"
_ODD_TILDE = "`~` follows `:` or `=`, or is not followed by `/`"
_ENDS = "a line ends in the middle of a command"
_NO_END = "a here-document has no end, or one of its lines begins with its end word"
OUTSIDE = [
    ("ls\n\\rm -rf src", "there is a backslash before `r`", 3),
    ("echo a\n\\\nrm -rf ~", "there is a backslash at the end of a line", 7),
    ("ls \\\n -l", "there is a backslash at the end of a line", 3),
    ("\\-ls", "`\\` is not allowed in a command's name", 0),
    ("l\\ s", "`\\` is not allowed in a command's name", 0),
    ("'l'\\[s", "`\\` is not allowed in a command's name", 0),
    ("time \\ ls", _NOT_TIMED, 0),
    ("ls \\a", "there is a backslash before `a`", 3),
    ("ls \\\xe9", "there is a backslash before `\xe9`", 3),
    ("ls \\", "there is a backslash at the end of a line", 3),
    ('ls "a\\\nb"', "there is a backslash at the end of a line", 5),
    ("ls # a\\\nb", "a comment ends with a backslash", 6),
    ("echo =~\nrm -rf src", _ODD_TILDE, 5),
    ("ls ==\nrm -rf src", "a second parser finds different commands or words", 6),
    ("ls a:~ b=~/x", _ODD_TILDE, 3),
    ("ls ~ada", _ODD_TILDE, 3),
    ("x=a:~/b ls", _ODD_TILDE, 2),
    ("echo $((1))", "it uses arithmetic", 5),
    ("((x=1))", "it uses arithmetic", 0),
    ("for ((PATH=1;;)); do ls; break; done", "a loop must have the form `for NAME in WORDS`", 0),
    ("echo $[1]", "it uses arithmetic", 5),
    ("a=(b c)", "it uses an array", 2),
    ("declare -a x=(1 2)", "it uses an array", 13),
    ("x=$((1+2))", "it uses arithmetic", 2),
    ("a[0]=b", "it uses an array or `+=`", 0),
    ("a+=b", "it uses an array or `+=`", 0),
    ("ls $'a'", "`$'` is not supported", 3),
    ('ls $"a"', '`$"` is not supported', 3),
    *(
        (f"ls ${{x{change}}}", "it uses an unsupported variable expansion", 3)
        for change in (
            ":-$y",
            ":-a b",
            ":-*",
            ":-~",
            ":=y",
            "-y",
            ":0:1",
            "/a/b",
            "^",
            "##[a]",
            "%'a'",
            "@Q",
            ":+y",
        )
    ),
    ("ls ${#x}", "it uses an unsupported variable expansion", 3),
    ("ls ${10}", "it uses an unsupported variable expansion", 3),
    ("ls $_x $_", "`$_` is not supported", 7),
    ("ls ${_}", "it uses an unsupported variable expansion", 3),
    ("ls $10", "`$1` is not supported", 3),
    ("ls $x1\xe9", "`$x` is not supported", 3),
    ("ls $?\xe9", "`$?` is not supported", 3),
    ("ls $-", "`$-` is not supported", 3),
    ("ls `rm x`", "it uses backquotes", 3),
    ('ls "`rm x`"', "it uses backquotes", 4),
    ("f() { ls; }", "it defines a function", 1),
    ("f ( ) { ls; }", "it defines a function", 2),
    ("function f { ls; }", "it uses `function`", 0),
    ("case x in a) ls;; esac", "it uses `case`", 0),
    ("select x in a; do ls; done", "it uses `select`", 0),
    ("coproc ls", "it uses `coproc`", 0),
    ("ls @(a|b)", "unexpected `(`", 4),
    ("diff a<(ls) b", "it uses `<(…)` or `>(…)`", 6),
    ("diff <(ls)b", "text is attached to `<(…)`", 5),
    ("diff <(ls)<(ls)", "text is attached to `<(…)`", 5),
    ("diff <(ls)>f", "text is attached to `<(…)`", 5),
    ("diff <((ls))", "`((` is not supported in `<(…)`", 5),
    ("diff <(ls", _ENDS, 9),
    ("diff <(ls # c\n)", "a command substitution has a comment", 10),
    ("<(ls)", "it uses `<(…)` or `>(…)`", 0),
    ("time <(ls)", _NOT_TIMED, 0),
    ("for x in <(ls); do ls; done", "the words of a loop are not followed by `;` or a newline", 9),
    ("cat < <(ls)", "it uses `<(…)` or `>(…)`", 6),
    ("tee >(ls)", "it uses `<(…)` or `>(…)`", 4),
    ("ls {fd}>f", "bash may read the word before a redirection as a file descriptor", 7),
    ("ls a}>f", "a word has a `}` without `{`", 4),
    ("ls {a,b", "braces contain something other than plain text and patterns", 3),
    ("ls {a}b,c}", "a word has a `}` without `{`", 9),
    ("ls a}", "a word has a `}` without `{`", 4),
    ("ls $x{a,b}", "a word with braces has an expansion or a second pair of braces", 3),
    ("ls $(a){b,c}", "a word with braces has an expansion or a second pair of braces", 3),
    ("ls ${x}{a,b}", "a word with braces has an expansion or a second pair of braces", 3),
    ("ls {a,b}{c}", "a word with braces has an expansion or a second pair of braces", 3),
    ("ls {a,{b,c}}", "braces contain something other than plain text and patterns", 3),
    ("ls {'a b',c}", "braces contain something other than plain text and patterns", 3),
    ("ls {a,$(b)}", "braces contain something other than plain text and patterns", 3),
    ("ls {a\\,b,c}", "braces contain something other than plain text and patterns", 3),
    ("ls {1..502}", "brace expansion makes too many words", 11),
    ("ls {1..999999}", "brace expansion makes too many words", 14),
    ("ls $x{1..1}", "braces contain something other than plain text and patterns", 5),
    ("ls {a,b}{1..600}", "brace expansion makes too many words", 16),
    ("ls {,}", "a second parser finds different commands or words", 3),
    ("ls {a..c}", "braces contain something other than plain text and patterns", 3),
    ("ls {01..10}", "braces contain something other than plain text and patterns", 3),
    ("ls {a..E}", "braces contain something other than plain text and patterns", 3),
    ("x={a,b}", "braces are used where they are not expanded", 2),
    ("ls > {a,b}", "braces are used where they are not expanded", 5),
    ("ls > *", "a redirection's file is a pattern", 5),
    ("l{s,x}", "braces are used where they are not expanded", 1),
    ("ls [a", "`[` does not begin a simple character class", 3),
    ("ls [[:alpha:]]", "`[` does not begin a simple character class", 3),
    ("a*b", "`*` is not allowed in a command's name", 0),
    ("*", "`*` is not allowed in a command's name", 0),
    ("%1", "`%` is not allowed in a command's name", 0),
    ("$x%1", "`%` is not allowed in a command's name", 0),
    ("> f - <<E\na\nE", "a second parser finds different commands or words", 4),
    ("ls !x", "a word has an unquoted `!`", 3),
    ("ls a!", "a word has an unquoted `!`", 4),
    ("! ! ls", "unexpected `!`", 2),
    ("!", "`!` is not allowed in a command's name", 0),
    ("!= a", "`!` is not allowed in a command's name", 0),
    ("[! a", "`[` does not begin a simple character class", 0),
    ("ls | ! cat", "unexpected `!`", 5),
    ("if ls; then fi", "unexpected `fi`", 12),
    ("if ls; then ls", _ENDS, 14),
    ("then", "unexpected `then`", 0),
    ("ls; done", "unexpected `done`", 4),
    ("ls fi; fi", "unexpected `fi`", 7),
    ("for x; do ls; done", "a loop must have the form `for NAME in WORDS`", 0),
    ("for x in; do ls; done", "a loop must have the form `for NAME in WORDS`", 0),
    ("for x in a & do ls; done", "the words of a loop are not followed by `;` or a newline", 13),
    ("for x in a; { ls; }", "`do` is missing", 12),
    ("while ls; done", "unexpected `done`", 10),
    ("{ ls }", "a word has a `}` without `{`", 5),
    ("{ls; }", "braces are used where they are not expanded", 0),
    ("{ }", "unexpected `}`", 2),
    ("( )", "unexpected `)`", 2),
    ("(ls", _ENDS, 3),
    ("ls)", "unexpected `)`", 2),
    ("ls (a)", "unexpected `(`", 3),
    ("(ls) a", "unexpected `a`", 5),
    ("x=1 if ls", "unexpected `if`", 4),
    ("time", _NOT_TIMED, 0),
    ("time -p -- ls", _NOT_TIMED, 0),
    ("time -p -p ls", _NOT_TIMED, 0),
    ("time -o f ls", _NOT_TIMED, 0),
    ("time time ls", _NOT_TIMED, 0),
    ("time > f ls", _NOT_TIMED, 0),
    ("time 2>f ls", _NOT_TIMED, 0),
    ("time $x", _NOT_TIMED, 0),
    ("time a*b", _NOT_TIMED, 0),
    ("time f() { ls; }", "it defines a function", 6),
    ("ls $(cat <<E\nE\nls)", "a here-document is inside a command substitution with several commands", 5),
    (
        "ls $(cat <<E | sort\nE\n)",
        "a here-document is inside a command substitution with several commands",
        5,
    ),
    ("ls $( (cat <<E\nE\n) )", "a here-document is inside a command substitution with several commands", 5),
    (
        'ls $(echo "$(cat <<E\nE\n)")',
        "a here-document is inside a command substitution with several commands",
        5,
    ),
    ("time x=1 ls", _NOT_TIMED, 0),
    ("time if ls; then ls; fi", _NOT_TIMED, 0),
    ("time {", _NOT_TIMED, 0),
    ("ls &&", _ENDS, 5),
    ("&& ls", "unexpected `&`", 0),
    ("ls ||\n", _ENDS, 6),
    ("| ls", "unexpected `|`", 0),
    ("ls ;; ls", "unexpected `;`", 4),
    ("ls ;& ls", "unexpected `;`", 3),
    ("ls ; ; ls", "unexpected `;`", 5),
    ("ls & ; ls", "unexpected `;`", 5),
    ("ls | | ls", "unexpected `|`", 5),
    ("ls >", _ENDS, 4),
    ("ls >\nf", _ENDS, 4),
    ("ls > > f", "unexpected `>`", 5),
    ("ls <> f", "a redirection is not supported: `<>`, `<<-`, or a descriptor above 9", 3),
    ("ls <<-E\na\nE", "a redirection is not supported: `<>`, `<<-`, or a descriptor above 9", 3),
    ("ls 12>f", "a redirection is not supported: `<>`, `<<-`, or a descriptor above 9", 3),
    ("ls >&f", "no descriptor follows `>&`", 5),
    ("ls 2>&-", "no descriptor follows `>&`", 6),
    ("ls 2>&1a", "no descriptor follows `>&`", 6),
    ("ls <<< 2>f", "bash may read the word before a redirection as a file descriptor", 8),
    ("cat <<E\n$-\nE", "a `$` in a here-document is not supported", 8),
    ("cat <<E\n`x`\nE", "an unquoted here-document has a backslash or a backquote", 8),
    ("cat <<E\na\\b\nE", "an unquoted here-document has a backslash or a backquote", 8),
    ("cat <<E\n$((1))\nE", "it uses arithmetic", 8),
    ("cat <<E\n${x^a}\nE", "it uses an unsupported variable expansion", 8),
    ("cat <<E\n$(ls\nE\n)", "a substitution in a here-document has no end", 8),
    ("cat <<E", _NO_END, 7),
    ("cat <<E\na", _NO_END, 7),
    ("cat <<E\nEa\nE", _NO_END, 7),
    ("cat <<E <<F\nE\nF", "two here-documents begin on one line", 10),
    ("cat <<'E'}\nx\nE}", "a here-document's delimiter is not a plain word", 6),
    ("cat <<\\E\na\nE", "a here-document's delimiter is not a plain word", 6),
    ("cat <<$x\na", "a here-document's delimiter is not a plain word", 6),
    ("cat <<E 'a\nE\nb'; ls\nls", "quoted text continues past the line in which a here-document begins", 19),
    ("cat <<E 'a\nE\nb'", "quoted text continues past the line in which a here-document begins", 15),
    ("cat <<E $(ls)\nE", "a substitution follows the beginning of a here-document", 10),
    ("echo $(cat <<E)\na\nE", "a here-document begins in a substitution and ends after it", 14),
    ("echo $(cat <<'E'\na)\nE\n)", "a here-document in a substitution has quotes or brackets", 17),
    ("echo $(ls # a\n)", "a command substitution has a comment", 10),
    ("ls 'a", "a single quote has no end", 3),
    ('ls "a', "a double quote has no end", 3),
    ('ls "$(a"', "a double quote has no end", 7),
    ('ls "$x', "a double quote has no end", 3),
    ("ls $(a", _ENDS, 6),
    ("(ls &&)", "unexpected `)`", 6),
    ("ls $()", "unexpected `)`", 5),
    ("[[ a =~ b ]]", _ODD_TILDE, 5),
    ("[[ a && b ]]", "a test in `[[` is too complex", 0),
    ("[[ -n a && ]]", "a test in `[[` is too complex", 0),
    ("[[ -n a ]] b", "unexpected `b`", 11),
    ("[[ ( a == b ) ]]", "unexpected `(`", 3),
    ("[[ a < b ]]", "unexpected `<`", 5),
    ("[[ a -eq b ]]", "a test in `[[` is too complex", 0),
    ("[[ -v a ]]", "a test in `[[` is too complex", 0),
    ("[[ a ]]", "a test in `[[` is too complex", 0),
    ("[[ -f == b ]]", "a test in `[[` is too complex", 0),
    ("[[ -f a", _ENDS, 7),
    ("[[ a == {b,c} ]]", "braces are used where they are not expanded", 8),
    ("[[\n-f a ]]", "`[` does not begin a simple character class", 0),
    ("ls\x00a", "it contains invisible characters (U+0000)", 0),
    ("ls\ra", "it contains invisible characters (U+000D)", 0),
    ("ls\x1b[1m", "it contains invisible characters (U+001B)", 0),
    ("ls\x0ca", "it contains invisible characters (U+000C)", 0),
    ("ls\xa0a", "it contains invisible characters (U+00A0)", 0),
    ("ls 'a\xa0b'", "it contains invisible characters (U+00A0)", 0),
    ("ls\u2003a", "it contains invisible characters (U+2003)", 0),
    ("ls 'a\u3000b'", "it contains invisible characters (U+3000)", 0),
    ("ls \u4e00\u3000b", "it contains a Unicode space that bash treats as part of a word", 4),
    ("ls a\u200bb", "it contains invisible characters (U+200B)", 0),
    ("ls a\u202eb", "it contains invisible characters (U+202E)", 0),
    ("ls \ud800", "it contains invisible characters (U+D800)", 0),
    ("ls \xe0b", "`\xe0` is not quoted", 3),
    ("ls \u2013a", "`\u2013` is not quoted", 3),
    ("[ a", "a second parser does not accept it", 0),
    ("ls" + " " * 60 + "a", "it contains 60 spaces in a row", 0),
    ("ls" + "\t" * 12 + "a", "it contains a long run of tabs", 2),
    ("a" * 10_001, "it is longer than 10,000 characters", 10_000),
    ("( " * 41 + "ls" + ")" * 41, "it is nested too deeply", 79),
    ("echo " + "$(" * 41 + "ls" + ")" * 41, "it is nested too deeply", 85),
    ("ls {" + "{" * 60, "braces contain something other than plain text and patterns", 3),
    (";".join(["ls"] * 501), "it has more than 500 commands", 1_500),
    ("ls " + "{1..100} " * 6, "brace expansion makes too many words", 56),
]


def parse(text: str) -> Script:
    script = parse_script(text)
    assert isinstance(script, Script), script
    return script


@rows("text, tree", INSIDE)
def test_a_line_inside_the_subset_is_read_as_bash_reads_it(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@rows("text, reason, start", OUTSIDE)
def test_a_line_outside_the_subset_is_refused_with_its_reason(text: str, reason: str, start: int) -> None:
    assert parse_script(text) == Refusal(reason, start)


@rows(
    "text",
    [
        ";".join(["ls"] * 500),
        "( " * 39 + "ls" + ")" * 39,
        "echo " + "$(" * 39 + "ls" + ")" * 39,
        "echo " + '"$(cat ' * 39 + "a" + ')"' * 39,
        "ls " + "a" * 9_997,
        "ls {1..100}",
    ],
)
def test_a_text_at_the_limits_is_read(text: str) -> None:
    assert parse(text).items


def test_words_keep_their_source_and_offset_where_braces_make_several_of_one() -> None:
    (command,) = simple_commands(parse("cd a;  ls x{a,b} d"[6:]))
    assert command.words[1:] == (
        Word("x{a,b}", 4, command.words[1].pieces),
        Word("x{a,b}", 4, command.words[2].pieces),
        Word("d", 11, command.words[3].pieces),
    )
    assert [word.literal for word in command.words] == ["ls", "xa", "xb", "d"]


def test_commands_keep_their_source_without_the_blanks_around_it() -> None:
    first, second = simple_commands(parse(" x=1 ls > f  | cat  # end\n"))
    assert isinstance(first, SimpleCommand)
    assert (first.source, first.start) == ("x=1 ls > f", 1)
    assert (second.source, second.start) == ("cat", 15)
    assert first.redirects[0].source == "> f"


def test_every_command_is_listed_wherever_it_stands() -> None:
    text = (
        'a "$(b)" > $(c); x=$(d); for f in $(e); do g; done < $(h); while i; do j; done; { k; }; (l) '
        "&& if m; then n; elif o; then p; else q; fi"
    )
    names = sorted(command.words[0].source for command in simple_commands(parse(text)) if command.words)
    assert names == list("abcdeghijklmnopq")


def test_a_loop_keeps_its_variable() -> None:
    (item,) = parse("for name in a; do ls; done").items
    (loop,) = item.pipeline.commands
    assert isinstance(loop, ForLoop)
    assert loop.variable == "name"
