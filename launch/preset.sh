#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Prints the CMake preset that suits this machine: nvidia if there is a usable nvcc, else host. With --why,
# prints the reason. quickstart.sh and tests/run.sh use it; CMake itself never guesses.
set -euo pipefail

oldest=11.8 # oldest CUDA release that the sources support

nvcc=""
for candidate in "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc "$(command -v nvcc || true)"; do
  if [ -n "$candidate" ] && [ -x "$candidate" ]; then
    nvcc=$candidate
    break
  fi
done

if [ -z "$nvcc" ]; then
  preset=host
  why="no nvcc in CUDA_HOME, /usr/local/cuda or PATH, so without the NVIDIA backend"
else
  release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
  gxx=$(g++ -dumpversion 2>/dev/null || echo 0)
  told=${CUDAHOSTCXX:-}${NVCC_CCBIN:-}
  [[ "${CUDAFLAGS:-} ${NVCC_PREPEND_FLAGS:-} ${NVCC_APPEND_FLAGS:-}" =~ -ccbin|--compiler-bindir ]] && told=yes
  preset=host
  if [ "$(printf '%s\n' "$oldest" "${release:-0}" | sort -V | head -n 1)" != "$oldest" ]; then
    why="$nvcc is CUDA ${release:-of an unknown release}, older than $oldest, so without the NVIDIA backend"
  elif [ "${release%%.*}" -lt 12 ] && [ "${gxx%%.*}" -ge 12 ] && [ -z "$told" ]; then # src/cmake/Nvidia.cmake then stops
    why="$nvcc is CUDA $release, which needs g++ 11 or older, but g++ here is $gxx, so without the NVIDIA backend;"
    why="$why with g++-11 installed, set CUDAHOSTCXX=g++-11"
  else
    preset=nvidia
    why="$nvcc is CUDA $release"
  fi
fi

case ${1:-} in
  "") echo "$preset" ;;
  --why) echo "$why" ;;
  *) echo "preset.sh: unknown argument '$1'" >&2 && exit 2 ;;
esac
