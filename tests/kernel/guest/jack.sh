# One CPU, virtual time: a JACK server and its clients in every class, beside two busy loops.
export HOME=/tmp
settle
cd /castile
# The first server takes its time.
timeout 4 jackd -n warm -r -d dummy >/dev/null 2>&1
test() {
    python3 bench/jack_test3 --seconds 10 --clients 4 --hogs 2 --only-hogs --classes $1 --out /tmp/$1 2>&1 | while IFS= read -r line; do echo "R jack: $line"; done
    python3 -c "
import csv
for row in csv.DictReader(open('/tmp/$1/jack_test3.csv')): print('R jack-row', row['kind'].replace(' ', '-'), row['xruns'], row['delay_max_us'])"
}
test fifo,rr,normal
isod || return
test iso
noisod
