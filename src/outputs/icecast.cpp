// output.icecast: an encoder whose bytes go to a source connection of an Icecast server.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/settings.h"
#include "lang/eval.h"
#include "net/http_client.h"
#include "net/icecast_client.h"
#include "net/icy.h"
#include "sched/scheduler.h"
#include "script/callback_list.h"
#include "script/operator.h"
#include "script/transport.h"

namespace castile {

namespace {

using lang::Value;

Setting<std::string> prefer_address_setting{"icecast.prefer_address", "system", "Kind of address to try first: \"system\", \"ipv4\" or \"ipv6\"."};

struct Events {
    std::shared_ptr<script::CallbackList> connect = std::make_shared<script::CallbackList>();
    std::shared_ptr<script::CallbackList> disconnect = std::make_shared<script::CallbackList>();
    std::mutex error_mutex;
    std::optional<Value> error;     // the one function that decides, or none
    double restart_delay = 3;

    // On the blocking pool.
    std::optional<double> decide(const Failure& failure) {
        std::optional<Value> function;
        {
            std::lock_guard lock(error_mutex);
            function = error;
        }
        std::optional<double> delay = restart_delay;
        if (!function) return delay;
        auto answer = std::make_shared<std::optional<double>>(delay);
        const Value restart_in = Value::function([answer](std::span<const lang::CallArgument> arguments) {
            const Value& value = arguments[0].value;
            *answer = value.is_null() ? std::nullopt : std::optional(value.as_float());
            return Value::unit();
        });
        const lang::CallArgument arguments[] = {{Name("restart_in"), restart_in}, {Name(), lang::error_value("source", failure.message)}};
        try {
            function->call(arguments);
        } catch (...) {
            script::log_script_error("on_error");
            return delay;
        }
        if (*answer && **answer < 0) return std::nullopt;  // "raise": the connection is given up
        return *answer;
    }
};

struct Settings {
    IcecastOptions connection;
    std::vector<std::string> icy_fields;
    std::optional<Value> icy_song;
    bool send_icy = true, resend = true;
};

class IcecastOutput final : public EncodedOutput {
public:
    IcecastOutput(SourcePtr input, FormatPtr format, Options options, Settings settings, std::shared_ptr<Events> events)
        : EncodedOutput("output.icecast", std::move(input), std::move(format), std::move(options)), settings_(std::move(settings)), events_(std::move(events)) {}
    ~IcecastOutput() override {
        if (client_) client_->stop();
    }

    const std::shared_ptr<Events>& events() const noexcept { return events_; }
    OutputStatistics statistics() const noexcept override {
        const IcecastClient* client = made_client_;  // there from the first start to our end
        if (!client) return {.connected = false, .bytes = 0, .dropped = 0};
        return {.connected = (client->session() & 1) != 0, .bytes = client->bytes_sent(), .dropped = client->bytes_dropped()};
    }

protected:
    // The encoder is opened with the connection, not here: what nobody takes is not encoded.
    void start() override {
        if (!client_) {
            client_ = IcecastClient::create(settings_.connection, log());
            client_->set_resend_metadata(settings_.resend);
            made_client_ = client_.get();
        }
        client_->start();
    }

    void stop() noexcept override {
        EncodedOutput::stop();
        if (client_) client_->stop();
        session_ = 0;
    }

    void send(const Frame& frame) noexcept override {
        const unsigned session = client_->session();
        if (session != session_) change_session(session);
        if (!encoder()) {
            for (const FrameMetadata& m : frame.metadata()) metadata_changed(m.metadata);
            return;
        }
        if (!fresh_) return EncodedOutput::send(frame);
        fresh_ = false;
        if (!format().in_band_metadata() || !last_ || !frame.metadata().empty()) return EncodedOutput::send(frame);
        Frame first = frame;  // a new connection's stream opens with the title that is on
        first.metadata().push_back({Ticks{0}, last_});
        EncodedOutput::send(first);
    }

    void after_tick() noexcept override {
        if (client_) client_->send_soon();
    }

    void write(ByteSpan data) noexcept override {
        if (!discard_) client_->write(data);
    }

    void metadata_changed(const MetadataPtr& metadata) noexcept override {
        if (metadata == last_) return;
        last_ = metadata;
        if (!settings_.send_icy || !metadata) return;
        // The script's function runs as normal work; of several titles at once the last one counts.
        auto self = std::static_pointer_cast<IcecastOutput>(shared_from_this());
        scheduler().post([self, metadata, number = ++self->titles_] { self->update(*metadata, number); });
    }

private:
    void change_session(unsigned session) noexcept {
        session_ = session;
        discard_ = true;  // the trailer of the former connection's stream has nobody to go to
        EncodedOutput::stop();
        discard_ = false;
        if (!(session & 1)) return;
        try {
            EncodedOutput::start();
            fresh_ = true;
        } catch (const std::exception& error) {
            log().severe("Could not start encoding: {}", error.what());
            request_stop();
        }
    }

    void update(const Metadata& metadata, std::uint64_t number) {
        if (number != titles_) return;
        std::vector<std::pair<std::string, std::string>> fields;
        const auto wants = [&](std::string_view label) { return std::ranges::find(settings_.icy_fields, label) != settings_.icy_fields.end(); };
        bool has_song = false;
        for (const auto& [label, value] : metadata.entries()) {
            if (!wants(label) || value.empty()) continue;
            fields.emplace_back(label, value);
            has_song |= label == "song";
        }
        if (!has_song) {
            if (const auto song = make_song(metadata)) fields.emplace_back("song", *song);
        }
        if (!fields.empty()) client_->update_metadata(std::move(fields));
    }

    std::optional<std::string> make_song(const Metadata& metadata) const {
        if (settings_.icy_song) {
            try {
                const Value song = settings_.icy_song->call({script::to_value(metadata)});
                return song.is_null() ? std::nullopt : std::optional(song.as_string());
            } catch (...) {
                script::log_script_error("icy_song");
                return std::nullopt;
            }
        }
        const std::string artist = metadata.get("artist"), title = metadata.get("title");
        if (artist.empty() && title.empty()) return std::nullopt;
        return artist.empty() ? title : title.empty() ? artist : artist + " - " + title;
    }

    const Settings settings_;
    const std::shared_ptr<Events> events_;
    std::shared_ptr<IcecastClient> client_;
    std::atomic<IcecastClient*> made_client_ = nullptr;  // for other threads
    unsigned session_ = 0;
    bool fresh_ = false, discard_ = false;
    MetadataPtr last_;
    std::atomic<std::uint64_t> titles_ = 0;
};

enum : unsigned {
    chunked, connection_timeout, description, dumpfile, encoding, fallible, format_name, genre, headers, host, icy_metadata, icy_song, method, mount, name,
    on_connect, on_disconnect, on_error, on_start, on_stop, password, port, prefer_address, protocol, is_public, register_telnet, restart_delay,
    send_icy_metadata, send_last_metadata_on_connect, start, timeout, transport, url, user, encoder, input
};

std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return text;
}

IcecastOptions connection_options(script::Args& args, const Format& format) {
    IcecastOptions options;
    options.host = args.string(host);
    const int number = args.integer(port);
    if (number < 1 || number > 65535) args.invalid(port, fmt::format("{} is not a port.", number));
    options.port = static_cast<unsigned short>(number);
    const std::string path = args.string(mount);
    options.mount = path.starts_with('/') ? path : "/" + path;
    if (options.mount.find_first_of(" \r\n") != std::string::npos) args.invalid(mount, "A mount holds no space or end of line.");
    options.user = args.optional_string(user).value_or("source");
    options.password = args.string(password);
    options.transport = script::transport_from_value(args.value(transport));
    options.method = upper(args.string(method));
    if (options.method != "SOURCE" && options.method != "PUT" && options.method != "POST") {
        args.invalid(method, "Valid values are: \"source\", \"put\" or \"post\".");
    }
    if (args.string(protocol) != "http") args.invalid(protocol, "Valid value is \"http\": for Shoutcast use output.shoutcast.");
    const std::string prefer = args.optional_string(prefer_address).value_or(prefer_address_setting.get());
    if (prefer == "ipv4") options.prefer = ConnectOptions::Prefer::ipv4;
    else if (prefer == "ipv6") options.prefer = ConnectOptions::Prefer::ipv6;
    else if (prefer != "system") args.invalid(prefer_address, "Valid values are: \"system\", \"ipv4\" or \"ipv6\".");
    options.chunked = args.boolean(chunked);
    options.content_type = args.string(format_name).empty() ? format.mime() : args.string(format_name);
    options.name = args.optional_string(name).value_or(path);
    options.description = args.optional_string(description).value_or("");
    options.genre = args.optional_string(genre).value_or("");
    options.url = args.optional_string(url).value_or("");
    options.is_public = args.boolean(is_public);
    options.charset = args.optional_string(encoding).value_or("");
    if (!options.charset.empty() && !known_charset(options.charset)) args.invalid(encoding, fmt::format("\"{}\" is no charset.", options.charset));
    options.connection_timeout = args.floating(connection_timeout);
    options.timeout = args.floating(timeout);
    const auto given_headers = args.metadata(headers);
    for (const auto& [label, value] : given_headers->entries()) {
        if (upper(label) == "USER-AGENT") options.user_agent = value;
        else options.headers.emplace_back(label, value);
    }
    int channels = 0;
    for (const auto& track : format.tracks()) channels = std::max(channels, track.content.channels);
    const auto info = [&](std::string_view key, int value) {
        if (value > 0) options.audio_info += fmt::format("{}{}={}", options.audio_info.empty() ? "" : ";", key, value);
    };
    info("bitrate", format.bitrate() / 1000);
    info("channels", channels);
    return options;
}

SourcePtr build(script::Args& args) {
    const FormatPtr format = args.format(encoder);
    format->check();
    auto events = std::make_shared<Events>();
    Settings settings;
    settings.connection = connection_options(args, *format);
    settings.icy_fields = args.strings(icy_metadata);
    if (!args.is_null(icy_song)) settings.icy_song = args.value(icy_song);
    settings.send_icy = args.is_null(send_icy_metadata) ? !format->in_band_metadata() : args.boolean(send_icy_metadata);
    settings.resend = args.boolean(send_last_metadata_on_connect);
    events->restart_delay = args.optional_floating(restart_delay).value_or(3);
    if (!args.is_null(on_connect)) events->connect->add({args.value(on_connect), false, "on_connect"});
    if (!args.is_null(on_disconnect)) events->disconnect->add({args.value(on_disconnect), false, "on_disconnect"});
    if (!args.is_null(on_error)) events->error = args.value(on_error);
    if (!args.is_null(dumpfile)) args.deprecated_argument("dumpfile", "a second output.file with the same encoder");
    settings.connection.on_connect = [connect = events->connect] { (*connect)(); };
    settings.connection.on_disconnect = [disconnect = events->disconnect] { (*disconnect)(); };
    settings.connection.on_error = [events](const Failure& failure) { return events->decide(failure); };
    Output::Options options{args.boolean(fallible), args.boolean(start), args.callback(on_start), args.callback(on_stop)};
    return std::make_shared<IcecastOutput>(args.source(input), format, std::move(options), std::move(settings), std::move(events));
}

const char* const watcher_type = "(?synchronous : bool, (() -> unit)) -> {release : () -> unit}";

const script::RegisterOperator icecast{{
    .name = "output.icecast",
    .category = script::Category::output,
    .doc = "Encode the stream and send it to an Icecast server. A lost connection is made again, for ever; meanwhile the stream goes on "
           "and nothing is encoded.",
    .params = {
        {"chunked", "bool", "false", "Send with chunked transfer encoding."},
        {"connection_timeout", "float", "5.", "Seconds to find, reach and shake hands with the server; negative: two minutes."},
        {"description", "string?", "null", "Description of the stream."},
        {"dumpfile", "string?", "null", "Accepted for compatibility."},
        {"encoding", "string?", "null", "Charset of the metadata and of the stream's description. UTF-8 when null."},
        {"fallible", "bool", "false", "Allow the source to have nothing to play: the output then stops, and starts again with it."},
        {"format", "string", "\"\"", "Content type to announce. Guessed from the encoder when empty."},
        {"genre", "string?", "null", "Genre of the stream."},
        {"headers", "[string * string]", "[]", "More headers of the request."},
        {"host", "string", "\"localhost\"", "Server to connect to."},
        {"icy_metadata", "[string]",
         "[\"song\", \"title\", \"artist\", \"genre\", \"date\", \"album\", \"tracknum\", \"comment\", \"dj\", \"next\"]",
         "Labels of the metadata to send with an ICY update."},
        {"icy_song", "(([string * string]) -> string?)?", "null",
         "Makes the `song` of an ICY update when the metadata has none; none is sent when it gives null. By default \"artist - title\", or the one that is there."},
        {"method", "string", "\"source\"", "HTTP method: \"source\", \"put\" or \"post\"."},
        {"mount", "string", nullptr, "Mount point, with or without the leading slash."},
        {"name", "string?", "null", "Name of the stream. The mount when null."},
        {"on_connect", "(() -> unit)?", "null", "Called when a connection is made."},
        {"on_disconnect", "(() -> unit)?", "null", "Called when a connection ends."},
        {"on_error", "((restart_in : ((float?) -> unit), error) -> unit)?", "null",
         "Called when connecting fails or a connection is lost. `restart_in` says after how many seconds to try again; with null there is no other try."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"password", "string", "\"hackme\"", "Password of the source user."},
        {"port", "int", "8000", "Port of the server."},
        {"prefer_address", "string?", "null", "Kind of address to try first: \"system\", \"ipv4\" or \"ipv6\"; settings.icecast.prefer_address when null."},
        {"protocol", "string", "\"http\"", "Accepted for compatibility: only \"http\"."},
        {"public", "bool", "true", "May the server list the stream in directories?"},
        {"register_telnet", "bool", "true", "Register commands of this output with the server."},
        {"restart_delay", "float?", "null", "Seconds to wait before connecting again: 3 when null."},
        {"send_icy_metadata", "bool?", "null", "Send titles by ICY updates. When null: yes for formats that do not carry titles themselves."},
        {"send_last_metadata_on_connect", "bool", "true", "Send the last title again after each connection."},
        {"start", "bool", "true", "Start with the script."},
        {"timeout", "float", "30.", "Seconds without an answer, or without taking data, after which a connection is given up."},
        {"transport", "http_transport?", "null", "`http.transport.ssl()` for TLS."},
        {"url", "string?", "null", "Web page of the stream."},
        {"user", "string?", "null", "User to log in as: \"source\" when null."},
        {"", "format('a)", nullptr, "Encoding format."},
        {"", "source('a)", nullptr, "What to send."},
    },
    .result = "unit",
    .build = build,
    .methods = {
        {"on_connect", watcher_type, "Call a function when a connection is made.",
         [](const SourcePtr& s) { return script::watch_method(std::static_pointer_cast<IcecastOutput>(s)->events()->connect, "on_connect"); }},
        {"on_disconnect", watcher_type, "Call a function when a connection ends.",
         [](const SourcePtr& s) { return script::watch_method(std::static_pointer_cast<IcecastOutput>(s)->events()->disconnect, "on_disconnect"); }},
        {"on_error", "(?synchronous : bool, ((restart_in : ((float?) -> unit), error) -> unit)) -> {release : () -> unit}",
         "Let a function decide what happens after an error. There is one: a later one replaces it.",
         [](const SourcePtr& s) {
             return Value::function([events = std::static_pointer_cast<IcecastOutput>(s)->events()](std::span<const lang::CallArgument> arguments) {
                 for (const auto& argument : arguments) {
                     if (!argument.label.empty()) continue;
                     std::lock_guard lock(events->error_mutex);
                     events->error = argument.value;
                 }
                 return Value::unit().with_method("release", Value::function([events](std::span<const lang::CallArgument>) {
                     std::lock_guard lock(events->error_mutex);
                     events->error.reset();
                     return Value::unit();
                 }));
             }, "on_error");
         }},
    },
}};

}  // namespace

}  // namespace castile
