#!/bin/sh
# Sees to it that the given Debian packages' programs are there: installs what is missing where it may, and
# says what to do where it may not. A package's program has the package's name, or is named as package:program.
# What stands behind --if-there-is may stay missing: the tests that use it are skipped then.
set -eu

missing=
extra=
optional=
for item in "$@"; do
    if [ "$item" = --if-there-is ]; then
        optional=yes
    elif command -v "${item#*:}" >/dev/null 2>&1; then
        continue
    elif [ -n "$optional" ]; then
        extra="$extra ${item%%:*}"
    else
        missing="$missing ${item%%:*}"
    fi
done
[ -z "$missing$extra" ] && exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        root="sudo -n"
    else
        root=impossible
    fi
fi

if [ "$root" = impossible ] || ! command -v apt-get >/dev/null 2>&1; then
    [ -z "$missing" ] && exit 0
    printf 'The tests need programs that are not installed:%s\n' "$missing" >&2
    printf 'Install them and run this again. Debian, Ubuntu: sudo apt-get install%s\n' "$missing" >&2
    exit 1
fi

install() {
    printf 'Installing%s ...\n' "$*"
    # shellcheck disable=SC2086  # one word a package
    $root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $* >/dev/null
}

# redis-server comes for its program alone: without this, installing it would start it as a service.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
    $root chmod 755 "$policy"
    # shellcheck disable=SC2064  # the values of now are meant
    trap "$root rm -f $policy" EXIT
fi
$root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
[ -z "$missing" ] || install "$missing"
for package in $extra; do
    install " $package" || printf 'There is no package %s here: the tests that need it are skipped.\n' "$package"
done
