# SPDX-License-Identifier: Apache-2.0
# Read by the scripts beside it: what they share. Not to be run.

say() { printf '%s\n' "$*" >&2; }

# without_services COMMAND...: runs it while packages that are installed start no service; as root, or with sudo=sudo.
without_services() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap '${sudo:-} rm -f "$policy"' EXIT
        trap 'exit 1' INT TERM
        printf '#!/bin/sh\nexit 101\n' | ${sudo:-} tee "$policy" >/dev/null # 101: "action forbidden by policy"
        ${sudo:-} chmod 755 "$policy"
    fi
    "$@"
)

# apt_install PACKAGE...: waits for another apt that is at work. What it brings starts no service.
apt_install() {
    without_services apt_get_install "$@"
}

apt_get_install() {
    ${sudo:-} env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    ${sudo:-} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$@" >&2
}

# install_missing PURPOSE...: brings what scripts/packages names through apt, unless no_install is set.
install_missing() {
    missing=$(sh scripts/packages "$@")
    [ -n "$(echo $missing)" ] || return 0
    if [ "${no_install:-}" = yes ]; then
        say "missing packages:$missing"
        say "install them with: apt-get install --no-install-recommends$missing"
        exit 1
    fi
    sudo=""
    if [ "$(id -u)" != 0 ]; then
        sudo="sudo"
        command -v sudo >/dev/null 2>&1 || sudo="none"
    fi
    if ! command -v apt-get >/dev/null 2>&1 || [ "$sudo" = none ]; then
        say "missing packages (Debian's names):$missing"
        say "they cannot be installed from here: that needs apt-get, and root or sudo"
        exit 1
    fi
    say "installing:$missing"
    # shellcheck disable=SC2086
    apt_install $missing
}

# build_in DIR [configure's arguments]: an out-of-tree build, made anew only where needed.
build_in() {
    dir=$1
    shift
    [ -x configure ] && [ configure -nt configure.ac ] || ./autogen.sh >&2
    mkdir -p "$dir"
    if [ ! -f "$dir/Makefile" ] || [ configure -nt "$dir/config.status" ]; then
        (cd "$dir" && ../configure --quiet "$@" >&2)
    fi
}

# wait_for_line FILE PATTERN PID: until the file has such a line; fails when the process ends first.
wait_for_line() {
    tries=0
    until grep -q "$2" "$1" 2>/dev/null; do
        kill -0 "$3" 2>/dev/null || return 1
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || return 1
        sleep 0.05
    done
}
