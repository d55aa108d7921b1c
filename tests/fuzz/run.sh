#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Builds the fuzzers and runs each of them, one after the other, until something crashes:
#   tests/fuzz/run.sh [seconds for each] [name]...     default: 600 seconds, all of them
# Needs clang (Debian: clang, libclang-rt-dev). What a fuzzer learns is kept in build/fuzz/corpus; a
# crash is left in build/fuzz and can be tried again with build/fuzz/tests/fuzz/fuzz_NAME FILE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-600}
shift || true
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(baseline chunk examination fat_binary flight_recorder hwloc_xml import launch_variables library_file log
  machine_json model nccl_graph nccl_log nccl_xml nodes_file plan policy run_tables smi_matrix smi_query spool supervisor_message tcp_frames tree_mail tuner_table wire_frame)
case $seconds in *[!0-9]* | "") echo "run.sh: '$seconds' is no number of seconds" >&2 && exit 2 ;; esac

# Optimised fuzzers compile twice as long. A few seconds of fuzzing do not repay that. An unoptimised one may take long over
# an input, above all beside other work: only a long run looks for inputs that take too long.
optimise=-O1 slowest=20
[ "$seconds" -ge 60 ] || optimise=-O0 slowest=300
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$optimise -gline-tables-only" \
  -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DNCCLPROBE_FUZZ=ON -DNCCLPROBE_TESTS=OFF -DCMAKE_UNITY_BUILD=ON "${launcher[@]}" >/dev/null
cmake --build build/fuzz --target "${names[@]/#/fuzz_}"

failed=()
for name in "${names[@]}"; do
  mkdir -p "build/fuzz/corpus/$name"
  seeds=()
  for folder in "tests/fuzz/corpus/$name" tests/machines; do
    [ -d "$folder" ] && seeds+=("$folder")
  done
  words=()
  [ ! -f "tests/fuzz/$name.dict" ] || words=("-dict=tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s"
  # libhwloc leaks what it has read of a rejected file.
  leaks=1
  [ "$name" != hwloc_xml ] || leaks=0
  if ! ASAN_OPTIONS=detect_leaks=$leaks "build/fuzz/tests/fuzz/fuzz_$name" "build/fuzz/corpus/$name" "${seeds[@]}" \
    "${words[@]}" -detect_leaks=$leaks -max_total_time="$seconds" -max_len=65536 -timeout="$slowest" -rss_limit_mb=2048 \
    -artifact_prefix="build/fuzz/crash-$name-" -print_final_stats=1 -verbosity=0 2>"build/fuzz/$name.txt"; then
    failed+=("$name")
    tail -40 "build/fuzz/$name.txt"
  fi
  grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$name.txt" || true
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: crashed: ${failed[*]}"
  exit 1
fi
executions=$(cd build/fuzz && awk '/number_of_executed_units/ { sum += $2 } END { print sum }' "${names[@]/%/.txt}")
echo "fuzz: no crash in ${#names[@]} fuzzers, $seconds s each, $executions executions"
