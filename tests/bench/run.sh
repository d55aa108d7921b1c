#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Builds all benchmarks in a build folder and runs them, one after the other. The machine should have nothing else to do.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ $# -ne 1 ] || [ ! -d "$1/tests/bench" ]; then
  echo "Usage: tests/bench/run.sh BUILD_FOLDER   (for example build/bench; CONTRIBUTING.md says how to build one)" >&2
  exit 2
fi
cmake --build "$1" --target benchmarks
bench=$(cd "$1/tests/bench" && pwd)

echo "== host time of an operation of a schedule (launch_bench)"
"$bench/launch_bench"
echo "== writing and comparing data on the CPU (pattern_bench; 'pattern_bench gpu' does it on a GPU)"
"$bench/pattern_bench"
echo "== decision of the tuner plugin about a call, beside a scan of all rows (tuner_bench)"
"$bench/tuner_bench" "$bench/../../lib/libncclprobe-tuner.so"
for kind in quiet noisy worst; do
  echo "== a log of 1000 MB, $kind (log_bench)"
  "$bench/log_bench" 1000 "$kind"
done
for name in store_bench trace_bench job_bench; do
  if [ -x "$bench/$name" ]; then
    echo "== run files, traces and the steps of captured jobs beside an alternative ($name)"
    "$bench/$name" --benchmark_counters_tabular=true
  else
    echo "== $name was not built: Google Benchmark (libbenchmark-dev) is missing"
  fi
done
echo "== analysis of a timeline beside pandas (timeline_bench)"
python3 "$source_dir/tests/bench/timeline_bench.py" "$bench/timeline_bench"
echo "== memory and time of the report of large runs, synthetic (report_bench)"
python3 "$source_dir/tests/bench/report_bench.py" "$1"
echo "== comparing two runs of 1,000 trials, synthetic (compare_bench)"
python3 "$source_dir/tests/bench/compare_bench.py" "$1"
echo "== reading a run into pandas beside a loop over rows (python_bench)"
python3 "$source_dir/tests/bench/python_bench.py" "$1"
