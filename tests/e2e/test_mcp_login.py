"""Logins to MCP servers: the real program, a real authorization server, and a browser that follows redirects."""

import json
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import PATIENCE, Terminal

pytestmark = pytest.mark.e2e

STUB = Path(__file__).parents[1] / "stubs" / "mcp_oauth_server.py"
BROWSER = """
import sys, urllib.error, urllib.request
from pathlib import Path
Path(__file__).with_name("opened").write_text(sys.argv[1])
try:
    urllib.request.urlopen(sys.argv[1]).read()
except urllib.error.HTTPError as error:
    print(error, file=sys.stderr)
"""


@contextmanager
def serving(program: Program, mode: str) -> Iterator[str]:
    """Serve the stub in a mode, configured as `locked`. Yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = program.home / ".config" / "tui-agent"
    folder.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}/mcp"
    (folder / "config.toml").write_text(f"[mcp.locked]\nurl = '{url}'\n")
    words = [sys.executable, str(STUB), str(port), mode]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if b"Uvicorn running" in line:
                    break
            yield url
        finally:
            server.kill()


def run(program: Program, *words: str, browser: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run the program with a browser that follows every redirect at once, or with one that never comes back."""
    script = program.home / "browser.py"
    script.write_text(BROWSER if browser else "")
    environment = {**program.environment, "BROWSER": f"{sys.executable} {script} %s"}
    return subprocess.run(
        program.line(*words),
        env=environment,
        cwd=program.workspace,
        capture_output=True,
        text=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def saved(program: Program) -> Path:
    return program.home / ".config" / "tui-agent" / "mcp_logins" / "locked_credentials.json"


def change(program: Program, **fields: Any) -> dict[str, Any]:
    """Change the saved login, and return it as it was."""
    login: dict[str, Any] = json.loads(saved(program).read_text())
    tokens = {**login["tokens"], **{name: value for name, value in fields.items() if name in login["tokens"]}}
    rest = {name: value for name, value in fields.items() if name not in tokens}
    saved(program).write_text(json.dumps({**login, **rest, "tokens": tokens}))
    return login


def check(program: Program) -> str:
    """Return `ok`, or why the server does not work."""
    done = run(program, "mcp", "check", "locked", "--json")
    answer: dict[str, Any] = json.loads(done.stdout)
    return str(answer["fault"]) or "ok"


NEEDED = "needs login: tui-agent mcp login locked"


def state(program: Program) -> str:
    """Return the state of the only server."""
    (listed,) = run(program, "mcp", "list", "--json").stdout.splitlines()
    return str(json.loads(listed)["state"])


def test_a_login_is_saved_privately_refreshed_and_deleted(program: Program) -> None:
    with serving(program, "good"):
        assert check(program) == NEEDED
        end = time.monotonic() + PATIENCE
        while state(program) != "needs login":  # a server that is too slow to answer is listed without it
            assert time.monotonic() < end
        assert not (program.home / "opened").exists()
        done = run(program, "mcp", "login", "locked")
        assert "Logged in to locked. Its tools: 1." in done.stdout, done.stderr
        assert (program.home / "opened").read_text() in done.stdout
        assert stat.S_IMODE(saved(program).stat().st_mode) == 0o600 and check(program) == "ok"
        first = change(program, expires_at=1)  # a token that has expired
        assert check(program) == "ok"
        second = change(program, access_token="refused-before-its-time")
        assert first["tokens"]["refresh_token"] != second["tokens"]["refresh_token"]
        assert check(program) == "ok"
        change(program, access_token="refused", refresh_token="refused")
        assert check(program) == NEEDED
        saved(program).chmod(0o644)
        assert check(program).startswith("Other users can read")
        assert run(program, "mcp", "logout", "locked").returncode == 0 and not saved(program).exists()
        assert run(program, "mcp", "logout", "locked").returncode == 1


def test_a_login_holds_only_for_its_address(program: Program) -> None:
    with serving(program, "good"):
        assert run(program, "mcp", "login", "locked").returncode == 0
    with serving(program, "good"):
        assert check(program) == NEEDED


@pytest.mark.parametrize(
    ("mode", "browser", "told"),
    [
        ("denies", True, "The login was declined: access_denied."),
        ("wrong-state", True, "The browser's answer does not belong to this login. Nothing was saved."),
        ("foreign", True, "The server's login uses an address that is not https: http://login.example.org/"),
        ("no-pkce", True, "The authorization server does not support PKCE with S256."),
        ("good", False, "The login was not finished within 3 s."),
    ],
)
def test_a_login_that_must_fail_says_why_and_saves_nothing(
    program: Program, mode: str, browser: bool, told: str
) -> None:
    with serving(program, mode):
        limit = () if browser else ("--timeout-seconds", "3")
        done = run(program, "mcp", "login", "locked", *limit, browser=browser)
        assert done.returncode == 2 and told in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and not saved(program).exists()


class RedirectReader(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the address of the last page is known."""

    def redirect_request(self, *request: Any) -> None:
        return None


def last_page(url: str) -> str:
    """Let the authorization server log the user in, and return the address to which it sends the browser."""
    try:
        urllib.request.build_opener(RedirectReader).open(url)
    except urllib.error.HTTPError as redirect:
        with redirect:
            return str(redirect.headers["Location"])
    raise AssertionError("the authorization server sends the browser nowhere")


def test_wrong_addresses_and_codes_can_be_pasted_until_one_is_right(program: Program) -> None:
    script, opened = program.home / "browser.py", program.home / "opened"
    script.write_text(
        "import sys\nopen(sys.argv[2], 'w').write(sys.argv[1])\nprint('A browser was opened.')\n"
    )
    environment = {**program.environment, "BROWSER": f"{sys.executable} {script} %s {opened}"}
    with (
        serving(program, "good"),
        Terminal(
            program.line("mcp", "login", "locked"),
            size=(200, 50),
            cwd=program.workspace,
            environment=environment,
        ) as terminal,
    ):
        terminal.until_text("A browser was opened.")
        address = last_page(opened.read_text())
        for pasted, told in (
            ("http://[::1/callback?code=a", "This is not the address of the browser's last page;"),
            (
                address.replace("state=", "state=x"),
                "The browser's answer does not belong to this login.",
            ),
            (
                address.replace("code=", "code=x"),
                "The server refused the code: authorization code does not exist.",
            ),
        ):
            terminal.send(f"{pasted}\n")
            terminal.until_text(told)
        assert terminal.text.count("Try again: paste the address of the last page of this login.") == 3
        terminal.send(f"{address}\n")
        terminal.until_text("Logged in to locked. Its tools: 1.")
        assert terminal.until_end() == 0 and saved(program).exists()


def test_a_run_says_once_that_a_login_is_needed_and_goes_on_and_no_token_is_recorded(
    program: Program,
) -> None:
    (program.workspace / "script.yaml").write_text(
        "answers:\n  - calls: [{run_command: {command: 'cat shown.txt'}}]\n  - text: Done.\n"
    )
    words = ("run", "go", "--json", "--model", "scripted:script.yaml", "--policy", "bypass")
    with serving(program, "good"):
        done = run(program, *words)
        assert done.returncode == 0
        assert done.stderr.count(f"The MCP server locked {NEEDED}.") == 1
        assert run(program, "mcp", "login", "locked").returncode == 0
        change(program, expires_at=1)
        tokens = change(program)["tokens"]
        (program.workspace / "shown.txt").write_text(f"{tokens['access_token']} {tokens['refresh_token']}\n")
        done = run(program, *words)
    assert "[redacted: access_token of MCP server locked]" in done.stdout
    assert "mcp_locked_add" in done.stdout
    secrets = [*tokens.values(), *json.loads(saved(program).read_text())["tokens"].values()]
    for secret in [value for value in secrets if isinstance(value, str) and len(value) > 20]:
        assert secret not in done.stdout + done.stderr
        for path in program.data.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path
