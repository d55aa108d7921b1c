#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Installs to one prefix, moves the tree to another and runs every program there: they must find each
# other beside themselves. Usage: moved_tree.sh <cmake> <build folder> <version>
set -euo pipefail
cmake=$1 build=$2 version=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*" >&2 && exit 1; }

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || { cat "$scratch/install.log" && exit 1; }
mkdir "$scratch/a place with spaces"
moved="$scratch/a place with spaces/moved"
mv "$scratch/first" "$moved"
cd "$scratch"

for program in ncclprobe ncclprobe-worker ncclprobe-report; do
  [ -x "$moved/bin/$program" ] || fail "$program is not in the installed tree"
  if readelf -d "$moved/bin/$program" | grep -E 'R(UN)?PATH' | grep -F "$build"; then
    fail "$program has a run path into the build folder"
  fi
done
[ -f "$moved/lib/libncclprobe-profiler.so" ] || fail "the profiler plugin is not in the installed tree"
[ -f "$moved/lib/libncclprobe-tuner.so" ] || fail "the tuner plugin is not in the installed tree"

sources="$(cd "$(dirname "$0")/../../analysis/python" && find . -name build -prune -o \( -name '*.py' -o -name pyproject.toml \) -print | sort)"
[ "$sources" = "$(cd "$moved/share/ncclprobe/python" && find . -type f | sort)" ] ||
  fail "the Python package is not in the installed tree, or not whole"

for page in ncclprobe ncclprobe-run ncclprobe-report; do
  grep -q "^.SH NAME" "$moved/share/man/man1/$page.1" || fail "the manual page $page is not in the installed tree"
done
bash -c 'source "$1" && complete -p ncclprobe' - "$moved/share/bash-completion/completions/ncclprobe" >/dev/null ||
  fail "the completion for bash is not in the installed tree"

# Nothing is on PATH but the system: what runs, runs from the moved tree.
export PATH=/usr/bin:/bin
"$moved/bin/ncclprobe" --version | tee version.txt
grep -qF "$version" version.txt || fail "--version does not say $version"

# ncclprobe execs ncclprobe-report for this.
"$moved/bin/ncclprobe" report --help >help.txt || fail "'ncclprobe report' did not find ncclprobe-report"
[ -s help.txt ] || fail "'ncclprobe report --help' says nothing"

# One supervisor and 2 ranks on the CPU: finds ncclprobe-worker, writes and reads a run file.
"$moved/bin/ncclprobe" run --backend host --sizes 1K --output run.h5 >run.txt || fail "a small run ended with $?"
"$moved/bin/ncclprobe" report run.h5 --format csv >run.csv || fail "'ncclprobe report' ended with $?"
grep -q all_reduce run.csv || fail "the report of the run has no all_reduce"
echo "the moved tree runs"
