# One CPU, virtual time: how soon who wakes runs. 0.5 ms of work every 1.451 ms (34 %) is a sound server; 50 us is interactive work.
N=2000
normal() { isotest -u 1000 -c normal wake -n $N -b $1 -t $2; }
settle
hogs 2
normal 500 eevdf-busy
normal 50 eevdf-light
isotest -c fifo:60 wake -n $N -b 500 -t fifo
isotest -u 1000 -c slice:100 wake -n $N -b 500 -t slice
isotest -c nice:-20 wake -n $N -b 500 -t nice-20
nohogs
isod || return
hogs 2
isotest -u 1000 -c iso wake -n $N -b 500 -t iso
normal 500 scx-busy
normal 50 scx-light
isotest -c fifo:60 wake -n $N -b 500 -t fifo-under-scx
nohogs
noisod
isod --mutate no-kick || return
hogs 2
isotest -u 1000 -c iso wake -n 500 -b 500 -t mutant-no-kick
nohogs
noisod
