#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Checks with other tools than the compiler of the tests. Each builds in a folder of its own, build/<check>:
#   tests/gates.sh tidy [FOLDER | FILE]...   clang-tidy, the checks in .clang-tidy; default: all folders
#   tests/gates.sh tidy-changed [COUNT]      the same for the COUNT sources that were changed last; default: 5
#   tests/gates.sh asan [TEST]...            AddressSanitizer and UBSan; default: the test programs of what reads foreign bytes
#   tests/gates.sh tsan [TEST]...            ThreadSanitizer; default: the test programs of supervisor and plugins
#   tests/gates.sh coverage [TEST]...        lines and branches per library, by these test programs; default: all of label unit
# tests/run.sh runs tidy-changed and asan, and with --full the others too. A check whose tool is missing says so and passes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing() {
  echo "$1: not run, there is no $2"
  exit 0
}

configure() { # NAME CMAKE_ARGUMENT...
  local name=$1
  shift
  cmake --preset host -B "build/$name" "$@" >/dev/null
}

run_test() { # BUILD TEST CATCH2_ARGUMENT...
  local build=$1 test=$2 code=0
  shift 2
  "$(find "build/$build/tests" -name "test_$test" -type f)" "$@" >"build/$build/$test.txt" 2>&1 || code=$?
  if [ $code != 0 ] && [ $code != 77 ]; then # 77: a test was skipped
    tail -60 "build/$build/$test.txt"
    echo "$build: $test failed"
    exit 1
  fi
  tail -3 "build/$build/$test.txt"
}

tidy() {
  command -v clang-tidy-14 >/dev/null || missing tidy clang-tidy-14
  command -v clang++ >/dev/null || missing tidy clang++
  # Without groups of sources, so that each source is in the list of commands. It is only configured; sources that
  # other sources make are built first. Constants of the plugin are large (-fconstexpr-steps).
  configure tidy -DNCCLPROBE_UNITY=OFF -DNCCLPROBE_TESTS=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DNCCLPROBE_WERROR=OFF
  local folders=("$@")
  [ ${#folders[@]} -gt 0 ] || folders=(src topology analysis launch)
  local sources
  mapfile -t sources < <(find "${folders[@]}" -name '*.cpp' -not -path 'src/nvidia/*' | sort)
  printf '%s\n' "${sources[@]}" | xargs -P 2 -n 4 clang-tidy-14 -p build/tidy --quiet \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-everything --extra-arg=-fconstexpr-steps=100000000 2>/dev/null
  echo "tidy: ${#sources[@]} sources are clean"
}

tidy-changed() {
  local changed sources
  changed=$(git log -n 50 --name-only --diff-filter=AM --format= -- {src,topology,analysis,launch}/'*.cpp' ':!src/nvidia' | awk '!seen[$0]++')
  mapfile -t sources < <(for file in $changed; do [ ! -f "$file" ] || echo "$file"; done | head -n "${1:-5}")
  [ ${#sources[@]} -gt 0 ] || { echo "tidy-changed: no source was changed in the last 50 commits" && return; }
  tidy "${sources[@]}"
}

asan() {
  cmake --preset asan -B build/asan-part >/dev/null
  local tests=(base wire trace tuning)
  if [ $# -gt 0 ]; then
    tests=("$@")
  fi
  cmake --build build/asan-part --target "${tests[@]/#/test_}"
  for test in "${tests[@]}"; do
    run_test asan-part "$test"
  done
  echo "asan: no error in ${tests[*]}"
}

tsan() {
  configure tsan -DNCCLPROBE_WERROR=OFF -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG -fsanitize=thread" \
    -DCMAKE_EXE_LINKER_FLAGS=-fsanitize=thread -DCMAKE_SHARED_LINKER_FLAGS=-fsanitize=thread -DCMAKE_MODULE_LINKER_FLAGS=-fsanitize=thread
  local tests=(launch supervise plugin plugin_tracing)
  if [ $# -gt 0 ]; then
    tests=("$@")
  fi
  cmake --build build/tsan --target "${tests[@]/#/test_}"
  # ThreadSanitizer turns vfork, in which two of these tests wait, into fork. It takes memory that the third one counts. And
  # it would sleep a second at each exit.
  local left_out=('~*is stuck in the kernel*' '~who waits for a moment in the kernel*' '~the peak memory of an ended process*')
  for test in "${tests[@]}"; do
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0 run_test tsan "$test" "${left_out[@]}"
  done
  echo "tsan: no data race in ${tests[*]}"
}

coverage() {
  command -v gcovr >/dev/null || missing coverage gcovr
  # Without groups of sources: so a source that misses an include is found too.
  configure coverage -DNCCLPROBE_UNITY=OFF -DNCCLPROBE_WERROR=OFF -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1 --coverage"
  find build/coverage -name '*.gcda' -delete
  if [ $# -gt 0 ]; then
    cmake --build build/coverage --target "${@/#/test_}"
    for test in "$@"; do
      "$(find build/coverage/tests -name "test_$test" -type f)" >/dev/null
    done
  else
    cmake --build build/coverage
    ctest --test-dir build/coverage -L unit --parallel 2 --output-on-failure >/dev/null
  fi
  gcovr --root . --object-directory build/coverage --filter 'src/' --filter 'topology/' --filter 'analysis/' --filter 'launch/' \
    --exclude-unreachable-branches --exclude-throw-branches --csv build/coverage/files.csv >/dev/null
  python3 tests/support/coverage_of_libraries.py build/coverage/files.csv
}

case ${1:-} in
  tidy | tidy-changed | asan | tsan | coverage) "$@" ;;
  *) sed -n '5,11s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
