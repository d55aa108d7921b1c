# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of NCCL on two real GPUs, for docs/faults.md. Exit code 77: there are fewer."""

import ctypes
import multiprocessing
import os
import pathlib
import signal
import subprocess
import time

from fault_test_case import NOTHING, OTHER_CELLS, OTHERS, FaultTest, fault
from program_test_case import main_on_gpus

ON_GPUS = ["--backend", "nvidia", "--ranks", "2", "--collectives", "all_reduce", "--batches", "2", "--warmups", "1"]
RUN = [*ON_GPUS, "--repeat", "1", "--iterations", "3", "--sizes", "1K,64K"]


def hold_memory(left, connection):
    """Takes the memory of the first GPU but for so many bytes, says when, and keeps it until its end."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, address, free, total = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_size_t()
    done = [driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context),
            driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))]
    done.append(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(free.value - left)))
    connection.send(done)
    time.sleep(600)


class NcclOnGpus(FaultTest):
    trials = 1
    anew = [*RUN, "--no-sweep"]

    def run_two_sizes(self, *arguments, **more):
        return self.run_program(*RUN, *arguments, "--output", str(self.run_file), **more)

    @fault("NCCL is given a network interface that the host lacks", "nothing is measured", "no network interface has this name ... "
           "(--override NCCL_SOCKET_IFNAME measures it anyway)", 2, NOTHING)
    def test_no_such_interface(self):
        return self.run_two_sizes("--setting", "NCCL_SOCKET_IFNAME=nosuch0")

    @fault("two ranks have different settings, and NCCL's kernels wait for each other", "the trial ends at `--cell-timeout`",
           "did not finish all_reduce 1K f32 within 5 s", 4, NOTHING)
    def test_mismatched_settings(self):
        return self.run_two_sizes("--no-sweep", "--rank-set", "0:NCCL_PROTO=LL", "--rank-set", "1:NCCL_PROTO=Simple", "--cell-timeout", "5s")

    @fault("a worker is killed in the middle of a collective on GPUs", "its trial ends at once, the next one runs",
           "ended with signal 9 (Killed)", 3, OTHERS)
    def test_killed_in_a_collective(self):
        self.trials = 2
        run = self.start_program(*ON_GPUS, "--repeat", "2", "--iterations", "10000", "--sizes", "64M", "--no-sweep",
                                 "--output", str(self.run_file))
        workers = self.wait_until(self.workers_with_nccl, 60, "two workers with NCCL")
        time.sleep(2)
        os.kill(workers[1], signal.SIGKILL)
        return self.ended(run)

    def workers_with_nccl(self):
        """The workers of a trial once all have loaded NCCL: the collectives begin within two seconds and last for more."""
        workers = [pid for pid in self.measuring_workers() if "libnccl" in pathlib.Path(f"/proc/{pid}/maps").read_text()]
        return workers if len(workers) == 2 else None

    @fault("/dev/shm is too small for NCCL", "all trials end at once", "No space left on device", 4, NOTHING)
    def test_small_shared_memory(self):
        inside = ["unshare", "--mount", "bash", "-c", 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"', "bash"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("a small /dev/shm takes root")
        # By default NCCL 2.28 shares memory of the host through the driver, not through /dev/shm.
        self.environment.update(NCCL_P2P_DISABLE="1", NCCL_CUMEM_HOST_ENABLE="0")
        self.launcher = inside  # also when the run is resumed
        return self.run_two_sizes("--no-sweep", launcher=inside)

    @fault("another process has the GPU's memory", "cells that do not fit are skipped; the others are measured",
           "too little GPU memory: ... requested, ... free", 3, OTHER_CELLS)
    def test_no_memory(self):
        ours, theirs = multiprocessing.Pipe()
        holder = multiprocessing.get_context("spawn").Process(target=hold_memory, args=(4 << 30, theirs), daemon=True)
        holder.start()
        self.addCleanup(holder.join)
        self.addCleanup(holder.kill)
        self.assertTrue(ours.poll(60), "no answer")
        self.assertEqual(ours.recv(), [0] * 5)
        return self.run_program(*ON_GPUS, "--repeat", "1", "--iterations", "3", "--sizes", "64K,8G", "--no-sweep", "--output", str(self.run_file))


if __name__ == "__main__":
    main_on_gpus(2)
