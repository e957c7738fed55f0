// Several front ends in one process, and a standard library that is broken.

#include "lang/engine.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "lang/builtin.h"

namespace castile::lang {
namespace {

const RegisterBuiltin asks{Builtin{
    .name = "engine_test.asks", .category = "Test", .doc = "",
    .params = {{"when", "{bool}", "{engine_test.not(false)}", ""}, {"pick", "(string) -> bool", "fun (s) -> engine_test.same(s, \"yes\")", ""}, {"", "string", nullptr, ""}},
    .result = "bool",
    .call = [](const BuiltinArgs& a) { return Value::boolean(a[0].get().as_bool() && a[1].call({a[2]}).as_bool()); },
}};
const RegisterBuiltin negation{Builtin{
    .name = "engine_test.not", .category = "Test", .doc = "", .params = {{"", "bool", nullptr, ""}}, .result = "bool",
    .call = [](const BuiltinArgs& a) { return Value::boolean(!a[0].as_bool()); },
}};
const RegisterBuiltin same{Builtin{
    .name = "engine_test.same", .category = "Test", .doc = "", .params = {{"", "string", nullptr, ""}, {"", "string", nullptr, ""}}, .result = "bool",
    .call = [](const BuiltinArgs& a) { return Value::boolean(a[0].as_string() == a[1].as_string()); },
}};

class Library : public testing::Test {
protected:
    Library() {
        std::string name = (std::filesystem::temp_directory_path() / "castile_engine_test.XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~Library() override { std::filesystem::remove_all(folder_); }

    void file(const char* name, const char* text) { std::ofstream(folder_ / name) << text; }
    std::unique_ptr<Engine> engine(bool tolerant = false) {
        Engine::Options options;
        options.library_directory = folder_.string();
        options.tolerant = tolerant;
        return std::make_unique<Engine>(options);
    }
    static std::string shown(Engine& engine, const char* script) {
        std::vector<Diagnostic> warnings;
        return to_string(engine.run_script("<test>", script, warnings), true);
    }

    std::filesystem::path folder_;
};

TEST_F(Library, IsLoadedByEveryEngine) {
    file("one.liq", "one = ()\ndef one.name() = \"one\" end\n");
    for (int i = 0; i < 3; ++i) {
        auto e = engine();
        EXPECT_EQ(shown(*e, "one.name()"), "\"one\"");
    }
}

TEST_F(Library, DefaultsOfBuiltinsOutliveTheEngineThatMadeThem) {
    for (int i = 0; i < 3; ++i) {
        auto e = engine();
        EXPECT_EQ(shown(*e, "engine_test.asks(\"yes\")"), "true");
        EXPECT_EQ(shown(*e, "engine_test.asks(\"no\")"), "false");
    }
}

TEST_F(Library, ThatIsBrokenIsAnErrorWhenUsed) {
    file("good.liq", "def good() = 1 end\n");
    file("bad.liq", "def bad() = 1 + true end\n");
    auto e = engine();
    EXPECT_EQ(shown(*e, "good()"), "1");
    EXPECT_THROW(shown(*e, "bad()"), ScriptError);
    EXPECT_THROW(engine()->documented(), ScriptError);
}

TEST_F(Library, ThatIsBrokenIsLeftOutByATolerantEngine) {
    file("good.liq", "# Good.\ndef good() = 1 end\n");
    file("ill_typed.liq", "def ill_typed() = 1 + true end\n");
    file("no_script.liq", "def no_script() = ((( end\n");
    file("user.liq", "def user() = ill_typed() end\n");
    auto e = engine(true);
    const auto documented = e->documented();
    ASSERT_EQ(documented.size(), 1u);
    EXPECT_EQ(documented[0].name, "good");
    ASSERT_GE(e->faults().size(), 2u);
    EXPECT_NE(e->faults()[0].find("ill_typed.liq"), std::string::npos) << e->faults()[0];
    EXPECT_EQ(shown(*e, "good()"), "1");
    EXPECT_FALSE(e->analyse("<test>", "x = good()").error.has_value());
}

}  // namespace
}  // namespace castile::lang
