# One CPU, virtual time: the many-streams workload of bench/ladder.liq beside busy loops, the engine out of the class and in it. Nobody
# but the scheduler has privileges.
settle
cd /castile
mkdir -m 1777 /tmp/out
measure() { # NAME, settings.scheduler.kernel
    user "python3 bench/iso --engine $1=build/release/castile --prepend '$1=settings.scheduler.kernel := \"$2\"' --streams ${STREAMS:-1} --hogs 4 \
        --phases alone,hogs --seconds 20 --discard 10 --music music.mp3 --no-telnet --out /tmp/out/$1" | while IFS= read -r line; do say "engine: $line"; done
    grep -h 'scheduling\|catchup\|late' /tmp/out/$1/iso-$1.log | head -n 5 | while IFS= read -r line; do say "log $1: $line"; done
    python3 -c "
import csv
for row in csv.DictReader(open('/tmp/out/$1/iso.csv')):
    print('R engine-row', row['engine'] + '-' + row['phase'], *(f'{key}={row[key]}' for key in ('late_ticks', 'ticks', 'latest_ms', 'catchup', 'cpu_percent', 'mounts')))"
}
measure normal none
measure slice slice
isod || return
measure iso auto
castile-iso status | while IFS= read -r line; do say "status: $line"; done
noisod
