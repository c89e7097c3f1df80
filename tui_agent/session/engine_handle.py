"""Connects to a session's engine: a new engine process, or a server that runs the engine.

Invariant: this module imports only the standard library, the options and the errors.
"""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol, cast

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError

STDERR_TAIL_BYTES = 4000
SEND_TIMEOUT_S = 30.0


class EngineLink(Protocol):
    """A connection to an engine. The engine's lines are read from `output`, a pipe or socket."""

    @property
    def output(self) -> IO[bytes]: ...

    @property
    def pid(self) -> int:
        """The id of the engine's process; 0 if a server runs the engine."""
        ...

    def release(self) -> None:
        """Start the engine, if `connect_engine` was called with `hold`."""
        ...

    def send(self, line: bytes) -> bool:
        """Write one line to the engine. Return False if the engine has exited."""
        ...

    def stderr_tail(self) -> str:
        """Return the end of the engine's standard error."""
        ...

    def close(self, seconds: float) -> int | None:
        """Close the connection, and end the engine process if this connection started it. Block for up to `seconds`."""
        ...


def connect_engine(options: SessionOptions, *, hold: bool = False) -> EngineLink:
    """Start an engine process or, if `options.engine_socket` is set, connect to that server.

    If `hold` is True, the process starts only when `release` is called. Raise `TuiAgentError` if the server does not
    run.
    """
    if options.engine_socket is not None:
        return SocketLink.connect(options.engine_socket, options)
    return EngineHandle.start(options, hold=hold)


class SocketLink:
    """A connection to a server that runs the session's engine."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        # Unbuffered: the event loop watches the descriptor, and would not notice bytes that wait in a buffer.
        self.output: IO[bytes] = cast(IO[bytes], connection.makefile("rb", buffering=0))

    pid = 0

    @classmethod
    def connect(cls, path: Path, options: SessionOptions) -> "SocketLink":
        """Connect to the server's Unix socket, and send the options."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(SEND_TIMEOUT_S)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            raise TuiAgentError(
                "The server that ran this session has ended.", hint="Start tui-agent serve again."
            ) from error
        link = cls(connection)
        link.send(_first_line(options))
        return link

    def release(self) -> None:
        """Do nothing, because `connect` has already sent the options."""

    def send(self, line: bytes) -> bool:
        """Write one line to the server. Return False if the server has exited."""
        try:
            self._socket.sendall(line)
        except OSError:
            return False
        return True

    def stderr_tail(self) -> str:
        """Return an empty string, because only the server can read the engine's standard error."""
        return ""

    def close(self, seconds: float) -> None:
        """Close the connection."""
        self.output.close()
        self._socket.close()


class EngineHandle:
    """An engine process, with its pipes and the last part of its standard error."""

    def __init__(self, first_line: bytes, launch: "Callable[[IO[bytes]], subprocess.Popen[bytes]]") -> None:
        """Prepare an engine. `release` starts it.

        - `launch`: function that starts the process. Its argument is a file for standard error.
        - `first_line`: first line to send to the process.
        """
        self._first_line = first_line
        self._launch = launch
        self._child: subprocess.Popen[bytes] | None = None
        # A file, because a pipe that nobody reads would fill up and block the engine.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - needed as long as the process runs

    @classmethod
    def start(cls, options: SessionOptions, *, hold: bool = False) -> "EngineHandle":
        """Start the process and send it the options, without waiting.

        If `hold` is True, do this only when `release` is called.
        """
        handle = cls(_first_line(options), _launch)
        if not hold:
            handle.release()
        return handle

    @property
    def child(self) -> "subprocess.Popen[bytes]":
        """The process, which is started at the first use of this property."""
        self.release()
        assert self._child is not None
        return self._child

    @property
    def output(self) -> IO[bytes]:
        """The process's standard output."""
        assert self.child.stdout is not None
        return self.child.stdout

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.child.pid

    def release(self) -> None:
        """Start the process and send it the options, if this is not done yet."""
        if self._child is None:
            self._child = self._launch(self._errors)
            self.send(self._first_line)

    def send(self, line: bytes) -> bool:
        """Write one line to the engine. Return False if the engine has exited."""
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line)
            self.child.stdin.flush()
        except (BrokenPipeError, ValueError):  # the engine has exited, or `close` has closed the pipe
            return False
        return True

    def stderr_tail(self) -> str:
        """Return the end of the engine's standard error."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(0, size - STDERR_TAIL_BYTES))
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self, seconds: float) -> int | None:
        """Close the pipes, wait up to `seconds` for the process to end, then kill it.

        Return the exit status, or None if the process was killed.
        """
        if self._child is None:
            self._errors.close()
            return 0
        # At the end of its input, the engine closes the session and exits.
        if self.child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.child.stdin.close()
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            return None
        finally:
            if self.child.stdout is not None:
                self.child.stdout.close()
            self._errors.close()


def _launch(errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start an engine process."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tui_agent.engine_process"],  # -P: import nothing from the workspace
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # Ctrl+C in the terminal is for the client, which then stops the turn
    )


# The options are sent through a pipe, because they can contain API keys: every user of the machine can read the
# arguments of a process.
def _first_line(options: SessionOptions) -> bytes:
    return json.dumps({"options": options.to_json()}).encode() + b"\n"
