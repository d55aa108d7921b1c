#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Installs the packages that ncclprobe needs from the distribution (Debian 12, Ubuntu 24.04 and
# later). This is the only list of packages. Installs only missing packages, and ends quickly if none
# is missing.
set -euo pipefail

# To build and to run. libhdf5-dev is the serial HDF5; the parallel one would require MPI. ssh is not
# listed: mpirun needs it only between hosts.
packages_build=(
  cmake ninja-build g++ pkg-config
  libhdf5-dev
  libgloo-dev
  libdeflate-dev libprotozero-dev libdw-dev
  libhwloc-dev libpugixml-dev
  libfmt-dev libspdlog-dev libexpected-dev
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libboost-dev libeigen3-dev
  libre2-dev
  nettle-dev
  esbuild node-d3
)
# To start under mpirun and srun with PMI. A build with -DNCCLPROBE_MPI=OFF does without.
packages_mpi=(libopenmpi-dev openmpi-bin)
# To build and run the tests and benchmarks.
packages_test=(
  catch2 libbenchmark-dev
  python3 python3-h5py python3-jsonschema python3-pandas python3-yaml hdf5-tools
  binutils git
)
# Useful for the tests, but optional: they pass on a release without them.
packages_optional=(
  clang-format-14
  clang libclang-rt-dev clang-tidy-14 # fuzzers and tests/gates.sh
  mold # links the many test programs faster
  ccache # compiles again only what changed, in any checkout
  iproute2 # several hosts made of namespaces
  debootstrap # packages are tried in clean installations
  python3-matplotlib # the Python package's plots
  python3-venv python3-setuptools python3-wheel # installs the Python package into a virtual environment
  jupyter-nbconvert python3-ipykernel # runs the notebook in examples/
  chromium chromium-driver python3-selenium node-typescript # HTML pages in a browser, and their types
  python3-kubernetes docker-compose # read the job files that emit writes
)

# For tests that only tests/run.sh --full runs.
packages_full=(
  gcovr # tests/gates.sh coverage
  slurm-wlm slurm-wlm-basic-plugins munge # a Slurm of two nodes on one machine
  python3-torch # torchrun, and models and buckets to compare ours with
)

usage() {
  cat <<END
Usage: launch/setup.sh [--without-tests | --full] [--without-mpi] [--print]
Installs the distribution packages that ncclprobe needs, as root or through sudo; only missing ones.

  --without-tests  only what is needed to build and run, not to test
  --full           also what only tests/run.sh --full needs
  --without-mpi    no Open MPI, for a build with -DNCCLPROBE_MPI=OFF
  --print          print the list of packages, one a line, and stop
  --help           print this and stop

CUDA, NCCL and the NVIDIA driver are not installed by this script. With a CUDA toolkit (11.8 or later)
in CUDA_HOME, /usr/local/cuda or PATH, the NVIDIA backend can be built too.
END
}

tests=yes
full=no
mpi=yes
print_only=no
for argument in "$@"; do
  case $argument in
    --without-tests) tests=no ;;
    --full) full=yes ;;
    --without-mpi) mpi=no ;;
    --print) print_only=yes ;;
    --help | -h) usage && exit 0 ;;
    *) echo "setup.sh: unknown argument '$argument'" >&2 && usage >&2 && exit 2 ;;
  esac
done

required=("${packages_build[@]}")
optional=()
if [ "$mpi" = yes ]; then
  required+=("${packages_mpi[@]}")
fi
if [ "$tests" = yes ]; then
  required+=("${packages_test[@]}")
  optional=("${packages_optional[@]}")
fi
if [ "$full" = yes ]; then
  optional+=("${packages_full[@]}")
fi
if [ "$print_only" = yes ]; then
  printf '%s\n' "${required[@]}" "${optional[@]}"
  exit 0
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this system has no apt. Install the equivalents of these Debian packages by hand:" >&2
  echo "  ${required[*]} ${optional[*]}" >&2
  exit 1
fi

# Prints the given packages that are not installed, one per line.
missing_of() {
  [ $# -gt 0 ] || return 0
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  printf '%s\n' "$@" | grep -vxF -e "$installed" || true
}
# Prints the given packages that apt cannot get, one per line.
unknown_of() {
  [ $# -gt 0 ] || return 0
  local known
  known=$(apt-cache policy "$@" | awk '/^[^ ]/ { sub(":$", ""); name = $0 } /^  Candidate: [^(]/ { print name }')
  printf '%s\n' "$@" | grep -vxF -e "$known" || true
}

mapfile -t missing < <(missing_of "${required[@]}")
mapfile -t missing_optional < <(missing_of "${optional[@]}")
if [ ${#missing[@]} -eq 0 ] && [ ${#missing_optional[@]} -gt 0 ]; then
  # Optional packages are no reason to update the package lists.
  mapfile -t unknown < <(unknown_of "${missing_optional[@]}")
  [ ${#unknown[@]} -lt ${#missing_optional[@]} ] || missing_optional=()
fi
if [ ${#missing[@]} -eq 0 ] && [ ${#missing_optional[@]} -eq 0 ]; then
  echo "setup: all packages are installed"
  exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=(env)
elif command -v sudo >/dev/null && sudo true; then
  as_root=(sudo env)
elif [ ${#missing[@]} -eq 0 ]; then
  echo "setup: continuing without ${missing_optional[*]} (optional)"
  exit 0
else
  echo "setup.sh: packages are missing, but this is not root and sudo does not work. As root, run:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]} ${missing_optional[*]}" >&2
  exit 1
fi
apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)

echo "setup: to install: ${missing[*]} ${missing_optional[*]}"
# A package source that does not respond is no reason to stop if the others have the packages.
"${apt[@]}" update || echo "setup: 'apt-get update' had errors; trying with the existing lists" >&2

mapfile -t unknown < <(unknown_of "${missing[@]}")
if [ ${#unknown[@]} -gt 0 ]; then
  echo "setup.sh: the package sources of this system do not have: ${unknown[*]}" >&2
  echo "On Ubuntu they are in 'universe' (add-apt-repository universe). Known to work: Debian 12," >&2
  echo "Ubuntu 24.04." >&2
  exit 1
fi
mapfile -t unknown < <(unknown_of "${missing_optional[@]}")
for package in "${missing_optional[@]}"; do
  case " ${unknown[*]} " in
    *" $package "*) echo "setup: no package $package here; continuing without it" ;;
    *) missing+=("$package") ;;
  esac
done
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
echo "setup: done"
