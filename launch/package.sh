#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Builds the packages: a .deb for the release of Debian or Ubuntu that it runs on, and a .tar.gz that runs from
# any folder.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<END
Usage: launch/package.sh [--cuda ROOT]... [--build FOLDER] [--output FOLDER] [-- arguments of cmake]
Builds ncclprobe_VERSION_ARCH.deb and ncclprobe-VERSION-linux-ARCH.tar.gz. They have a worker for each
CUDA toolkit that is named, and one that needs no CUDA. ncclprobe chooses the worker by the driver.

  --cuda ROOT      a CUDA toolkit (11.8 or later); one for each major version
  --build FOLDER   where to build (default: build/package)
  --output FOLDER  where the packages go (default: the current folder)
  --help           print this and stop

Install the packages that the build needs first: launch/setup.sh --without-tests

Examples:
  launch/package.sh --cuda /usr/local/cuda-12.8 --cuda /usr/local/cuda-13.0
  launch/package.sh --cuda /usr/local/cuda -- -DNCCLPROBE_CUDA_ARCHS=90
END
}
fail() { echo "package.sh: $*" >&2 && exit "${code:-1}"; }

toolkits=()
build=$source_dir/build/package
output=$PWD
while [ $# -gt 0 ]; do
  case $1 in
    --cuda | --build | --output)
      [ -n "${2:-}" ] || code=2 fail "$1 needs a folder"
      case $1 in
        --cuda) toolkits+=("$2") ;;
        --build) build=$(realpath -m "$2") ;;
        --output) output=$(realpath -m "$2") ;;
      esac
      shift
      ;;
    --help | -h) usage && exit 0 ;;
    --) shift && break ;;
    *) echo "package.sh: unknown argument '$1'" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

for toolkit in "${toolkits[@]}"; do
  [ -x "$toolkit/bin/nvcc" ] || code=2 fail "$toolkit is no CUDA toolkit: it has no bin/nvcc"
done

# The packages name the commit that they were built from. A copy without git gets it from NCCLPROBE_COMMIT.
commit=${NCCLPROBE_COMMIT:-}
if [ -z "$commit" ] && git -C "$source_dir" rev-parse --short=12 HEAD >/dev/null 2>&1; then
  commit=$(git -C "$source_dir" rev-parse --short=12 HEAD)
  [ -z "$(git -C "$source_dir" status --porcelain --untracked-files=no)" ] || commit+="+changes"
fi

settings=(--preset release -S "$source_dir" -DNCCLPROBE_PACKAGE=ON "-DNCCLPROBE_COMMIT=$commit" "$@")
workers=""
nvidia=(-DNCCLPROBE_NVIDIA=OFF)
if [ ${#toolkits[@]} -gt 0 ]; then
  nvidia=(-DNCCLPROBE_NVIDIA=ON "-DNCCLPROBE_CUDA_ROOT=${toolkits[0]}")
  for toolkit in "${toolkits[@]:1}"; do
    folder=$build-$(basename "$(realpath "$toolkit")")
    cmake "${settings[@]}" -B "$folder" -DNCCLPROBE_NVIDIA=ON "-DNCCLPROBE_CUDA_ROOT=$toolkit"
    cmake --build "$folder" --target ncclprobe_cuda_worker
    workers+="${workers:+;}$folder"
  done
fi
cmake "${settings[@]}" -B "$build" "${nvidia[@]}" "-DNCCLPROBE_PACKAGE_WORKERS=$workers"
cmake --build "$build"
mkdir -p "$output"
(cd "$build" && rm -f ncclprobe[_-]*.deb ncclprobe-*.tar.gz && cpack)
mv "$build"/ncclprobe_*.deb "$build"/ncclprobe-*.tar.gz "$output"
ls -l "$output"/ncclprobe_*.deb "$output"/ncclprobe-*.tar.gz
