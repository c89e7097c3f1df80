"""jq filters: what only computes from its input is read whole, all else raises a doubt."""

from tests.stubs.rows import rows
from tui_agent.policy.interpreter.languages.jq import find_doubt

HARMLESS = [
    ".", ".env", ".services[].environment", '."a b"', '.["env"]', ".a.env.b", ".scripts", ".dependencies | keys[]", "..", ".. | .a?", ".[0]", ".[1:3]", ".[-1:]",
    '"\\(.name)@\\(.version)"', '.[] | select(.a == "env") | {env: .b, "x": 1}', '"\\("\\(.a)" + "b")"', ".a # of all\n| .b", "if .a then .b else .c end",
    '.packages | to_entries[] | select(.value.dev != true) | "\\(.key) \\(.value.version)"', "[.items[] | select(.hours > 8) | .hours] | add / length", ".[0] * .[1] | keys",
    'paths(scalars) as $p | "\\($p | map(tostring) | join(".")) = \\(getpath($p))"', "@base64d", "@sh", '@csv "\\(.a)"', "map(.a) | sort_by(.b) | unique_by(.c)", "input, inputs",
    "reduce .[] as $x (0; . + $x)", "limit(5; .[])", "first(.[])", "recurse", "{a, b: .c}", "{env}", "{a, env}", "{(.a): .b}", "{$x}", "$ARGS.named", "$__loc__", 'sub("a"; "b")',
    'gsub("\\\\s+"; " ")', 'gsub("foo"; "bar")', 'gsub("^ +"; "")', 'test("a.*b")', ".a //= 1", ".a // empty", ".a |= . + 1", "try error(\"x\") catch .", "del(.a)", "halt_error",
    "to_entries | map(\"\\(.key)=\\(.value)\") | .[]", "group_by(.a) | map({a: .[0].a, n: length})", "label $out | foreach .[] as $i (0; .+1; if . > 3 then ., break $out else . end)",
    "with_entries(.value |= tostring)", ".a as [$x, $y] | $x + $y", ".a and .b or (.c | not)", "{\"a\": 1, if: 2}", "now | todate", "strptime(\"%Y\") | mktime",
]  # fmt: skip
DOUBTED = [
    "env", "env.SECRET", "$ENV.SECRET", "$ENV", ".a + env.B", "..env", "{a: env}", "[env]", "{a: 1, (env.x): 2}", '"\\(env.X)"', '"\\("\\(env.X)")"', 'import "a" as a; .',
    'include "a"; .', "input_filename", "modulemeta", "a::b", "$a::b", "def f: env; f", "def f: f; f", 'load("/etc/passwd")', "strenv(X)", "get_search_list", "$__prog_args", "builtins",
    '# \\\n " \n env "', '"open', '"\\(', '"\\(.a', "(", ")", "]", "[}", "{a: 1", '"\\(.a]"', '"\\q"', "repeat(.)", "while(true; .)", "until(false; .)", "range(infinite)", "limit(1; repeat(1))",
    "recurse(.a)", "recurse (.)", "recurse\n(.)", "[range(100000000)]", "[range(1e9)]", 'gsub("";"x")', 'gsub("^";"x")', 'gsub("a*";"x")', 'gsub("\\\\b";"x")', "gsub(.a; .b)", 'gsub("a|";"x")', 'gsub("(a)?";"x")',
    "range(5)", "[range(9999999*9999999)]", "range(9999999)|range(9999999)", "sub(\"\";\"x\";\"g\")", "sub(.a; .b)", "sub(\"x*\"; \"y\"; \"g\")", "limit(3; range(9))", "getpath(x)", "unknown", "@sql", "@json2", ".a ' b", ".a ; b `", "é", ".a\r| .b", "{env\u00a0: 1}", "system(1)", "splits2", ".a.1e5b",
]  # fmt: skip


@rows("script", HARMLESS)
def test_a_filter_that_only_computes_raises_no_doubt(script: str) -> None:
    assert find_doubt(script) == ""


@rows("script", DOUBTED)
def test_a_filter_with_anything_else_raises_a_doubt(script: str) -> None:
    assert find_doubt(script)


@rows(
    "script, reason",
    [("env.X", "the environment"), ("$ENV", "the environment"), ('include "a"; .', "another file"), ("repeat(.)", "never end"), ('gsub("";"x")', "never end")],
)  # fmt: skip
def test_the_doubt_says_why(script: str, reason: str) -> None:
    assert reason in find_doubt(script)
