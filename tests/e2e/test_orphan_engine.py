"""An engine whose loop is held up by a plugin ends with its app all the same."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stubs.left_out import only_where

PATIENCE = 30.0
APP = """
import sys
from pathlib import Path
from tui_agent.config.session_options import SessionOptions
from tui_agent.session.engine_handle import EngineHandle
options = SessionOptions(cwd=Path(sys.argv[1]), data_dir=Path(sys.argv[1]) / "data", plugin_dirs=(Path(sys.argv[2]),))
print(EngineHandle.start(options).child.pid, flush=True)
sys.stdin.read()
"""
ENDLESS = "from pathlib import Path\nPath(__file__).with_suffix('.seen').touch()\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass\n"


@pytest.mark.e2e
@only_where(hasattr(os, "pidfd_open"), "watches processes by descriptors, which this system has not")
def test_an_engine_that_a_plugin_holds_up_ends_with_its_app(tmp_path: Path) -> None:
    plugin = tmp_path / "endless.py"
    plugin.write_text(ENDLESS)
    app = subprocess.Popen(
        [sys.executable, "-c", APP, str(tmp_path), str(plugin)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert app.stdout is not None and app.stdin is not None
    engine = os.pidfd_open(int(app.stdout.readline()))
    try:
        until = select.select([engine], [], [], 0)[0]
        assert not until
        app.kill()
        app.wait()
        assert select.select([engine], [], [], PATIENCE)[0]
    finally:
        os.close(engine)
        app.stdin.close()
        app.stdout.close()
