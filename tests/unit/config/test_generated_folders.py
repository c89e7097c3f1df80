"""Generated folders: known by their name, or by a file in them or beside them where the name can mean anything."""

from tests.stubs.rows import rows
from tui_agent.config.project.generated_folders import GeneratedFolders


def nothing(path: str) -> bool:
    return False


@rows(
    "path, folder",
    [
        ("src/app.py", ""),
        (".venv", ""),
        (".venv/lib/python3.11/site-packages/x.py", ".venv/"),
        ("web/node_modules/a/node_modules/b.js", "web/node_modules/"),
        ("src/__pycache__/app.pyc", "src/__pycache__/"),
        ("src/app.egg-info/PKG-INFO", "src/app.egg-info/"),
        ("my.venv/x", ""),
        ("target/x", ""),
        ("dist/index.js", ""),
        ("build/x", ""),
        ("env/x", ""),
    ],
)
def test_a_name_alone_is_enough_only_where_it_means_one_thing(path: str, folder: str) -> None:
    assert GeneratedFolders(nothing).folder_of(path) == folder


@rows(
    "path, file, folder",
    [
        ("core/target/debug/x", "core/Cargo.toml", "core/target/"),
        ("core/target/debug/x", "Cargo.toml", ""),
        ("dist/index.js", "package.json", "dist/"),
        ("build/lib/x.py", "pyproject.toml", "build/"),
        ("build/dist/x.py", "build/package.json", "build/dist/"),
        ("app/env/bin/pip", "app/env/pyvenv.cfg", "app/env/"),
        ("app/env/bin/pip", "app/pyvenv.cfg", ""),
        ("docs/target.md", "docs/Cargo.toml", ""),
    ],
)
def test_an_ambiguous_name_needs_a_file_as_proof(path: str, file: str, folder: str) -> None:
    assert GeneratedFolders(lambda asked: asked == file).folder_of(path) == folder


def test_an_ambiguous_folder_with_committed_files_is_not_generated() -> None:
    folders = GeneratedFolders(
        lambda path: path in ("package.json", "a/Cargo.toml"), lambda folder: folder == "build/"
    )
    assert [folders.folder_of(path) for path in ("build/webpack.js", "dist/x.js", "a/target/x")] == [
        "", "dist/", "a/target/",
    ]  # fmt: skip


def test_files_are_counted_by_their_folder_and_each_proof_is_looked_up_once() -> None:
    asked: list[str] = []

    def has_file(path: str) -> bool:
        asked.append(path)
        return path == "Cargo.toml"

    paths = ["a.rs", *(f"target/{number}" for number in range(100)), ".venv/x"]
    assert GeneratedFolders(has_file).count(paths) == {"target/": 100, ".venv/": 1}
    assert asked == ["Cargo.toml"]
