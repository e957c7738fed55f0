# The newest clang there is: libFuzzer is clang's, and libstdc++'s <variant> and <expected> need clang 16 (Debian 12: clang-16).
find_program(CASTILE_CLANGXX NAMES clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++ REQUIRED)
string(REPLACE "clang++" "clang" CASTILE_CLANG ${CASTILE_CLANGXX})
set(CMAKE_CXX_COMPILER ${CASTILE_CLANGXX})
set(CMAKE_C_COMPILER ${CASTILE_CLANG})
