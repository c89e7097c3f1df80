#!/bin/sh
# Stands in for Apptainer: an instance is a process namespace on this machine. Records its arguments in $FAKE_INSTANCES.
log=$FAKE_INSTANCES/apptainer.log
printf '%s\n' "$*" | head -n 1 >> "$log"
case "$1 $2" in
"instance start")
    shift 2
    while [ $# -gt 2 ]; do shift; done
    [ -e "$1" ] || { echo "FATAL:   could not open image $1: no such file or directory" >&2; exit 255; }
    unshare --pid --fork --mount-proc sh -c 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done' >/dev/null 2>&1 </dev/null &
    until first=$(pgrep -P $!); do sleep 0.01; done
    echo "$first" > "$FAKE_INSTANCES/$2.instance"
    ;;
"instance stop")
    kill -KILL "$(cat "$FAKE_INSTANCES/$3.instance")"
    rm "$FAKE_INSTANCES/$3.instance"
    ;;
"exec --pwd")
    folder=$3
    shift 3
    variables=
    while [ "$1" = --env ]; do set -- "$@" "$2"; variables=$((variables + 1)); shift 2; done
    place=$FAKE_INSTANCES/${1#instance://}.instance
    shift
    # The variables were moved behind the command; bring them in front of it again.
    count=$(($# - ${variables:-0}))
    while [ $count -gt 0 ]; do set -- "$@" "$1"; shift; count=$((count - 1)); done
    exec nsenter --target "$(cat "$place")" --pid --mount -- env -i -C "$folder" "PATH=$PATH" "$@"
    ;;
*) echo "FATAL:   unknown command $*" >&2; exit 1 ;;
esac
