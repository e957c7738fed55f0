#!/bin/busybox sh
# The first process of the test machine: mounts, helpers, the battery named on the kernel's command line, power off.
export PATH=/bin:/usr/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /run /var/run /dev/shm
mount -t tmpfs -o mode=1777 shm /dev/shm
ip link set lo up 2>/dev/null
CPUS=$(nproc)
HZ=100

# say KEY VALUE...: one line of results
say() { echo "R $*"; }
# user COMMAND: without any privilege
user() { su -s /bin/sh user -c "$*" 2>&1; }
state() { cat /sys/kernel/sched_ext/state 2>/dev/null; }

# isod [OPTIONS]: starts the scheduler and waits until it is attached
isod() {
    rm -f /tmp/isod.log # what the one before said
    castile-isod "$@" >/tmp/isod.log 2>&1 &
    ISOD=$!
    for _ in $(seq 600); do
        grep -qs "class is there" /tmp/isod.log && return 0
        kill -0 $ISOD 2>/dev/null || break
        sleep 0.1
    done
    say failed isod "$(tail -n 3 /tmp/isod.log)"
    return 1
}
noisod() {
    kill $ISOD 2>/dev/null
    wait $ISOD
    [ "$(state)" = disabled ] || sleep 0.3
}

# hogs N: N normal hogs; nohogs ends them
hogs() {
    HOGS=
    for _ in $(seq $1); do
        isotest -u 1000 hog -s 1000 >/dev/null &
        HOGS="$HOGS $!"
    done
    sleep 0.3
}
nohogs() {
    kill -9 $HOGS
    wait $HOGS 2>/dev/null
}

# all PIDS: waits
all() { for pid in "$@"; do wait $pid; done; }

# A fresh kernel works for a while on its own.
settle() {
    quiet=0
    for _ in $(seq 40); do
        before=$(awk '/^cpu /{print $5}' /proc/stat)
        sleep 1
        after=$(awk '/^cpu /{print $5}' /proc/stat)
        if [ $((after - before)) -ge $((65 * CPUS)) ]; then quiet=$((quiet + 1)); else quiet=0; fi
        [ $quiet -ge 2 ] && return
    done
}
kernel_log() {
    dmesg | grep -E 'watchdog failed|runnable task stall|BUG:|WARNING:|lockup|rcu.*stall|Oops|hung task|blocked for more' | head -5 | while read -r line; do say kernel "$line"; done
}

for word in $(cat /proc/cmdline); do case $word in battery=*) BATTERY=${word#battery=} ;; long=1) LONG=1 ;; esac; done
say boot $(uname -r) cpus=$CPUS uptime=$(cut -d' ' -f1 /proc/uptime)
. /batteries/$BATTERY.sh
kernel_log
say done uptime=$(cut -d' ' -f1 /proc/uptime)
poweroff -f
