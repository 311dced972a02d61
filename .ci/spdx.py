"""Writes what is inside a release as an SPDX 2.3 document (ISO/IEC 5962), JSON, to standard output.

Usage: spdx.py FOLDER VERSION SECONDS COMMIT: the folder's files, the time of the commit since 1970, its name. Every file is a package with its
checksum; relations say what was compiled into it. Licences are those that the packages' own files state.
"""

import datetime
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path


def words_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def parts():
    """{name: (version, SPDX licence, where it comes from)} of what may be compiled in: the sources that setup.sh fetches, and what Debian's compilers link."""
    fetched = dict(re.findall(r"/([a-z-]+)_([0-9.]+)\.[a-z]", Path(__file__).with_name("setup.sh").read_text()))
    return {
        "protobuf-c": (fetched["protobuf-c"], "BSD-2-Clause", "https://github.com/protobuf-c/protobuf-c"),
        "cJSON": (fetched["cjson"], "MIT", "https://github.com/DaveGamble/cJSON"),
        "zlib": (fetched["zlib"], "Zlib", "https://zlib.net"),
        "musl": (words_of("dpkg-query", "-W", "-f", "${source:Upstream-Version} ", "musl-dev").split()[0], "MIT", "https://musl.libc.org"),
        "libgcc": (words_of("gcc", "-dumpfullversion"), "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org"),
    }


def parts_of(name):
    """What a file has in it beside tinyort, by its name."""
    if name.endswith((".deb", ".whl")):  # of the deb the program; its libraries need Debian's packages
        return ["protobuf-c", "libgcc"]
    if "-linux-" in name:
        return ["protobuf-c", "cJSON", "zlib", "libgcc"] + (["musl"] if "-musl" in name else [])
    return []


def package(identifier, name, version, licence, location, **more):
    return {"SPDXID": f"SPDXRef-{identifier}", "name": name, "versionInfo": version, "licenseConcluded": licence, "licenseDeclared": licence,
            "downloadLocation": location, "copyrightText": "NOASSERTION", "filesAnalyzed": False, **more}


def identifier_of(name):
    return "File-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def main():
    folder, version, seconds, commit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages = [package("tinyort", "tinyort", version, "MIT", "NOASSERTION", comment=f"commit {commit}")]
    packages += [package(f"Part-{name}", name, *row) for name, row in parts().items()]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-tinyort")]
    for file in sorted(folder.iterdir()):
        if file.suffix == ".json" or file.name == "SHA256SUMS":
            continue
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        packages.append(package(identifier_of(file.name), file.name, version, "NOASSERTION", "NOASSERTION", packageFileName=file.name,
                                checksums=[{"algorithm": "SHA256", "checksumValue": digest}]))
        this = packages[-1]["SPDXID"]
        relations.append((this, "GENERATED_FROM", "SPDXRef-tinyort"))
        relations += [(this, "STATIC_LINK", f"SPDXRef-Part-{part}") for part in parts_of(file.name)]
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tinyort-{version}",
               "documentNamespace": f"urn:tinyort:{version}:{commit}",
               "creationInfo": {"created": time, "creators": ["Tool: make release"]}, "packages": packages,
               "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
