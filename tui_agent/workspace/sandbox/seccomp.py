"""System calls denied to sandboxed commands, as a classic BPF program for seccomp.

Invariant: this module is pure.

Every system call that this program does not deny is allowed.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tui_agent.fast_dataclass import dataclass

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32: Final = 0x40000000
NEW_NAMESPACES: Final = 0x7E020080
"""Flags CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
"""Requests that insert input into a terminal, as if typed."""
ALLOWED_FAMILIES = (1, 2, 10, 16)
"""Allowed socket families: local, IPv4, IPv6 and netlink; others (vsock, packet, alg …) ignore namespaces."""

DENIED_CALLS: Final = tuple(
    """ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp mount umount2 pivot_root chroot move_mount open_tree
    open_tree_attr fsopen fsconfig fsmount fspick mount_setattr unshare setns swapon swapoff quotactl quotactl_fd
    acct name_to_handle_at open_by_handle_at fanotify_init nfsservctl kexec_load kexec_file_load init_module
    finit_module delete_module reboot syslog bpf perf_event_open userfaultfd keyctl add_key request_key
    lookup_dcookie settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup iopl ioperm
    modify_ldt vm86 uselib ustat sysfs _sysctl""".split()  # noqa: SIM905 - read as a list of words
)
"""System calls denied with EPERM, if the architecture has them."""
UNSUPPORTED_CALLS: Final = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""System calls denied with ENOSYS, so that programs use older calls."""
# A filter can check the arguments of the older calls.
SET_USER_ID: Final = 0o4000
"""Mode bit that makes a program run as its owner, whoever starts it."""
_CREATES: Final = 0x400040
"""Flags `O_CREAT` and `O_TMPFILE`. Without them, a call that opens a file ignores its mode."""
_MODE_ARGUMENTS: Final = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "creat": 1,
    "mknod": 1,
    "mknodat": 2,
}
_OPENING_CALLS: Final = {"open": (1, 2), "openat": (2, 3)}
"""Maps a system call for opening files to the positions of its arguments flags and mode."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A processor architecture.

    - `audit`: number in seccomp filters
    - `numbers`: maps a system call's name to its number
    """

    audit: int
    numbers: Mapping[str, int]
    x32: bool = False


def _parse_numbers(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


# Numbers that newer system calls have on every architecture.
_COMMON: Final = """
    io_uring_setup 425 io_uring_enter 426 io_uring_register 427 open_tree 428 move_mount 429 fsopen 430 fsconfig 431
    fsmount 432 fspick 433 clone3 435 openat2 437 pidfd_getfd 438 mount_setattr 442 quotactl_fd 443 fchmodat2 452
    open_tree_attr 467
"""
_X86_64: Final = """
    open 2 ioctl 16 socket 41 socketpair 53 clone 56 creat 85 chmod 90 fchmod 91 ptrace 101 syslog 103 mknod 133 uselib 134 ustat 136 sysfs 139 vhangup 153
    modify_ldt 154 pivot_root 155 _sysctl 156 adjtimex 159 chroot 161 acct 163 settimeofday 164 mount 165 umount2 166
    swapon 167 swapoff 168 reboot 169 sethostname 170 setdomainname 171 iopl 172 ioperm 173 init_module 175
    delete_module 176 quotactl 179 nfsservctl 180 lookup_dcookie 212 clock_settime 227 kexec_load 246 add_key 248
    request_key 249 keyctl 250 openat 257 mknodat 259 fchmodat 268 unshare 272 perf_event_open 298 fanotify_init 300 name_to_handle_at 303
    open_by_handle_at 304 clock_adjtime 305 setns 308 process_vm_readv 310 process_vm_writev 311 kcmp 312
    finit_module 313 kexec_file_load 320 bpf 321 userfaultfd 323
"""
_AARCH64: Final = """
    lookup_dcookie 18 ioctl 29 mknodat 33 umount2 39 mount 40 pivot_root 41 nfsservctl 42 chroot 51 fchmod 52 fchmodat 53 openat 56 vhangup 58 quotactl 60
    acct 89 unshare 97 kexec_load 104 init_module 105 delete_module 106 clock_settime 112 syslog 116 ptrace 117
    reboot 142 sethostname 161 setdomainname 162 settimeofday 170 adjtimex 171 socket 198 socketpair 199 add_key 217
    request_key 218 keyctl 219 clone 220 swapon 224 swapoff 225 perf_event_open 241 fanotify_init 262
    name_to_handle_at 264 open_by_handle_at 265 clock_adjtime 266 setns 268 process_vm_readv 270
    process_vm_writev 271 kcmp 272 finit_module 273 bpf 280 userfaultfd 282 kexec_file_load 294
"""
ARCHITECTURES: Final[Mapping[str, Architecture]] = MappingProxyType(
    {
        "x86_64": Architecture(0xC000003E, _parse_numbers(_COMMON + _X86_64), x32=True),
        "aarch64": Architecture(0xC00000B7, _parse_numbers(_COMMON + _AARCH64)),
    }
)


def build_filter(machine: str) -> bytes | None:
    """Return the seccomp filter for a value of `platform.machine()`; None for an unknown processor."""
    architecture = ARCHITECTURES.get({"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine))
    return None if architecture is None else b"".join(_instructions(architecture))


def _instructions(machine: Architecture) -> list[bytes]:
    numbers = machine.numbers
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, machine.audit, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    # On x86-64, a second set of numbers (x32) would lead around the checks of the first one.
    if machine.x32:
        code += [_instruction(_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _KILL)]
    for name in DENIED_CALLS:
        if name in numbers:
            code += _deny_value(numbers[name], EPERM)
    for name in UNSUPPORTED_CALLS:
        code += _deny_value(numbers[name], ENOSYS)
    code += _match_call(
        numbers["clone"], [*_load_argument(0), _instruction(_ANY_BIT, NEW_NAMESPACES, 0, 1), _deny(EPERM)]
    )
    code += _match_call(
        numbers["ioctl"], [*_load_argument(1), *_deny_value(TIOCSTI, EPERM), *_deny_value(TIOCLINUX, EPERM)]
    )
    for name in ("socket", "socketpair"):
        allowed_families = [
            _instruction(_EQUAL, family, len(ALLOWED_FAMILIES) - index, 0)
            for index, family in enumerate(ALLOWED_FAMILIES)
        ]
        code += _match_call(numbers[name], [*_load_argument(0), *allowed_families, _deny(EAFNOSUPPORT)])
    for name, position in _MODE_ARGUMENTS.items():
        if name in numbers:
            code += _match_call(numbers[name], _deny_set_user_id(position))
    for name, (flags, mode) in _OPENING_CALLS.items():
        if name in numbers:
            checks = _deny_set_user_id(mode)
            skip = _instruction(_ANY_BIT, _CREATES, 0, len(checks))
            code += _match_call(numbers[name], [*_load_argument(flags), skip, *checks])
    return [*code, _instruction(_RETURN, _ALLOW)]


def _deny_set_user_id(position: int) -> list[bytes]:
    return [*_load_argument(position), _instruction(_ANY_BIT, SET_USER_ID, 0, 1), _deny(EPERM)]


def _match_call(number: int, checks: list[bytes]) -> list[bytes]:
    """Return BPF instructions that run `checks` for this system call, and then allow the call."""
    body = [*checks, _instruction(_RETURN, _ALLOW)]
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


def _load_argument(index: int) -> list[bytes]:
    """Return BPF instructions that load the lower 32 bits of the argument `index`."""
    # The calls that are checked do not use the upper bits.
    return [_instruction(_LOAD, _ARGUMENTS + 8 * index)]


def _deny_value(value: int, error: int) -> list[bytes]:
    return [_instruction(_EQUAL, value, 0, 1), _deny(error)]


def _deny(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
