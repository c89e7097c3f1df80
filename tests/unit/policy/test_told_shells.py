"""A shell that is given its script as text is judged by that script; what nobody can read from the line is asked about."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined

REMOVING = [
    "sh <<< 'rm -rf tests'",
    "echo 'rm -rf src' | sh",
    "echo rm -rf src | bash -s",
    "printf 'rm -rf %s\\n' src | sh",
    "printf '%s\\n' ls 'rm -rf src' | bash",
    "bash <<'EOF'\nrm -rf src\nEOF",
    "bash -s -- a b <<EOF\nrm -rf src\nEOF",
    "sh -e -x <<EOF\nls\nrm -rf src\nEOF",
    "timeout 5 sh <<< 'rm -rf src'",
    "bash <(echo rm -rf src)",
    "bash -- <(echo rm -rf src)",
    "sh -e -- /dev/stdin <<< 'rm -rf src'",
    "sh -- <<< 'rm -rf src'",
    "source /dev/stdin <<< 'rm -rf src'",
    ". /dev/stdin <<< 'rm -rf src'",
    "sh /dev/stdin <<< 'rm -rf src'",
    "bash -O extglob -c 'rm -rf src'",
    "bash --norc -c 'rm -rf src'",
    "bash -ic 'rm -rf src'",
    "bash -o pipefail -c 'rm -rf src'",
    "bash -c -e 'rm -rf src'",
    "fish -c 'rm -rf src'",
]
UNKNOWN = [
    "base64 -d a | sh",
    "cat commands.txt | sh",
    "bash < <(rev a)",
    "cat <<'EOF' | sh\nls\nEOF",
    "echo \"ls\" | sed s/a/b/ | sh",
    "printf '%b' 'ls' | sh",
    "{ echo ls; } | sh",
    "if true; then sh; fi <<< ls",
    "sh <<< \"$X\"",
    "sh 3<<< ls <&3",
    "sh <<< ls < a",
    "bash -c 'sh' <<< ls",
    "source <(make words)",
    "bash -c \"bash -c \\\"bash -c 'bash -c \\\\\\\"ls\\\\\\\"'\\\"\"",
]  # fmt: skip


@rows("script", REMOVING)
def test_a_script_given_as_text_counts_as_if_it_were_typed(script: str) -> None:
    decision = confined(script)
    assert decision.verdict == "ask"
    assert "destructive" in decision.classes


@pytest.mark.parametrize("script", UNKNOWN)
def test_a_script_that_nobody_can_read_from_the_line_is_asked_about_in_a_sandbox_too(script: str) -> None:
    assert confined(script).verdict == "ask"


@pytest.mark.parametrize(
    "script", ["echo ls | sh", "bash <<'EOF'\nls -la\ngit status\nEOF", "sh <<< 'cat README.md'"]
)
def test_a_script_given_as_text_that_only_reads_is_allowed(script: str) -> None:
    assert confined(script, "ask").verdict == "allow"
    assert confined(script, "plan").verdict == "allow"


@pytest.mark.parametrize("script", ["bash build.sh", "sh -x tests/run.sh a b", "bash -c 'make build'"])
def test_a_script_of_the_workspace_runs_in_a_sandbox(script: str) -> None:
    assert confined(script).verdict == "allow"


def test_the_files_that_a_text_for_a_shell_names_are_judged() -> None:
    assert confined("sh <<< 'cat .env'").verdict == "deny"
    assert confined("echo 'rm -rf /' | sh", "bypass").verdict == "deny"
