"""Lines that take files away by another program: a wrapper, one that nobody knows, an interpreter, an editor. `␤` is a line's end.

Written for these tests.
"""

LINES = r"""
ionice rm -rf src
ionice -c 3 rm -rf src
ionice -c3 -n 7 rm -rf src
chrt -f 10 rm -rf src
chrt 10 rm -rf src
taskset -c 0 rm -rf src
taskset 0x1 rm -rf src
watch rm -rf src
watch -n 1 'rm -rf src'
parallel rm -rf ::: src
parallel 'rm -rf {}' ::: src
ls | parallel rm -rf {}
coproc rm -rf src
coproc X { rm -rf src; }
script -qc 'rm -rf src'
script -q -c 'rm -rf src' /dev/null
script /dev/null -c 'rm -rf src'
env -S 'rm -rf src'
env -S'rm -rf src'
env --split-string='rm -rf src'
env -u X rm -rf src
env -C src rm -rf x
exec -a x rm -rf src
exec rm -rf src
alias x='rm -rf src'; x
unshare rm -rf src
nsenter -t 1 rm -rf src
flock /tmp/l rm -rf src
flock x.lock -c 'rm -rf src'
chroot . rm -rf src
stdbuf -o0 rm -rf src
systemd-run rm -rf src
systemd-run --user --scope rm -rf src
busybox rm -rf src
busybox sh -c 'rm -rf src'
toybox rm -rf src
doas rm -rf src
runuser -u x rm -rf src
start-stop-daemon --start --exec /bin/rm -- -rf src
expect -c 'spawn rm -rf src'
expect -c 'exec rm -rf src'
make -f - <<< 'all: ; rm -rf src'
make -f- <<EOF␤all:␤	rm -rf src␤EOF
make --file=/dev/stdin <<< 'x:;rm -rf src'
make --eval='x:;rm -rf src'
xargs -a list rm -rf
xargs -a list sh -c 'rm -rf "$@"' _
xargs rm -rf < list
find . -exec sh -c 'rm -rf src' \;
find . -name '*.pyc' -exec sh -c 'rm "$1"' _ {} \;
git -c alias.x='!rm -rf src' x
git -c core.pager='rm -rf src' log
git -c core.editor='rm -rf src' commit
git -c core.sshCommand='rm -rf src' fetch
GIT_PAGER='rm -rf src' git log
GIT_EDITOR='rm -rf src' git commit
PAGER='rm -rf src' git log
git config alias.x '!rm -rf src'
git rebase -x 'rm -rf src' HEAD~1
git bisect run rm -rf src
git submodule foreach 'rm -rf src'
git difftool -x 'rm -rf src'
ssh localhost rm -rf src
python - <<< 'import shutil; shutil.rmtree("src")'
python <<EOF␤import os␤os.remove("a")␤EOF
python3 -c "import shutil; shutil.rmtree('src')"
python -c "import os; os.system('rm -rf src')"
python -c "import subprocess; subprocess.run(['rm','-rf','src'])"
python -c "from pathlib import Path; Path('a').unlink()"
python -c "import os; os.rmdir('x')"
python3.11 -c "import shutil; shutil.rmtree('src')"
python -Bc "import shutil; shutil.rmtree('src')"
echo 'import shutil; shutil.rmtree("src")' | python3
base64 -d x | python
cat x | perl
perl -e 'unlink "a"'
perl -e 'unlink glob "*"'
perl -e 'system("rm -rf src")'
perl -MFile::Path -e 'remove_tree("src")'
perl -e 'use File::Path; rmtree("src")'
perl -e '`rm -rf src`'
ruby -e 'File.delete("a")'
ruby -rfileutils -e 'FileUtils.rm_rf("src")'
ruby -e 'system "rm -rf src"'
ruby -e 'Dir.rmdir("x")'
node -e "require('fs').rmSync('src',{recursive:true})"
node -e "require('fs').unlinkSync('a')"
node -e "require('child_process').execSync('rm -rf src')"
node --eval "fs.rmdirSync('src')"
node <<EOF␤require('fs').rmSync('src')␤EOF
deno eval "Deno.removeSync('src')"
bun -e "require('fs').rmSync('src')"
php -r 'unlink("a");'
php -r 'system("rm -rf src");'
lua -e 'os.remove("a")'
lua -e 'os.execute("rm -rf src")'
Rscript -e 'unlink("src", recursive=TRUE)'
osascript -e 'do shell script "rm -rf src"'
tclsh <<< 'file delete -force src'
awk 'BEGIN{system("rm -rf src")}'
awk 'BEGIN{print "rm -rf src" | "sh"}'
gawk '{print $0 | "sh"}' f
sed '1e rm -rf src' f
sed -n 's/.*/rm -rf src/e' f
sed -i 's/x/rm -rf src/e' f
vim -c ':!rm -rf src' -c q
vim -es -c '!rm -rf src' -c q
ex -sc '!rm -rf src' -c q
ed <<< '!rm -rf src'
nvim --headless -c '!rm -rf src'
emacs --batch --eval '(delete-directory "src" t)'
emacs --batch --eval '(shell-command "rm -rf src")'
gdb -batch -ex 'shell rm -rf src'
strace rm -rf src
strace -f -o out rm -rf src
ltrace rm -rf src
valgrind rm -rf src
perf stat rm -rf src
hyperfine 'rm -rf src'
entr rm -rf src
ls | entr -r sh -c 'rm -rf src'
nodemon --exec 'rm -rf src'
concurrently "rm -rf src"
tmux new -d 'rm -rf src'
tmux new-session -d rm -rf src
screen -dm rm -rf src
screen -dmS x sh -c 'rm -rf src'
at now <<< 'rm -rf src'
batch <<< 'rm -rf src'
dbus-run-session rm -rf src
dbus-launch rm -rf src
firejail rm -rf src
fakeroot rm -rf src
proot rm -rf src
bwrap --bind / / rm -rf src
xvfb-run rm -rf src
catchsegv rm -rf src
numactl -N 0 rm -rf src
cgexec -g cpu:x rm -rf src
prlimit --nproc=1 rm -rf src
softlimit -m 1 rm -rf src
setarch x86_64 rm -rf src
linux64 rm -rf src
unbuffer rm -rf src
rlwrap rm -rf src
sshpass -p x rm -rf src
daemonize /bin/rm -rf src
nohup rm -rf src
time rm -rf src
command rm -rf src
builtin command rm -rf src
bash -O extglob -c 'rm -rf src'
bash --norc -c 'rm -rf src'
bash -ic 'rm -rf src'
bash -o pipefail -c 'rm -rf src'
bash +e -c 'rm -rf src'
bash -c "bash -c \"bash -c 'bash -c \\\"rm -rf src\\\"'\""
zsh -c 'rm -rf src'
fish -c 'rm -rf src'
csh -c 'rm -rf src'
tcsh -c 'rm -rf src'
pwsh -c 'Remove-Item -Recurse src'
ash -c 'rm -rf src'
mksh -c 'rm -rf src'
rbash -c 'rm -rf src'
nu -c 'rm -rf src'
trap 'rm -rf src' EXIT
PROMPT_COMMAND='rm -rf src' bash -i
BASH_ENV=x bash -c ls
eval 'rm -rf src'
eval "$(echo rm -rf src)"
source x.sh <<< y; rm -rf src
mapfile -C 'rm -rf src' -c 1 x < f
complete -C 'rm -rf src' x
compgen -C 'rm -rf src' x
command_not_found_handle() { rm -rf src; }; foo
tar cf /dev/null x --checkpoint=1 --checkpoint-action=exec='rm -rf src'
tar xf a.tar --to-command='rm -rf src'
rsync -a --delete empty/ src/
rsync -e 'rm -rf src' a b:
zip a.zip x -T -TT 'rm -rf src'
split --filter='rm -rf src' f
sort --compress-program='rm' f
less '+!rm -rf src' f
man -P 'rm -rf src' ls
uv run rm -rf src
uv run python -c "import shutil; shutil.rmtree('src')"
poetry run rm -rf src
pipenv run rm -rf src
hatch run rm -rf src
bundle exec rm -rf src
pdm run rm -rf src
nix-shell --run 'rm -rf src'
nix run x -- rm -rf src
direnv exec . rm -rf src
cargo watch -x 'rm -rf src'
sqlite3 a.db '.shell rm -rf src'
setsid -f rm -rf src
perl -i -ne 'unlink "a"' f
python -c "import base64; exec(base64.b64decode('eA=='))"
node -e "eval(atob('eA=='))"
hyperfine 'git reset --hard'
watch git clean -fdx
entr make clean
foo ls ls ls ls ls ls ls ls ls rm -rf src
"""
TAKING = [line.replace("␤", "\n") for line in LINES.split("\n") if line]
