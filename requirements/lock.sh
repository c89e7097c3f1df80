#!/usr/bin/env bash
# Resolve pyproject.toml into the two locks: what runs and builds (lock.txt), and that plus what checks and the
# extras that the tests use (dev.txt).
# For every platform and Python 3.11 upwards, with hashes, and without the name of any registry.
set -euo pipefail
cd "$(dirname "$0")/.."
common=(--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet)
uv pip compile "${common[@]}" "$@" pyproject.toml requirements/build.in -o requirements/lock.txt
uv pip compile "${common[@]}" "$@" pyproject.toml requirements/build.in --extra languages --extra parquet --extra s3 --extra web --extra notebook --extra e2b --extra ray --group pyproject.toml:dev \
    -c requirements/lock.txt -o requirements/dev.txt
