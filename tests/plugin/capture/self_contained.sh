#!/bin/sh
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
# The capture library loads into any program: it needs nothing but the C and C++ runtimes, offers NCCL
# its four interfaces and nothing else, and stays loaded.
# Usage: self_contained.sh <library>
library=$1
fail() { echo "$1"; exit 1; }
dynamic=$(readelf -dW "$library") || fail "readelf cannot read $library"
needed=$(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || fail "readelf tells no library that it needs: is this a shared library?"
for one in $needed; do
  case $one in
    libc.so.*|libm.so.*|libstdc++.so.*|libgcc_s.so.*|libpthread.so.*|libdl.so.*|ld-linux*) ;;
    libasan.so.*|libubsan.so.*) ;;
    *) fail "it needs $one" ;;
  esac
done
offered=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort | tr '\n' ' ')
[ "$offered" = "ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 ncclProfiler_v7 " ] || fail "it offers: $offered"
echo "$dynamic" | grep -q NODELETE || fail "it can be unloaded"
