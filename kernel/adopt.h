#pragma once
// castile-iso run --adopt: real-time requests of a program and all it starts become isochronous ones.

namespace castile::iso {

/// Runs the command under a filter that brings each request to set a scheduling policy here: SCHED_FIFO and SCHED_RR are answered
/// by the class, at the level of the priority; anything else goes on to the kernel. Returns the command's exit status (128 + N
/// for a signal), 126 or 127 when it cannot be started.
int run_adopted(char** command, bool verbose);

}  // namespace castile::iso
