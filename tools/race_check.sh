#!/usr/bin/env bash
# Looks for data races: ThreadSanitizer on the unit tests of sched, clock and source and on the many-streams workload.
#   tools/race_check.sh [STREAMS [SECONDS]]     builds build/tsan; any report is printed and makes it fail
# The workload runs twice, with clocks as tasks and with a thread each, and is asked for its page and commands meanwhile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
streams=${1:-8}
seconds=${2:-40}
tests=(test_sched test_clock test_source)
[ -f build/tsan/build.ninja ] || nice -n 10 cmake --preset tsan >/dev/null
nice -n 10 ninja -C build/tsan castile "${tests[@]}"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TSAN_OPTIONS="log_path=$out/report halt_on_error=0 second_deadlock_stack=1 history_size=4"
failed=0
for name in "${tests[@]}"; do
    printf '==> %s\n' "$name"
    nice -n 10 "build/tsan/$name" --gtest_brief=1 || failed=1
done
printf '==> %s streams, %s s\n' "$streams" "$seconds"
nice -n 10 bench/iso --engine tasks=build/tsan/castile --engine threads=build/tsan/castile --prepend 'threads=settings.clock.task := false' \
    --streams "$streams" --clients 10 --phases clients --seconds "$seconds" --discard 5 --out "$out/iso" || failed=1
# A program that reported something leaves with a code of its own; the workload's is not looked at above.
if compgen -G "$out/report.*" >/dev/null; then
    cat "$out"/report.*
    failed=1
fi
[ "$failed" = 0 ] && echo "no race was found"
exit "$failed"
