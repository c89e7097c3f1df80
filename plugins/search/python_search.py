"""Search without ripgrep: files are read through the environment and matched in a separate process.

Invariant: no regular expression runs in this process, because endless backtracking could not be stopped.
"""

import asyncio
import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tui_agent.plugin_api import (
    Environment,
    EnvironmentFault,
    FileInfo,
    compile_path_pattern,
    format_time_limit,
)

from .text_search import MAX_FILE_BYTES, MAX_SEARCH_S, Query, SearchResult, decode_text

BATCH_FILES = 64
BATCH_CHARS = 4_000_000
MAX_FILES = 100_000
PROGRAM = Path(__file__).with_name("regex_worker.py")
LENGTH = struct.Struct(">I")


class WorkerEnded(Exception):
    """Raised if the worker process was closed or failed."""


class Worker:
    """A process that matches texts against the regular expression `pattern`. The first `scan` starts the process.

    `limit`: maximum number of matching lines to report for each text.

    If another thread calls `close` during a `scan`, `scan` raises `WorkerEnded`.
    """

    def __init__(self, pattern: str, ignore_case: bool, limit: int) -> None:
        self._query = json.dumps({"pattern": pattern, "ignore_case": ignore_case, "limit": limit})
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def scan(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the first matching lines of each text, at most `limit` for each text.
        Raise `WorkerEnded` if the process was closed or failed.
        """
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        results: list[list[int]] = []
        try:
            for text in texts:
                data = text.encode("utf-8", "replace")
                process.stdin.write(LENGTH.pack(len(data)) + data)
                process.stdin.flush()
                answer = process.stdout.readline()
                if not answer:
                    raise WorkerEnded
                results.append(json.loads(answer))
        except (OSError, ValueError) as error:
            raise WorkerEnded from error
        return results

    def close(self) -> None:
        """Stop the worker process."""
        self._closed = True
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            # -I: no module of the workspace can take the place of one that the program imports.
            (sys.executable, "-I", "-S", str(PROGRAM), self._query),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._process = process
        # Another thread may have called `close` while the process started.
        if self._closed:
            self.close()
        return process


async def search(
    query: Query, env: Environment, may_read: Callable[[str], bool], seconds: float = MAX_SEARCH_S
) -> SearchResult:
    """Return the line numbers of the matches in files that `may_read` accepts. Stop after `seconds`."""
    result = SearchResult("own")
    deadline = time.monotonic() + seconds
    # One more than is shown, to know whether there are more.
    worker = Worker(query.pattern, query.ignore_case, query.max_results + 1)
    try:
        async with asyncio.timeout(seconds):
            await _search(query, env, may_read, worker, result)
    except (TimeoutError, WorkerEnded):
        result.incomplete = True
        reason = "the pattern takes too long" if time.monotonic() >= deadline else "the search process ended"
        result.notes.append(
            f"stopped after {format_time_limit(seconds)}, {reason}: some files were not searched"
        )
    finally:
        worker.close()
    return result


def _glob_filter(glob: str) -> Callable[[str], bool]:
    """Return a predicate for paths. A leading `!` inverts the glob, and an empty glob matches all."""
    if not glob.strip("!"):
        return lambda path: True
    matches = compile_path_pattern(glob.removeprefix("!"))
    return lambda path: matches(path) != glob.startswith("!")


async def _search(
    query: Query, env: Environment, may_read: Callable[[str], bool], worker: Worker, result: SearchResult
) -> None:
    matches = _glob_filter(query.glob)
    base = f"{query.path}/" if query.path and not query.single else ""
    batch: list[tuple[str, str]] = []
    files = 0
    if query.single:
        text = query.text
        if text is None:
            text = decode_text((await env.read(query.path)).data) or ""
        await _scan([(query.path, text)], worker, result)
        return
    async for item in env.walk(query.path):
        if item.kind != "file" or item.size > MAX_FILE_BYTES:
            continue
        if not (matches(item.path) or matches(item.path.removeprefix(base))) or not may_read(item.path):
            continue
        text = await _read_text(item, env)
        if text is None:
            continue
        files += 1
        batch.append((item.path, text))
        if len(batch) >= BATCH_FILES or sum(len(text) for _, text in batch) > BATCH_CHARS:
            await _scan(batch, worker, result)
            batch = []
            if sum(map(len, result.lines.values())) > query.max_results or files > MAX_FILES:
                result.incomplete = True
                return
    await _scan(batch, worker, result)


async def _read_text(item: FileInfo, env: Environment) -> str | None:
    try:
        content = await env.read(item.path, MAX_FILE_BYTES)
    except EnvironmentFault:
        return None
    # If the file was replaced by a link after the folder was listed, the link's target was never approved.
    return decode_text(content.data) if content.path == item.path else None


async def _scan(batch: Sequence[tuple[str, str]], worker: Worker, result: SearchResult) -> None:
    if not batch:
        return
    answers = await asyncio.to_thread(worker.scan, [text for _, text in batch])
    for (path, _), numbers in zip(batch, answers, strict=True):
        if numbers:
            result.lines[path] = numbers
