#pragma once
// libjack, loaded when it is first called: a script without JACK does not pay for it, and a machine need not have it.

#include <jack/jack.h>

namespace castile::devices {

// Of each: jack_NAME, as <jack/jack.h> declares it.
#define CASTILE_JACK_FUNCTIONS(f)                                                                                                        \
    f(client_open) f(client_close) f(client_name_size) f(get_client_name) f(activate) f(set_process_callback) f(on_info_shutdown)        \
    f(set_buffer_size_callback) f(set_xrun_callback) f(set_port_connect_callback) f(set_port_registration_callback) f(get_sample_rate)   \
    f(get_buffer_size) f(port_register) f(port_name) f(port_get_buffer) f(port_get_all_connections) f(port_by_name) f(get_ports)          \
    f(connect) f(free) f(set_error_function) f(set_info_function)

struct JackLibrary {
#define CASTILE_JACK_MEMBER(name) decltype(&::jack_##name) name = nullptr;
    CASTILE_JACK_FUNCTIONS(CASTILE_JACK_MEMBER)
#undef CASTILE_JACK_MEMBER
};

/// Any thread. Throws Error when this machine has no libjack.
const JackLibrary& jack_library();

}  // namespace castile::devices
