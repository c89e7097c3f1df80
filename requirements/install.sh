#!/usr/bin/env bash
# Install a locked set of requirements, then this checkout itself (editable), into .venv.
#
#   requirements/install.sh requirements/lock.txt
#
# Uses uv where it is there, else the interpreter's own venv and pip. Every download is checked against the hashes
# of the lock; our own package is built without an isolated environment, because its build backend is in the lock.
set -euo pipefail
say() { echo "tui-agent: $*"; }
cd "$(dirname "$0")/.."
lock=$1
venv=.venv
python=${PYTHON:-}

# What pip says, one short line a package, and its errors: the rest is of no use here.
told() {
    awk '/^Collecting /{ n++; sub(/ .*/, "", $2); printf "  %3d  %s\n", n, $2; fflush() }
         /^ERROR/{ print > "/dev/stderr" }
         /^Installing collected/{ print "       unpacking and installing…"; fflush() }'
}

modern() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

if [ -z "$python" ]; then
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 && modern "$candidate"; then python=$candidate; break; fi
    done
fi

if command -v uv >/dev/null 2>&1; then
    # uv brings certificates of its own; the system's are those that the rest of the machine trusts.
    export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1} UV_COMPILE_BYTECODE=${UV_COMPILE_BYTECODE:-1}
    if [ ! -x "$venv/bin/python" ]; then
        say "making the environment $venv…"
        uv venv --quiet --python "${python:-3.11}" "$venv"
    fi
    say "installing the packages of $lock with uv; the first time this downloads them…"
    uv pip install --quiet --python "$venv/bin/python" --require-hashes -r "$lock"
    say "installing tui-agent itself…"
    uv pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e .
else
    if [ -z "$python" ] || ! modern "$python"; then
        echo "Python 3.11 or newer is needed and none was found. Install it, or name it: make run PYTHON=/path/to/python3.11" >&2
        exit 2
    fi
    [ -x "$venv/bin/pip" ] || say "making the environment $venv with $python…"
    if [ ! -x "$venv/bin/pip" ] && ! "$python" -m venv "$venv"; then
        echo "$python could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2
        exit 2
    fi
    say "installing the packages of $lock with pip; the first time this takes about a minute…"
    "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r "$lock" 2>&1 | told
    say "installing tui-agent itself…"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
fi
say "ready."
