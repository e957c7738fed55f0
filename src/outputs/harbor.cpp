// output.harbor: an encoder whose bytes go to the listeners of a mount on the built-in server.

#include <fmt/format.h>

#include <atomic>

#include "base/error.h"
#include "net/icy.h"
#include "net/mount.h"
#include "sched/scheduler.h"
#include "script/callback_list.h"
#include "script/operator.h"
#include "script/transport.h"

namespace castile {

namespace {

using lang::Value;

struct Events {
    std::shared_ptr<script::CallbackList> connect = std::make_shared<script::CallbackList>();
    std::shared_ptr<script::CallbackList> disconnect = std::make_shared<script::CallbackList>();
};

class HarborOutput final : public EncodedOutput {
public:
    HarborOutput(SourcePtr input, FormatPtr format, Options options, MountOptions mount, Events events)
        : EncodedOutput("output.harbor", std::move(input), std::move(format), std::move(options)), mount_options_(std::move(mount)), events_(std::move(events)) {}
    ~HarborOutput() override {
        if (mount_) mount_->close();
    }

    const Events& events() const noexcept { return events_; }
    OutputStatistics statistics() const noexcept override {
        const Mount* mount = made_mount_;  // there from the first opening to our end
        if (!mount) return {.bytes = 0, .listeners = 0};
        const MountStatus status = mount->status();
        return {.bytes = status.bytes_sent, .listeners = status.listeners};
    }

    /// Throws Error when the port cannot be had. Also while the script is built: a port in use is told at once.
    void open() {
        if (!mount_) {
            mount_ = Mount::create(mount_options_, log());
            made_mount_ = mount_.get();
        }
        mount_->open();
    }

protected:
    void start() override {
        open();
        EncodedOutput::start();
    }

    void stop() noexcept override {
        EncodedOutput::stop();
        if (!mount_) return;
        mount_->advance(0);
        mount_->close();
        header_ = nullptr;
    }

    void send(const Frame& frame) noexcept override {
        if (mount_->meter().watched()) measure(frame);
        EncodedOutput::send(frame);
        if (encoder()) {
            if (Bytes header = encoder()->header(); header != header_) {
                header_ = header;
                mount_->set_header(std::move(header));
            }
        }
        mount_->advance(to_seconds(frame.length()));
    }

    void write(ByteSpan data) noexcept override { mount_->append(data); }

    void metadata_changed(const MetadataPtr& metadata) noexcept override {
        if (metadata) mount_->set_title(metadata->get("artist"), metadata->get("title"), display_title(*metadata));
    }

private:
    void measure(const Frame& frame) noexcept {
        for (const FrameTrack& track : frame.tracks()) {
            const auto* pcm = std::get_if<PcmBlock>(&track.content);
            if (!pcm) continue;
            for (int i = 0; i < std::min(pcm->channels(), 2); ++i) mount_->meter().add(i, pcm->channel(i));
            return;
        }
    }

    const MountOptions mount_options_;
    const Events events_;
    std::shared_ptr<Mount> mount_;
    std::atomic<Mount*> made_mount_ = nullptr;  // for other threads
    Bytes header_;
};

enum : unsigned {
    auth, buffer, burst, burst_seconds, chunk, dedicated_encoder, description, dumpfile, encoding, fallible, format_name, genre, headers, metaint, mount, name,
    on_connect, on_disconnect, on_start, on_stop, password, port, register_telnet, start, timeout, transport, url, user, encoder, input
};

constexpr int default_buffer = 5 * 65535;

// The script's function decides, or a fixed user and password, or everybody may listen.
auto authorisation(script::Args& args) -> decltype(MountOptions::authorise) {
    if (!args.is_null(auth)) {
        return [function = args.value(auth)](const std::string& login, const std::string& given, const std::string& address, std::function<void(bool)> answer) {
            // The function may ask a web service: it may wait.
            scheduler().blocking([=] {
                bool granted = false;
                try {
                    granted = function.call({Value::unit().with_method("address", Value::string(address)).with_method("login", Value::string(login))
                                                 .with_method("password", Value::string(given))}).as_bool();
                } catch (...) {
                    script::log_script_error("auth");
                }
                answer(granted);
            });
        };
    }
    const auto wanted_user = args.optional_string(user), wanted_password = args.optional_string(password);
    if (!wanted_user && !wanted_password) return nullptr;
    return [=](const std::string& login, const std::string& given, const std::string&, std::function<void(bool)> answer) {
        answer((!wanted_user || login == *wanted_user) && (!wanted_password || given == *wanted_password));
    };
}

MountOptions mount_options(script::Args& args, const Format& format) {
    MountOptions options;
    const int number = args.integer(port);
    if (number < 1 || number > 65535) args.invalid(port, fmt::format("{} is not a port.", number));
    options.port = static_cast<unsigned short>(number);
    const std::string path = args.string(mount);
    options.path = path.starts_with('/') ? path : "/" + path;
    options.transport = script::transport_from_value(args.value(transport));
    options.content_type = args.string(format_name).empty() ? format.mime() : args.string(format_name);
    options.name = args.optional_string(name).value_or("");
    options.description = args.optional_string(description).value_or("");
    options.genre = args.optional_string(genre).value_or("");
    options.url = args.optional_string(url).value_or("");
    options.bitrate = format.bitrate();
    options.charset = args.string(encoding);
    if (!options.charset.empty() && !known_charset(options.charset)) args.invalid(encoding, fmt::format("\"{}\" is no charset.", options.charset));
    if (args.floating(burst_seconds) < 0 || args.floating(burst_seconds) > 60) args.invalid(burst_seconds, "A burst lasts between 0 and 60 seconds.");
    options.burst_seconds = args.floating(burst_seconds);
    if (args.is_null(burst)) {
        options.burst_seconds = 0;
    } else if (args.integer(burst) >= 0) {
        options.burst_bytes = static_cast<std::size_t>(args.integer(burst));
        args.deprecated_argument("burst", "burst_seconds, which means the same for every bitrate");
    }
    if (args.integer(buffer) < 1) args.invalid(buffer, "The buffer holds at least a byte.");
    options.buffer_bytes = static_cast<std::size_t>(args.integer(buffer));
    if (options.burst_bytes && *options.burst_bytes > options.buffer_bytes) args.invalid(buffer, "Maximum buffering is less than the burst.");
    if (args.integer(metaint) < 0) args.invalid(metaint, "The interval is a number of bytes, 0 for no titles.");
    options.metaint = static_cast<std::size_t>(args.integer(metaint));
    options.timeout = args.floating(timeout);
    options.headers = args.metadata(headers)->entries();
    options.authorise = authorisation(args);
    if (!args.is_null(chunk)) args.deprecated_argument("chunk", "nothing: what is made is sent at once");
    if (args.boolean(dedicated_encoder)) args.deprecated_argument("dedicated_encoder", "nothing: all listeners share one encoder");
    if (!args.is_null(dumpfile)) args.deprecated_argument("dumpfile", "a second output.file with the same encoder");
    return options;
}

SourcePtr build(script::Args& args) {
    const FormatPtr format = args.format(encoder);
    format->check();
    Events events;
    MountOptions mount = mount_options(args, *format);
    if (!args.is_null(on_connect)) events.connect->add({args.value(on_connect), false, "on_connect"});
    if (!args.is_null(on_disconnect)) events.disconnect->add({args.value(on_disconnect), false, "on_disconnect"});
    mount.on_connect = [connect = events.connect](const ListenerInfo& listener) {
        std::vector<Value> fields;
        for (const auto& [label, value] : listener.headers) fields.push_back(Value::tuple({Value::string(label), Value::string(value)}));
        (*connect)({{Name(), Value::unit().with_method("headers", Value::list(std::move(fields))).with_method("ip", Value::string(listener.ip))
                                 .with_method("protocol", Value::string(listener.protocol)).with_method("uri", Value::string(listener.uri))}});
    };
    mount.on_disconnect = [disconnect = events.disconnect](const std::string& address) { (*disconnect)({{Name(), Value::string(address)}}); };
    Output::Options options{args.boolean(fallible), args.boolean(start), args.callback(on_start), args.callback(on_stop)};
    auto output = std::make_shared<HarborOutput>(args.source(input), format, std::move(options), std::move(mount), std::move(events));
    if (args.boolean(start)) output->open();
    return output;
}

const script::RegisterOperator harbor{{
    .name = "output.harbor",
    .category = script::Category::output,
    .doc = "Encode the stream once and serve it to any number of listeners from the built-in HTTP server. The port also shows a page with a "
           "player at \"/\", and what is on at \"/api/status\" and \"/status-json.xsl\".",
    .params = {
        {"auth", "(({address : string, login : string, password : string}) -> bool)?", "null", "Decides who may listen. Everybody when null."},
        {"buffer", "int", "327675", "How many bytes a listener may fall behind before it is dropped."},
        {"burst", "int?", "-1", "Bytes sent to a new listener at once: the old way of saying `burst_seconds`. null: none."},
        {"burst_seconds", "float", "4.", "Seconds of stream sent to a new listener at once, so that it starts without a wait."},
        {"chunk", "int?", "null", "Accepted for compatibility."},
        {"dedicated_encoder", "bool", "false", "Accepted for compatibility."},
        {"description", "string?", "null", "Description of the stream."},
        {"dumpfile", "string?", "null", "Accepted for compatibility."},
        {"encoding", "string", "\"\"", "Charset of the titles. UTF-8 when empty."},
        {"fallible", "bool", "false", "Allow the source to have nothing to play: the output then stops, and starts again with it."},
        {"format", "string", "\"\"", "Content type to announce. Guessed from the encoder when empty."},
        {"genre", "string?", "null", "Genre of the stream."},
        {"headers", "[string * string]", "[]", "More headers of the answer."},
        {"metaint", "int", "8192", "Bytes between two titles, for listeners that ask for titles."},
        {"mount", "string", nullptr, "Mount point, with or without the leading slash."},
        {"name", "string?", "null", "Name of the station, for players and for the page."},
        {"on_connect", "(({headers : [string * string], ip : string, protocol : string, uri : string}) -> unit)?", "null", "Called for each new listener."},
        {"on_disconnect", "((string) -> unit)?", "null", "Called when a listener leaves, with its address and port."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"password", "string?", "null", "Password that listeners must give."},
        {"port", "int", "8000", "Port to serve on."},
        {"register_telnet", "bool", "true", "Register commands of this output with the server."},
        {"start", "bool", "true", "Start with the script."},
        {"timeout", "float", "30.", "Seconds without progress after which a listener is dropped."},
        {"transport", "http_transport?", "null", "`http.transport.ssl(...)` for HTTPS."},
        {"url", "string?", "null", "Web page of the stream."},
        {"user", "string?", "null", "User name that listeners must give."},
        {"", "format('a)", nullptr, "Encoding format."},
        {"", "source('a)", nullptr, "What to serve."},
    },
    .result = "unit",
    .build = build,
    .methods = {
        {"on_connect", "(?synchronous : bool, (({headers : [string * string], ip : string, protocol : string, uri : string}) -> unit)) -> {release : () -> unit}",
         "Call a function for each new listener.",
         [](const SourcePtr& s) { return script::watch_method(std::static_pointer_cast<HarborOutput>(s)->events().connect, "on_connect"); }},
        {"on_disconnect", "(?synchronous : bool, ((string) -> unit)) -> {release : () -> unit}", "Call a function when a listener leaves.",
         [](const SourcePtr& s) { return script::watch_method(std::static_pointer_cast<HarborOutput>(s)->events().disconnect, "on_disconnect"); }},
    },
}};

}  // namespace

}  // namespace castile
