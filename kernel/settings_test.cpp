// What the scheduler is told, right and wrong.

#include "settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "iso_shared.h"
#include "report.h"

namespace castile::iso {
namespace {

std::string error_of(std::string_view name, std::string_view value) {
    iso_tunables tunables = default_tunables(2);
    const auto set = set_tunable(tunables, name, value);
    return set ? "" : set.error();
}

TEST(IsoSettings, Values) {
    iso_tunables t = default_tunables(2);
    EXPECT_EQ(tunables_text(t), "iso_cpu=70 iso_period=5 iso_slice=10 normal_slice=1.4");
    EXPECT_TRUE(set_tunable(t, " iso_cpu ", " 80 "));
    EXPECT_TRUE(set_tunable(t, "iso_period", "0.5"));
    EXPECT_EQ(t.cpu, 80U);
    EXPECT_EQ(t.period, 500 * ISO_MS);
    EXPECT_EQ(default_tunables(64).normal_slice, 28 * ISO_MS / 10);
    EXPECT_EQ(default_tunables(0).normal_slice, 7 * ISO_MS / 10);
}

TEST(IsoSettings, WrongValues) {
    for (const char* wrong : {"101", "-1", "70.5", "", "abc", "7x", "nan", "inf", "0x10", "1e9"}) EXPECT_NE(error_of("iso_cpu", wrong), "") << wrong;
    for (const char* wrong : {"0", "61", "nan", "-5"}) EXPECT_NE(error_of("iso_period", wrong), "") << wrong;
    EXPECT_EQ(error_of("iso_cpu", "700"), "iso_cpu must be a whole number of percent from 0 to 100, not \"700\"");
    EXPECT_EQ(error_of("iso", "7"), "there is no \"iso\" to set (there are iso_cpu, iso_period, iso_slice, normal_slice)");
}

TEST(IsoSettings, Files) {
    const std::string path = (std::filesystem::temp_directory_path() / ("castile-isod-test-" + std::to_string(getpid()))).string();
    const auto read = [&](const std::string& text) {
        std::ofstream(path) << text;
        iso_tunables t = default_tunables(1);
        const auto result = read_config(path, t);
        std::remove(path.c_str());
        return result ? tunables_text(t) : result.error().substr(path.size());
    };
    EXPECT_EQ(read("# a comment\n\n iso_cpu = 60 # less\r\niso_period=2\n"), "iso_cpu=60 iso_period=2 iso_slice=10 normal_slice=0.7");
    EXPECT_EQ(read("iso_cpu = 60\nnonsense\n"), ", line 2: expected \"name = value\", not \"nonsense\"");
    EXPECT_EQ(read("iso_cpu = 600\n"), ", line 1: iso_cpu must be a whole number of percent from 0 to 100, not \"600\"");
    EXPECT_EQ(read(std::string(5000, 'x')), ", line 1: too long for a configuration");
    iso_tunables t = default_tunables(1);
    EXPECT_TRUE(read_config(path + "-missing", t));
}

TEST(IsoReport, LeavesOutCpusThatNeverRan) {
    static iso_shared shared{};
    shared.tunables = default_tunables(2);
    shared.cpus[1].average = {.share = ISO_ONE / 2, .at = 1};
    shared.cpus[1].demoted = 1;
    shared.cpus[1].iso_time = 1'500'000'000;
    const std::string metrics = metrics_text(shared, 4, 1);
    EXPECT_NE(metrics.find("castile_iso_share_ratio{cpu=\"1\"} 0.5\n"), std::string::npos);
    EXPECT_NE(metrics.find("castile_iso_demoted{cpu=\"1\"} 1\n"), std::string::npos);
    EXPECT_NE(metrics.find("castile_iso_class_seconds_total{cpu=\"1\"} 1.5\n"), std::string::npos);
    EXPECT_EQ(metrics.find("cpu=\"0\""), std::string::npos);
    EXPECT_NE(status_text(shared, 4, 1).find("50.0"), std::string::npos);
}

}  // namespace
}  // namespace castile::iso
