#!/bin/sh
# Packs what `make install` leaves as a Debian package, without debhelper. All of it is one package: it is small, and while
# the interface may change an application is built again with each version, so that nobody needs the library without its
# headers. Usage, from the root of the tree: deb.sh FOLDER VERSION DEB; what is packed lies in FOLDER. MAKE comes from the
# Makefile.
set -eu
version=$2 deb=$3
umask 022
rm -rf "$1"
folder=$(mkdir -p "$1" && cd "$1" && pwd)
root=$folder/debian/tinyort share=$folder/debian/tinyort/usr/share
mkdir -p "$root/DEBIAN"
"$MAKE" --no-print-directory install-strip DESTDIR="$root" PREFIX=/usr > "$folder/log" || { cat "$folder/log" >&2; exit 1; }

gzip -9n "$share/man/man1/tinyort.1"
mv "$share/zsh/site-functions" "$share/zsh/vendor-completions" # where Debian's zsh looks
install -D -m 644 LICENSE "$share/doc/tinyort/copyright"

# dpkg-shlibdeps takes the packages of this machine's libraries, and wants to be beside a debian/control.
printf 'Source: tinyort\n\nPackage: tinyort\nArchitecture: any\n' > "$folder/debian/control"
depends=$(cd "$folder" && dpkg-shlibdeps -O -Sdebian/tinyort "$root/usr/bin/tinyort" "$root"/usr/lib/*.so."$version")
cat > "$root/DEBIAN/control" << CONTROL
Package: tinyort
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The tinyort authors
Section: science
Priority: optional
Depends: ${depends#shlibs:Depends=}
Suggests: pkg-config, libprotobuf-c-dev
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Description: runs ONNX models, and tells where every node runs, and why
 The command line, and the library with its headers. A static program that
 has the library in it also needs libprotobuf-c-dev.
CONTROL
echo "activate-noawait ldconfig" > "$root/DEBIAN/triggers"
(cd "$root" && find usr -type f | sort | xargs md5sum) > "$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "$deb" > /dev/null
echo "deb: $deb, $(stat -c %s "$deb") bytes"
