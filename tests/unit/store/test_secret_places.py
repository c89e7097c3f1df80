"""Where secrets stand: issued keys bare and assigned, headers, addresses, commands, files; and what only looks like one."""

import base64
import json
import random
import string

from tests.stubs.rows import rows
from tui_agent.store.redaction.examples import example_text
from tui_agent.store.redaction.library import bundled_rules
from tui_agent.store.redaction.redactor import Redactor

MADE = random.Random(11)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
REDACTOR = Redactor()


def made(count: int, alphabet: str = ALNUM) -> str:
    """A value of a generator; made here, so that no line of this file looks like a key."""
    return "".join(MADE.choice(alphabet) for _ in range(count - 4)) + "7a" + alphabet[3] + "9"


PLACES = {
    "env": "DB_PASSWORD={}",
    "env short name": "PGPASSWORD={} psql -h db",
    "env half a name": "DB_PASS={}",
    "export": "export STRIPE_SECRET_KEY='{}'",
    "yaml": "  db_password: {}",
    "json": '{{"clientSecret": "{}"}}',
    "escaped json": '{{\\"api_key\\": \\"{}\\"}}',
    "python": "API_KEY = '{}'",
    "ruby": ":secret_key_base => '{}'",
    "toml": 'token = "{}"',
    "go": 'apiKey := "{}"',
    "properties": "spring.datasource.password={}",
    "connection string": "Server=db;User Id=ada;Password={};Encrypt=true",
    "azure storage": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core",
    "header": "curl -H 'X-Api-Key: {}' https://example.org",
    "auth header": "Authorization: Bearer {}",
    "token header": "Authorization: token {}",
    "gitlab header": "PRIVATE-TOKEN: {}",
    "cookie": "Cookie: theme=dark; session={}",
    "address": "https://example.org/api?user=ada&access_token={}&x=1",
    "signed address": "https://bucket.s3.amazonaws.com/a?X-Amz-Expires=60&X-Amz-Signature={}",
    "login in an address": "git clone https://ada:{}@github.example/ada/x.git",
    "redis": "redis://:{}@cache:6379/0",
    "curl user": "curl -u ada:{} https://example.org",
    "option": "deploy --token {} --force",
    "option by equals": "deploy --password={}",
    "mysql": "mysql -u root -p{} app",
    "sshpass": "sshpass -p {} ssh ada@host",
    "netrc": "machine api.example.org login ada password {}",
    "npmrc": "//registry.example.org/:_authToken={}",
    "sql": "CREATE USER ada WITH PASSWORD '{}';",
    "sql grant": "GRANT ALL ON x TO ada IDENTIFIED BY '{}';",
    "django": "SECRET_KEY = 'django-insecure-{}'",
    "laravel": "APP_KEY=base64:{}=",
    "terraform": 'admin_password = "{}"',
    "docker": "docker login -u ada --password {}",
    "weak name": "session_id: {}",
    "weak name quoted": '"hmac": "{}"',
    "java": 'String password = "{}";',
    "xml": '<add key="Password" value="{}" /> password="{}"',
    "log line": "2026-11-02 ERROR auth failed for token={} (401)",
}


@rows("place", PLACES)
def test_a_generated_value_is_found_wherever_secrets_stand(place: str) -> None:
    value = made(26)
    redacted = REDACTOR.redact_text(f"one\n{PLACES[place].format(value, value)}\ntwo")
    assert value not in redacted
    assert "[redacted: " in redacted
    assert redacted.startswith("one\n")
    assert redacted.endswith("\ntwo")


ISSUED = {
    rule.id: [example_text(text.split("[[")[1].split("]]")[0], rule.id) for text in rule.examples]
    for rule in bundled_rules(with_examples=True)
    if "{{edge}}(?P<secret>" in rule.pattern[:20]
}


@rows("name", ISSUED)
def test_an_issued_key_is_found_bare_in_prose_and_in_json(name: str) -> None:
    for value in ISSUED[name]:
        for text in (f"we used {value} for it", f'{{"note": "{value}"}}', f"({value})", value):
            assert value not in REDACTOR.redact_text(text), text
            assert REDACTOR.suspects(text.encode())
        for before in ("one\n", "\t", "\x1b[32m", "\x1b[0;1m", "é", "\x1b"):
            assert value not in REDACTOR.redact_text(before + value)
            assert REDACTOR.suspects(json.dumps({"text": before + value}, ensure_ascii=False).encode())


OTHERS = {
    "1password": f"A3-{made(6, 'ABCDEF01')}".upper() + "-ABCDE1-XYZ12-ABC12-XYZ34-QWE12",
    "azure": f"aB18Q~{made(32)}",
    "mailchimp": f"{made(32, HEX)}-us12",
    "telegram": f"123456789:AA{made(33)}",
    "google": f"AI{'za'}{made(35)}",
    "sendgrid": f"SG.{made(22)}.{made(43)}",
    "jwt": f"ey{'J'}{made(30)}.ey{'J'}{made(60)}.{made(43)}",
    "basic": "Basic " + base64.b64encode(b"ada:Tr0ub4dor and 3").decode(),
    "bcrypt": f"$2b$12${made(53)}",
    "shadow": f"root:$6${made(16)}${made(86)}:19000:0:99999:7:::",
    "teams": f"https://x.webhook.office.com/webhookb2/{made(36)}",
    "docker auth": '{"auths": {"r.example": {"auth": "'
    + base64.b64encode(b"ada:Tr0ub4dor3").decode()
    + '"}}}',
    "kubeconfig": f"    client-key-data: {made(80)}",
    "kubernetes": f"kind: Secret\nmetadata:\n  name: x\ndata:\n  a: {made(24)}\n  b: {made(24)}\n",
    "letters only": f"h{'f_'}{made(30, string.ascii_letters)}".replace("7a", "Qa").replace("9", "x"),
    "putty": f"Private-Lines: 2\n{made(64)}\n{made(64)}\n",
    "openssh": "-----BEGIN OPENSSH " + f"PRIVATE KEY-----\n{made(70)}\n-----END OPENSSH PRIVATE KEY-----",
    "firebase": f"{made(11)}:APA91b{made(134)}",
    "azure devops": f"{made(76)}AZDO{made(4)}",
    "rapidapi": f"{made(10, HEX)}msh{made(15, HEX)}p1{made(5, HEX)}jsn{made(12, HEX)}",
    "asana": f"2/1234567890123456/1234567890123456:{made(32, HEX)}",
    "authress": f"sc_abcde.ab12.acc-{made(12, HEX)}.{made(40)}",
    "yandex": f"t1.{made(60)}.{made(86)}",
    "json web key": f'{{"kty":"EC","crv":"P-256","d":"{made(43)}"}}',
    "half a key": "-----BEGIN " + f"PRIVATE KEY-----\n{made(64)}\n{made(64)}",
}


@rows("name", OTHERS)
def test_other_shapes_are_found(name: str) -> None:
    redacted = REDACTOR.redact_text(f"x {OTHERS[name]} y")
    assert "[redacted: " in redacted
    assert OTHERS[name][-24:] not in redacted


INNOCENT = [
    f"commit {made(40, HEX)}",
    f"Merge {made(7, HEX)}..{made(7, HEX)}",
    f"sha256:{made(64, HEX)}",
    f'checksum = "{made(64, HEX)}"',
    f'"integrity": "sha512-{made(86)}=="',
    f"golang.org/x/net v0.17.0 h1:{made(43)}=",
    f"    --hash=sha256:{made(64, HEX)} \\",
    f'{{file = "a.whl", hash = "sha256:{made(64, HEX)}"}}',
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "session_id: 550e8400-e29b-41d4-a716-446655440000",
    "key: 550e8400-e29b-41d4-a716-446655440000",
    f'etag: "{made(32, HEX)}"',
    f"cache_key = {made(40, HEX)}",
    f"data:image/png;base64,{made(200)}",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{made(43)} ada@host",
    f"-----BEGIN CERTIFICATE-----\n{made(64)}\n-----END CERTIFICATE-----",
    f"-----BEGIN PUBLIC KEY-----\n{made(64)}\n-----END PUBLIC KEY-----",
    "AKIAIOSFODNN7EXAMPLE",
    "max_tokens = 4096",
    "prompt_tokens: 12345, completion_tokens: 678",
    'tokenizer = "cl100k_base"',
    "token_type = bearer",
    "password = getpass.getpass()",
    "password: str | None = None",
    "secret = settings.SECRET_KEY",
    "secret_name: my-app-secrets",
    'passwordField = "passwordInput"',
    'getByLabel("Password")',
    "const token = await fetchToken(user.id)",
    "token = tokens[index]",
    "api_key = ${{ secrets.API_KEY }}",
    "API_KEY=<your key>",
    "PASSWORD=changeme",
    "PASS=12tests FAIL=0",
    "FIRST_PASS=enabled",
    "password=********",
    "primary_key = users_pkey1_2024_index",
    "public_key = MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1234",
    "sort_key: created_at_2024_desc_index_v2",
    "keyboard: qwerty-us-intl-2024-v1",
    "https://example.org/users/ada/repos?page=2&per_page=100",
    "https://example.org:8443/a/b",
    "postgres://localhost:5432/app",
    "git@github.com:ada/timesheet.git",
    "docker run -p 8080:80 nginx",
    "mkdir -p src/app/components2",
    "ssh -p 2222 ada@host",
    "curl -u https://example.org",
    "sk-learn and risk-free trees of the task-list",
    "npm_config_cache=/home/ada/.npm",
    "hf_hub_download(repo_id='a/b')",
    "the pulse of pul-ling and dapi-er words",
    "basic authentication is described below",
    "Basic knowledge of HTTP",
    "machine learning with login and password forms",
    "X-Request-Id: 7f3d2c1a9b8e",
    "Cookie: theme=dark; lang=en",
    "test_password_is_hashed_with_bcrypt_2024",
    "def test_token_expires_after_24_hours():",
    "kind: Service\nmetadata:\n  name: secret-service\n",
    "kind: SecretStore\nspec:\n  provider: vault\n",
    'auth: "none"',
    "author: Ada Lovelace <ada@example.org>",
    "signature: def f(a: int, b: str) -> dict[str, int]",
    "seed = 1234567890123456789012",
    f"blob {made(40, HEX)} src/main.py",
    f'"resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz#{made(40, HEX)}"',
    f"image: nginx@sha256:{made(64, HEX)}",
    f"trace_id={made(32, HEX)} span_id={made(16, HEX)}",
    "version 1.2.3-beta.4+build.20240501",
    "nonce: 0",
    "$1 $2 $3 are the arguments",
    "cost: $6 and $5",
    "token: [redacted: github token]",
    "secrets: inherit",
    "key: value",
    "passwords must have 12 characters or more",
    "the connection string: see below",
    "dsn: sqlite:///var/lib/app/data.sqlite3",
]


@rows("text", INNOCENT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert REDACTOR.redact_text(text) == text
