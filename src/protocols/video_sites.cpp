// youtube-dl:URL and youtube-pl:URL fetch from video sites, by the program yt-dlp.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/child_process.h"
#include "base/settings.h"
#include "protocols/command.h"
#include "request/temporary_file.h"

namespace castile::protocols {

namespace {

Setting<std::string> path{"protocol.youtube_dl.path", "yt-dlp", "Program that fetches from video sites."};
Setting<double> longest{"protocol.youtube_dl.timeout", 300, "Longest time that it may take, in seconds."};

using Result = std::expected<ProtocolResult, Failure>;

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) lines.push_back(std::move(line));
    return lines;
}

Result fetch(const std::string& url, double timeout) {
    const std::string given = " -- " + shell_quoted(url);
    const auto about = output_of_command(path.get() + " --get-title --get-filename" + given, timeout);
    if (!about) return std::unexpected(about.error());
    const std::vector<std::string> lines = lines_of(*about);   // title, name of the file
    std::string extension;
    if (lines.size() > 1)
        if (const std::size_t dot = lines[1].rfind('.'); dot != std::string::npos && lines[1].find('/', dot) == std::string::npos) extension = lines[1].substr(dot + 1);
    auto result = file_by_command(path.get() + " -q -f best --force-overwrites --no-continue --no-playlist -o $(output)" + given, extension, std::min(timeout, longest.get()));
    if (result && !lines.empty()) result->metadata.set("title", lines[0]);
    return result;
}

Result list(const std::string& url, double timeout) {
    const auto ids = output_of_command(path.get() + " -i -s --get-id --flat-playlist -- " + shell_quoted(url), timeout);
    if (!ids) return std::unexpected(ids.error());
    auto file = make_temporary_file("");
    if (!file) return std::unexpected(std::move(file.error()));
    std::ofstream out(*file);
    for (const std::string& id : lines_of(*ids)) out << "youtube-dl:https://www.youtube.com/watch?v=" << id << "\n";
    ProtocolResult result;
    result.uris = {std::move(*file)};
    result.temporary = true;
    return result;
}

const RegisterProtocol one{"youtube-dl", "Fetch from a video site, by the program yt-dlp.", "youtube-dl:uri", fetch};
const RegisterProtocol many{"youtube-pl", "A list of a video site, by the program yt-dlp: for `playlist(\"youtube-pl:...\")`.", "youtube-pl:uri", list};

}  // namespace

}  // namespace castile::protocols
