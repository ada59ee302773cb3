# SPDX-License-Identifier: ISC
# What ./try, ./check and ./bench share: which packages they need and how a build is made.  Sourced by
# bash with `top` set to the root of the tree.

packages_build="gcc libargon2-dev libc6-dev libcrypt-dev libedit-dev libssl-dev libseccomp-dev meson ninja-build pkg-config python3 zlib1g-dev"
[ "$(uname -m)" = x86_64 ] && packages_build="$packages_build libipsec-mb-dev"
packages_check="bzip2 chromium clang-14 clang-format-14 clang-tidy-14 cppcheck curl dbus dropbear-bin fuse3 gdb gnome-keyring gnupg golang-go
	golang-github-pkg-sftp-dev golang-golang-x-crypto-dev gcc-12 iproute2 lftp libcmocka-dev libclang-rt-14-dev libsecret-1-dev libssh-dev make mandoc
	openssh-client openssh-client-ssh1 openssh-server openssh-sftp-server openssh-tests procps putty putty-tools
	git rclone rsync python3-asyncssh python3-cryptography python3-paramiko python3-pytest ssh-audit sshfs sudo systemd telnet
	tinysshd valgrind"
packages_bench="dropbear-bin iperf3 iproute2 openssh-client openssh-server openssh-sftp-server procps"

# need_packages NAME...: root gets what is missing, anyone else gets the names and a failure.
need_packages() {
	local missing=() name
	if ! command -v dpkg-query >/dev/null; then
		echo "This is no Debian system; the packages needed go by these names there: $*" >&2
		return 0
	fi
	for name in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			missing+=("$name")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	if [ "$(id -u)" != 0 ]; then
		echo "These packages are needed and not installed:" >&2
		echo "  ${missing[*]}" >&2
		echo "As root: apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "Installing: ${missing[*]}"
	install_packages "${missing[@]}"
}

# A server that comes with a package must not start here: it is only wanted as a peer.
install_packages() {
	local policy=/usr/sbin/policy-rc.d mine=no status=0 log
	log=$(mktemp)
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && mine=yes
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" \
		</dev/null >"$log" 2>&1 ||
		{ DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >>"$log" 2>&1 &&
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" \
			</dev/null >>"$log" 2>&1; } || status=1
	[ $mine = yes ] && rm -f $policy
	if [ $status != 0 ]; then
		tail -n 20 "$log" >&2
		echo "apt-get could not install: $*" >&2
	fi
	rm -f "$log"
	return $status
}

# build_tree DIR [meson option...]: sets DIR up once and brings it up to date; quiet unless it fails.
build_tree() {
	local dir=$1 log=$1.log
	shift
	mkdir -p "$(dirname "$dir")"
	if [ ! -f "$dir/build.ninja" ]; then
		rm -rf "$dir"
		meson setup "$dir" "$top" "$@" >"$log" 2>&1 ||
			{ tail -n 40 "$log" >&2; echo "meson could not set up $dir" >&2; return 1; }
	fi
	ninja -C "$dir" >"$log" 2>&1 ||
		{ grep -v '^\[' "$log" | tail -n 60 >&2; echo "the build in $dir failed" >&2; return 1; }
	rm -f "$log"
}
