"""The app in two real browsers on one session, and the same session by HTTP."""

import http.client
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_headless_runs import events
from tests.stubs.browser import Page, browser
from tests.stubs.browser import program as browser_program
from tests.stubs.left_out import only_where

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SCRIPT = """
answers:
  - text: Hello.
  - calls: [{edit_file: {path: note1.txt, old_string: note 1, new_string: NOTE 1}}]
  - text: Changed.
"""
PATIENCE_S = 30.0


class Server:
    """A running server, and what its address says."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.process = process
        self.address = process.stdout.readline().split()[-1]
        parts = urlsplit(self.address)
        self.place = parts.netloc
        self._headers = {"Authorization": f"Bearer {parse_qs(parts.query)['token'][0]}"}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request, and its answer."""
        headers = {**self._headers, "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(self.place, timeout=PATIENCE_S)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            return json.loads(answer.read())

    @contextmanager
    def events(self, session: str, after: int) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
        """The events of a session as they come."""
        headers = {**self._headers, "Last-Event-ID": str(after)}
        with closing(http.client.HTTPConnection(self.place, timeout=PATIENCE_S)) as connection:
            connection.request("GET", f"/api/events/{session}", headers=headers)
            with connection.getresponse() as answer:
                assert answer.status == 200
                yield read_events(answer)


def read_events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    while line := answer.readline().decode():
        field, _, value = line.strip().partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def until(stream: Iterator[tuple[str, dict[str, Any]]], name: str) -> list[tuple[str, dict[str, Any]]]:
    """The events up to the next one of this name."""
    found: list[tuple[str, dict[str, Any]]] = []
    for event in stream:
        found.append(event)
        if event[0] == name:
            break
    return found


def show(page: Page, address: str) -> str:
    """Open the app in a browser, wait until it has drawn, and return the session's id."""
    page.visit(address)
    deadline = time.monotonic() + PATIENCE_S
    while not page.run("document.body.classList.contains('-first-byte')"):
        assert time.monotonic() < deadline
    return str(page.run("location.pathname")).removeprefix("/s/")


def approve(page: Page, file: Path) -> None:
    """Select and give the answer yes. The arrow key leaves a message that began with a `y` before the approval."""
    before, deadline = file.read_text(), time.monotonic() + PATIENCE_S
    while file.read_text() == before:
        assert time.monotonic() < deadline
        page.key("ArrowDown")
        page.key("y")
        page.run("new Promise((done) => setTimeout(done, 1500))")


@only_where(browser_program() is not None, "no Chromium")
def test_two_browsers_and_a_program_work_on_one_session(program: Program, tmp_path: Path) -> None:
    (program.home / "script.yaml").write_text(SCRIPT)
    model = ("-m", f"scripted:{program.home / 'script.yaml'}")
    with program.start("serve", "--port", "0", *model) as process:
        server = Server(process)
        with browser(tmp_path / "one") as one, browser(tmp_path / "two") as two:
            session = show(one, server.address)
            one.type("hello")
            with server.events(session, 0) as stream:
                assert ("text", "Hello.") in [
                    (name, data.get("content")) for name, data in until(stream, "done")
                ]
                assert show(two, server.address) == session
                two.type("change it")
                assert until(stream, "permission_request")[-1][1]["summary"] == "edit note1.txt"
                approve(one, program.workspace / "note1.txt")
                assert until(stream, "done")[-1][1]["reason"] == "finished"
            assert (program.workspace / "note1.txt").read_text() == "NOTE 1\n"
            first = server.ask("GET", f"/api/checkpoints/{session}")["checkpoints"][0]["checkpointId"]
            fork = server.ask("POST", "/api/fork", {"sessionId": session, "checkpointId": first})
            server.ask("POST", "/api/revert", {"sessionId": session, "checkpointId": first})
            assert (program.workspace / "note1.txt").read_text() == "note 1\n"
            for page in (one, two):
                foreign = [url for url in page.requests if urlsplit(url).netloc not in ("", server.place)]
                assert not foreign and not [text for text in page.troubles if "WebGL" not in text]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    recorded = [event["payload"] for event in events(show_log(program, session))]
    assert [event["client"] for event in recorded if event["kind"] == "run.started"] == ["web"]
    assert recorded[-1]["kind"] == "run.finished"
    assert events(show_log(program, fork["sessionId"]))


def show_log(program: Program, session: str) -> str:
    return program.run_in_process("sessions", "show", session, "--json").stdout
