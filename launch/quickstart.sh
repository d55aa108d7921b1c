#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# From a fresh checkout to a first result: packages, build, run. Safe to repeat.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$source_dir/build/quickstart

usage() {
  cat <<END
Usage: launch/quickstart.sh [--host | --nvidia] [-np N] [-- arguments of ncclprobe]
Installs missing packages, builds ncclprobe in build/quickstart and runs its main job under mpirun: one
rank per GPU, or 2 ranks on the CPU where there is no GPU.

  --host    build without the NVIDIA backend, and run on the CPU
  --nvidia  build with the NVIDIA backend, and stop if that cannot be done
  -np N     number of ranks, instead of one per GPU
  --help    print this and stop

Without --host or --nvidia, the NVIDIA backend is built if nvcc (CUDA 11.8 or later) is found in
CUDA_HOME, /usr/local/cuda or PATH. The run file is written to the current folder.

Examples:
  launch/quickstart.sh
  launch/quickstart.sh -- --sizes 1M
  launch/quickstart.sh --host -np 4 -- --sizes 1K:1M:x4
END
}

say() { echo "quickstart: $*"; }
fail() { echo "quickstart.sh: $*" >&2 && exit "${code:-1}"; }

preset=""
ranks=""
while [ $# -gt 0 ]; do
  case $1 in
    --host) preset=host ;;
    --nvidia) preset=nvidia ;;
    -np)
      ranks=${2:-}
      [[ $ranks =~ ^[1-9][0-9]*$ ]] || code=2 fail "-np needs a number of ranks"
      shift
      ;;
    --help | -h) usage && exit 0 ;;
    --) shift && break ;;
    *) echo "quickstart.sh: unknown argument '$1' (arguments of ncclprobe come after --)" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

"$source_dir/launch/setup.sh" --without-tests

# What to build. CMake never guesses; this script chooses, and reports its choice.
if [ -z "$preset" ]; then
  preset=$("$source_dir/launch/preset.sh")
  say "building preset '$preset' ($("$source_dir/launch/preset.sh" --why))"
else
  say "building preset '$preset', as requested"
fi
if ! cmake --preset "$preset" -S "$source_dir" -B "$build_dir" -DNCCLPROBE_TESTS=OFF -DNCCLPROBE_WERROR=OFF; then
  [ "$preset" = host ] || say "to continue without the NVIDIA backend: launch/quickstart.sh --host" >&2
  exit 1
fi
cmake --build "$build_dir"

# What to run on.
gpus=0
if [ "$preset" = nvidia ] && command -v nvidia-smi >/dev/null && listing=$(nvidia-smi -L 2>/dev/null); then
  gpus=$(grep -c '^GPU ' <<<"$listing" || true)
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    IFS=, read -ra visible <<<"$CUDA_VISIBLE_DEVICES"
    [ ${#visible[@]} -ge "$gpus" ] || gpus=${#visible[@]}
  fi
fi
if [ "$gpus" -gt 0 ]; then
  ranks=${ranks:-$gpus}
  say "running on $ranks of $gpus GPU(s)"
else
  ranks=${ranks:-2}
  say "running on the CPU with $ranks ranks: $([ "$preset" = host ] && echo 'built without the NVIDIA backend' || echo 'nvidia-smi shows no GPU')"
fi

# Open MPI counts cores as slots, refuses more ranks than slots, and refuses to run as root. Both are
# right for a cluster and wrong for a small machine or a container.
launch=(mpirun -np "$ranks")
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  launch=(mpirun --oversubscribe -np "$ranks")
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
fi
say "${launch[*]} $build_dir/bin/ncclprobe $*"
code=0
"${launch[@]}" "$build_dir/bin/ncclprobe" "$@" || code=$?
say "the programs are in $build_dir/bin; for this shell: export PATH=$build_dir/bin:\$PATH"
say "to install them: cmake --install $build_dir --prefix /opt/ncclprobe"
exit "$code"
