"""Searching without ripgrep: files through the environment, the expression in a process of its own.

Invariant: an expression never runs in this process, because one that backtracks without end could not be stopped here.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from tui_agent.plugin_api import Environment, EnvironmentFault, FileInfo, path_pattern

from .places import MAX_FILE, MAX_SECONDS, Found, Query, text_of
from .worker import Worker, WorkerEnded

BATCH_FILES = 64
BATCH_CHARS = 4_000_000
MAX_FILES = 100_000


async def search(
    query: Query, env: Environment, may_read: Callable[[str], bool], seconds: float = MAX_SECONDS
) -> Found:
    """The places, in files that may be read, up to the limits of size, number and time."""
    found = Found("own")
    until = time.monotonic() + seconds
    worker = Worker(query.pattern, query.ignore_case, query.max_results + 1)
    try:
        async with asyncio.timeout(seconds):
            await _search(query, env, may_read, worker, found)
    except (TimeoutError, WorkerEnded):
        found.more = True
        why = "the pattern takes too long" if time.monotonic() >= until else "the search process ended"
        found.notes.append(f"stopped after {seconds:g} s, {why}: not everything was searched")
    finally:
        worker.close()
    return found


def _filter(glob: str) -> Callable[[str], bool]:
    """A predicate of paths; an empty filter lets all through, `!` in front turns it round."""
    if not glob.strip("!"):
        return lambda path: True
    fits = path_pattern(glob.removeprefix("!"))
    return lambda path: fits(path) != glob.startswith("!")


async def _search(
    query: Query, env: Environment, may_read: Callable[[str], bool], worker: Worker, found: Found
) -> None:
    fits = _filter(query.glob)
    base = f"{query.path}/" if query.path and not query.single else ""
    batch: list[tuple[str, str]] = []
    files = 0
    if query.single:
        batch.append((query.path, text_of((await env.read(query.path)).data) or ""))
        await _scan(batch, worker, found)
        return
    async for item in env.walk(query.path):
        if not _wanted(item) or not (fits(item.path) or fits(item.path.removeprefix(base))):
            continue
        if not may_read(item.path):
            continue
        text = await _text(item, env)
        if text is None:
            continue
        files += 1
        batch.append((item.path, text))
        if len(batch) >= BATCH_FILES or sum(len(text) for _, text in batch) > BATCH_CHARS:
            await _scan(batch, worker, found)
            batch = []
            if sum(map(len, found.lines.values())) > query.max_results or files > MAX_FILES:
                found.more = True
                return
    await _scan(batch, worker, found)


def _wanted(item: FileInfo) -> bool:
    return item.kind == "file" and item.size <= MAX_FILE


async def _text(item: FileInfo, env: Environment) -> str | None:
    try:
        content = await env.read(item.path, MAX_FILE)
    except EnvironmentFault:
        return None
    # A link that was put there since the folder was listed leads to another file, which nothing was asked about.
    return text_of(content.data) if content.path == item.path else None


async def _scan(batch: Sequence[tuple[str, str]], worker: Worker, found: Found) -> None:
    if not batch:
        return
    answers = await asyncio.to_thread(worker.scan, [text for _, text in batch])
    for (path, _), numbers in zip(batch, answers, strict=True):
        if numbers:
            found.lines[path] = numbers
