"""A word of which it is not certain what it is may be an option: where options do harm, it is asked about."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined, verdict


@rows(
    "script",
    [
        "rg $X src",
        'rg "$X" src',
        "rg foo $X",
        'rg "$(cat a.txt)" src',
        "rg --max-count $X foo",
        "rg --max-count=1 $X src",
        "X=$(cat a.txt); rg $X src",
        'while read -r p; do rg "$p" src; done < a.txt',
        "fd $X",
        "man -w $X",
        'man -k "$X"',
        "find . -name $X",
        "find . -name a$X",
        "dpkg -L $X",
        'dpkg -s "$X"',
        "docker logs $X",
        'docker images "$X"',
        "npm ls $X",
        "pip show $X",
        "go doc $X",
        "openssl rand $X",
        'kill -0 "$X"',
        "kill -0 $X",
        "man -k $X",
        "man -w ./git",
        "man -k -P ./x git",
        "man -k -l x",
        "man -k --pager=./x git",
        "man -w -M src git",
        "man -k -C x git",
        "man -w -H git",
        "man -k *",
        "kill -9 -0",
        "kill -0 -9 1",
        "kill -s TERM 1",
        "kill 0",
        "kill -0 -s TERM 1",
        "bat --paging=always a",
        "bat --pager=./x a",
        "dpkg -s --admindir=x",
        "dpkg --pre-invoke=./x -s",
        "openssl rand -out x 8",
        "openssl rand -engine x 8",
        "stty -F /dev/tty -a",
        "uuidgen -f x",
    ],
)
def test_it_is_asked_about(script: str) -> None:
    assert verdict(script) != "allow"


@pytest.mark.parametrize(
    "script",
    [
        'rg -- "$X" src', 'rg -e "$X" src', 'rg "a$X" src', 'find . -name "$X"', 'grep -rn "$X" src', "echo $X", "seq $X", "sleep $X",
        'basename "$X"', 'for p in a b; do rg "$p" src; done', "docker logs web", "man -f 7 regex", "man -k socket", "kill -l",
    ],
)  # fmt: skip
def test_where_it_cannot_be_one_or_none_does_harm_it_is_not(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "cd - && ls", "cd src; cd -; ls", "cd /etc && cd - && cat passwd", "cd ../x && cd - && ls", "cd src && cd .. && cd - && ls",
        "bash -c 'cd - && cat x'", "cd . && cd - && ls", "cd src && cd - && cat ../x", "cd src && OLDPWD=/etc && cd - && cat passwd",
        "cd src && read OLDPWD < a && cd - && cat passwd", "cd src && export OLDPWD=/etc; cd - && cat passwd",
    ],
)  # fmt: skip
def test_the_folder_before_counts_only_where_the_line_has_moved(script: str) -> None:
    assert verdict(script) != "allow"
    assert confined(script).verdict != "allow"


@pytest.mark.parametrize(
    "script",
    [
        "trap 'rm -rf src' EXIT; ls", "trap 'cat a.txt' EXIT; cd /etc", 'trap "$X" EXIT', "trap 'curl x.org' EXIT", "trap 'make' EXIT",
        "trap 'id > /etc/x' EXIT", "trap 'sudo id' 0", "trap 'echo $(rm x)' DEBUG", "trap -- 'rm x' ERR", "trap 'eval $X' EXIT",
        "trap 'echo a' $X", "trap 'x=1; $x' EXIT", "trap 'cat ../../etc/x' EXIT", "trap 'echo > a' EXIT", "trap 'cd /; rm -rf x' EXIT",
        "env PAGER=./x git log -3", "env PAGER=cat PATH=. git log", "env PAGER=cat\\;id git log", "env GIT_PAGER=cat git -c core.pager=x log",
    ],
)  # fmt: skip
def test_what_runs_in_the_end_or_with_variables_counts(script: str) -> None:
    assert verdict(script) != "allow"


@pytest.mark.parametrize(
    "script",
    ["docker inspect web", "docker container inspect web", "docker inspect -f '{{.Config.Env}}' web"],
)
def test_what_shows_the_variables_of_a_container_is_asked_about(script: str) -> None:
    assert verdict(script) == confined(script).verdict == "ask"
    assert (
        verdict("docker ps -a") == verdict("docker images") == verdict("docker image inspect web") == "allow"
    )


@pytest.mark.parametrize(
    "script",
    [
        "jq -n --slurpfile a .env '$a'", "jq -n --rawfile a ~/x '$a'", 'jq -n --rawfile a "$X" .', "jq --slurpfile a ../b . x",
        "jq --slurpfile a b env x",
    ],
)  # fmt: skip
def test_files_behind_names_are_read(script: str) -> None:
    assert verdict(script) != "allow"


@pytest.mark.parametrize(
    "script",
    [
        'git log --author="$(git config user.name)"', 'git log --since="$(date -d yesterday +%F)"', 'date --date="$(head -1 a)"',
        'git log "--grep=$(git rev-parse --short HEAD)"', "hash -t ls", "make -v",
    ],
)  # fmt: skip
def test_what_stands_behind_its_name_is_the_word_of_an_option(script: str) -> None:
    assert verdict(script) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "git log --author=$(git config user.name)", 'git log "$(cat a)--author="', 'git log --output="$(cat a)"',
        'grep --file="$(cat a)" b', 'sed --expression="$(cat a)" b', 'sort --output="$(cat a)" b', 'rg --pre="$(cat a)" b',
        'sort --compress-program="$(cat a)" b', 'date --set="$(cat a)"', 'git log --author="$(touch a)"', "hash -t $(cat a)",
        "make -v clean", 'git log --au="$(cat a)" --output=b', 'jq --from-file="$(cat a)" b',
    ],
)  # fmt: skip
def test_one_that_may_be_more_or_names_a_file_is_asked_about(script: str) -> None:
    assert verdict(script) != "allow"
