"""Links out of the workspace, names that look like options and public certificates are found before a command is judged."""

from pathlib import Path

from tui_agent.environments.secret_files import SecretFiles, public_certificates


def nothing_secret(path: str) -> bool:
    return False


def test_links_that_lead_out_are_found_wherever_they_lie(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    (root / "deep" / "er").mkdir(parents=True)
    outside.mkdir()
    (outside / "notes.txt").write_text("private")
    (root / "a.txt").write_text("a")
    (root / "notes.txt").symlink_to(outside / "notes.txt")
    (root / "deep" / "er" / "folder").symlink_to(outside)
    (root / "inside.txt").symlink_to("a.txt")
    (root / "nowhere.txt").symlink_to("/nowhere/at/all")
    scan = SecretFiles(str(root), nothing_secret)
    assert dict(scan.scan().outside_links) == {
        "notes.txt": str(outside / "notes.txt"),
        "deep/er/folder": str(outside),
        "nowhere.txt": "/nowhere/at/all",
    }
    assert scan.scan().unscanned == ()


def test_a_link_that_is_made_between_two_looks_is_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    scan = SecretFiles(str(root), nothing_secret)
    assert scan.scan().outside_links == ()
    (root / "late").symlink_to(tmp_path)
    assert [name for name, _ in scan.scan().outside_links] == ["late"]


def test_folders_that_nobody_looked_into_are_told(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "app" / "node_modules" / "x").mkdir(parents=True)
    (root / "app" / "node_modules" / "out").symlink_to(tmp_path)
    scan = SecretFiles(str(root), nothing_secret)
    assert scan.scan().outside_links == ()
    assert scan.scan().unscanned == ("app/node_modules",)


def test_names_that_may_be_taken_for_options_are_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "-d").mkdir()
    for name in ("--checkpoint=1", "sub/@list", "sub/|touch x", "sub/plain", "a-b", "=x", "+y"):
        (root / name).write_text("")
    scan = SecretFiles(str(root), nothing_secret)
    assert set(scan.scan().option_names) == {"--checkpoint=1", "sub/@list", "sub/|touch x", "=x", "+y", "-d/"}


def test_names_that_fall_into_pieces_or_mean_something_else_are_found(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "my docs").mkdir(parents=True)
    for name in ("a b", "it's", "tab\tin", "plain", "my docs/x", "back\\slash", "HEAD:a", "b*", "c?", "d[1]"):
        (root / name).write_text("")
    found = SecretFiles(str(root), nothing_secret).scan().odd_names
    assert set(found) == {"a b", "it's", "tab\tin", "my docs/", "back\\slash", "HEAD:a", "b*", "c?", "d[1]"}


def test_only_a_certificate_without_a_key_is_public(tmp_path: Path) -> None:
    public, key, other = (tmp_path / name for name in ("cert.pem", "key.pem", "key.p12"))
    public.write_text("-----BEGIN CERTIFICATE-----\nx\n")
    key.write_text("-----BEGIN CERTIFICATE-----\nx\n-----BEGIN PRIVATE KEY-----\ny\n")
    other.write_text("x")
    missing = str(tmp_path / "gone.pem")
    assert public_certificates([str(public), str(key), str(other), missing]) == {str(public)}
