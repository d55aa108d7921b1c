#!/bin/sh
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Makes the runs of examples/nodes.toml on a machine with two or more GPUs and NVLink, in about seven minutes:
#   examples/measure_nodes.sh FOLDER [further arguments of ncclprobe run]
# Every setting has fresh processes, in random order, so that the two node types share the machine, the boot and the hour.
# NVLink SHARP stays off. A cell lasts more than two seconds, so that NVML's power readings count.
set -eu
folder=${1:?usage: measure_nodes.sh FOLDER}
shift
mkdir -p "$folder"
export NCCL_NVLS_ENABLE=0
common="--ranks 1,2 --set NCCL_P2P_DISABLE=1 --repeat 5 --batches 10 --quiet"
${NCCLPROBE:-ncclprobe} run --workload ddp --model gpt2-124m --batch 16 --type bf16 --iterations 5 $common -o "$folder/ddp.h5" "$@" > "$folder/ddp.txt"
${NCCLPROBE:-ncclprobe} run --workload fsdp --model gpt2-1.5b:8 --batch 16 --type bf16 --iterations 3 $common -o "$folder/fsdp.h5" "$@" > "$folder/fsdp.txt"
