"""The POSIX shell scripts that run inside a container: its first process, and the parent of each command.

Invariant: the scripts need only `sh` and `grep` in an image.

Each process of a command has the command's marker in its environment variables.
"""

MARKER = "TUI_AGENT_COMMAND"
"""Environment variable that every process of a command has; its value ends with a dot."""

# Prints nothing; sets `found` to the ids of the processes that have the marker $1, of all processes in their sessions,
# and of all their descendants.
_FIND = f"""
find_processes() {{
  found=" $2 "
  for place in $(grep -lsF "{MARKER}=$1" /proc/[0-9]*/environ); do
    place=${{place#/proc/}}; found="$found${{place%/environ}} "
  done
  [ "$found" = "  " ] || add_relatives
}}
add_relatives() {{
  more=1
  while [ "$more" ]; do
    more=
    for place in /proc/[0-9]*; do
      pid=${{place#/proc/}}
      case $found in *" $pid "*) continue;; esac
      read -r line 2>/dev/null < "$place/stat" || continue
      set -- ${{line##*) }}
      [ "$1" = Z ] && continue
      case $found in *" $2 "*|*" $4 "*) found="$found$pid "; more=1;; esac
    done
  done
}}
"""

_FIND_PROGRAM = """
find_program() {
  case $1 in */*) paths=$1;; *) paths=; IFS=:; for folder in $PATH; do paths="$paths:$folder/$1"; done; unset IFS;; esac
  reply=missing
  IFS=:
  for path in $paths; do
    [ -e "$path" ] || continue
    if [ -f "$path" ] && [ -x "$path" ]; then reply="at $path"; break; fi
    reply=refused
  done
  unset IFS
  echo "$reply"
}
"""

SUPERVISOR = (
    _FIND
    + """
signal_found() {
  count=0
  for pid in $found; do
    kill -$1 $pid 2>/dev/null && count=$((count + 1))
    [ $1 = TERM ] && kill -CONT $pid 2>/dev/null
  done
  echo $count
}
find_orphans() {
  found=" "
  for place in /proc/[0-9]*; do
    read -r line 2>/dev/null < "$place/stat" || continue
    set -- ${line##*) }
    [ "$2" = 1 ] && [ "$1" != Z ] && found="$found${place#/proc/} "
  done
  [ "$found" = " " ] || add_relatives
}
"""
    + _FIND_PROGRAM
    + """trap : HUP INT QUIT TERM
exec 2>/dev/null
echo "ready $(command -v bash) $PATH"
while read -r verb first rest; do
  case $verb in
    signal) find_processes "$rest"; signal_found $first;;
    orphans) find_orphans; signal_found $first;;
    find) find_program "$first${rest:+ $rest}";;
  esac
done
"""
)
"""The first process of a container. It answers each line of its input with one line until its input ends.

- `signal SIGNAL MARKER`: signal a command's processes and answer their number
- `orphans SIGNAL`: signal the processes without a parent and answer their number
- `find PROGRAM`: answer `at PATH`, `refused` (not executable) or `missing`
"""

COMMAND = (
    _FIND
    + f"""
if [ "$1" = merged ]; then exec 3>&1 2>/dev/null; else exec 3>&2 2>/dev/null; fi
shift
trap ended=1 TERM; trap : HUP INT QUIT USR1 USR2
(exec "$@" 2>&3 3>&-)  # in a subshell: the shell's message about a signal goes to /dev/null
code=$?
exec 3>&-
if [ -z "$ended" ]; then
  find_processes "${MARKER}" $$
  for pid in $found; do [ $pid = $$ ] || kill -TERM $pid; done
  find_processes "${MARKER}" $$
  for pid in $found; do [ $pid = $$ ] || kill -KILL $pid; done
fi
exit $code
"""
)
"""The parent of one command: `sh -c COMMAND sh merged|separate PROGRAM ARGUMENT…`.

It ends the processes that the command leaves behind, and exits with the command's exit code.
"""

FIND_PROGRAM = _FIND_PROGRAM + 'find_program "$1"'
"""Script to find a program: `sh -c FIND_PROGRAM sh PROGRAM`. It prints the answer of the supervisor to `find`."""

SIGNAL = (
    _FIND
    + """
find_processes "$2" ""
count=0
for pid in $found; do [ $pid = $$ ] || { kill -$1 $pid 2>/dev/null && count=$((count + 1)); }; done
echo $count
"""
)
"""`sh -c SIGNAL sh SIGNAL MARKER` sends a signal to the processes of a command and prints their number."""
