"""awk programs: what only computes and prints is read whole, all else raises a doubt."""

from tests.stubs.rows import rows
from tui_agent.policy.interpreter.languages.awk import find_doubt

HARMLESS = [
    "", "1", "{print $1}", "$3 > 100 {print $1}", "length > 80", "NR==1{print; exit}", "NR>=100 && NR<=140", "/def /{print FILENAME\": \"$0}",
    "{ if ($3 > max) max = $3 } END { print max }", "/system/ {print}", '{print "a > b | c"}',
    "{x = (a > b); print x}", "{print $1 / 2, (a)/2, a[1]/2}", "{ x = y >= 2 || z } # system()",
    'BEGIN {FS=","} {printf "%s\\n", $2}', "/^## \\[/{if (p) exit; p=1} p", 'length($0) > 120 {print FILENAME":"FNR}', "{print a; if (b > 3) c++}",
    "NR==FNR {seen[$1]=1; next} !($1 in seen)", 'BEGIN {FS="\\t"; OFS=","} {$1=$1; print}', "{count[$1]++} END {for (k in count) print count[k], k}",
    'NR>1 && $3 > 100 {s += $3; n++} END {if (n) printf "%.2f over %d\\n", s/n, n}', "/^class /{c=$2} /^    def /{print c, $2}",
    "{s+=$2} END {print s+0}", '{sub(/x/, "y"); gsub("a","b",$1)} 1', "{print substr($0, 1, 10) toupper($1)}", "!/^#/", "!seen[$0]++",
    "$1 ~ /a/ && $2 !~ /b/", "/a/,/b/", "{print\n}", "{nextfile}", "{print $1,\n $2}",
    "{n = split($0, parts, /,/); print parts[n]}", "BEGIN { x[1,2] = 3; if ((1,2) in x) print 1 }", "{print -$1, !$2, $NF, $(NF-1)}", "{$2=\"\"; print}",
    "{printf(\"%s %d\\n\", $1, $2)}", "{print 1e6, 0.5, .5, 1.}", "{print a ? b : c}", "{x = a ? /b/ : /c/}", "{delete a[$1]; delete a}", "{print $1\n# a note\n}",
    "{for (k in seen) { if (k == 1) continue; print k } exit 0}", "{x ^= 2; y = 2 ** 3; z %= 3}", "END{print NR}", '{print "/* \\" */"}',
    "/[[:space:]]+$/", "/[^,]*/", "/a\\/b/", "$0 ~ \"x\" { print NR \": \" $0 }", "{print length, length($1)}", "{print length\n}", "{ x = 6 / 2 / 3 }", "{ x /= 2 }",
    "{ print a++\n}", "$NF > 1 { print }", "{ if (x) print a; else print b }", "{ if (x)\n print a\n else\n print b }", "BEGIN{printf \"%s\", substr(\"abc\", 2)}",
]  # fmt: skip
DOUBTED = [
    'BEGIN{system("x")}', 'BEGIN{0system("id")}', 'BEGIN{0.system("id")}', 'BEGIN{1e0system("id")}', 'BEGIN{.5system("id")}', 'BEGIN{0x1system("id")}',
    'BEGIN{0getline x<".env"}', 'BEGIN{0ENVIRON["X"]}', 'BEGIN{system ("x")}', 'BEGIN{system\\\n("x")}', 'sys\\\ntem("x")', 'a / system("x") / b',
    'BEGIN{print "evil",\n"x" > "/root/.bashrc"}', 'BEGIN{print "evil" && \n"x" > "f"}', 'BEGIN{print "evil" ||\n# note\n"x" > "f"}', 'BEGIN{print 1 ?\n 2 : 3 > "f"}',
    "{print > $2}", '{print(a)>"b"}', '{print a, b > "c"}', '{print a[b > c]}', '{printf "x" >> "y"}', '{printf("x") > "y"}', '{print a (b) > "c"}', '{print | "sh"}',
    '{print |& "sh"}', '{"date" | getline d}', '{"date" |& getline}', "{getline}", "{getline < f}", "{while ((getline line < f) > 0) print line}", "getline x", "{print ENVIRON[1]}",
    '@load "x"', '@include "x"', 'BEGIN{f="system"; @f("id")}', "{print @/x/}", "BEGIN{ARGV[1]=1}", "BEGIN{ARGC=2}", 'BEGIN{PROCINFO["sorted_in"]="f"}', "BEGIN{SYMTAB[1]}",
    'BEGIN{close("x")}', "BEGIN{fflush()}", "function f(x) {return x} {print f(1)}", "func f() {}", "{print f(1)}", "{print a (1)}", "{print x(1)}", "function f", "{func /x/}",
    '{if (x) /"/; system("id") #"/}', '{if (x) /y/}', 'length /"/; system("id") #"/', '/[/"]/ && system("id") #"/', "/[]/]/", "/[^]/]/", '/[\\]/]/ ', "x++ /y/", "/=/",
    '"unclosed', '"a\nb"', '"a\\\nb"', "/unclosed", "(", ")", "{", "}", "[", "{print (a}", "{print a)}", "(;)", "{print (a;b)}", "{print (a\n)}", "{(}",
    'BEGIN{extension("x.so")}', "BEGINFILE{print}", "{asort(a, b, \"cmp\")}", "BEGIN{while (1) print}", "BEGIN{for (;;) x++}", "BEGIN{for (i=0;1;i++) x}", "BEGIN{do {} while (1)}",
    "{print $1} \\\n{print}", "{print `id`}", "{print 'a'}", "{print a & b}", "é", "{print\ra}", "{print $1; print $2 > $3}", "{if (a > b) print a > b}", "{print a,\n\nb > c}",
    "BEGIN{print length > \"x\"}", "BEGIN{print a++ > \"x\"}", "BEGIN{print substr(a,1) > \"x\"}", "{print;print>\"x\"}", "{print \"a\"\n>\"b\"", "# c \\\nBEGIN{}", "{switch (x) {case 1: print}}",
    "BEGIN{print _}", "{if x print}", "{print 1..2}", "{print a.b}", "{SUM += $1}", "{print > \"/dev/stderr\"}", "{a = length system}", "@namespace \"x\"", "{print $1 |\"sh\"}",
    "BEGIN{while (x < 1) y++}", "BEGIN{for (; x == 0;);}", "END{for(i=NR;i>0;i--) print a[i]}", "{do { i-- } while (i > 0)}", "{for (k in ENVIRON) print k}", "{for (k in a; x; y) print}", "{for ((i,j) in a) print}",
    "{print (a > b)}", "{print f, (a > b)}", "{x = 1 +\n 2}", "{for(k in a) /\"/; system(\"id\") #\"/}", "{if (x) /\"/; getline #\"/}",
]  # fmt: skip


@rows("script", HARMLESS)
def test_a_program_that_only_computes_and_prints_raises_no_doubt(script: str) -> None:
    assert find_doubt(script) == ""


@rows("script", DOUBTED)
def test_a_program_with_anything_else_raises_a_doubt(script: str) -> None:
    assert find_doubt(script)


@rows(
    "script, reason",
    [('BEGIN{system("x")}', "run a program"), ('{print | "sh"}', "run a program"), ('{print > "x"}', "write a file"), ("{getline}", "read a file"),
     ("{print ENVIRON[1]}", "the environment"), ("BEGIN{while (1) print}", "never end"), ('BEGIN{@f("x")}', "by its name"), ("x++ /y/", "slash")],
)  # fmt: skip
def test_the_doubt_says_why(script: str, reason: str) -> None:
    assert reason in find_doubt(script)
