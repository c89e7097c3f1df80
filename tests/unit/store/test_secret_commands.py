"""Secrets on command lines that continue on the next line, or that hold blanks in quotes: as text, by lines, and as words."""

import shlex

import pytest

from tests.stubs.rows import rows
from tui_agent.cli.redact import explained_lines, redacted_lines
from tui_agent.store.redaction.redactor import Redactor

REDACTOR = Redactor()
SECRET = "S3cretPw77"
COMMANDS = [
    "mysql -u root -p@@ app",
    "docker login -u bob -p @@ r.example",
    "sshpass -p @@ ssh ada@h",
    "curl https://x -u bob:@@",
    "curl -sS --user bob:@@ https://x",
    "curl --user=bob:@@ https://x",
    "curl --proxy-user bob:@@ https://x",
    "curl -U bob:@@ -x proxy https://x",
    "wget --user bob --password @@ https://x",
    "wget --http-password=@@ https://x",
    "deploy --token @@ --force",
    "redis-cli -h cache -a @@",
    "htpasswd -cb .htpasswd ada @@",
    "openssl enc -k @@ -in a",
    "openssl rsa -passin pass:@@ -in a",
    "ldapsearch -x -w @@ -H h",
    "ssh-keygen -t ed25519 -N @@",
    "zip -r -P @@ a.zip x",
    "7z a -p@@ x.7z",
    "az login -u ada -p @@",
    "oc login https://h -u ada -p @@",
    "smbclient //h/s -U ada%@@",
    "keytool -list -storepass @@",
    "aws ssm put-parameter --name x --type SecureString --value @@",
    "aws ssm put-parameter --name x --value @@ --type SecureString",
    "kubectl create secret generic x --from-literal=pw=@@",
    "gh secret set NAME --body @@",
    "rabbitmqctl add_user ada @@",
    "nmcli dev wifi connect home password @@",
    "mc alias set s3 https://h ada @@",
    "sqlcmd -S h -U sa -P @@",
    "twine upload -u ada -p @@ dist/x",
    "security unlock-keychain -p @@ x",
    "wpa_passphrase home @@",
    "vault kv put secret/app password=@@",
    "tool -u ada -p @@",
    "env DB_PASSWORD=@@ ./run",
    "docker run -e POSTGRES_PASSWORD=@@ postgres",
    "git config user.password @@",
]
PIPES = [
    "echo @@ | docker login --password-stdin",
    "echo @@ | sudo -S ls",
    "docker login --password-stdin <<< @@",
    "kinit ada <<< @@",
]
CONTINUATIONS = {
    "indented": "\\\n    ",
    "not indented": "\\\n",
    "of windows": "\\\r\n  ",
    "twice": "\\\n \\\n  ",
    "in JSON": "\\\\\\n",
}
ONE_LINE_ONLY = ["psql postgres://bob:@@@h/db -c 'select 1'"]


@pytest.mark.slow
@rows("command", [*COMMANDS, *PIPES, *ONE_LINE_ONLY])
def test_a_secret_is_found_wherever_its_command_continues_on_the_next_line(command: str) -> None:
    words = command.split(" ")
    for continuation in CONTINUATIONS.values():
        for at in range(1, len(words)):
            text = f"{' '.join(words[:at])} {continuation}{' '.join(words[at:])}".replace("@@", SECRET)
            assert SECRET not in REDACTOR.redact_text(f"one\n{text}\ntwo"), text
            everywhere = f" {continuation}".join(words).replace("@@", SECRET)
            assert SECRET not in REDACTOR.redact_text(everywhere), everywhere


@rows("command", [*COMMANDS, *PIPES, *ONE_LINE_ONLY])
def test_lines_are_redacted_as_they_are_explained(command: str) -> None:
    lines = f"one\n{command}\ntwo\n".replace("@@", SECRET).replace(" ", " \\\n  ").splitlines(keepends=True)
    shown = list(redacted_lines(lines, REDACTOR))
    assert len(shown) == len(lines) and SECRET not in "".join(shown)
    assert (shown[0], shown[-1]) == ("one\n", "two\n")
    covered = [number for number, line in enumerate(shown, 1) if "[redacted: " in line]
    explained = [int(line.split(":")[0].removeprefix("line ")) for line in explained_lines(lines, REDACTOR)]
    assert explained == covered


@pytest.mark.parametrize("quote", ["'", '"', '\\"'])
@rows("command", [*COMMANDS, *PIPES])
def test_a_quoted_secret_with_blanks_is_covered_whole(command: str, quote: str) -> None:
    for secret in ("two words", "correct horse battery", "Sun fl0wer!"):
        text = command.replace("@@", f"{quote}{secret}{quote}")
        if ":@@" in command or "%@@" in command:  # the user is in the quotes, too
            before, _, login = command.partition("@@")[0].rpartition(" ")
            option, equals, login = login.rpartition("=")
            behind = command.partition("@@")[2]
            text = f"{before} {option}{equals}{quote}{login}{secret}{quote}{behind}"
        assert not set(secret.split()) & set(shlex.split(REDACTOR.redact_text(text).replace('\\"', '"'))), (
            text
        )
        assert REDACTOR.redact_text(text).count("[redacted: ") == 1, text


OTHER_QUOTES = [
    "curl -u bob:'two words' https://x",
    "curl -u 'bob':'two words' https://x",
    "curl -u $'bob:two words' https://x",
    "curl -u bob:two\\ words https://x",
    "mysql -u root -p$'two words' app",
    "mysql -u root -ptwo\\ words app",
    "sshpass -p two\\ words ssh h",
    "smbclient -U bob%'two words' //h/s",
    "docker run -e 'POSTGRES_PASSWORD=two words' postgres",
    'helm install x --set "db.password=two words"',
    "terraform apply -var='db_password=two words'",
    "ansible all -e 'ansible_become_pass=two words'",
    "deploy '--password=two words'",
]


@rows("command", OTHER_QUOTES)
def test_a_secret_with_blanks_is_covered_whole_in_every_way_to_quote_it(command: str) -> None:
    text = REDACTOR.redact_text(command)
    assert "two" not in text and "words" not in text


@rows("command", COMMANDS)
@pytest.mark.parametrize("secret", [SECRET, "two words", "it's two words", 'two "odd" words'])
def test_the_words_of_a_command_hide_a_secret_whole(command: str, secret: str) -> None:
    words = [word.replace("@@", secret) for word in command.split(" ")]
    clean = REDACTOR.words(words)
    assert clean == [
        word.replace("@@", clean[at][len(word.partition("@@")[0]) :])
        for at, word in enumerate(command.split(" "))
    ]
    (covered,) = [word for word in clean if "[redacted: " in word]
    assert covered.endswith("]")


def test_a_script_among_the_words_keeps_what_is_no_secret() -> None:
    script = f"PGPASSWORD={SECRET} psql -h db && mysql -u root \\\n  -p{SECRET} app"
    assert REDACTOR.words(["bash", "-lc", script]) == [
        "bash",
        "-lc",
        "PGPASSWORD=[redacted: secret] psql -h db && mysql -u root \\\n  -p[redacted: password] app",
    ]


LOOK_ALIKES = [
    "mysql -u root -p \\\n  app",
    "docker run \\\n  -p 8080:80 \\\n  --user node:node nginx",
    "docker login \\\n  -u ada \\\n  --password-stdin < pw.txt",
    'deploy --password "your password here"',
    'add_argument("--token", "the token that is sent")',
    'deploy --token "$TOKEN of $USER"',
    'curl -u "$NAME:$PW" \\\n  https://x',
    "#define TOKEN(a, b) \\\n  do { use(a); \\\n    use(b); } while (0)",
    "path = C:\\\nnext = D:\\\n",
    "sudo -u ada -p 'Password for %u: ' ls",
    "ssh -p 2222 ada@h \\\n  'ls -l'",
]


@rows("text", LOOK_ALIKES)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert REDACTOR.redact_text(text) == text
