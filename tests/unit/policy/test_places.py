"""Files that hold secrets, that decide what runs, and that run by themselves: by every spelling of their names."""

from collections.abc import Callable

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.places.path_places import Guards, Place, may_hold_secrets
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import ReadEffect, WriteEffect
from tui_agent.protocol.settings import POLICIES, PolicyName

HOME = "/home/ada"
WORKSPACE = f"{HOME}/timesheet"


def decide(
    effect: ReadEffect | WriteEffect, policy: PolicyName = "bypass", *rules: str, real: str = ""
) -> Decision:
    found = {effect.path: real} if real else {}
    return RulePolicy(rules).decide("some_tool", (effect,), PolicyFacts(WORKSPACE, policy, found))


SECRETS = [
    ".env", ".env.local", "prod.env", ".env-prod", ".env_ci", ".envrc", "a/.env", "server.pem", "AuthKey_X.p8", "id_ed25519",
    "deploy_rsa", "app.keystore", "release.jks", "vault.kdbx", "host.keytab", "office.ovpn", "terraform.tfstate",
    "terraform.tfstate.backup", "secrets.yaml", "secret.yml", ".secrets", "client_secret_123.json", "my-credentials.json",
    "app-firebase-adminsdk-x.json", "service-account-prod.json", "kubeconfig", "wallet.dat", ".vault_pass", "kaggle.json",
    f"{HOME}/.ssh/id_x", f"{HOME}/.ssh", f"{HOME}/.aws/sso/cache/a.json", f"{HOME}/.azure/msal_token_cache.json",
    f"{HOME}/.config/gcloud/credentials.db", f"{HOME}/.config/gcloud/legacy/x", f"{HOME}/.kube/config", f"{HOME}/.docker/config.json",
    f"{HOME}/.config/gh/hosts.yml", f"{HOME}/.npmrc", f"{HOME}/.netrc", f"{HOME}/.bash_history", f"{HOME}/.m2/settings.xml",
    f"{HOME}/.cache/huggingface/token", f"{HOME}/.codex/auth.json", f"{HOME}/.config/sops/age/keys.txt", f"{HOME}/.git-credentials",
    f"{HOME}/.config/git/credentials", f"{HOME}/.config/composer/auth.json", f"{HOME}/.cargo/credentials", "/run/secrets/db",
    "/var/run/secrets/kubernetes.io/serviceaccount/token", "/etc/shadow", "/proc/self/environ", "/proc/1/mem", "models.toml",
    ".env~", ".env.bak", ".env.swp", ".#.env", "#.env#", "#.env.local#", ".env_ci~", ".envrc~", ".envrc.swp", ".envrc.bak",
    "prod.env~", ".prod.env.swp", "id_rsa~", ".id_rsa.swp", "id_ed25519.bak", "server.pem~", "tls.key.bak", "deploy_rsa.orig",
    "credentials.json~", ".credentials.json.swp", ".credentials.json.swo", "secrets.yaml.bak", "#secrets.yaml#", ".netrc~",
]  # fmt: skip
PLAIN = [
    ".env.example", ".env.production.sample", "secrets.yaml.example", "credentials.json.template", "id_ed25519.pub", "key.py",
    "src/environment.py", "credentials/model.py", "secrets/__init__.py", "docs/ssh.md", "environ", "auth.json", "config.json",
    ".npmrc", "token", "settings.xml", "config.yml", "keyring.py", "tests/test_env.py",
    ".env.example~", "#.env.example#", ".env.example.swp", "key.py~", "environment.py.bak", "notes~", "#notes#", ".id_ed25519.pub.swp",
]  # fmt: skip
PROTECTED = [
    ".git", ".git/hooks/post-checkout", ".git/config", ".git/info/attributes", "vendor/lib/.git/config", ".hg/hgrc", ".jj/repo",
    ".tui_agent", ".tui_agent/config.toml", ".tui_agent/policy.toml", ".tui_agent/plugins/x/__init__.py", ".tui_agent/hooks/a",
    ".tui_agent/skills/x.md", "sub/.tui_agent/mcp.json", ".mcp.json", "sub/.mcp.json", "git~1/config",
    f"{HOME}/.bashrc", f"{HOME}/.zshenv", f"{HOME}/.config/fish/conf.d/a.fish", f"{HOME}/.config/autostart/x.desktop",
    f"{HOME}/.config/systemd/user/x.service", f"{HOME}/.local/bin/ls", f"{HOME}/.gitconfig", f"{HOME}/.config/git/config",
    f"{HOME}/.claude/settings.json", f"{HOME}/.vimrc", f"{HOME}/.config/nvim/init.lua", f"{HOME}/Library/LaunchAgents/x.plist",
    f"{HOME}/.oh-my-zsh/custom/x.zsh", f"{HOME}/.Rprofile", f"{HOME}/.curlrc",
]  # fmt: skip
BY_THEMSELVES = [
    ".vscode/tasks.json", "sub/.vscode/settings.json", ".husky/pre-commit", ".githooks/pre-push", ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json", "sitecustomize.py", "lib/x.pth", ".cargo/config.toml", ".npmrc", ".bashrc",
    ".mise.toml", ".sequelizerc", "opencode.json", ".aider.conf.yml", ".venv/bin/python", "web/node_modules/.bin/eslint",
    "rust-toolchain.toml", "sub/rust-toolchain",
]  # fmt: skip
SPELLINGS = [
    str.upper,
    str.title,
    lambda name: f"{name}.",
    lambda name: f"{name} ",
    lambda name: f"{name}. .",
    lambda name: f"{name}:stream",
    lambda name: name[:2] + "\u200c" + name[2:],
    lambda name: name[:2] + "\ufeff" + name[2:],
    lambda name: name[:2] + "\ufe0f" + name[2:],
    lambda name: "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" and char != "/" else char for char in name
    ),
]


def in_all_profiles(effect: ReadEffect | WriteEffect) -> set[str]:
    return {decide(effect, policy, "allow edit **", "allow read **").verdict for policy in POLICIES}


@rows("path", SECRETS)
def test_a_file_with_secrets_is_neither_read_nor_written(path: str) -> None:
    assert in_all_profiles(ReadEffect(path=path)) == {"deny"}
    assert in_all_profiles(WriteEffect(path=path, creates=True)) == {"deny"}


@rows("path", PLAIN)
def test_a_name_that_only_looks_like_it_is_read(path: str) -> None:
    assert decide(ReadEffect(path=path), "plan").verdict == "allow"


@rows("path", PROTECTED)
def test_a_file_that_decides_what_runs_is_not_written_even_where_it_is_not_there_yet(path: str) -> None:
    assert in_all_profiles(WriteEffect(path=path, creates=True)) == {"deny"}
    assert in_all_profiles(WriteEffect(path=path, removes=True)) == {"deny"}


@pytest.mark.parametrize("root", ["/srv", "/opt", "/var/www"])
def test_a_neighbour_of_a_workspace_below_a_system_folder_is_only_outside(root: str) -> None:
    def judge(path: str, workspace: str) -> tuple[str, str]:
        facts = PolicyFacts(workspace, "ask")
        found = RulePolicy().decide("write_file", (WriteEffect(path=path, creates=True),), facts)
        return found.verdict, found.reason

    assert judge("../b", f"{root}/shop") == ("ask", "../b is outside this workspace")
    assert judge(f"{root}/b/x", f"{root}/deep/shop")[0] == "ask"
    assert judge("/usr/b", f"{root}/shop") == ("deny", "/usr/b belongs to the system")
    assert judge(f"{root}/b", HOME + "/shop") == ("deny", f"{root}/b belongs to the system")


@rows("path", BY_THEMSELVES)
def test_a_file_that_other_programs_run_is_asked_about_where_other_writes_are_not(path: str) -> None:
    assert decide(WriteEffect(path="a.py"), "accept-edits").verdict == "allow"
    found = decide(WriteEffect(path=path), "accept-edits")
    assert (found.verdict, "other programs run" in found.reason) == ("ask", True)
    assert decide(WriteEffect(path=path), "accept-edits", f"allow edit {path}").verdict == "allow"
    assert decide(WriteEffect(path=path), "bypass").verdict == "allow"
    assert decide(ReadEffect(path=path), "plan").verdict == "allow"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", [".env", ".git/config", ".tui_agent/x", ".mcp.json", "server.pem"])
def test_another_spelling_of_a_name_is_that_name(name: str, spelling) -> None:
    for path in (spelling(name), f"sub/{spelling(name)}", f"x/../{spelling(name)}"):
        assert in_all_profiles(WriteEffect(path=path)) == {"deny"}, ascii(path)


@pytest.mark.parametrize("real", [".env", ".ssh/id_rsa", ".git/config", ".GIT/hooks/x"])
def test_the_real_file_counts_under_any_name(real: str) -> None:
    there = f"{WORKSPACE}/{real}"
    assert decide(WriteEffect(path="notes.txt"), real=there).verdict == "deny"
    assert decide(WriteEffect(path=real), real=f"{WORKSPACE}/notes.txt").verdict == "deny"


@pytest.mark.parametrize("name", [".env~", "a/#.env#", ".id_rsa.swp", "tls.key.bak"])
def test_copies_of_secrets_that_an_editor_makes_are_kept_from_commands_too(name: str) -> None:
    assert may_hold_secrets(name)
    assert not may_hold_secrets(
        name.replace(".env", "notes").replace("id_rsa", "notes").replace(".key", ".txt")
    )


NAMES = [name for name in (*SECRETS, *PLAIN, *PROTECTED, *BY_THEMSELVES) if not name.startswith("/")]


@pytest.mark.parametrize("spelling", [str, *SPELLINGS])
def test_a_whole_path_tells_all_that_its_end_tells(spelling: Callable[[str], str]) -> None:
    """So what was given need not be looked at where the real path ends in it."""
    guards, facts = Guards(), PolicyFacts(WORKSPACE, "ask")
    for path in (path for name in NAMES for path in (spelling(name), f"sub/{spelling(name)}")):
        alone, whole = Place("x", path, path), Place("x", f"{WORKSPACE}/{path}", path)
        assert guards.is_secret(alone) <= guards.is_secret(whole), ascii(path)
        assert bool(guards.find_write_guard(alone, facts)) <= bool(guards.find_write_guard(whole, facts)), (
            ascii(path)
        )
