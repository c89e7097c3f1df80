"""Small scripts whose commands change the state of the shell: its variables, its folder, how far it goes on.

*Invariant: what a script may do depends on that state: which program a variable names, which folder a path starts in.*
"""

import random

VALUES = (
    "ls", "EVIL", "README.md", "/tmp/outside/key", ".env", "src", "nope", "", "'*.md'", "'\\/tmp/outsid*/key'", "$x", "$y",
)  # fmt: skip
OUTPUTS = (
    "echo ls", "echo EVIL", "echo README.md", "pwd", "git ls-files", "git ls-files nope", "ls src", "basename README.md", "printf %s ls",
    "dirname src/main.py", "git rev-parse --show-toplevel", "rg -l nope src", "cat names.txt", "echo ../outside",
)  # fmt: skip
FOLDERS = ("src", "nope", "..", "src/..", "odd", "/tmp/w", ".")
REDIRECTS = ("< nope", "> /dev/null", "2> /dev/null", ">&2", "2>&1", "< README.md", "<<< EVIL")
CONNECTORS = ("; ", " && ", " || ", "; ", " && ", " & ", "\n")
USES = (
    "$x", "$x README.md", '"$x" src', 'cat "$x"', "cat $x", 'cat "$x/tmp/outside/key"', "cat ../outside/key", "cat key", "ls", 'sort "$x"',
    "cat ../.env", 'cat "${x##*/}"', "cat ${x%/*}/key", 'cat "${y:-key}"', "head -1 ${x#*/} ${y:-$x}", "cat ${x%%d}", "cat $y", "head -1 $x $y", 'cat "$PWD/README.md"', "wc -l ../README.md", 'grep -r a "$x"', "cat ./$x", "cat $!/tmp/outside/key",
)  # fmt: skip


def make_script(chance: random.Random, depth: int = 2) -> str:
    """Return a script of one to five commands, the last of which uses what the others changed."""
    commands = [_command(chance, depth) for _ in range(chance.randint(1, 4))]
    script = commands[0]
    for command in [*commands[1:], chance.choice(USES)]:
        script += chance.choice(CONNECTORS) + command
    return script


def _command(chance: random.Random, depth: int) -> str:
    if depth and chance.random() < 0.35:
        return _compound(chance, depth - 1)
    value = _value(chance)
    name = chance.choice("xxxy")
    command = chance.choice(
        (
            f"{name}={value}", f"{name}={value}", f"{name}={value}", f"x={value} y={_value(chance)}", f"export {name}={value}",
            f"cd {chance.choice(FOLDERS)}", f"cd {chance.choice(FOLDERS)}", f"pushd {chance.choice(FOLDERS)}", "popd", "cd -",
            f"read -r {name} <<< {value or 'a'}", f"read -r {name} < names.txt", "true", "false", f"unset {name}", "break", "continue", "exit",
            "exit 1", "return", ":", f"[ -e {value or 'a'} ]", f'test 1 "{name}"', f"x={value} export {name}", chance.choice(USES), "wait",
        )
    )  # fmt: skip
    if chance.random() < 0.12:
        command += f" {chance.choice(REDIRECTS)}"
    return f"! {command}" if chance.random() < 0.06 else command


def _value(chance: random.Random) -> str:
    if chance.random() < 0.25:
        output = chance.choice(OUTPUTS)
        change = chance.random()
        if change < 0.2:
            output += f" {chance.choice(REDIRECTS)}"
        elif change < 0.4:
            output = f"{_command(chance, 0)}{chance.choice(CONNECTORS)}{output}"
        return chance.choice(("$({})", '"$({})"')).format(output)
    return chance.choice(VALUES)


def _compound(chance: random.Random, depth: int) -> str:
    first, second = _list(chance, depth), _list(chance, depth)
    command = chance.choice(
        (
            f"{{ {first}; }}", f"( {first} )", f"for x in {_value(chance) or 'a'} {_value(chance)}; do {first}; done",
            f"for i in 1 2; do {first}; done", f"if {first}; then {second}; fi", f"if {first}; then {second}; else {_list(chance, depth)}; fi",
            f"while read -r {chance.choice('xy')}; do {first}; done < names.txt", f"{first} | {{ read -r y; {second}; }}",
        )
    )  # fmt: skip
    return f"{command} {chance.choice(REDIRECTS)}" if chance.random() < 0.15 else command


def _list(chance: random.Random, depth: int) -> str:
    commands = [_command(chance, depth) for _ in range(chance.randint(1, 3))]
    connectors = ("; ", " && ", " || ")
    return "".join(f"{command}{chance.choice(connectors)}" for command in commands[:-1]) + commands[-1]
