"""Commands of every day that only tell something are allowed; those beside them that do more are asked about, in their class."""

import pytest

from tests.unit.policy.judging import classes, verdict


@pytest.mark.parametrize(
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
        "pnpm -v",
        "yarn -v && yarn why react",
        "rustc -vV && rustc --print sysroot",
        "gcc -dumpversion",
        "ssh -V",
        "npm run",
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
    ],
)
def test_what_only_tells_something_is_allowed(script: str) -> None:
    assert classes(script) == ("read-only",)
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    ("script", "name"),
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
    ],
)
def test_what_does_more_is_asked_about_in_its_class(script: str, name: str) -> None:
    assert classes(script)[-1] == name
    assert verdict(script) != "allow"
