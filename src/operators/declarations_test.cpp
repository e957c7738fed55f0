#include <gtest/gtest.h>

#include "base/error.h"
#include "lang/builtin.h"

namespace castile::operators {
namespace {

// Every type in a declaration parses, every name is declared once.
TEST(Declarations, AreSound) {
    try {
        lang::freeze_builtins();
    } catch (const Error& e) {
        FAIL() << e.what();
    }
}

}  // namespace
}  // namespace castile::operators
