#!/bin/sh
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
# A plugin loads into any program: it needs nothing but libc, of any age since glibc 2.28, offers NCCL its interfaces and nothing else,
# and stays loaded.
# Usage: self_contained.sh <library> <symbol>...
library=$1
shift
fail() { echo "$1"; exit 1; }
dynamic=$(readelf -dW "$library") || fail "readelf cannot read $library"
needed=$(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || fail "readelf tells no library that it needs: is this a shared library?"
for one in $needed; do
  case $one in
    libc.so.*|libm.so.*|libpthread.so.*|libdl.so.*|ld-linux*) ;;
    libasan.so.*|libubsan.so.*|libstdc++.so.*|libgcc_s.so.*) # only a library with sanitizers
      echo "$needed" | grep -q libasan || fail "it needs $one" ;;
    *) fail "it needs $one" ;;
  esac
done
offered=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort | tr '\n' ' ')
[ "$offered" = "$(printf '%s ' "$@")" ] || fail "it offers: $offered"
echo "$dynamic" | grep -q NODELETE || fail "it can be unloaded"
newest=$(objdump -T "$library" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -1)
echo "newest symbols of libc: $newest"
oldest_supported=GLIBC_2.28 # RHEL 8, Debian 10, Ubuntu 20.04: src/plugin/old_glibc.cpp
case $needed in *libasan*) exit 0 ;; esac
[ "$(printf '%s\n' "$newest" $oldest_supported | sort -V | tail -1)" = $oldest_supported ] ||
  fail "it needs $newest: $(objdump -T "$library" | grep -F "$newest" | awk '{print $NF}' | tr '\n' ' ')"
