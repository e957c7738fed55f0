# Sourced by ./run and ./test: installs what is missing, configures and builds. Each step says what it does; a failure says
# which step it was and what to do.

step() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
fail() { printf 'castile: %s\n' "$*" >&2; exit 1; }

installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }

# Prints the lines of package lists of which no alternative is installed.
missing_packages() {
    local line name found
    cat "$@" | grep -v '^#' | while IFS= read -r line; do
        [ -n "$line" ] || continue
        found=
        for name in ${line//|/ }; do installed "$name" && found=1; done
        [ -n "$found" ] || printf '%s\n' "$line"
    done
}

# install_packages STAMP LIST...
install_packages() {
    local stamp="build/.packages-$1" sum missing
    shift
    sum=$(cat "$@" | cksum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
    command -v dpkg-query >/dev/null ||
        fail "this needs Debian 12 or 13 (no dpkg here): install what tools/packages.txt names by hand, then build with cmake."
    missing=$(missing_packages "$@")
    if [ -n "$missing" ]; then
        local as_root= names=() line name chosen
        if [ "$(id -u)" != 0 ]; then
            command -v sudo >/dev/null ||
                fail "packages are missing (${missing//$'\n'/ }) and there is no sudo: run this once as root."
            as_root=sudo
        fi
        step "Updating the package lists"
        $as_root apt-get update -qq >build/apt.log 2>&1 ||
            { tail -n 5 build/apt.log >&2; fail "'apt-get update' failed: check the network and /etc/apt."; }
        for line in $missing; do
            chosen=
            for name in ${line//|/ }; do
                if [ -z "$chosen" ] && [ -n "$(apt-cache show "$name" 2>/dev/null)" ]; then chosen=$name; fi
            done
            [ -n "$chosen" ] || fail "no package ${line//|/ or } in this machine's lists: Castile needs Debian 12 or 13."
            names+=("$chosen")
        done
        step "Installing ${names[*]}"
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${names[@]}" >build/apt.log 2>&1 ||
            { tail -n 5 build/apt.log >&2; fail "the installation failed; the whole output is in build/apt.log."; }
    fi
    echo "$sum" >"$stamp"
}

# build PRESET TARGET...
build() {
    local preset=$1 log="build/$1.log"
    shift
    if [ ! -f "build/$preset/build.ninja" ]; then
        step "Configuring ($preset)"
        cmake --preset "$preset" >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "cmake failed; the whole output is in $log."; }
    fi
    # Whether there is anything to build only ninja knows, after it looked for new files: it says so on a terminal.
    if [ -n "$first_build" ]; then step "Building ($preset); the first time takes some minutes"; fi
    if [ -t 2 ]; then
        ninja -C "build/$preset" "$@" >&2 || fail "the build failed: see the first error above."
    else
        ninja -C "build/$preset" "$@" >"$log" 2>&1 ||
            { grep -m 20 -A 5 -E 'error|FAILED' "$log" >&2; fail "the build failed; the whole output is in $log."; }
    fi
}

mkdir -p build
first_build=1
if [ -x build/release/castile ]; then first_build=; fi
