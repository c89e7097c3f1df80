"""Runs lines of bash inside a sandbox and prints for each what it did that a harmless one does not do.

It is started by its text, alone in an isolated Python, with files, stubs and lines as JSON on its standard input. `/tmp` is
the only place where anything can be written.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TOP = Path("/tmp")
WORK, OUTSIDE, MARKS = TOP / "w", TOP / "outside", TOP / "marks"
STUB = '#!/bin/bash\n: > "/tmp/marks/${0##*/}-$$-$RANDOM"\n'
END = "\x1eend of a call\x1e"
TOGETHER = 25
"""Lines that are run by one bash; only where they do anything is each run by itself."""
CANARIES = ("CANARY-INSIDE", "CANARY-OUTSIDE", "CANARY-ENVIRONMENT")
ENVIRONMENT = {
    "PATH": f"{TOP}/stubs:/usr/local/bin:/usr/bin:/bin",
    "HOME": f"{TOP}/home",
    "TOKEN": "CANARY-ENVIRONMENT",
    "LC_ALL": "C.UTF-8",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}
Stamp = tuple[int, int, int, int]


class Arena:
    """The folder that lines run in, and the notes about it."""

    def __init__(self, files: dict[str, str], seconds: float) -> None:
        self._files = files
        self._seconds = seconds
        self._secrets = [OUTSIDE / "key", *(WORK / name for name in files if "CANARY" in files[name])]
        self._before = self._build()

    def run(self, script: str) -> tuple[list[str], list[str]]:
        """Run a script; return its faults, and its outputs one a line."""
        process = subprocess.Popen(
            ["/bin/bash", "-c", script],
            cwd=WORK,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        faults: list[str] = []
        try:
            output = process.communicate(timeout=self._seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
            faults.append("it did not end")
        faults += self._find_faults(output)
        if faults:
            self._before = self._build()
        return faults, output.decode("utf-8", "replace").split(END)

    def _find_faults(self, output: bytes) -> list[str]:
        faults = [f"it ran {mark.name}" for mark in MARKS.iterdir()]
        after = _stamps()
        changed = sorted(
            path for path in {*self._before, *after} if self._before.get(path) != after.get(path)
        )
        faults += [f"it changed {path}" for path in changed[:5]]
        faults += [f"it read {path}" for path in self._secrets if path.exists() and path.stat().st_atime != 1]
        return faults + [f"it printed {canary}" for canary in CANARIES if canary.encode() in output]

    def _build(self) -> dict[str, Stamp]:
        for folder in (WORK, OUTSIDE, MARKS, TOP / "home"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name, text in self._files.items():
            _write_file(WORK / name, text)
        for name in ("x.sh", "EVIL"):
            _write_file(WORK / name, STUB, 0o755)
        _write_file(OUTSIDE / "key", "CANARY-OUTSIDE\n")
        (WORK / "linked").symlink_to(OUTSIDE)
        prepare = (
            "tar cf a.tar README.md src; git init -q -b main; git add README.md src/main.py names.txt; "
            "git commit -q -m EVIL; echo more >> README.md"
        )
        subprocess.run(["/bin/bash", "-c", prepare], cwd=WORK, env=ENVIRONMENT, check=True)
        for mark in MARKS.iterdir():
            mark.unlink()
        for path in self._secrets:
            # Reading moves the access time of a file on only where it is older than the last change.
            os.utime(path, (1, path.stat().st_mtime))
        return _stamps()


def _write_file(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _stamps() -> dict[str, Stamp]:
    """Times, sizes and numbers of all files that can be written."""
    found: dict[str, Stamp] = {}
    folders = [str(WORK), str(OUTSIDE), f"{TOP}/home", f"{TOP}/stubs"]
    while folders:
        for entry in os.scandir(folders.pop()):
            stat = entry.stat(follow_symlinks=False)
            found[entry.path] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    return found


def main() -> None:
    """Run all lines; print the faults and the beginning of the output of each as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    setup = json.load(sys.stdin)
    for name in setup["stubs"]:
        _write_file(TOP / "stubs" / name, STUB, 0o755)
    arena = Arena(setup["files"], setup["seconds"])
    lines = setup["lines"]
    for start in range(0, len(lines), TOGETHER):
        together = lines[start : start + TOGETHER]
        faults, outputs = arena.run("".join(f"{line}\nprintf '{END}'\n" for line in together))
        for place, line in enumerate(together):
            own, alone = arena.run(line) if faults else ([], outputs[place:])
            sys.stdout.write(json.dumps({"faults": own, "output": alone[0][:2000]}) + "\n")


if __name__ == "__main__":
    main()
