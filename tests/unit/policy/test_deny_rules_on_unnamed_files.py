"""Rules against files hold where a command does not say which files it uses: it changes, fills or shows whole folders, or runs
code."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName

READ, EDIT, ANYWHERE = "deny read priv/**", "deny edit keep/**", "deny read **/.env*"
PROFILES: tuple[tuple[PolicyName, bool], ...] = (
    ("bypass", False),
    ("bypass", True),
    ("accept-edits", True),
    ("ask", False),
)


def judge(line: str, *rules: str, policy: PolicyName = "bypass", sandboxed: bool = False) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=sandboxed)
    return RulePolicy(rules).decide("run_command", (RunEffect(script=line),), facts)


def verdict(line: str, *rules: str) -> str:
    return judge(line, *rules).verdict


def verdicts(line: str, *rules: str) -> set[str]:
    """The verdicts of all profiles that may allow more than reading."""
    return {judge(line, *rules, policy=policy, sandboxed=sandboxed).verdict for policy, sandboxed in PROFILES}


CHANGE_EVERYTHING = [
    "git merge topic", "git pull", "git switch topic", "git switch --orphan x", "gtar xf a.tar", "git switch -c new HEAD~3",
    "git checkout topic", "git checkout feature/x", "git rebase main", "git rebase --continue", "git cherry-pick abc",
    "git revert HEAD", "git am x.mbox", "git apply x.patch", "git bisect start", "git bisect good", "git reset --hard",
    "git stash", "git stash pop", "git read-tree -u -m HEAD", "git checkout-index -a", "git sparse-checkout set src",
    "git subtree pull --prefix=keep origin main", "git submodule update --init", "git filter-branch --tree-filter 'rm x' HEAD",
    "git lfs pull", "hg update", "hg pull -u", "svn update", "jj edit x", "gh pr checkout 3", "tar xf a.tar", "bsdtar xf a.tar",
    "cpio -idm < a.cpio", "rpm2cpio a.rpm | cpio -idm", "7z x a.7z", "7za e a.7z", "unzip a.zip", "unrar x a.rar", "ar x a.a",
    "jar xf a.jar", "cabextract a.cab", "unsquashfs a.sq", "python -m zipfile -e a.zip .", "python3 -m tarfile -e a.tar",
    'sqlite3 a.db ".archive --extract"', "patch -p1 < a.patch",
]  # fmt: skip
FORMAT_FILES = [
    "ruff format", "ruff check --fix", "autopep8 -ri .", "yapf -ri .", "gofmt -w .", "go fmt ./...", "cargo fmt",
    "cargo clippy --fix", "terraform fmt -recursive", "mix format", "dart format .", "rubocop -a", "scalafmt", "prettier -w .",
    "npx eslint . --fix", "biome format --write", "typos -w", "fastmod a b", "pre-commit run -a", "python -m black .",
    "python -m compileall .", "rg -l x | xargs sed -i s/x/y/",
]  # fmt: skip
FILL_A_FOLDER = [
    "git clone https://example.org/keep", "git clone https://example.org/keep.git", "git clone https://example.org/x keep/y",
    "git worktree add keep", "git worktree add keep topic", "git -C . worktree add keep", "git init keep", "git init -b main keep",
    "git submodule add -b main https://example.org/x keep", "git clone -b main https://example.org/keep",
    "cargo new --name x keep", "uv venv --python 3.12 keep", "cargo new keep", "cargo init keep/x",
    "django-admin startproject keep", "rails new keep", "dotnet new console -o keep", "hatch new keep", "mix new keep",
    "ng new keep", "hugo new site keep", "hugo -d keep", "python -m venv keep", "python3 -m venv keep", "virtualenv keep",
    "poetry new keep", "uv init keep", "pip install -t keep x", "pip install --target=keep x", "npm create vite@latest keep",
    "7z x a.7z -okeep", "bsdtar -xf a.tar -C keep", "unzip -dkeep a.zip", "cmake -B keep", "javac -d keep A.java",
    "rustc --out-dir=keep a.rs", "protoc --python_out=keep a.proto", "gcc -okeep/k a.c", "ld -okeep/k a.o", "strip -okeep/k a",
    "nasm -okeep/k a", "go build -o=keep/k .", "openssl enc -in a -out keep/k", "eslint -o keep/k .",
    "git format-patch -o keep HEAD~1", "git bundle create keep/x HEAD", "git config -f keep/c a.b c", "install -t keep a",
    "curl -okeep/k https://example.org", "dd if=a of=keep/k", "sqlite3 keep/a.db 'select 1'", 'sqlite3 x ".output keep/a"',
]  # fmt: skip
WRITE_AN_OUTPUT = [
    "ruby -i -pe 1 keep/a", "gawk -i inplace 1 keep/a", "pyupgrade keep/a.py", "cython keep/a.pyx", "python -m lib2to3 -w keep",
    "black keep", "uniq x keep/a", "openssl req -x509 -keyout keep/k -out x", "ssh-keygen -f keep/k",
    "cd keep && curl -sLO https://example.org/a", "cd keep && wget https://example.org/a", "aria2c -d keep https://example.org/a",
    "wget -m -P keep https://example.org/a", "git worktree remove keep", "pytest --junitxml=keep/a",
    "pytest --cov-report=html:keep", "pytest -o cache_dir=keep", "tsc -outDir keep", "babel src -d keep", "sphinx-build docs keep",
    "coverage html -d keep", "kotlinc -d keep a.kt", "make DESTDIR=keep install", "CARGO_TARGET_DIR=keep cargo build",
    "tcpdump -w keep/a", "python -m json.tool a keep/a",
]  # fmt: skip
SHOW_EVERYTHING = [
    "git show", "git show HEAD", "git log -p", "git log -p -2", "git log --oneline -U5", "git log -1p", "git log --patc",
    "python -um http.server", "git diff", "git diff HEAD~1", "git diff main...HEAD", "git diff -p --stat", "git diff -- .",
    "git grep x", "git archive HEAD", "git format-patch --stdout HEAD~1", "git stash show -p", "git cat-file -p 1a2b3c4d",
    "git cat-file --batch", "git difftool", "git fast-export --all", "git bundle create x HEAD", "git worktree add ../wt",
    "git clone . ../copy", "cp -a . /tmp/x", "cp --archive . ../copy", "git diff-tree -p HEAD", "git whatchanged -p",
    "git range-diff a b c", "git status -v", "find . | cpio -o > x", "bsdtar -cf x.tar .", "python -m zipfile -c x.zip .",
    "php -S 0:8000", "php -S localhost:8000 -t .", "python3 -m http.server 8000", "python2 -m SimpleHTTPServer", "npx serve",
    "serve .", "http-server", "ruby -run -e httpd .", "busybox httpd -f -p 1", "caddy file-server", "git instaweb",
    "docker build .", "git grep KEY HEAD", "git grep KEY -- ':!x'", "git --literal-pathspecs grep KEY -- . ':!priv'",
    "git show ':/a:b:priv/x'", "git show 'HEAD^{/a:b}:src/x'", "git show 'HEAD@{1:00}:src/x'", "git log -L '/a:b/,+1:src/x'",
]  # fmt: skip
READ_AN_INPUT = [
    "awk -f priv/a x", "gawk -f priv/a x", "sed -f priv/a x", "jq -f priv/a x", "node -r ./priv/a.js -e 1",
    "git merge-file -p a b priv/a", "rsync --files-from=list . /tmp", "rg --pre cat x", "npm pack", "cargo package",
    "at now <<< 'cat priv/a'",
]  # fmt: skip
FREE = [
    "uniq -c a.txt", "cargo fmt --check", "go build ./...", "pytest --cov=keep", "git status", "git log --oneline",
    "git log --stat", "git show HEAD:src/a.py", "git diff -- src", "git diff -- . ':!priv'", "git log -p -- . ':(exclude)priv'",
    "git log -p -- src/a.py", "git stash list", "git stash show", "git checkout -b new", "git restore --staged .", "git clean -n",
    "git clean -fdx build", "git checkout -- src", "git worktree list", "git init", "7z l a.7z", "tar tf a.tar", "unzip -l a.zip",
    "python keep/a.py", "pytest keep", "gcc keep/a.c", "pytest --ignore=keep", "mypy --exclude keep src",
]  # fmt: skip
CODE = [
    'python -c "open(\'FILE\')"', 'python3 -c \'print(open("FILE").read())\'',
    'python -c "import pathlib; pathlib.Path(\'FILE\').read_text()"', 'python - <<< "print(open(\'FILE\').read())"',
    'echo "print(open(\'FILE\').read())" | python', 'node -e "require(\'fs\').readFileSync(\'FILE\')"',
    'perl -e \'open F,"FILE"; print <F>\'', "perl -e 'print `cat FILE`'", 'ruby -e \'puts File.read("FILE")\'',
    'php -r \'echo file_get_contents("FILE");\'', 'lua -e "io.open(\'FILE\')"', "ed a <<< 'r FILE'",
    'emacs --batch --eval \'(insert-file-contents "FILE")\'',
]  # fmt: skip
CODE_OF_OTHERS = [
    'deno eval "Deno.readTextFileSync(\'FILE\')"', 'sqlite3 x "select readfile(\'FILE\')"',
    'duckdb -c "select * from read_csv(\'FILE\')"', 'awk \'BEGIN{f="FILE"; while((getline l < f)>0) print l}\'',
    'awk \'BEGIN{"cat FILE"|getline x; print x}\'', "vim -es -c 'r FILE' -c '%p' -c q a", "tclsh <<< 'open FILE'",
]  # fmt: skip


@rows("line", CHANGE_EVERYTHING + FORMAT_FILES + FILL_A_FOLDER + WRITE_AN_OUTPUT)
def test_a_command_that_may_change_a_file_of_a_rule_never_runs_unasked(line: str) -> None:
    assert "allow" not in verdicts(line, EDIT)
    assert "allow" not in verdicts(line, "ask edit keep/**")


@rows("line", SHOW_EVERYTHING + READ_AN_INPUT)
def test_a_command_that_may_show_a_file_of_a_rule_never_runs_unasked(line: str) -> None:
    assert "allow" not in verdicts(line, READ)


@rows("line", SHOW_EVERYTHING)
def test_a_rule_about_files_anywhere_counts_for_everything_that_is_shown(line: str) -> None:
    assert verdicts(line, ANYWHERE) == {"ask"}


@rows(
    "line",
    [
        "git worktree add keep", "git init keep", "cmake -B keep", "javac -d keep A.java", "gcc -okeep/k a.c", "tsc -outDir keep",
        "black keep", "cd keep && wget https://example.org/a", "git worktree remove keep", "curl -okeep/k https://example.org",
    ],
)  # fmt: skip
def test_a_command_that_certainly_changes_a_file_of_a_rule_is_denied(line: str) -> None:
    assert verdicts(line, EDIT) == {"deny"}


@rows("line", FREE)
def test_a_command_that_uses_none_of_its_files_is_free(line: str) -> None:
    assert verdict(line, READ, EDIT) == "allow"


@rows("line", ["black --check .", "ruff format --check", "ruff check .", "gofmt -l .", "prettier --check ."])
def test_a_command_that_only_checks_files_changes_none(line: str) -> None:
    assert verdict(line, EDIT) == "allow"


def test_a_rule_about_files_anywhere_counts_for_folders_and_not_for_other_files() -> None:
    assert verdict("git diff -- src/a.py", ANYWHERE) == "allow"
    assert verdict("git diff -- src", ANYWHERE) == "ask"
    assert verdict("git diff -- . ':!.env*'", ANYWHERE) == "ask"
    assert verdict("git checkout -- src/a.py", "deny edit **/*.lock") == "allow"


@rows("line", CODE + CODE_OF_OTHERS)
def test_code_that_names_a_file_may_use_it(line: str) -> None:
    assert "allow" not in verdicts(line.replace("FILE", "priv/a"), READ)
    assert "allow" not in verdicts(line.replace("FILE", "src/.env.local"), ANYWHERE)
    assert "allow" not in verdicts(line.replace("FILE", "keep/a"), EDIT)


@rows("line", CODE)
def test_code_that_names_none_of_its_files_is_free(line: str) -> None:
    assert verdict(line.replace("FILE", "src/a"), READ, EDIT, ANYWHERE) == "allow"


@rows("line", CODE + CODE_OF_OTHERS)
def test_code_that_names_a_secret_is_asked_about_where_no_sandbox_keeps_it(line: str) -> None:
    line = line.replace("FILE", ".env")
    assert verdict(line) in ("ask", "deny")
    assert judge(line, "allow run python *", "allow run node *", policy="ask").verdict != "allow"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("foo .git/config", "ask"),
        ("foo --out=.git/hooks/x", "ask"),
        ("foo ~/.bashrc", "ask"),
        ("python x.py .git/config", "ask"),
        ("git config core.pager x", "ask"),
        ("git config --global alias.x '!y'", "ask"),
        ("git -C src config --local core.hooksPath x", "ask"),
        ("sqlite3 x '.output .git/hooks/x'", "ask"),
        ("python -c \"open('.git/config','w')\"", "ask"),
        ("perl -pi -e s/a/b/ .git/config", "ask"),
        ("git config -f .git/config a.b c", "ask"),
        ("python -c 'import os; print(os.environ)'", "allow"),
        ("node -p process.env.CI", "allow"),
        ("python -c 'print(d.key)'", "allow"),
        ("python -c \"print('a.b')\"", "allow"),
        ("git config core.hooksPath x", "ask"),
        ("git config remote.origin.url x", "ask"),
        ("git config user.name x", "allow"),
        ("git config --local pull.rebase true", "allow"),
        ("git config --get core.pager", "allow"),
        ("git config core.pager", "allow"),
    ],
)
def test_a_guarded_file_counts_in_bypass_for_programs_that_may_write_it(line: str, expected: str) -> None:
    assert verdict(line) == expected
