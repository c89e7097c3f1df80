"""Attempts to get out of the sandbox, each against the real bubblewrap: none may change, reach or read anything outside."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stubs.sandboxed import World, elsewhere, require_sandbox

CALL = "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nno = ctypes.get_errno\n"
X86 = CALL + "import mmap, platform\nif platform.machine() != 'x86_64': sys.exit(1)\n"
CONNECT = "import socket, sys\nfor kind, at in {targets}:\n try:\n  s = socket.socket(*kind); s.connect(at); s.send(b'x')\n except OSError as e: print(e)\n"

ATTEMPTS = {
    # Files outside.
    "write to a file outside": "echo x >> <outside>/file",
    "make a file outside": "touch <outside>/new; cp /bin/true <home>/bin",
    "remove what is outside": "rm -rf <outside> <home>",
    "rename what is outside": "mv <outside>/file <outside>/other; mv <outside> <work>/taken",
    "change a mode outside": "chmod 777 <outside>/file; chown 1:1 <outside>/file; touch -d 2001-01-01 <outside>/file",
    "write through a link": "ln -s <outside>/file link; echo x > link; ln -s <outside> dir; echo x > dir/new",
    "write through a link of folders": "mkdir d; ln -s ../../outside d/up; echo x > d/up/new",
    "hard link to a file outside": "ln <outside>/file hard && echo x >> hard; ln <home>/.ssh/id_ed25519 key; cat key",
    "swap a link while writing": (
        "import os, threading, time\nos.makedirs('real', exist_ok=True)\nend = time.monotonic() + 5\n"
        "def swap():\n while time.monotonic() < end:\n"
        "  for to in ('real', '<outside>'):\n   try: os.symlink(to, 'next'); os.replace('next', 'swapped')\n   except OSError: pass\n"
        "t = threading.Thread(target=swap); t.start()\n"
        "while time.monotonic() < end:\n try: open('swapped/race', 'w').close()\n except OSError: pass\nt.join()"
    ),
    "write by /proc/self/root": "echo x >> /proc/self/root<outside>/file; echo x >> /proc/1/root<outside>/file",
    "write by every root and folder in /proc": (
        "import glob, os\nfor place in glob.glob('/proc/*/root') + glob.glob('/proc/*/cwd') + glob.glob('/proc/*/fd/*'):\n"
        " for end in ('<outside>/file', '/../../../../..<outside>/file'):\n"
        "  try: open(place + end, 'a').write('x')\n  except OSError: pass"
    ),
    "mount the outside again": CALL
    + "print(libc.mount(b'<outside>', b'/tmp', None, 4096, None), no()); libc.mount(None, b'/', None, 32 | 4096, None)\nopen('<outside>/new', 'w')",
    "unmount what guards": CALL + "libc.umount2(b'<work>/.git/config', 2)\nopen('<work>/.git/config', 'a').write('x')",
    "put another root there": CALL + "libc.chroot(b'/proc/1/root'); libc.syscall(155, b'/', b'/tmp')\nopen('<outside>/new', 'w')",
    "a file by its handle": CALL
    + "handle = ctypes.create_string_buffer(256); mount = ctypes.c_int()\nctypes.memmove(handle, (128).to_bytes(4, 'little'), 4)\n"
    "if libc.name_to_handle_at(-100, b'<outside>/file', handle, ctypes.byref(mount), 0) == 0:\n"
    " fd = libc.open_by_handle_at(os.open('<outside>', os.O_RDONLY), handle, os.O_WRONLY); os.write(fd, b'x')",
    # What runs later.
    "make a hook": "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*; mkdir -p .git/hooks; echo x > .git/hooks/post-checkout",
    "change git's settings": "git config core.fsmonitor 'touch /tmp/x'; git config core.hooksPath .; echo '[x]' >> .git/config",
    "put git's settings aside": "mv .git/config .git/old; rm -f .git/config; cp a.txt .git/config; mv .git .old; mkdir .git; git init",
    "take another repository's settings": "mkdir -p evil/hooks; printf '[core]\\n' > evil/config; echo ../evil > .git/commondir; mkdir -p .git/worktrees/x .git/modules/x",
    "settings of one worktree": "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor x; echo x > .git/config.worktree",
    "make absent configuration": "mkdir -p .tui_agent/plugins; echo x > .tui_agent/config.toml; echo '{}' > .mcp.json; mkdir .vscode .idea; echo '{}' > .vscode/tasks.json; echo x > .idea/x",
    "put a link in place of absent configuration": "rmdir .mcp.json; ln -sfn a.txt .mcp.json; mv a.txt .mcp.json; rm -rf .tui_agent; ln -s . .tui_agent; mkdir x; mv -T x .vscode",
    "rename over absent configuration": "import os\nos.makedirs('c', exist_ok=True)\nfor name in ('.tui_agent', '.mcp.json', '.vscode', '.idea', '.git'):\n for call in (os.rename, os.replace, os.link):\n  try: call('c', name)\n  except OSError: pass",
    "shell start-up files": "echo x >> <home>/.bashrc; echo x > <home>/.profile; echo x > ~/.zshenv; mkdir -p <home>/.config/autostart",
    "own configuration and data": "echo x >> <home>/own/config.toml; rm -rf <home>/own; echo x > <home>/own/policy.toml",
    # Secrets.
    "read keys": "cat <home>/.ssh/id_ed25519 <home>/.ssh/* <home>/.netrc ~/.netrc; ls -la <home>/.ssh; tar c <home>",
    "read the environment of others": "cat /proc/*/environ /proc/<engine>/environ | tr '\\0' '\\n'; env",
    "read memory": "import os\nfor pid in ('<engine>', '<victim>', '1'):\n try: print(open(f'/proc/{pid}/maps').read()[:99], os.open(f'/proc/{pid}/mem', os.O_RDWR)); print('ESCAPED')\n except OSError as e: print(e)",
    "read passwords of the system": "cat /etc/shadow /etc/gshadow && echo ESCAPED",
    "inherited descriptors": (
        "import os\nfor fd in sorted(int(one) for one in os.listdir('/proc/self/fd')):\n"
        " try: where = os.readlink(f'/proc/self/fd/{fd}')\n except OSError: continue\n"
        " if not where.startswith(('pipe:', '/dev/null', '/proc/')): print('ESCAPED', where)"
    ),
    # Processes.
    "end processes outside": "kill -9 <victim> <engine>; kill -9 -1; pkill -f 'time.sleep(600)'; kill -STOP <victim>",
    "watch a process outside": CALL + "for pid in (<victim>, <engine>, os.getppid()):\n if libc.ptrace(16, pid, None, None) == 0: print('ESCAPED')",
    "watch an own process": CALL + "child = os.fork()\nif not child: os._exit(0 if libc.ptrace(0, 0, None, None) else 9)\nif os.WEXITSTATUS(os.waitpid(child, 0)[1]): print('ESCAPED')",
    "memory of a process outside": CALL + "size = libc.process_vm_readv(<victim>, ctypes.create_string_buffer(16), 1, ctypes.create_string_buffer(16), 1, 0)\nprint('ESCAPED' if size >= 0 else no())",
    "descriptors of a process outside": "import os, ctypes\ntry: fd = os.pidfd_open(<victim>); print('ESCAPED')\nexcept OSError as e: print(e)\nprint(ctypes.CDLL(None).syscall(438, os.pidfd_open(1), 1, 0) >= 0 and 'ESCAPED')",
    "survive in a session of its own": "setsid -f sh -c 'exec -a left-<engine> sleep 300' ; (setsid nohup env -i sh -c 'sleep 301 & sleep 302' &) ; exit 0",
    # Services of the machine.
    "sockets of services": "import socket\nfor at in ('<docker>', '<agent>', '/run/docker.sock', '/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private'):\n s = socket.socket(socket.AF_UNIX)\n try: s.connect(at); s.send(b'x'); print('ESCAPED')\n except OSError as e: print(e)",
    "sockets of services by a link": "import os, socket\nos.symlink('<docker>', 'd.sock')\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect('d.sock'); print('ESCAPED')\nexcept OSError as e: print(e)",
    "an abstract socket": "import socket\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0<abstract>'); print('ESCAPED')\nexcept OSError as e: print(e)",
    "TCP to this machine": CONNECT.format(targets="[((2, 1), ('127.0.0.1', <tcp>)), ((2, 1), ('localhost', <tcp>)), ((10, 1), ('::ffff:127.0.0.1', <tcp>))]"),
    "UDP and DNS to this machine": CONNECT.format(targets="[((2, 2), ('127.0.0.1', <udp>)), ((2, 2), ('127.0.0.1', 53))]"),
    "/dev/tcp and /dev/udp": "(echo x > /dev/tcp/127.0.0.1/<tcp>); (echo x > /dev/udp/127.0.0.1/<udp>)",
    "TCP with a fast open": "import socket\ns = socket.socket()\ntry: s.sendto(b'x', 0x20000000, ('127.0.0.1', <tcp>))\nexcept OSError as e: print(e)",
    "sockets that know no namespace": "import socket\nfor family in (40, 17, 38, 31, 29, 30, 15, 44):\n try: socket.socket(family, 1 if family == 40 else 3 if family == 17 else 5); print('ESCAPED', family)\n except OSError as e: print(e)",
    # The system.
    "settings of the system": "import glob\nfor path in ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/overcommit_memory', '/proc/sys/kernel/modprobe', '/proc/sys/fs/binfmt_misc/register', *glob.glob('/proc/irq/*/smp_affinity')]:\n try: said = open(path).read(); open(path, 'w').write(said); print('ESCAPED', path)\n except OSError as e: print(e)",
    "SysRq": "import os\ntry: os.open('/proc/sysrq-trigger', os.O_WRONLY); print('ESCAPED')\nexcept OSError as e: print(e)",
    "control groups": "import glob\nfor path in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)[:50]:\n try: open(path, 'w').write('0'); print('ESCAPED', path)\n except OSError as e: print(e)",
    "devices": "ls /dev/mem /dev/kmem /dev/sd* /dev/vd* /dev/nvme* /dev/kvm /dev/fuse /dev/loop* /dev/port && echo ESCAPED",
    "make a device": "mknod disk b 254 0 && echo ESCAPED; mknod /tmp/mem c 1 1 && echo ESCAPED; mknod /dev/mem c 1 1 && echo ESCAPED",
    "a namespace of its own": "unshare -Urm true && echo ESCAPED; unshare -n true && echo ESCAPED",
    "a namespace by clone": CALL + "for flag in (0x10000000, 0x20000, 0x40000000):\n pid = libc.syscall(56 if os.uname().machine == 'x86_64' else 220, flag | 17, 0, 0, 0, 0)\n if pid == 0: os._exit(0)\n if pid > 0: print('ESCAPED')",
    "a namespace by clone3": CALL + "args = (0x10000000).to_bytes(8, 'little') + bytes(24) + (17).to_bytes(8, 'little') + bytes(48)\npid = libc.syscall(435, args, len(args))\nif pid == 0: os._exit(0)\nprint('ESCAPED' if pid > 0 else no())",
    "into another namespace": CALL + "for name in os.listdir('/proc/1/ns'):\n fd = os.open(f'/proc/1/ns/{name}', os.O_RDONLY)\n if libc.setns(fd, 0) == 0: print('ESCAPED')",
    "a sandbox in the sandbox": "bwrap --bind / / --dev /dev sh -c 'echo x >> <outside>/file' && echo ESCAPED; bwrap --unshare-all --bind / / true && echo ESCAPED",
    "asynchronous system calls": CALL + "print('ESCAPED' if libc.syscall(425, 8, ctypes.create_string_buffer(256)) >= 0 else no())",
    "programs in the kernel": CALL + "for number in ((321, 298, 323, 250, 248) if os.uname().machine == 'x86_64' else (280, 241, 282, 219, 217)):\n if libc.syscall(number, 0, ctypes.create_string_buffer(128), 128, 0, 0) >= 0: print('ESCAPED', number)",
    "32-bit system calls": X86 + "code = mmap.mmap(-1, 4096, prot=7)\ncode.write(bytes.fromhex('b8140000' '00cd80c3'))\nctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()\nprint('ESCAPED')",
    "x32 system calls": X86 + "libc.syscall(0x40000000 + 39)\nprint('ESCAPED')",
    "type into the terminal": "import fcntl, os, pty\nprint(fcntl)\nfor fd in (0, 1, 2, os.open('/dev/null', os.O_RDWR)):\n try: fcntl.ioctl(fd, 0x5412, b'x'); print('ESCAPED')\n except OSError as e: print(e)\nm, s = pty.openpty()\ntry: fcntl.ioctl(s, 0x5412, b'x'); print('ESCAPED')\nexcept OSError as e: print(e)\ntry: os.open('/dev/tty', os.O_RDWR); print('ESCAPED')\nexcept OSError as e: print(e)",
    "type into a terminal with high bits set": CALL + "import pty\nm, s = pty.openpty()\nprint('ESCAPED' if libc.syscall(16 if os.uname().machine == 'x86_64' else 29, s, ctypes.c_long(0x100005412), b'x') == 0 else no())",
    "gain rights by a program": "cp /bin/true t; chmod u+s t; ls -l t; su -c true </dev/null && echo ESCAPED; sudo -n true && echo ESCAPED; import=1",
    "leave a set-user-id program behind": CALL + "import shutil, stat\nshutil.copy('/bin/true', 'a')\nways = [lambda: os.chmod('a', 0o4755), lambda: os.fchmod(os.open('a', os.O_RDONLY), 0o4755), lambda: os.chmod('a', 0o4755, dir_fd=os.open('.', 0)), lambda: os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755), lambda: os.mknod('c', 0o104755), lambda: libc.creat(b'd', 0o4755), lambda: libc.syscall(452, -100, b'a', 0o4755, 0), lambda: libc.syscall(437, -100, b'e', ctypes.create_string_buffer((0o101).to_bytes(8, 'little') + (0o4755).to_bytes(8, 'little') + bytes(8)), 24)]\nfor way in ways:\n try: way()\n except OSError as e: print(e)\nprint(any(os.stat(name).st_mode & stat.S_ISUID for name in os.listdir('.')) and 'ESCAPED')",
    "gain rights by a file in memory": CALL + "fd = os.memfd_create('su')\nos.write(fd, open(sys.executable, 'rb').read()); os.fchmod(fd, 0o4755)\nif not os.fork(): os.execv(f'/proc/self/fd/{fd}', ['python', '-c', 'open(\"/proc/sys/kernel/core_pattern\", \"r+\").write(\"\"); print(\"ESCAPED\")'])\nos.wait()",
    "a library in front": "printf 'x' > l.so; LD_PRELOAD=$PWD/l.so mount -o remount,rw / && echo ESCAPED; LD_PRELOAD=$PWD/l.so sh -c 'echo x >> <outside>/file'",
    "the folder that is given": "cd / && echo x > new-at-root && echo ESCAPED; cd <outside> && echo x > new; cd .. ; echo x > new",
}  # fmt: skip


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    require_sandbox()
    with elsewhere() as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTEMPTS)
async def test_an_attempt_to_get_out_changes_reaches_and_reads_nothing(base: Path, name: str) -> None:
    with World(base / str(list(ATTEMPTS).index(name))) as world:
        result = await world.attempt(ATTEMPTS[name])
        left = await world.env.aclose()
        assert world.damage(result) == [], result.output.decode("utf-8", "replace")[-2000:]
        assert result.outcome in ("exited", "not_found"), result.message
        assert left == 0


NEW = {
    "a new repository": "git init; git -c init.templateDir= init .; git clone . x; mkdir -p .git/hooks; echo x > .git/config",
    "a file that names a repository": "git init evil; rmdir .git; echo 'gitdir: evil/.git' > .git; mv evil/.git .; mv -T evil/.git .git",
    "a link to a repository": "git init evil; rmdir .git; ln -sfn evil/.git .git; ln -s evil/.git .git",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", NEW)
async def test_where_there_is_no_repository_none_comes_to_be(base: Path, name: str) -> None:
    with World(base / f"new{list(NEW).index(name)}", repository=False) as world:
        result = await world.attempt(NEW[name])
        await world.env.aclose()
        assert world.damage(result) == [], result.output.decode("utf-8", "replace")[-2000:]
        assert not (world.workspace / ".git").exists()


CONTROLS = {
    "write to a file outside": "file changed",
    "make absent configuration": ".mcp.json changed",
    "make a hook": "hooks/pre-commit changed",
    "read keys": "a secret was read",
    "sockets of services": "the docker socket was reached",
    "an abstract socket": "the abstract socket was reached",
    "TCP to this machine": "the TCP listener was reached",
    "UDP and DNS to this machine": "the UDP listener was reached",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", CONTROLS)
async def test_the_same_attempt_outside_the_sandbox_is_seen_to_succeed(base: Path, name: str) -> None:
    with World(base / f"control{list(CONTROLS).index(name)}") as world:
        result = await world.attempt(ATTEMPTS[name], outside=True)
        await world.env.aclose()
        assert any(found.endswith(CONTROLS[name]) for found in world.damage(result))
