#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Prints what this source tree costs, one "what: value" a line, to be compared before and after.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<END
Usage: tests/freeze/costs.sh BUILD_DIR [--clean-build PRESET]

Lines are counted in the files that git lists: the product is *.cpp, *.h and *.cu under src, launch, topology and
analysis; lines of code are neither blank nor // comments. Units are the objects that ninja built in BUILD_DIR, and
what they include is what the compiler wrote down for ninja (ninja -t deps); those of tests are named apart. An
object of a unity build is one unit.

  --clean-build PRESET  also build as launch/quickstart.sh does (host or nvidia) in an empty folder without ccache,
                        and print its CPU time. Takes long; wants an idle machine
END
}

[ "${1:-}" != --help ] || { usage && exit 0; }
[ -f "${1:-}/build.ninja" ] || { usage >&2 && exit 2; }
build=$1

product() { git ls-files src launch topology analysis | grep -E '\.(cpp|h|cu)$'; }
tests() { git ls-files tests | grep -E '\.(cpp|h|cu)$'; }
code_lines() { xargs cat | grep -vcE '^[[:space:]]*(//.*)?$'; }

echo "files of the product: $(product | wc -l)"
echo "lines of the product: $(product | xargs cat | wc -l)"
echo "lines of code of the product: $(product | code_lines)"
for folder in src launch topology analysis; do
  echo "lines of code in $folder: $(product | grep "^$folder/" | code_lines)"
done
echo "lines of code of the tests: $(tests | code_lines)"
echo "casts (static_cast<) in the product: $(product | xargs cat | grep -o 'static_cast<' | wc -l)"
echo "lines of goldens: $(git ls-files tests/golden | xargs cat | wc -l)"
echo "lines of README.md: $(wc -l <README.md)"

deps=$(mktemp)
trap 'rm -f "$deps"' EXIT
ninja -C "$build" -t deps | grep -v '^ninja:' >"$deps"
# Objects that include a file whose path ends in the argument; every object if there is none.
units() {
  awk -v end="${1:-}" '
    /^[^ ].*: #deps/ { object = $1; if (end == "" && object ~ /\.o:$/) print object; next }
    end != "" && object ~ /\.o:$/ && length($1) >= length(end) && substr($1, length($1) - length(end) + 1) == end { print object }
  ' "$deps" | sort -u
}
for header in "" /model/schedule.h /machine.h /nlohmann/json.hpp /CLI/App.hpp; do
  found=$(units "$header")
  in_tests=$(grep -c '^tests/' <<<"$found" || true)
  total=$(grep -c . <<<"$found" || true)
  echo "units ${header:+that include }${header:-in all}: $total, $in_tests of them tests"
done

if [ "${2:-}" = --clean-build ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$deps" "$folder"' EXIT
  export CCACHE_DISABLE=1
  cmake --preset "$3" -B "$folder" -DNCCLPROBE_TESTS=OFF -DNCCLPROBE_WERROR=OFF >/dev/null
  TIMEFORMAT="clean build of the $3 preset without tests: %U s user, %S s system, %R s by the clock"
  time cmake --build "$folder" >/dev/null
fi
