node=${SLURMD_NODENAME:-${NODE_NAME:-$(hostname)}}
fault=0
#?gpus found=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
#?gpus if [ "$found" -ne @GPUS@ ]; then
#?gpus   echo "preflight: $node has $found of @GPUS@ GPUs" >&2
#?gpus   fault=1
#?gpus fi
free_mb=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free_mb:-0}" -lt 512 ]; then
  echo "preflight: $node has ${free_mb:-0} MB free in /dev/shm; NCCL needs 512 MB or more" >&2
  fault=1
fi
#?rdma if [ "$(ulimit -l)" != unlimited ]; then
#?rdma   echo "preflight: $node limits locked memory to $(ulimit -l) KB; RDMA needs it unlimited (memlock)" >&2
#?rdma   fault=1
#?rdma fi
#?rdma for hca in @HCA_WORDS@; do
#?rdma   if [ ! -d "/sys/class/infiniband/$hca" ]; then
#?rdma     echo "preflight: $node has no adapter $hca" >&2
#?rdma     fault=1
#?rdma   fi
#?rdma done
exit $fault
