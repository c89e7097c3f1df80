"""The parts of a sandbox that are pure: its filter, its restrictions, its command lines, its profile and its guesses."""

import re
import struct
from pathlib import Path

import pytest

from tests.stubs.left_out import leave_out
from tui_agent.policy.places.sandbox_places import guarded_places
from tui_agent.ports.environment import SecretFile
from tui_agent.workspace.sandbox import bubblewrap, landlock, seatbelt
from tui_agent.workspace.sandbox.denials import explain_denial, explain_existing_target
from tui_agent.workspace.sandbox.mounts import Bounds, Mounts
from tui_agent.workspace.sandbox.output_notes import find_output_notes
from tui_agent.workspace.sandbox.sandbox_environment import confined_variables
from tui_agent.workspace.sandbox.seccomp import ARCHITECTURES, DENIED_CALLS, UNSUPPORTED_CALLS, build_filter

ALLOW, KILL, EPERM, ENOSYS, NO_FAMILY = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061


def judged(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter answers, by a small interpreter of the instructions that it uses."""
    code = build_filter(machine)
    assert code is not None
    padded = [*arguments, *[0] * (6 - len(arguments))]
    known = ARCHITECTURES[machine].audit if audit is None else audit
    call = struct.pack("=IIQ6Q", number, known, 0, *padded)
    steps, at, value = list(struct.iter_unpack("=HBBI", code)), 0, 0
    while True:
        kind, if_true, if_false, operand = steps[at]
        at += 1
        match kind:
            case 0x20:
                value = struct.unpack_from("=I", call, operand)[0]
            case 0x06:
                return int(operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case _:
                raise AssertionError(f"unknown instruction {kind:#x}")


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_refuses_what_it_names_and_nothing_else(machine: str) -> None:
    numbers = ARCHITECTURES[machine].numbers
    refused = {numbers[name]: EPERM for name in DENIED_CALLS if name in numbers}
    refused |= {numbers[name]: ENOSYS for name in UNSUPPORTED_CALLS}
    special = {numbers[name] for name in ("socket", "socketpair")}
    for number in range(600):
        if number not in special:
            assert judged(machine, number) == refused.get(number, ALLOW), number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_arguments_are_judged_where_they_matter(machine: str) -> None:
    numbers = ARCHITECTURES[machine].numbers
    assert judged(machine, numbers["clone"], 0x01200011) == ALLOW
    assert judged(machine, numbers["clone"], 0x10000011) == EPERM
    assert judged(machine, numbers["ioctl"], 0, 0x5401) == ALLOW
    for request in (0x5412, 0x541C, 0x100005412):
        assert judged(machine, numbers["ioctl"], 0, request) == EPERM
    for family, answer in (
        (1, ALLOW),
        (2, ALLOW),
        (10, ALLOW),
        (16, ALLOW),
        (17, NO_FAMILY),
        (40, NO_FAMILY),
    ):
        assert judged(machine, numbers["socket"], family) == answer


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_no_call_sets_the_set_user_id_bit(machine: str) -> None:
    numbers, creating, temporary = ARCHITECTURES[machine].numbers, 0o101, 0o20200001
    calls = {
        "chmod": (0,),
        "fchmod": (3,),
        "fchmodat": (0, 0),
        "fchmodat2": (0, 0),
        "creat": (0,),
        "mknod": (0,),
        "mknodat": (0, 0),
    }
    calls |= {"open": (0, creating), "openat": (0, 0, creating)}
    for name, before in calls.items():
        if name in numbers:
            assert judged(machine, numbers[name], *before, 0o4755) == EPERM, name
            assert judged(machine, numbers[name], *before, 0o102755) == ALLOW, name
    assert judged(machine, numbers["openat"], 0, 0, temporary, 0o4755) == EPERM
    assert judged(machine, numbers["openat"], 0, 0, 0o1, 0o4755) == ALLOW  # no mode is read


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    assert judged(machine, 1, audit=0x40000003) == KILL
    assert judged("x86_64", 0x40000000 + 39) == KILL


def test_of_an_unknown_processor_nothing_is_filtered() -> None:
    assert build_filter("riscv64") is None
    assert build_filter("arm64") == build_filter("aarch64")


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        leave_out("the kernel's headers are not installed (linux-libc-dev)")
    text = HEADERS[machine].read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    wrong = {name: one for name, one in ARCHITECTURES[machine].numbers.items() if known.get(name, one) != one}
    assert wrong == {}


def test_landlock_asks_only_for_what_a_kernel_knows() -> None:
    sizes = {abi: len(landlock.encode_ruleset(abi)) for abi in range(1, 8)}
    assert sizes == {1: 8, 2: 8, 3: 8, 4: 16, 5: 16, 6: 24, 7: 24}
    assert [landlock.supported_rights(abi) for abi in (1, 2, 3, 5)] == [0x1FFF, 0x3FFF, 0x7FFF, 0xFFFF]


PLACES = Mounts(
    visible=("/tmp/venv",),
    hidden=("/home/ada/.ssh/", "/home/ada/.netrc", "/work/keys.json"),
    writable=("/work", "/work/.git"),
    read_only_paths=("/work/.git/config", "/work/.tui_agent"),
    sockets=("/home/ada/docker.sock",),
)
PRIVATE = bubblewrap.PrivateFolders("/p/tmp", "/p/longer", "/p/empty", "/p/blank", "/p/shut")


def after(words: list[str], first: str, second: str) -> bool:
    """Whether what is laid at one place comes after another."""
    text = " ".join(words)
    return text.index(first) > text.index(second)


def test_the_command_line_lays_what_guards_over_what_opens() -> None:
    machine = bubblewrap.Machine("/usr/bin/bwrap", settings=("/proc/sys",), secrets=("/proc/kmsg",))
    words = bubblewrap.bubblewrap_arguments(
        machine, PLACES, PRIVATE, "/work/a", network=False, has_filter=True
    )
    text = " ".join(words)
    assert words[0] == "/usr/bin/bwrap"
    assert words[-1] == "--"
    for option in (
        "--unshare-net",
        "--die-with-parent",
        "--new-session",
        "--cap-drop ALL",
        "--disable-userns",
    ):
        assert option in text
    assert after(words, "--bind /work /work", "--ro-bind / /")
    assert after(words, "--bind /work /work", "--bind /p/tmp /tmp")
    assert after(words, "--ro-bind /work/.git/config /work/.git/config", "--bind /work/.git /work/.git")
    assert after(words, "--ro-bind /proc/sys /proc/sys".replace("--ro-bind", "--ro-bind-try"), "--proc /proc")
    assert after(words, "--ro-bind /dev/null /work/keys.json", "--bind /work /work")
    assert "--ro-bind /p/empty /home/ada/.ssh --ro-bind /dev/null /home/ada/.netrc" in text
    assert "--ro-bind /dev/null /home/ada/docker.sock" in text
    assert "--chdir /work/a" in text
    granted = bubblewrap.bubblewrap_arguments(
        machine, PLACES, PRIVATE, "/work", network=True, has_filter=False
    )
    assert "--unshare-net" not in granted
    assert "--seccomp" not in granted


def test_the_profile_of_macos_denies_writing_but_where_it_is_allowed_and_guards_after() -> None:
    text = seatbelt.build_profile(PLACES, "/private/p/tmp", network=False)
    lines = text.splitlines()
    assert lines[0] == "(version 1)"
    assert text.count("(") == text.count(")")
    order = [
        "(deny file-write*)",
        '(allow file-write* (subpath "/work") (subpath "/work/.git") (subpath "/private/p/tmp"))',
        '(deny file-write* (subpath "/work/.git/config") (subpath "/work/.tui_agent"))',
        '(deny file-read* file-write* (subpath "/home/ada/.ssh") (subpath "/home/ada/.netrc") (subpath "/work/keys.json"))',
        "(deny network*)",
    ]
    assert [lines.index(line) for line in order] == sorted(lines.index(line) for line in order)
    assert "(deny network*)" not in seatbelt.build_profile(PLACES, "/p", network=True)


def test_a_path_cannot_leave_its_place_in_the_profile() -> None:
    odd = Mounts((), (), ('/work/a") (allow default) ("\\',), (), ())
    text = seatbelt.build_profile(odd, "/p", network=True)
    assert '(subpath "/work/a\\") (allow default) (\\"\\\\")' in text


def test_the_environment_has_no_way_to_the_users_services_and_keeps_the_users_caches() -> None:
    given = {
        "SSH_AUTH_SOCK": "/a",
        "DISPLAY": ":0",
        "TMUX": "x",
        "TMPDIR": "/var/x",
        "GOCACHE": "/own",
        "LANG": "C",
    }
    env = confined_variables(given, "/tmp")
    assert not {"SSH_AUTH_SOCK", "DISPLAY", "TMUX"} & env.keys()
    assert (env["TMPDIR"], env["GOCACHE"], env["LANG"]) == ("/tmp", "/own", "C")
    assert env["UV_CACHE_DIR"].startswith("/tmp/")


def test_what_the_policy_guards_by_name_the_sandbox_guards_by_place() -> None:
    found = guarded_places("/home/ada")
    for name in (
        ".ssh",
        ".aws",
        ".gnupg",
        ".netrc",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".mozilla",
    ):
        assert f"/home/ada/{name}" in found.hidden
    assert {".tui_agent", ".mcp.json", ".vscode", ".idea", ".claude", ".envrc", ".devcontainer"} <= set(
        found.read_only
    )
    assert {".tui_agent", ".mcp.json"} <= set(found.renamed) <= {*found.read_only, ".husky", ".githooks"}
    assert found.absent == (".git",)


REFUSED_WORDS = {
    "mkdir: cannot create directory ‘/usr/include/x’: Read-only file system": "change /usr/include/x,",
    "touch: cannot touch '/etc/x': Read-only file system": "/etc/x",
    "install: cannot change permissions of ‘/usr/lib/demo’: No such file or directory": "change /usr/lib/demo,",
    "CMake Error at cmake_install.cmake:52 (file):\n  file cannot create directory: /opt/x/bin.  Maybe need\n"
    "  administrative privileges.\n\nmake: *** [Makefile:100: install] Error 1": "change /opt/x/bin,",
    'CMake Error at cmake_install.cmake:52 (file):\n  file INSTALL cannot copy file "/work/build/a-program" to\n'
    '  "/usr/local/share/a-folder-of-a-long-name/a-program": Read-only file\n  system.\n\n': (
        "change /usr/local/share/a-folder-of-a-long-name/a-program,"
    ),
    "error[E0463]: failed to write /home/ada/.cargo/registry/x: Read-only file system (os error 30)": "/home/ada/.cargo",
    "PermissionError: [Errno 13] Permission denied: '/home/ada/.netrc'": "/home/ada/.netrc",
    "npm error code EROFS": "something outside the workspace",
    "fatal: unable to access 'https://example.org/': Could not resolve host: example.org": "the network",
    "pip: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution": "the network",
    "Error: getaddrinfo EAI_AGAIN registry.npmjs.org": "the network",
    "dial tcp: lookup proxy.golang.org: i/o timeout": "the network",
    "git@github.com: Permission denied (publickey).": "your keys",
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.": "a service",
    "ptrace: Operation not permitted.": "Operation not permitted",
    'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.': "Operation not permitted",
    "permission denied while trying to connect to the Docker daemon socket": "a service",
    "Bad system call (core dumped)": "a system call",
    "OSError: [Errno 18] Invalid cross-device link: 'a' -> '/tmp/a'": "/tmp/a is on a separate file system",
    "ln: failed to create hard link 'b' => 'a': Invalid cross-device link": "part of the workspace is on",
    "rm: cannot remove '.vscode': Device or resource busy": "tried to change .vscode, which the sandbox",
}
OTHER_WORDS = (
    "AssertionError: 1 != 2",
    "bash: ./a.sh: Permission denied",
    "PermissionError: [Errno 13] Permission denied: '/work/a'",
    "make: *** No rule to make target 'x'.  Stop.",
    "cat: nowhere: No such file or directory",
    "FileExistsError: '/work/build'",
)


def test_the_last_words_of_a_command_tell_what_was_refused() -> None:
    bounds = Bounds("/work", home="/home/ada", read_only=(".vscode",), absent=(".git",))
    for line, about in REFUSED_WORDS.items():
        assert about in explain_denial(f"working\n{line}\n", 1, bounds, network=False), line
    for line in OTHER_WORDS:
        assert explain_denial(f"working\n{line}\n", 1, bounds, network=False) == "", line


def test_a_refused_write_is_named_though_node_repeats_the_error_without_the_path() -> None:
    node = (
        "Error: EROFS: read-only file system, open '.git/hooks/pre-commit'\n    at Object.openSync (node:fs:573:18) {\n"
        "  errno: -30,\n  code: 'EROFS',\n  syscall: 'open',\n  path: '.git/hooks/pre-commit'\n}\n"
    )
    protected = Bounds("/work", read_only=guarded_places("/home/ada").read_only)
    denial = "The command tried to change .git/hooks/pre-commit, which the sandbox does not allow."
    assert explain_denial(node, 1, protected, network=False) == denial


def test_a_network_fault_is_nobodys_refusal_where_the_network_was_granted() -> None:
    assert explain_denial("curl: (6) Could not resolve host: x\n", 6, Bounds("/work"), network=True) == ""


def test_refusals_long_before_the_end_are_not_what_ended_it() -> None:
    early = "cp: /etc/x: Read-only file system\n" + "ok line of a test\n" * 1000
    assert explain_denial(early, 1, Bounds("/work"), network=False) == ""


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("drwx 2 ada ada 40 .idea\n", 1),
        (".\n./.idea\n./src\n", 1),
        ("drwx 2 ada ada 40 .idea/\n", 1),
        ("['.idea', 'a.txt']\n", 1),
        ("node_modules/\n.idea/\n", 0),
        ("docs/.idea.md\nthe folder .idea is an editor's\n", 0),
        ("-r--r--r-- 1 ada ada 0 .env\n", 1),
        ("copy .env.example to .env, then go on\n", 0),
        (".idea\n.env\n", 2),
    ],
)
def test_what_a_listing_shows_otherwise_than_it_is_is_told(said: str, count: int) -> None:
    masked = (SecretFile(".env", "/w/.env"),)
    found = list(find_output_notes(("ls",), "/w", said.encode(), masked, ("/w/.idea",), is_read_only=True))
    assert len(found) == count, found


@pytest.mark.parametrize(
    "line, found",
    [
        ("mkdir: cannot create directory ‘/home/ada/a’: File exists", True),
        ("mkdir: cannot create directory ‘../a’: File exists", True),
        ("mkdir: cannot create directory 'a': File exists", True),
        ("fatal: cannot mkdir ../../ada/a: File exists", True),
        ("mkdir: ../a/: Not a directory", True),
        ("fatal: destination path '../a' already exists and is not an empty directory.", True),
        ("cp: cannot overwrite non-directory '../a' with directory 'src'", True),
        ("mkdir: cannot create directory ‘src/data’: File exists", False),
        ("mkdir: cannot create directory ‘src/a’: File exists", False),
        ("mkdir: cannot create directory ‘a.b’: File exists", False),
        ("mkdir: cannot create directory ‘a-a’: File exists", False),
    ],
)
def test_a_target_that_the_sandbox_created_is_known_by_its_whole_name(line: str, found: bool) -> None:
    sentence = "The command could not create /home/ada/a: the sandbox had put an empty file there."
    assert explain_existing_target(line, ("/home/ada/a",)) == (sentence if found else "")
