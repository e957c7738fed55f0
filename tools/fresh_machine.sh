#!/usr/bin/env bash
# Proves the README's two commands on a fresh Debian: a clean debootstrap tree with git and the base system only.
#   tools/fresh_machine.sh bookworm|trixie [run|test]     (as root; both commands when none is named)
# The tree is made in $FRESH_DIR (default /var/tmp/castile-fresh) and removed at the end unless KEEP=1. Port 8000 must be free.
# FRESH_CCACHE=FOLDER lends the tree a compiler cache, so that a repeated proof is quicker.
set -euo pipefail
suite=${1:?usage: tools/fresh_machine.sh bookworm|trixie [run|test]}
what=${2:-both}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=${FRESH_DIR:-/var/tmp/castile-fresh}/$suite
[ "$(id -u)" = 0 ] || { echo "run this as root: debootstrap and chroot need it" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap

# The mirror that this machine's own apt uses, so that a local one serves too.
mirror=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
    grep -Eo 'https?://[^ ]+/debian(/| |$)' | head -n 1 | tr -d ' ' || true)}
mirror=${mirror:-http://deb.debian.org/debian}

unmount_tree() { for d in ccache dev/shm dev/pts dev proc sys; do if mountpoint -q "$tree/$d"; then umount -l "$tree/$d"; fi; done; }
# What still runs in the tree: a station after a failed check, a build after an interruption.
stop_processes() {
    local process
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/root" || true)" in "$tree" | "$tree"/*) kill -KILL "${process#/proc/}" || true ;; esac
    done 2>/dev/null
}
clean() { stop_processes; unmount_tree; if [ "${KEEP:-0}" != 1 ]; then rm -rf --one-file-system "$tree"; fi; }
trap clean EXIT
unmount_tree
rm -rf --one-file-system "$tree"
mkdir -p "$tree"

echo "==> debootstrap $suite"
debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$tree" "$mirror" >"$tree.log" 2>&1 ||
    { tail -n 5 "$tree.log" >&2; exit 1; }
echo 'Acquire::Check-Valid-Until "false";' >"$tree/etc/apt/apt.conf.d/99check"
cp /etc/resolv.conf /etc/hosts "$tree/etc/"
for d in proc sys dev dev/pts dev/shm; do mkdir -p "$tree/$d"; mount --bind "/$d" "$tree/$d"; done

if [ -n "${FRESH_CCACHE:-}" ]; then
    mkdir -p "$FRESH_CCACHE" "$tree/ccache"
    mount --bind "$FRESH_CCACHE" "$tree/ccache"
fi

git clone -q "$root" "$tree/root/castile"
inside() { chroot "$tree" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
    ${FRESH_CCACHE:+CCACHE_DIR=/ccache CCACHE_BASEDIR=/root CCACHE_NOHASHDIR=1} bash -c "cd /root/castile && $*"; }

if [ "$what" != test ]; then
    echo "==> ./run (first call)"
    started=$SECONDS
    inside 'echo $$ >/root/station.pid; exec ./run' >"$tree/root/run.log" 2>&1 &
    station=$!
    until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do
        kill -0 $station 2>/dev/null || { cat "$tree/root/run.log"; echo "./run ended before port 8000 was open" >&2; exit 1; }
        [ $((SECONDS - started)) -lt 3600 ] || { cat "$tree/root/run.log"; echo "./run took over an hour" >&2; exit 1; }
        sleep 1
    done
    cat "$tree/root/run.log"
    echo "==> on the air after $((SECONDS - started)) s; its page begins:"
    (exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET / HTTP/1.0\r\n\r\n' >&3; timeout 60 head -c 400 <&3)
    echo
    kill -TERM "$(cat "$tree/root/station.pid")"
    wait $station && echo "==> stopped, exit 0"
    echo "==> ./run (second call)"
    inside 'time ./run --version'
fi
if [ "$what" != run ]; then
    echo "==> ./test"
    inside ./test
fi
echo "==> $suite: done"
