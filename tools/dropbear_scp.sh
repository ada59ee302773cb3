#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Builds Dropbear's scp, a peer of the interop suite, and prints its path.
#
#   tools/dropbear_scp.sh [DIR]     DIR is build-peers/dropbear unless given, and kept for the next time
#
# No package of Debian has this program, its source package does.  apt-get fetches that and checks its
# signature, with lists of its own below DIR: nothing of the system's apt is changed, no root is needed.
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:-$top/build-peers/dropbear}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
log=$dir/log
exec 9>"$dir/lock"
flock 9         # two runs of the suite at the same time build it once
if [ -x "$dir/scp" ]; then
	echo "$dir/scp"
	exit 0
fi

fail() {
	tail -n 20 "$log" >&2
	echo "Dropbear's scp, a peer of the tests, could not be $1; all of it is in $log" >&2
	exit 1
}

# sources: a deb-src line for each archive that the system's own packages come from
sources() {
	local lines codename key=/usr/share/keyrings/debian-archive-keyring.gpg
	lines=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
		'Origin: Debian' 'Component: main' | sort -u)
	if [ -z "$lines" ]; then
		codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
		lines="http://deb.debian.org/debian $codename main
http://deb.debian.org/debian-security $codename-security main"
	fi
	sed "s|^|deb-src [signed-by=$key] |" <<<"$lines"
}

fetch() {
	local apt=(apt-get -qq -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User="$(id -un)")
	sources >"$dir/sources.list" && mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" &&
		"${apt[@]}" update && "${apt[@]}" --download-only source dropbear && tar xf dropbear_*.orig.tar.bz2
}

# It has its own name for the ssh program, dbclient, and wants no library of the others.
build() {
	cd dropbear-*/ && ./configure --disable-zlib && make scp && cp scp "$dir/scp.new"
}

cd "$dir"
rm -rf lists cache dropbear*
fetch >"$log" 2>&1 || fail "fetched"
(build) >>"$log" 2>&1 || fail "built"
rm -rf lists cache dropbear*
mv scp.new scp
echo "$dir/scp"
