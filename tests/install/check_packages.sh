#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# shellcheck disable=SC2016 # what stands in single quotes is for the shells in the installed releases

# Builds the packages in clean installations of Debian 12 and 13, and tries them in others: the .deb in its
# own release, the .tar.gz in all. Needs root, debootstrap, and the archive that apt uses here. tests/run.sh --full
# runs it.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<END
Usage: tests/install/check_packages.sh [--releases bookworm,trixie] [--cuda ROOT] [--output FOLDER] [--work FOLDER [--keep]]
                                       [--also FOLDER]... [-- arguments of cmake]
Installs each release of Debian into a folder, builds the packages there, and installs and runs them in fresh ones.

  --releases LIST  code names (default: bookworm,trixie)
  --cuda ROOT      also build the worker for this CUDA toolkit of this machine
  --output FOLDER  keep the packages there, those of each release in a folder of its name
  --no-build       try the packages that are there already
  --work FOLDER    where the releases are installed (default: a temporary folder)
  --also FOLDER    try the .tar.gz in a copy of this installed system too, such as Ubuntu's
  --keep           keep what was installed, so that the next run is quicker (with --work)
  --help           print this and stop

Exits with 77 where it cannot run.
END
}
skip() { echo "check_packages.sh: skipped: $*" && exit 77; }
say() { echo "== $*"; }

releases=bookworm,trixie
cuda=""
output=""
work=""
keep=no
build=yes
also=()
while [ $# -gt 0 ]; do
  case $1 in
    --releases | --cuda | --output | --work)
      [ -n "${2:-}" ] || { echo "check_packages.sh: $1 needs a value" >&2 && exit 2; }
      declare "${1#--}=$2"
      shift
      ;;
    --also)
      [ -d "${2:-}/etc" ] || { echo "check_packages.sh: --also needs the folder of an installed system" >&2 && exit 2; }
      also+=("$(realpath "$2")")
      shift
      ;;
    --keep) keep=yes ;;
    --no-build) build=no ;;
    --) shift && break ;;
    --help | -h) usage && exit 0 ;;
    *) echo "check_packages.sh: unknown argument '$1'" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

cmake_arguments=("$@")

[ "$(id -u)" -eq 0 ] || skip "this is not root"
command -v debootstrap >/dev/null || skip "there is no debootstrap (apt-get install debootstrap)"
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Origin: Debian" "Label: Debian" 2>/dev/null | head -n 1)
[ -n "$mirror" ] || skip "apt knows no archive of Debian (apt-get update)"
# Mounts end with their process.
unshare --mount true 2>/dev/null || skip "mounts are not allowed here"

temporary=""
if [ -z "$work" ]; then
  temporary=$(mktemp -d "${TMPDIR:-/var/tmp}/ncclprobe-packages.XXXXXX")
  work=$temporary
fi
mkdir -p "$work"
work=$(realpath "$work")
packages=${output:-$work/packages}
mkdir -p "$packages"
packages=$(realpath "$packages")

# Removes an installed release. Nothing of the machine may be mounted in it then.
remove_root() {
  if [ -e "$1" ]; then
    if grep -qF " $1/" /proc/self/mountinfo; then
      echo "check_packages.sh: something is mounted in $1; it stays there" >&2
      return 1
    fi
    rm -rf --one-file-system "$1"
  fi
}
clean_up() {
  for root in "$work"/*-try; do remove_root "$root"; done
  [ "$keep" = yes ] || for root in "$work"/*-base "$work"/*-build; do remove_root "$root"; done
  [ -z "$temporary" ] || [ "$keep" = yes ] || rm -rf --one-file-system "$temporary"
}
trap clean_up EXIT

# in_root ROOT COMMAND...: runs a command in an installed release, with a /proc, /dev and /sys of its own. Its
# mounts are in a namespace that ends with the command. MOUNT="FROM TO ..." adds folders of this machine, read-only.
in_root() {
  unshare --mount --propagation private --pid --fork --kill-child bash -euc '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sys "$root/sys"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in null zero full random urandom tty; do
      touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/shm" "$root/dev/pts" && mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s /proc/self/fd "$root/dev/fd" && ln -s fd/0 "$root/dev/stdin" && ln -s fd/1 "$root/dev/stdout" && ln -s fd/2 "$root/dev/stderr"
    set -- "$root" "$@"
    set -f
    shared=(${MOUNT:-})
    set +f
    for ((i = 0; i < ${#shared[@]}; i += 2)); do
      mkdir -p "$root/${shared[i + 1]}"
      mount --bind "${shared[i]}" "$root/${shared[i + 1]}"
      mount -o remount,bind,ro "$root/${shared[i + 1]}"
    done
    for file in resolv.conf hosts; do
      if [ -e "/etc/$file" ]; then cat "/etc/$file" >"$root/etc/$file"; fi
    done
    shift
    exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"
  ' in_root "$@"
}

install_release() { # <release>: a minimal system, once
  [ -e "$work/$1-base/installed" ] && return
  remove_root "$work/$1-base"
  say "installing $1"
  debootstrap --variant=minbase "$1" "$work/$1-base" "$mirror" >"$work/$1.log" 2>&1 || {
    tail -n 5 "$work/$1.log"
    return 1
  }
  in_root "$work/$1-base" apt-get update -q >>"$work/$1.log" 2>&1
  touch "$work/$1-base/installed"
}

build_packages() { # <release>
  local root=$work/$1-build
  if [ ! -e "$root/installed" ]; then
    remove_root "$root"
    cp -a "$work/$1-base" "$root" && rm "$root/installed"
    in_root "$root" sh -c "apt-get install -q -y --no-install-recommends dpkg-dev file git $("$source_dir/launch/setup.sh" --without-tests --print | tr '\n' ' ')" \
      >>"$work/$1.log" 2>&1
    touch "$root/installed"
  fi
  rm -rf "$root/build"
  # A copy of what is committed or changed, without build folders.
  rm -rf "$root/ncclprobe" && mkdir "$root/ncclprobe"
  (cd "$source_dir" && git ls-files -z --cached --others --exclude-standard | xargs -0 -r tar c --ignore-failed-read) |
    tar x --no-same-owner -C "$root/ncclprobe"
  local toolkit=()
  local mount=""
  if [ -n "$cuda" ]; then
    mount="$(realpath "$cuda") /usr/local/cuda"
    toolkit=(--cuda /usr/local/cuda)
  fi
  say "building the packages on $1"
  rm -rf "$root/packages"
  if ! MOUNT=$mount in_root "$root" nice -n 5 env "NCCLPROBE_COMMIT=$(git -C "$source_dir" rev-parse --short=12 HEAD)" \
    /ncclprobe/launch/package.sh --build /build --output /packages "${toolkit[@]}" -- "${cmake_arguments[@]}" >"$work/$1-build.log" 2>&1; then
    tail -n 20 "$work/$1-build.log"
    return 1
  fi
  mkdir -p "$packages/$1"
  cp "$root"/packages/* "$packages/$1"
  ls -l "$packages/$1"
}

# try_programs <root> <folder of the programs, or empty: PATH>: what a new user does first. The last command prints
# the report of the run.
try_programs() {
  in_root "$1" bash -euc '
    [ -z "$1" ] || PATH=$1:$PATH
    cd /root
    ncclprobe --version
    ncclprobe --version --format json >version.json
    ncclprobe doctor >doctor.txt || { cat doctor.txt; exit 1; }
    ncclprobe run --sizes 1M --repeat 1 --output first.h5 -q >/dev/null
    ncclprobe report first.h5 >report.txt
    grep -q "^all_reduce" report.txt
    head -n 12 report.txt' try "$2"
}

trouble=no
wrong() {
  echo "FAILED: $*" >&2
  trouble=yes
}

try_deb() { # <release>
  local release=$1 deb try begin installed
  deb=$(find "$packages/$release" -name 'ncclprobe_*.deb' 2>/dev/null | head -n 1)
  if [ -z "$deb" ]; then
    wrong "there is no .deb for $release"
    return
  fi
  say "the .deb on $release"
  try=$work/$release-try
  remove_root "$try"
  cp -a "$work/$release-base" "$try"
  cp "$deb" "$try/root/ncclprobe.deb"
  # The download depends on the connection, so it is not part of the time.
  in_root "$try" apt-get install -q -y --download-only /root/ncclprobe.deb >>"$work/$release.log" 2>&1 || wrong "no download on $release"
  begin=$(date +%s)
  in_root "$try" apt-get install -q -y /root/ncclprobe.deb >>"$work/$release.log" 2>&1 || wrong "the .deb does not install on $release"
  installed=$(date +%s)
  try_programs "$try" "" || wrong "the .deb does not work on $release"
  echo "$release: .deb installed in $((installed - begin)) s, first report after $(($(date +%s) - begin)) s in all"
  # Ranks that mpirun starts become ncclprobe-mpi. mpirun is a recommended package.
  in_root "$try" mpirun --oversubscribe -np 2 ncclprobe run --backend host --sizes 1K --repeat 1 --no-sweep --output /root/mpi.h5 -q >/dev/null ||
    wrong "the .deb does not run under mpirun on $release"
  in_root "$try" bash -euc 'test -s /usr/share/man/man1/ncclprobe-run.1.gz
    test -s /usr/share/bash-completion/completions/ncclprobe && test -s /usr/share/doc/ncclprobe/copyright
    test -e /usr/lib/libncclprobe-profiler.so && test -e /usr/lib/libncclprobe-tuner.so
    apt-get remove -q -y ncclprobe >/dev/null && ! command -v ncclprobe && [ -z "$(find /usr -name "*ncclprobe*")" ]' ||
    wrong "the .deb on $release lacks files, or leaves some when it is removed"
  remove_root "$try"
}

# try_tgz <.tar.gz> <name> <installed system>: in a copy of it.
try_tgz() {
  local try=$work/$2-try begin code=0 words
  say "$(basename "$(dirname "$1")")'s .tar.gz on $2"
  remove_root "$try"
  cp -a "$3" "$try"
  mkdir "$try/a folder"
  begin=$(date +%s)
  tar xzf "$1" -C "$try/a folder" --strip-components 1
  try_programs "$try" "/a folder/bin" || wrong "the .tar.gz does not work on $2"
  echo "$2: .tar.gz, first report after $(($(date +%s) - begin)) s in all"
  # There is no MPI here. The message says so.
  words=$(in_root "$try" env OMPI_COMM_WORLD_SIZE=1 "/a folder/bin/ncclprobe" run --sizes 1K 2>&1) || code=$?
  if [ "$code" -eq 0 ] || ! grep -q "libmpi.so.*cannot open" <<<"$words"; then
    wrong "without MPI, a launcher's rank says: $words (exit code $code)"
  fi
  remove_root "$try"
}

IFS=, read -ra names <<<"$releases"
for release in "${names[@]}"; do
  if ! install_release "$release"; then
    wrong "$release could not be installed"
  elif [ "$build" = yes ] && ! build_packages "$release"; then
    wrong "the packages do not build on $release"
  else
    try_deb "$release"
  fi
done

# A .tar.gz is for the release that it was built on and newer ones.
built=()
for release in "${names[@]}"; do
  built+=("$(find "$packages/$release" -name 'ncclprobe-*.tar.gz' 2>/dev/null | head -n 1)")
  if [ -e "$work/$release-base/installed" ]; then
    for tgz in "${built[@]}"; do
      [ -z "$tgz" ] || try_tgz "$tgz" "$release" "$work/$release-base"
    done
  fi
done
for root in "${also[@]}"; do
  [ -z "${built[0]}" ] || try_tgz "${built[0]}" "$(basename "$root")" "$root"
done

[ "$trouble" = no ] || exit 1
echo "the packages work"
