"""Ways to name a file outside the workspace, and the two folders that they are tried on.

`Ground` makes a workspace full of links beside a folder that no file tool may touch; `TRICKS` are names for it, each a
function of the ground. Whatever a tool is given, `Ground` says what came out.
"""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CANARY = "canary-7f3a-outside"
NAME = "canary-name"
LINKS: dict[str, str] = {
    "link": "../outside/secret.txt",
    "abs": "{outside}/secret.txt",
    "folder": "../outside",
    "absfolder": "{outside}",
    "up": "..",
    "upup": "../..",
    "top": "/",
    "self": ".",
    "dot": "./folder",
    "chain": "link",
    "chain2": "chain",
    "mixed": "in/back/../../../outside/secret.txt",
    "through": "folder/secret.txt",
    "long": "./././././././../root/../root/../outside/secret.txt",
    "dangling": "../outside/new.txt",
    "dangling2": "dangling",
    "loop": "loop",
    "ring": "ring2",
    "ring2": "ring",
    "proc": "/proc/self/root",
    "procfile": "/proc/self/root{outside}/secret.txt",
    "cwd": "/proc/self/cwd/../outside",
    "environ": "/proc/self/environ",
    "zero": "/dev/zero",
    "tty": "/dev/tty",
    "null": "/dev/null",
    "kmsg": "/proc/kmsg",
    "etc": "/etc",
    "passwd": "/etc/passwd",
    "in/back": "..",
    "in/out": "../../outside",
    "in/deep/out": "../../../outside/secret.txt",
    "déjà": "../outside",
    "de\u0301ja\u0300": "../outside/secret.txt",
    "LINK": "../outside/secret.txt",
    "name with blank": "../outside",
    "new\nline": "../outside/secret.txt",
    "-dash": "../outside/secret.txt",
    "*": "../outside/secret.txt",
    "[x]": "../outside",
    "{a,b}": "../outside",
    "trailing.": "../outside",
    "trailing ": "../outside/secret.txt",
    "~": "{outside}",
    "$HOME": "{outside}",
    ".hidden": "../outside",
    "%2e%2e": "../outside",
    "..\\outside": "../outside",
    "...": "../outside",
    "\udcc0\udcae": "../outside",
    "x" * 255: "../outside",
}


class Ground:
    """A workspace with every kind of link, and the folder outside."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.outside = folder / "outside"
        for made in (self.root / "in" / "deep", self.root / "Case", self.outside / "sub"):
            made.mkdir(parents=True)
        (self.outside / "secret.txt").write_text(f"{CANARY}\n")
        (self.outside / NAME).write_text(f"{CANARY}\n")
        (self.outside / "sub" / "deep.txt").write_text(f"{CANARY}\n")
        (folder / "root-beside").mkdir()
        (folder / "root-beside" / "secret.txt").write_text(f"{CANARY}\n")
        (self.root / "plain.txt").write_text("inside\n")
        (self.root / "in" / "plain.txt").write_text("inside\n")
        (self.root / "Case" / "plain.txt").write_text("inside\n")
        for name, target in LINKS.items():
            (self.root / name).symlink_to(target.format(outside=self.outside))
        previous = "link"
        for number in range(60):
            (self.root / f"hop{number}").symlink_to(previous)
            previous = f"hop{number}"
        os.mkfifo(self.root / "pipe")
        os.mkfifo(self.outside / "pipe")
        with _at(self.root):
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind("socket")
        self.held = os.open(self.outside, os.O_RDONLY)
        self.file = os.open(self.outside / "secret.txt", os.O_RDONLY)
        self.before = self._seen()

    def close(self) -> None:
        self.listener.close()
        os.close(self.held)
        os.close(self.file)

    def told(self, said: str) -> str:
        """What of the outside is in an answer; empty where nothing is."""
        return next((mark for mark in (CANARY, NAME, "root:x:0:0", "deep.txt") if mark in said), "")

    def changed(self) -> bool:
        """Whether anything outside is no longer as it was."""
        return self._seen() != self.before

    def _seen(self) -> str:
        seen = hashlib.sha256()
        for folder in (self.outside, self.outside.parent / "root-beside"):
            for path in sorted(folder.rglob("*")):
                found = path.lstat()
                seen.update(f"{path}|{found.st_mode}|{found.st_ino}|{found.st_mtime_ns}".encode())
                if path.is_file():
                    seen.update(path.read_bytes())
        return seen.hexdigest()


@contextmanager
def _at(folder: Path) -> Iterator[None]:
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


Trick = Callable[[Ground], str]


def _routes() -> dict[str, Trick]:
    """Ways to the folder outside; what is in it follows behind a slash."""
    up = {
        "..": "../outside",
        "./..": "./../outside",
        "././..": "./././../outside",
        "in/../..": "in/../../outside",
        "missing/../..": "missing/../../outside",
        "in/deep/../../..": "in/deep/../../../outside",
        "..//": "..//outside",
        ".././": ".././outside",
        "../root/..": "../root/../outside",
        "plain.txt/../..": "plain.txt/../../outside",
        "many": "../" * 60 + "{outside}",
        "many slashes": "..//////////outside",
        "in/back/..": "in/back/../outside",
    }
    routes: dict[str, Trick] = {name: _fixed(path) for name, path in up.items()}
    for name, target in LINKS.items():
        if target in ("../outside", "{outside}", "./folder", "../../outside"):
            routes[f"link {name[:12]!r}"] = _fixed(name)
    for name in ("up", "in/back/..", "self/..", "self/self/self/.."):
        routes[f"by {name}"] = _fixed(f"{name}/outside")
    for name in ("top", "proc", "/proc/self/root", "/proc/thread-self/root", "upup/../../../../../.."):
        routes[f"from {name}"] = lambda ground, name=name: f"{name}{ground.outside}"  # type: ignore[misc]
    routes["absolute"] = lambda ground: str(ground.outside)
    routes["two slashes"] = lambda ground: f"/{ground.outside}"
    routes["three slashes"] = lambda ground: f"//{ground.outside}"
    routes["absolute, up"] = lambda ground: f"{ground.root}/../outside"
    routes["absolute, link"] = lambda ground: f"{ground.root}/folder"
    routes["absolute, root of a process"] = lambda ground: f"/proc/{os.getpid()}/root{ground.outside}"
    routes["held folder"] = lambda ground: f"/proc/self/fd/{ground.held}"
    routes["held folder of a process"] = lambda ground: f"/proc/{os.getpid()}/fd/{ground.held}"
    routes["held folder, short"] = lambda ground: f"/dev/fd/{ground.held}"
    routes["beside"] = lambda ground: "../root-beside"
    routes["beside, absolute"] = lambda ground: f"{ground.root}-beside"
    return routes


def _fixed(path: str) -> Trick:
    return lambda ground: path.format(outside=str(ground.outside).lstrip("/")) if "{out" in path else path


ENDS = (
    "/secret.txt",
    "",
    "/",
    "/.",
    "/sub/../secret.txt",
    "//secret.txt",
    "/new.txt",
    "/sub/new/x.txt",
    "/pipe",
)
"""What is looked for at the end of a route: a file, the folder itself, a new file, a pipe."""
ALONE: dict[str, Trick] = {
    **{
        name: _fixed(name)
        for name, target in LINKS.items()
        if target not in ("../outside", "{outside}", "./folder", "../../outside", ".", "..")
    },
    "last hop": _fixed("hop59"),
    "tenth hop": _fixed("hop10"),
    "held file": lambda ground: f"/proc/self/fd/{ground.file}",
    "held file, short": lambda ground: f"/dev/fd/{ground.file}",
    **{
        path[:40]: _fixed(path)
        for path in (
            "/", "//", "..", "../", "../..", "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd", "/dev/zero", "/dev/stdin",
            "/dev/fd/0", "/proc/self/environ", "/proc/self/mem", "/proc/self/maps", "/proc/1/environ", "/proc/kcore", "/proc/kmsg",
            "/sys/kernel/notes", "/proc/self/root/etc/passwd", "pipe", "socket", "zero", "loop/x", "ring/x/y", "\0", "a\0b",
            "../outside/secret.txt\0", "plain.txt\0/../../outside/secret.txt", "x" * 256, "x" * 4096, "y/" * 3000 + "z", "\ud800",
            "\udfff/../../outside/secret.txt", "in/\ud83d", "..\\outside\\secret.txt", "..%2foutside%2fsecret.txt",
            "%2e%2e/outside/secret.txt/..", "\uff0e\uff0e/outside/secret.txt", "\u2025/outside/secret.txt", "..\u2215outside",
            "file:///etc/passwd", "file://../outside/secret.txt", "~root/.bashrc", "~/../etc/passwd", "$HOME/../outside", "${{HOME}}",
            "`cat /etc/passwd`", "$(cat ../outside/secret.txt)", "| cat /etc/passwd", "; cat /etc/passwd", "-", "--help", "../outside/*",
            "../outside/secret.tx?", "..;/outside/secret.txt", ". ./outside/secret.txt", ".. /outside/secret.txt", "../outside/secret.txt ",
            "../outside/secret.txt.", "../outside/secret.txt/", "../outside/secret.txt/.", "../outside/secret.txt/..", "../OUTSIDE/SECRET.TXT",
            "CASE/plain.txt/../../../outside/secret.txt", "plain.txt/../../outside/secret.txt", "plain.txt/x", "\u202e../outside/secret.txt",
            "\ufeff../outside/secret.txt", "..\u200b/outside/secret.txt", "\r\n../outside/secret.txt", "\t../outside/secret.txt", "C:\\x",
            "\\\\host\\share", "//host/share", "/proc/self/cwd/../outside", "/proc/self/task/1/root/etc/passwd", "/dev/tty", "/dev/null",
            "/dev/full", "/dev/random", "/dev/mem",
        )
    },
}  # fmt: skip
TRICKS: dict[str, Trick] = {
    **{f"{name} {end}": (lambda ground, route=route, end=end: route(ground) + end) for name, route in _routes().items() for end in ENDS},  # type: ignore[misc]
    **{f"alone: {name!a}": trick for name, trick in ALONE.items()},
}  # fmt: skip
