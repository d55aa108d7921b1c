#!/usr/bin/env bash
# @MADE_BY@
#SBATCH --job-name=ncclprobe
#SBATCH --nodes=@NODES@
#SBATCH --ntasks-per-node=@RANKS@
#?gpus #SBATCH --gpus-per-node=@GPUS@
#SBATCH --time=@TIME@
#?partition #SBATCH --partition=@PARTITION@
#SBATCH --output=ncclprobe-%j.log
set -euo pipefail
#?rdma export NCCL_IB_HCA=@HCA@ # never measured by us

# Before anything is measured, each node must have what was asked for. The nodes that lack something are named.
preflight=$(cat <<'END_OF_PREFLIGHT'
@PREFLIGHT@
END_OF_PREFLIGHT
)
if ! srun --mpi=none --nodes=@NODES@ --ntasks=@NODES@ --ntasks-per-node=1 bash -c "$preflight"; then
  echo "preflight: not started, because of the nodes named above" >&2
  exit 6
fi

#?each # Each node alone, all at once. Lines begin with the number of the node.
#?each export NCCLPROBE_LAUNCHER=none
#?each srun --mpi=none --label --nodes=@NODES@ --ntasks=@NODES@ --ntasks-per-node=1 ncclprobe @ARGUMENTS@
#?without_mpi # Ranks find each other here. The port follows from the job's number, so two jobs on one node differ.
#?without_mpi MASTER_ADDR=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
#?without_mpi MASTER_PORT=${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 10000))}
#?without_mpi export MASTER_ADDR MASTER_PORT NCCLPROBE_LAUNCHER=env NCCLPROBE_JOIN_TIMEOUT=@WAIT@
#?all srun --mpi=@MPI@ --kill-on-bad-exit=1 ncclprobe @ARGUMENTS@
