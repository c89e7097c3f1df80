"""Rules against files hold whatever program carries the bytes: what changes or shows files without naming them, fills a
folder, or names them in code."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.settings import PolicyName

READ, EDIT, SHAPE = "deny read priv/**", "deny edit keep/**", "deny read **/.env*"


def verdict(line: str, *rules: str, policy: PolicyName = "bypass", sandboxed: bool = False) -> str:
    facts = PolicyFacts(WORKSPACE, policy, sandboxed=sandboxed)
    return RulePolicy(rules).decide("run_command", (Runs(script=line),), facts).verdict


def lines(text: str) -> list[str]:
    return [line for line in text.strip("\n").split("\n") if line]


CHANGES_ALL = lines("""
git merge topic
git pull
git switch topic
git switch --orphan x
gtar xf a.tar
git switch -c new HEAD~3
git checkout topic
git checkout feature/x
git rebase main
git rebase --continue
git cherry-pick abc
git revert HEAD
git am x.mbox
git apply x.patch
git bisect start
git bisect good
git reset --hard
git stash
git stash pop
git read-tree -u -m HEAD
git checkout-index -a
git sparse-checkout set src
git subtree pull --prefix=keep origin main
git submodule update --init
git filter-branch --tree-filter 'rm x' HEAD
git lfs pull
hg update
hg pull -u
svn update
jj edit x
gh pr checkout 3
tar xf a.tar
bsdtar xf a.tar
cpio -idm < a.cpio
rpm2cpio a.rpm | cpio -idm
7z x a.7z
7za e a.7z
unzip a.zip
unrar x a.rar
ar x a.a
jar xf a.jar
cabextract a.cab
unsquashfs a.sq
python -m zipfile -e a.zip .
python3 -m tarfile -e a.tar
sqlite3 a.db ".archive --extract"
patch -p1 < a.patch
""")
FILLS = lines("""
git clone https://example.org/keep
git clone https://example.org/keep.git
git clone https://example.org/x keep/y
git worktree add keep
git worktree add keep topic
git -C . worktree add keep
git init keep
git init -b main keep
git submodule add -b main https://example.org/x keep
git clone -b main https://example.org/keep
cargo new --name x keep
uv venv --python 3.12 keep
cargo new keep
cargo init keep/x
django-admin startproject keep
rails new keep
dotnet new console -o keep
hatch new keep
mix new keep
ng new keep
hugo new site keep
hugo -d keep
python -m venv keep
python3 -m venv keep
virtualenv keep
poetry new keep
uv init keep
pip install -t keep x
pip install --target=keep x
npm create vite@latest keep
7z x a.7z -okeep
bsdtar -xf a.tar -C keep
unzip -dkeep a.zip
cmake -B keep
javac -d keep A.java
rustc --out-dir=keep a.rs
protoc --python_out=keep a.proto
gcc -okeep/k a.c
ld -okeep/k a.o
strip -okeep/k a
nasm -okeep/k a
go build -o=keep/k .
openssl enc -in a -out keep/k
eslint -o keep/k .
git format-patch -o keep HEAD~1
git bundle create keep/x HEAD
git config -f keep/c a.b c
install -t keep a
curl -okeep/k https://example.org
dd if=a of=keep/k
sqlite3 keep/a.db 'select 1'
sqlite3 x ".output keep/a"
""")
SHOWS_ALL = lines("""
git show
git show HEAD
git log -p
git log -p -2
git log --oneline -U5
git log -1p
git log --patc
python -um http.server
git diff
git diff HEAD~1
git diff main...HEAD
git diff -p --stat
git diff -- .
git grep x
git archive HEAD
git format-patch --stdout HEAD~1
git stash show -p
git cat-file -p 1a2b3c4d
git cat-file --batch
git difftool
git fast-export --all
git bundle create x HEAD
git worktree add ../wt
git clone . ../copy
cp -a . /tmp/x
cp --archive . ../copy
git diff-tree -p HEAD
git whatchanged -p
git range-diff a b c
git status -v
find . | cpio -o > x
bsdtar -cf x.tar .
python -m zipfile -c x.zip .
php -S 0:8000
php -S localhost:8000 -t .
python3 -m http.server 8000
python2 -m SimpleHTTPServer
npx serve
serve .
http-server
ruby -run -e httpd .
busybox httpd -f -p 1
caddy file-server
git instaweb
docker build .
""")
IN_PLACE = lines("""
ruff format
ruff check --fix
autopep8 -ri .
yapf -ri .
gofmt -w .
go fmt ./...
cargo fmt
cargo clippy --fix
terraform fmt -recursive
mix format
dart format .
rubocop -a
scalafmt
prettier -w .
npx eslint . --fix
biome format --write
typos -w
fastmod a b
pre-commit run -a
python -m black .
python -m compileall .
rg -l x | xargs sed -i s/x/y/
""")
OUTPUTS = lines("""
ruby -i -pe 1 keep/a
gawk -i inplace 1 keep/a
pyupgrade keep/a.py
cython keep/a.pyx
python -m lib2to3 -w keep
black keep
uniq x keep/a
openssl req -x509 -keyout keep/k -out x
ssh-keygen -f keep/k
cd keep && curl -sLO https://example.org/a
cd keep && wget https://example.org/a
aria2c -d keep https://example.org/a
wget -m -P keep https://example.org/a
git worktree remove keep
pytest --junitxml=keep/a
pytest --cov-report=html:keep
pytest -o cache_dir=keep
tsc -outDir keep
babel src -d keep
sphinx-build docs keep
coverage html -d keep
kotlinc -d keep a.kt
make DESTDIR=keep install
CARGO_TARGET_DIR=keep cargo build
tcpdump -w keep/a
python -m json.tool a keep/a
""")
INPUTS = lines("""
awk -f priv/a x
gawk -f priv/a x
sed -f priv/a x
jq -f priv/a x
node -r ./priv/a.js -e 1
git merge-file -p a b priv/a
rsync --files-from=list . /tmp
rg --pre cat x
npm pack
cargo package
at now <<< 'cat priv/a'
""")
FREE = lines("""
git log -L1,2:src/a.py
uniq -c a.txt
cargo fmt --check
go build ./...
curl -sLO https://example.org/a
pytest --cov=keep

git status
git log --oneline
git log --stat
git diff --stat
git diff --name-only HEAD~1
git show --stat
git show HEAD:src/a.py
git diff -- src
git diff src/a.py
git diff -- . ':!priv'
git log -p -- . ':(exclude)priv'
git log -p -- src/a.py
git cat-file -p HEAD
git stash list
git stash show
git switch -c new
git checkout -b new
git restore --staged .
git clean -n
git clean -fdx build
git checkout -- src
git reset --soft HEAD~1
git clone https://example.org/other
git worktree list
git init
git branch new
cargo new other
7z l a.7z
tar tf a.tar
unzip -l a.zip
python3 -m http.server -d src
php -S localhost:8000 -t src
python keep/a.py
pytest keep
gcc keep/a.c
pytest --ignore=keep
mypy --exclude keep src
""")


@rows("line", CHANGES_ALL)
def test_what_changes_all_that_there_is_is_asked_about_where_a_rule_is_against_some(line: str) -> None:
    assert verdict(line, EDIT) in ("ask", "deny")
    assert verdict(line, "ask edit keep/**") == "ask"


@rows("line", IN_PLACE)
def test_what_rewrites_files_in_place_changes_all_below(line: str) -> None:
    assert verdict(line, EDIT) in ("ask", "deny")


@pytest.mark.parametrize(
    "line", ["black --check .", "ruff format --check", "ruff check .", "gofmt -l .", "prettier --check ."]
)
def test_what_only_checks_them_changes_none(line: str) -> None:
    assert verdict(line, EDIT) == "allow"


@pytest.mark.parametrize("line", INPUTS)
def test_what_a_program_is_told_to_read_is_read(line: str) -> None:
    assert verdict(line, READ) in ("ask", "deny")


@rows("line", FILLS + OUTPUTS)
def test_a_folder_that_a_program_fills_is_changed(line: str) -> None:
    assert verdict(line, EDIT) in ("ask", "deny")
    assert verdict(line, EDIT) == "deny" or verdict(line, "deny edit other/**") == "allow"


@rows("line", SHOWS_ALL)
def test_what_shows_all_that_there_is_is_asked_about_where_a_rule_is_against_some(line: str) -> None:
    assert verdict(line, READ) == "ask"
    assert verdict(line, SHAPE) == "ask"


@rows("line", FREE)
def test_what_spares_such_files_is_free(line: str) -> None:
    assert verdict(line, READ, EDIT) == "allow"


def test_a_rule_wherever_files_lie_counts_for_folders_and_not_for_files() -> None:
    assert verdict("git diff -- src/a.py", SHAPE) == "allow"
    assert verdict("git diff -- src", SHAPE) == "ask"
    assert verdict("git diff -- . ':!.env*'", SHAPE) == "ask"
    assert verdict("git diff -- . ':!*.env*'", SHAPE) == "allow"
    assert verdict("git diff -- . ':!**/.env*'", SHAPE) == "allow"
    assert verdict("git checkout -- src/a.py", "deny edit **/*.lock") == "allow"
    assert verdict("cmake -B build", "deny edit **/*.lock") == "allow"


CODE = lines("""
python -c "open('{}')"
python3 -c 'print(open("{}").read())'
python -c "import pathlib; pathlib.Path('{}').read_text()"
python - <<< "print(open('{}').read())"
echo "print(open('{}').read())" | python
node -e "require('fs').readFileSync('{}')"
perl -e 'open F,"{}"; print <F>'
perl -e 'print `cat {}`'
ruby -e 'puts File.read("{}")'
php -r 'echo file_get_contents("{}");'
deno eval "Deno.readTextFileSync('{}')"
lua -e "io.open('{}')"
sqlite3 x "select readfile('{}')"
duckdb -c "select * from read_csv('{}')"
awk 'BEGIN{{f="{}"; while((getline l < f)>0) print l}}'
awk 'BEGIN{{"cat {}"|getline x; print x}}'
vim -es -c 'r {}' -c '%p' -c q a
ed a <<< 'r {}'
emacs --batch --eval '(insert-file-contents "{}")'
tclsh <<< 'open {}'
""")


@rows("line", CODE)
def test_code_that_names_a_file_may_touch_it(line: str) -> None:
    assert verdict(line.format("priv/a"), READ) in ("ask", "deny")
    assert verdict(line.format("src/.env.local"), SHAPE) in ("ask", "deny")
    assert verdict(line.format("keep/a"), EDIT) in ("ask", "deny")
    assert verdict(line.format("src/a"), READ, EDIT, SHAPE) == "allow"


@rows("line", CODE)
def test_code_that_names_a_secret_is_asked_about_where_no_sandbox_keeps_it(line: str) -> None:
    assert verdict(line.format(".env")) in ("ask", "deny")
    assert verdict(line.format(".env"), "allow run python *", "allow run node *", policy="ask") != "allow"


@pytest.mark.parametrize(
    "line",
    ["foo .git/config", "perl -pi -e s/a/b/ .git/config", "python x.py .git/config", "git config core.pager x", "git config --global alias.x '!y'",
     "git -C src config --local core.hooksPath x", "foo --out=.git/hooks/x", "foo ~/.bashrc", "git config -f .git/config a.b c",
     "sqlite3 x '.output .git/hooks/x'", "python -c \"open('.git/config','w')\""],
)  # fmt: skip
def test_what_may_write_a_guarded_file_is_asked_about_in_bypass(line: str) -> None:
    assert verdict(line) == "ask"


@pytest.mark.parametrize(
    "line",
    ["python -c 'import os; print(os.environ)'", "node -p process.env.CI", "python -c 'print(d.key)'", "node -e 'a.b.pem'",
     "python -c \"print('a.b')\"", "git config user.name x", "git config --get core.pager", "git config core.pager", "git --git-dir=.git push", "python -c 'from x import y; y().env'"],
)  # fmt: skip
def test_an_attribute_in_code_is_no_file(line: str) -> None:
    assert verdict(line) == "allow"


HOST = lines("""
https_proxy=http://evil.example curl https://good.org
ALL_PROXY=evil.example curl https://good.org
wget -e http_proxy=evil.example https://good.org
git -c http.proxy=evil.example fetch https://good.org/x
GIT_SSH_COMMAND='ssh -J evil.example' git fetch ssh://good.org/x
curl -H 'Host: evil.example' https://good.org
python -c "import socket; socket.create_connection(('evil.example',80))"
perl -MIO::Socket -e 'IO::Socket::INET->new("evil.example:80")'
""")


@pytest.mark.parametrize("line", HOST)
def test_a_host_counts_wherever_it_stands_in_a_text(line: str) -> None:
    assert verdict(line, "deny connect evil.example") == "deny"
    assert verdict(line, "deny connect other.example") == "allow"


def test_names_with_dots_are_no_hosts_where_a_rule_means_all() -> None:
    assert verdict("python -c 'print(os.path)'", "deny connect *") == "allow"
    assert verdict("git commit -m 'see evil.example'", "deny connect evil.example") == "allow"
