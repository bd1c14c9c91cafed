#!/bin/sh
# Install what the tests run against from Debian or a kin of it: Dovecot, Postfix, PostgreSQL, MariaDB and a browser;
# and what checks the files of deploy/: systemd-analyze and promtool.
#
# The tests start private instances on free loopback ports; the system's own services are neither needed nor started.
# Without root or apt-get it says what to do and exits 0: the tests that need a server are then skipped, except where
# CI is set. Exit 1 only where an installation was begun and failed.
set -eu

PACKAGES="dovecot-imapd postfix postgresql mariadb-server openssl systemd"

missing=""
for package in $PACKAGES; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
# The browser may be another of its kin, from anywhere.
for browser in chromium google-chrome chromium-browser; do
    command -v "$browser" >/dev/null 2>&1 && found_browser="$browser"
done
[ -n "${found_browser:-}" ] || missing="$missing chromium"
command -v promtool >/dev/null 2>&1 && found_promtool=1
if [ -z "$missing" ] && [ -n "${found_promtool:-}" ] && command -v dpkg-query >/dev/null 2>&1; then
    echo "install-servers: all there: $PACKAGES"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "install-servers: no apt-get here. Install Dovecot (IMAP), Postfix, PostgreSQL, MariaDB, openssl and Chromium" \
        "by your system's means, or run the tests without them: those that need a server are skipped." >&2
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-servers: not root. Run: sudo $0   or let an administrator run: apt-get install$missing" >&2
    exit 0
fi

# invoke-rc.d asks policy-rc.d before it starts a service; 101 means "do not". One that is there already is put back.
policy=/usr/sbin/policy-rc.d
saved=""
restore() {
    if [ -n "$saved" ]; then mv -f "$saved" "$policy"; else rm -f "$policy"; fi
}
if [ -e "$policy" ]; then
    saved="$policy.before-install-servers"
    mv "$policy" "$saved"
fi
trap restore EXIT
trap 'exit 1' INT TERM
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
apt-get update -q
# A package of its own since Debian 13.
if [ -z "${found_promtool:-}" ] && apt-cache show promtool >/dev/null 2>&1; then
    missing="$missing promtool"
    found_promtool=1
fi
# shellcheck disable=SC2086
[ -z "$missing" ] || apt-get install -q -y --no-install-recommends $missing
if [ -z "${found_promtool:-}" ]; then
    # The tool alone, out of the server's package: nobody needs the server.
    folder=$(mktemp -d)
    (cd "$folder" && apt-get -o APT::Sandbox::User=root download -q prometheus && dpkg-deb -x prometheus_*.deb .)
    install -m 755 "$folder/usr/bin/promtool" /usr/local/bin/promtool
    rm -rf "$folder"
    missing="$missing promtool"
fi
echo "install-servers: installed$missing"
