#!/bin/sh
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Slurm epilog: measures the node after a job, and drains it if it has become slower.
# Make the baseline when the node is known to be well, once on each of five days:
#   run=run-$(date +%F).h5
#   ncclprobe -q --no-sweep --repeat 5 -o "$run" && ncclprobe baseline add "$(hostname -s)" "$run" --folder DIR
# An epilog that fails drains the node whatever the reason, so this one always ends with 0.
node=${SLURMD_NODENAME:-$(hostname -s)}
baselines=${NCCLPROBE_BASELINES:-/var/lib/ncclprobe/baselines}
run=$(mktemp -d)/run.h5

# NCCLPROBE_OPTIONS: which cells; those of the baseline.
ncclprobe -q --no-sweep --repeat 5 ${NCCLPROBE_OPTIONS:-} -o "$run" > /dev/null
ncclprobe compare "$run" --against "$node" --folder "$baselines" --gate 'busbw(*,>=1M) -5%'
case $? in
  0) echo "$node: as fast as before" ;;
  10)
    echo "$node: slower than before"
    scontrol update "NodeName=$node" State=DRAIN Reason="ncclprobe: collectives are slower"
    ;;
  11) echo "$node: not decided; see above for how many runs it takes" ;;
  12) echo "$node: the baseline is of another machine or software; make a new one" ;;
  *) echo "$node: not compared; see above for what is missing" ;;
esac
rm -rf "$(dirname "$run")"
exit 0
