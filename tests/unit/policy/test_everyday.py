"""Commands of every day that only tell something are allowed; those beside them that do more are asked about, in their class."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs


@rows(
    "script",
    [
        "git symbolic-ref --short HEAD",
        "git ls-remote --get-url origin",
        "git remote show -n origin",
        "git hash-object README.md",
        "git submodule",
        "git sparse-checkout list",
        "git check-ref-format --branch topic",
        "javac -version",
        "npm -v && npm --version && node -v",
        "rustc -vV && rustc --print sysroot",
        "gcc -dumpversion",
        "ssh -V",
        "bun pm ls",
        "cargo install --list",
        "php --ini",
        "stty size",
        "jar tf app.jar | head",
        "javap -cp target/classes com.example.Main",
        "ar t lib.a",
        "7z l a.7z",
        "c++filt _ZN3fooEv",
        "whereis python",
        "ls /usr/bin | head",
        "ls | tee /dev/stderr | wc -l",
        "rg --files -t py -g '!vendor' | xargs wc -l",
        "rg --files-with-matches Foo | xargs wc -l",
        "grep -rlZ foo src | xargs -0 wc -l",
        "grep -rlE --include='*.py' 'a|b' src | xargs wc -l",
        "git diff $(git merge-base main HEAD)..HEAD --stat",
        'git diff "$(git merge-base origin/main HEAD)" -- src',
        "git log main..$(git describe --tags --abbrev=0) --oneline",
        "for c in $(git log -5 --format=%h); do git show --stat $c; done",
        "git log origin/$(git branch --show-current)..HEAD",
        "git show $(git rev-parse --short HEAD~1)",
        "git show $(git rev-list -1 HEAD):README.md",
        "ls $(dirname src/main.py)",
        "wc -l $(basename src/main.py .py).txt",
        'cat "$(dirname "a b/c.txt")/d.txt"',
        "pushd src >/dev/null && ls && popd >/dev/null",
        "pushd src; ls; popd; ls",
        "cd src && bash -c 'cat main.py'",
        "cargo metadata --no-deps --format-version 1",
        "dotnet --list-sdks",
        "jq -n --slurpfile a a.json --rawfile b config/b.json '$a[0] == $b'",
        "ls && cd src && ls && cd - && ls",
        "cd src && cat main.py && cd - && cat README.md",
        "trap 'echo bye' EXIT; ls",
        "trap '' INT; ls",
        "env PAGER=cat LANG=C git log -3",
        "man -k socket | head -20",
        "man -w git",
        "dpkg -L bash | grep bin",
        "kill -0 123 && echo alive",
        "sleep 1 & wait $!",
        "bat --plain --paging=never src/main.py",
        "openssl rand -hex 8",
        "uuidgen",
        "stty -a",
        'for p in foo bar; do rg -n "$p" src; done',
        'x=src; rg -- "$X" "$x"',
    ],
)
def test_what_only_tells_something_is_allowed(script: str) -> None:
    assert classes(script) == ("read-only",)
    assert verdict(script) == "allow"


@rows(
    "script, name",
    [
        ("git symbolic-ref HEAD refs/heads/x", "workspace"),
        ("git ls-remote origin", "network"),
        ("git remote show origin", "network"),
        ("git hash-object -w a", "workspace"),
        ("git submodule add x", "workspace"),
        ("git sparse-checkout set src", "workspace"),
        ("javac A.java", "workspace"),
        ("npm run build", "workspace"),
        ("rustc a.rs", "workspace"),
        ("rustc --explain E0001", "workspace"),
        ("ls | tee out.txt", "workspace"),
        ("python -m json.tool a.json b.json", "arbitrary"),
        ("cat a.json | python3 -m json.tool", "arbitrary"),
        ("python -m zipfile -l a.zip", "arbitrary"),
        ("python -m zipfile -e a.zip out", "arbitrary"),
        ("python -m pip install x", "network"),
        ("pip list --outdated", "network"),
        ("python -m http.server", "network"),
        ("jar xf app.jar", "workspace"),
        ("jar tf @words", "workspace"),
        ("./gradlew --version", "workspace"),
        ("./gradlew clean", "destructive"),
        ("make clean", "destructive"),
        ("mvn clean package", "destructive"),
        ("mvn -v", "workspace"),
        ("mvn --version", "workspace"),
        ("yarn -v", "workspace"),
        ("yarn --version", "workspace"),
        ("yarn list", "workspace"),
        ("yarn why react", "workspace"),
        ("pnpm -v", "workspace"),
        ("pnpm --version", "workspace"),
        ("pnpm list", "workspace"),
        ("bazel --version", "workspace"),
        ("sbt --version", "workspace"),
        ("python -m pip uninstall x", "destructive"),
        ("npm cache clean --force", "destructive"),
        ("cp /dev/null a.py", "destructive"),
        ("cat /dev/null > a.py", "destructive"),
        (": > a.py", "destructive"),
        (": >> a.py", "workspace"),
        ("psql -c 'DROP TABLE users'", "destructive"),
        ("sqlite3 app.db 'delete from users'", "destructive"),
        ("redis-cli FLUSHALL", "destructive"),
        ("python -c 'import shutil; shutil.rmtree(\"x\")'", "destructive"),
        ("node -e 'fs.rmSync(\"x\")'", "destructive"),
        (":(){ :|:& };:", "destructive"),
        ("pulumi destroy --yes", "destructive"),
        ("gcloud compute instances delete x", "destructive"),
        ("az group delete -n x", "destructive"),
        ("aws s3 sync a s3://b --delete", "destructive"),
        ("aws s3 ls", "network"),
        ("curl -X DELETE https://e.example/x", "destructive"),
        ("curl https://e.example/delete", "network"),
        ("git push origin :topic", "destructive"),
        ("git push origin main:topic", "network"),
        ("npx rimraf dist", "destructive"),
        ("renice -n -5 1", "privilege"),
        ("docker run -v /:/host x", "privilege"),
        ("docker run x", "network"),
        ("cargo tree", "workspace"),
        ("cargo metadata --format-version 1", "workspace"),
        ("cargo clippy --version", "workspace"),
        ("cargo fmt --version", "workspace"),
        ("rustup show", "workspace"),
        ("dotnet --version", "arbitrary"),
        ("pip --version --python ./x", "network"),
        ("node -v -r ./x", "arbitrary"),
        ("history -c", "destructive"),
        ("flake8 --version", "workspace"),
        ("tox --version", "workspace"),
        ("jest --version", "workspace"),
        ("rubocop --version", "workspace"),
        ("poetry show", "workspace"),
        ("poetry --version", "network"),
        ("composer --version", "network"),
        ("ansible --version", "network"),
        ("rails --version", "arbitrary"),
        ("uv pip list", "workspace"),
        ("eval 'rm a'", "destructive"),
        ("busybox rm a", "destructive"),
    ],
)
def test_what_does_more_is_asked_about_in_its_class(script: str, name: str) -> None:
    assert classes(script)[-1] == name
    assert verdict(script) != "allow"


@rows(
    "script",
    [
        "cat $(dirname ~)/x",
        'ls $(dirname "$PWD")',
        'ls "$(dirname "$HOME")"',
        "cat $(dirname /etc/x)/passwd",
        "cat $(basename 'a b')",
        "cat $(echo /etc/passwd)",
        "git diff --output=$(git rev-parse HEAD)",
        "git diff $(git rev-parse ../../x)",
        "git diff $(git describe --dirty=/../../../etc/passwd)",
        "cat $(git rev-parse HEAD)",
        # a repository can hold a tag or a branch with the name --output=x
        "git log $(git describe --tags --abbrev=0)..HEAD --oneline",
        "git log $(git branch --show-current)",
        "git show $(git tag | head -1)",
        "git log $(git rev-parse --abbrev-ref HEAD)",
        "git log $(git symbolic-ref --short HEAD)",
        "for b in $(git branch --format='%(refname:short)'); do git log -1 $b; done",
        'git tag | while read -r t; do git log -1 "$t"; done',
        "dirname() { echo /etc; }; cat $(dirname src/x)/passwd",
        "pushd +1; cat ../a",
        "pushd -n /etc; popd; cat passwd",
        "pushd src; popd; pushd; cat ../../a",
        "cd src && bash -c 'cat ../../a'",
    ],
)
def test_what_a_substitution_could_make_of_a_name_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


TOP = [
    'ls "$(git rev-parse --show-toplevel)"',
    'cd "$(git rev-parse --show-toplevel)" && git status',
    'cat "$(git rev-parse --show-toplevel)/README.md"',
    'root=$(git rev-parse --show-toplevel); ls "$root/src"',
    "bash -c 'cat $(git rev-parse --show-toplevel)/README.md'",
]


@pytest.mark.parametrize("script", TOP)
def test_the_top_of_the_repository_is_the_workspace_only_where_that_is_known(script: str) -> None:
    for top, said in ((True, "allow"), (False, "ask")):
        facts = PolicyFacts(WORKSPACE, "ask", top_of_repository=top)
        assert RulePolicy().decide("run_command", (Runs(script=script),), facts).verdict == said
    facts = PolicyFacts(WORKSPACE, "ask", top_of_repository=True)
    inside = Runs(script=script, cwd="vendor")
    assert RulePolicy().decide("run_command", (inside,), facts).verdict == "ask"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('cat "$(git rev-parse --show-toplevel)/../a"', "ask"),
        ('cat "$(git rev-parse --show-toplevel)/.env"', "deny"),
        ('rm -rf "$(git rev-parse --show-toplevel)"', "deny"),
        ('cd "$(git rev-parse --show-toplevel)/.." && ls', "ask"),
        ("cd src && ls $(git rev-parse --show-toplevel)", "ask"),
    ],
)
def test_what_lies_beside_the_top_of_the_repository_is_judged_as_any_path(script: str, said: str) -> None:
    facts = PolicyFacts(WORKSPACE, "ask", top_of_repository=True)
    assert RulePolicy().decide("run_command", (Runs(script=script),), facts).verdict == said
