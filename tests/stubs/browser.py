"""A headless Chromium, driven over its debugging pipe."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The browser that is installed, if any."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


CODES = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}
"""Of keys that the browser itself acts on."""


class Page:
    """One open page. `requests` are the addresses that it asked for, `troubles` what its console complained of."""

    def __init__(self, out: int, back: int) -> None:
        self._out, self._back = out, back
        self._number = 0
        self._left = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.troubles: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """One command, and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, found
                result: dict[str, Any] = found["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            piece = os.read(self._back, 1 << 20)
            assert piece, "the browser has gone"
            self._left += piece
        raw, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        match message:
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}:
                self.requests.append(url)
            case {"method": "Log.entryAdded", "params": {"entry": {"text": text}}}:
                self.troubles.append(text)
            case {"method": "Runtime.exceptionThrown" | "Page.javascriptDialogOpening", "params": params}:
                self.troubles.append(str(params))
            case _:
                pass
        return message

    def open(self, path: Path, *, width: int = 1440, height: int = 1000, scheme: str = "light") -> None:
        """Show a file, and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.visit(path.as_uri())

    def visit(self, url: str) -> None:
        """Go to an address, and wait until its page is loaded."""
        self.call("Page.navigate", url=url)
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def type(self, text: str) -> None:
        """Type a line."""
        for key in text:
            self.key(key)
        self.key("Enter")

    def run(self, script: str) -> Any:
        """The value of an expression, once the page has been painted after it."""
        painted = f"(async () => {{ const it = await ({script}); await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))); return it; }})()"
        found = self.call("Runtime.evaluate", expression=painted, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def key(self, key: str) -> None:
        """Press and release a key."""
        code = CODES.get(key, 0)
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code} if code else {"key": key}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def picture(self, path: Path) -> bytes:
        """What is on the screen as PNG, also written to a file."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data


@contextlib.contextmanager
def browser(home: Path) -> Iterator[Page]:
    """A page of a browser that is gone afterwards."""
    found = program()
    assert found is not None
    to_it, out = os.pipe()
    back, from_it = os.pipe()
    options = "--headless --no-sandbox --disable-gpu --hide-scrollbars --disable-dev-shm-usage --remote-debugging-pipe"
    started = f'exec 3<&{to_it} 4>&{from_it} && exec "$0" {options} --user-data-dir="$1"'
    running = subprocess.Popen(
        ["bash", "-c", started, found, str(home)],
        pass_fds=(to_it, from_it),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_it)
    os.close(from_it)
    try:
        yield Page(out, back)
    finally:
        os.close(out)
        os.close(back)
        running.terminate()
        running.wait(30)
