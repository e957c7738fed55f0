# The launcher and the daemon as users meet them.
line() { say line "$1: $(tail -n 1)"; }

# Without the scheduler.
castile-iso status 2>&1 | line status-without
user "castile-iso run true" | line run-without
user "castile-iso run -s echo ran" | line run-strict-without
castile-isod --check 2>&1 | line check
user "castile-isod" 2>&1 | line no-privilege
for wrong in iso_cpu=101 iso_cpu=abc iso_period=0 iso_slice=1000 nothing=1 iso_cpu; do castile-isod --set $wrong 2>&1 | line "wrong $wrong"; done
mkdir -p /etc/castile
echo "iso_cpu = 7o" >/etc/castile/isod.conf
castile-isod 2>&1 | line wrong-file
echo "iso_cpu = 65   # less" >/etc/castile/isod.conf
castile-isod --nonsense 2>&1 | line wrong-option
umount /sys
castile-isod 2>&1 | line no-sched-ext
castile-iso status 2>&1 | line status-no-sched-ext
mount -t sysfs sys /sys
mount -t tmpfs none /sys/kernel/btf
castile-isod 2>&1 | line no-btf
umount /sys/kernel/btf

isod || return
castile-isod 2>&1 | line second-instance
castile-isod --socket /tmp/other.sock 2>&1 | line taken
castile-iso status | sed -n 1p | line status
user "castile-iso set iso_cpu=80" | line set-as-user
castile-iso set iso_cpu=800 2>&1 | line set-wrong
castile-iso set iso_cpu=80 2>&1 | line set
echo "iso_cpu = 60" >/etc/castile/isod.conf
kill -HUP $ISOD
sleep 0.2
castile-iso status | sed -n 1p | line reloaded
castile-iso metrics | grep -c '^castile_iso' | line metrics
head -c 5000 /dev/zero | tr '\0' x | nc -w 1 local:/run/castile/isod.sock >/dev/null 2>&1
user "castile-iso run -v -p 60 isotest wake -n 20 -t launched"
class_seconds() { castile-iso metrics | awk '/^castile_iso_class_seconds_total\{/{s += $2} END {print s}'; }
say forks before $(class_seconds)
user "castile-iso run sh -c 'isotest hog -s 1; true'" >/dev/null
say forks child $(class_seconds)
user "castile-iso run -i sh -c 'isotest hog -s 1; true'" >/dev/null
say forks inherits $(class_seconds)
user "castile-iso run sh -c 'castile-iso run isotest hog -s 1; true'" >/dev/null
say forks again $(class_seconds)
user "castile-iso run -p 60 nothing-here" | line run-missing
user "castile-iso run -p 0 true" | line run-wrong
user "castile-iso run sh -c 'exit 7'"; say line "run-status: $?"
user "castile-iso run --adopt isotest ask -s 2" & A=$!
sleep 1.2
user "castile-iso ps" | awk '{print "R ps", $0}'
wait $A
say line "adopt-status: $?"
user "castile-iso run --adopt sh -c 'kill -TERM \$\$'"; say line "adopt-signal: $?"
user "castile-iso run --adopt -v isotest -c fifo:60 wake -n 50 -b 300 -t adopted"
user "castile-iso run --adopt /nothing/here" | line adopt-missing
if [ -x /bin/jackd ]; then
    user "castile-iso run --adopt jackd -R -P 60 -d dummy -r 44100 -p 1024" >/tmp/jack.log 2>&1 & A=$!
    sleep 4
    user "castile-iso ps" | awk '/jackd/{print "R jack", $0}'
    killall jackd
    wait $A
    say line "jack: $(tail -n 2 /tmp/jack.log)"
fi
noisod
user "castile-iso run --adopt isotest -c fifo:60 wake -n 50 -b 100 -t adopted-without"
