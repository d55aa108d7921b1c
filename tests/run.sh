#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# The whole check of a checkout: packages, build, format, tests. The last line says how many tests passed,
# failed and were skipped; the exit code is 0 only if tests ran, none failed, the format and the gates
# are right, and with --full also no fuzzer found anything and the packages work.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$source_dir"

usage() {
  cat <<END
Usage: tests/run.sh [--full] [--host | --nvidia]
  --full    the slow tests too, the benchmarks compiled, all tests but the slow ones once more with AddressSanitizer and UBSan, the
            fuzzers, clang-tidy on all sources, ThreadSanitizer, coverage, and packages in clean installations of Debian (as root)
  --host    build without the NVIDIA backend even if nvcc is there
  --nvidia  build with it, and stop if that cannot be done
  --help    print this and stop

Set NCCLPROBE_REQUIRE_GPU=1 to make tests fail, not skip, where there is no GPU.
END
}

full=no
preset=""
for argument in "$@"; do
  case $argument in
    --full) full=yes ;;
    --host) preset=host ;;
    --nvidia) preset=nvidia ;;
    --help | -h) usage && exit 0 ;;
    *) echo "run.sh: unknown argument '$argument'" >&2 && usage >&2 && exit 2 ;;
  esac
done

if [ "$full" = yes ]; then
  launch/setup.sh --full
else
  launch/setup.sh
fi
if [ -z "$preset" ]; then
  preset=$(launch/preset.sh)
  echo "run.sh: preset '$preset' ($(launch/preset.sh --why))"
fi

# Open MPI refuses to run as root without these; a container's only user is often root.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# With ccache a source is compiled once for all checkouts. The paths of a checkout must not matter for that, nor the dates of
# its precompiled headers, nor the language of messages.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$source_dir CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime,locale
fi

trouble=no
echo "== format"
tests/check_format.sh || trouble=yes

results=()
programs=""
trap 'kill $programs 2>/dev/null || true' EXIT
# The output of each gate goes to build/, such as build/tidy.txt.
gates() {
  for gate in "$@"; do
    echo "== $gate"
    nice -n 10 tests/gates.sh "$gate" >"build/$gate.txt" 2>&1 || trouble=yes
    tail -40 "build/$gate.txt"
  done
}
# check PRESET LABELS [GATE]...: configures, builds and tests one preset, without tests of these labels, and runs the gates. The
# results go to build/<preset>/*.xml. A failed test does not stop it: the final count reports it. The tests of the programs
# mostly wait for processes, so the rest is compiled and the gates run meanwhile. The other tests begin when they are done:
# together they would take the processors from each other, and some measure.
check() {
  local name=$1 left_out=$2 build=$source_dir/build/$1
  shift 2
  echo "== build $name"
  cmake --preset "$name" && cmake --build --preset "$name" --target ncclprobe_programs || return 1
  rm -f "$build"/{programs,others}.xml
  results+=("$build"/{programs,others}.xml)
  ctest --preset "$name" --label-regex '^program$' --label-exclude "^($left_out)\$" --parallel 3 \
    --output-junit "$build/programs.xml" >"$build/programs.txt" 2>&1 &
  programs=$!
  nice -n 10 cmake --build --preset "$name" || trouble=yes
  gates "$@"
  wait "$programs" || trouble=yes
  cat "$build/programs.txt"
  echo "== test $name"
  ctest --preset "$name" --parallel 3 --label-exclude "^(program|$left_out)\$" --output-junit "$build/others.xml" || trouble=yes
}
if [ "$full" = yes ]; then
  check "$preset" nothing || trouble=yes
  cmake --build --preset "$preset" --target benchmarks || trouble=yes
  check asan slow || trouble=yes
else
  check "$preset" slow tidy-changed asan || trouble=yes
fi

# Twenty seconds each find a fuzzer that no longer links, and a reader that a change broke outright.
if [ "$full" = yes ]; then
  echo "== fuzz"
  if command -v clang++ >/dev/null; then
    tests/fuzz/run.sh 20 || trouble=yes
  else
    echo "fuzz: not run, there is no clang++"
  fi
fi

if [ "$full" = yes ]; then
  gates tidy tsan coverage
fi

# Builds them again, in clean installations of Debian.
if [ "$full" = yes ]; then
  echo "== packages"
  code=0
  tests/install/check_packages.sh || code=$?
  [ "$code" = 0 ] || [ "$code" = 77 ] || trouble=yes
fi

if ! python3 tests/support/count_results.py "${results[@]}"; then
  trouble=yes
fi
[ "$trouble" = no ]
