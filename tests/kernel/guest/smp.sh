# Several CPUs, real time: what tasks get and that nothing stalls; no latencies.
settle
cap() {
    isod --set iso_period=1 || return
    pids=
    for cpu in $(seq 0 $((CPUS - 1))); do
        isotest -u 1000 -C $cpu -c iso hog -d 2 -s 8 -t cap$CPUS-iso$cpu & pids="$pids $!"
        isotest -u 1000 -C $cpu hog -d 2 -s 8 -t cap$CPUS-normal$cpu-1 & pids="$pids $!"
        isotest -u 1000 -C $cpu hog -d 2 -s 8 -t cap$CPUS-normal$cpu-2 & pids="$pids $!"
    done
    all $pids
    noisod
}
cap
[ $CPUS = 2 ] || return

isod || return
# The crash of the year 2005, on all CPUs.
S=${LONG:+60}
pids=
for i in 1 2; do isotest -u 1000 hog -d 2 -s ${S:-20} -t yields-normal$i & pids="$pids $!"; done
for i in 1 2 3 4; do isotest -u 1000 -c iso hog -d 2 -y -s ${S:-20} -t yields-iso$i & pids="$pids $!"; done
all $pids
say yields state=$(state)
# Three equal hogs on two CPUs; two nice values.
pids=
for i in 1 2 3; do isotest -u 1000 hog -d 2 -s 3 -t three-$i & pids="$pids $!"; done
all $pids
# One that was bound to a busy CPU takes the idle one when it may.
isotest -u 1000 -C 0 hog -d 2 -s 3 -t spread-bound & A=$!
isotest -u 1000 hog -d 2 -s 3 -t spread-free1 & B=$!
all $A $B

isotest -u 1000 -c iso bomb -n 600 -t bomb
isotest -u 1000 -c iso crowd -n 500 -s 2 -t crowd
isotest -u 1000 -c iso kill -n 40 -s 2 -t killed
isotest -c rr:1 flip -s 3 -t flipped
say trouble state=$(state)

# A CPU goes and comes: attached again, tasks go on.
isotest -u 1000 -c iso hog -d 2 -s 6 -t hotplug & A=$!
sleep 1
echo 0 >/sys/devices/system/cpu/cpu1/online
sleep 2
echo 1 >/sys/devices/system/cpu/cpu1/online
wait $A
for _ in $(seq 100); do # it may be loading just now
    [ "$(state)" = enabled ] && castile-iso status >/dev/null 2>&1 && break
    sleep 0.2
done
say hotplug state=$(state) attached=$(castile-iso metrics | awk '/^castile_iso_attached_total/{print $2}')

# The daemon dies.
isotest -u 1000 -c iso hog -d 2 -s 3 -t orphan & A=$!
sleep 0.5
kill -9 $ISOD
sleep 1
say orphan state=$(state)
wait $A
isod && say again state=$(state)
noisod
