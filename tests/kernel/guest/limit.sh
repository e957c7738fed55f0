# One CPU, virtual time: the limit against its closed form, fairness, levels.
settle
# The share over time, by the daemon's own account: when was it demoted first?
isod || return
isotest -u 1000 hog -d 2 -s 16 -t limit-normal1 & A=$!
isotest -u 1000 hog -d 2 -s 16 -t limit-normal2 & B=$!
isotest -u 1000 -c iso hog -d 2 -s 16 -t limit-iso & C=$!
for _ in $(seq 40); do
    sleep 0.25
    say share $(cut -d' ' -f1 /proc/uptime) $(castile-iso metrics | awk '/^castile_iso_(share_ratio|demoted|demotions_total|class_seconds_total)\{/{print $2}')
done
all $A $B $C
say limit $(castile-iso metrics | awk '/^castile_iso_(demotions|promotions|kicks|guards)_total\{/{print $2}')
noisod

# The crash of the year 2005.
isod || return
isotest -u 1000 hog -d 2 -s 12 -t yield-normal1 & A=$!
isotest -u 1000 hog -d 2 -s 12 -t yield-normal2 & B=$!
isotest -u 1000 -c iso hog -d 2 -y -s 12 -t yield-iso & C=$!
all $A $B $C
say yield $(castile-iso metrics | awk '/^castile_iso_(demotions|kicks)_total\{/{print $2}')

noisod

# Demoted for good: a level is no weight then.
isod || return
castile-iso set iso_cpu=0 >/dev/null
isotest -u 1000 -c iso:9 hog -d 2 -s 3 -t zero-iso & A=$!
isotest -u 1000 hog -d 2 -s 3 -t zero-normal & B=$!
all $A $B
noisod

# Fair by weight: nice 0 and nice 5 are 1024 to 335.
isod || return
isotest -u 1000 -c nice:0 hog -d 2 -s 4 -t weight-0 & A=$!
isotest -u 1000 -c nice:5 hog -d 2 -s 4 -t weight-5 & B=$!
all $A $B
# Three equal ones.
for i in 1 2 3; do isotest -u 1000 hog -d 2 -s 3 -t equal-$i & eval "P$i=$!"; done
all $P1 $P2 $P3
# Two of the class at one level take turns without kicking each other.
before=$(castile-iso metrics | awk '/^castile_iso_kicks_total\{/{print $2}')
isotest -u 1000 -c iso hog -d 2 -s 3 -t turns-1 & A=$!
isotest -u 1000 -c iso hog -d 2 -s 3 -t turns-2 & B=$!
all $A $B
say turns kicks=$(($(castile-iso metrics | awk '/^castile_iso_kicks_total\{/{print $2}') - before))
noisod

# Levels: a low hog does not hold back a middle and a high waker. No limit, so that the hog stays in the class.
isod --set iso_cpu=100 || return
isotest -u 1000 -c iso:15 hog -d 2 -s 3 -t level-low & A=$!
isotest -u 1000 -c iso:5 wake -d 2 -n 1000 -b 300 -t level-middle & B=$!
isotest -u 1000 -c iso:0 wake -d 2 -n 1200 -b 300 -t level-high & C=$!
all $A $B $C
# Without a limit (in a long run for longer than the watchdog's time): normal work and the kernel's threads go on.
S=${LONG:+60}
isotest -u 1000 -c iso hog -d 2 -s ${S:-8} -t nolimit-iso & A=$!
isotest -u 1000 hog -d 2 -s ${S:-8} -t nolimit-normal & B=$!
all $A $B
say nolimit state=$(state)
# Bound kernel threads too: a real-time task that waits for one sees how long.
isotest -u 1000 -c iso hog -d 2 -s 4 -t drain-iso & A=$!
isotest -c fifo:10 drain -d 3 -n 20 -t drained & B=$!
all $A $B
noisod

# The limit taken out must show.
isod --mutate no-cap || return
isotest -u 1000 -c iso hog -d 2 -s 8 -t mutant-iso & A=$!
isotest -u 1000 hog -d 2 -s 8 -t mutant-normal & B=$!
all $A $B
noisod

# A real-time hog is not charged to the class.
isod || return
isotest -u 1000 -c iso hog -d 2 -s 3 -t charged-iso & A=$!
isotest -c fifo:50 hog -d 2 -s 3 -t charged-fifo & B=$!
all $A $B
say charged $(castile-iso metrics | awk '/^castile_iso_share_ratio\{/{print $2}')
noisod
