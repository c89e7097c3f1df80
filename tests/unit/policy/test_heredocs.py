"""Here-documents: what bash expands in them is judged, what it does not is text."""

import pytest

from tests.unit.policy.judging import classes, verdict


@pytest.mark.parametrize(
    "script",
    [
        "cat <<EOF\n`rm a`\nEOF",
        "cat <<-EOF\n\t`rm a`\n\tEOF",
        "cat <<EOF\nx \\\\`rm a`\nEOF",
        "cat <<EOF\n`echo \\`rm a\\``\nEOF",
        "cat <<EOF\n$(rm a)\nEOF",
        "cat <<EOF\n${x:-`rm a`}\nEOF",
        "cat <<A <<B\n`rm a`\nA\nB",
    ],
)
def test_a_text_that_bash_expands_is_no_text(script: str) -> None:
    assert verdict(script) == "ask"
    assert "destructive" in classes(script)


@pytest.mark.parametrize(
    "script",
    [
        "cat <<'EOF'\n`rm a` $(rm b)\nEOF",
        'cat <<"EOF"\n`rm a`\nEOF',
        "cat <<\\EOF\n`rm a`\nEOF",
        "cat <<EOF\nuse \\`code\\`\nEOF",
        "cat <<EOF | wc -l\na\nEOF",
    ],
)
def test_a_text_that_bash_leaves_alone_runs_nothing(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "cat <<'E'}\nx\nE}\nls\nE",
        "cat <<E}\nx\nE}\nls\nE",
        "cat <<E\nx",
        "cat <<E\nx\nE ",
        "cat <<E'O'F\nx\nEOF",
        "cat <<$'EOF'\nx\nEOF",
        "cat <<$x\nx\n$x",
        "cat <<É\nx\nÉ",
    ],
)
def test_an_end_that_is_not_plain_is_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


def test_no_command_hides_behind_an_end_that_only_bash_sees() -> None:
    assert verdict("cat <<'E'}\nx\nE}\nrm x\nE") == "ask"


@pytest.mark.parametrize(
    "script",
    [
        "ls <\ncat a",
        "awk ;;",
        "x=1;;",
        "f() {ls; }; f",
        "for f in*.py; do ls; done",
        "[[ - a ]]",
        "[[ a ==b ]]",
        "[[ -f ]]",
    ],
)
def test_what_bash_does_not_take_for_a_script_is_not_allowed(script: str) -> None:
    assert verdict(script) == "ask"
