# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A job that hangs is looked at while it stands and after it was killed. Its processes call the built profiler plugin as
NCCL does."""

import os
import pathlib
import pickle
import socket
import subprocess
import sys
import threading
import time
import unittest

from program_test_case import BIN, ProgramTest, read_json

# One rank of a job: as many AllReduces as given; the last one does not end if `hangs` is 1.
RANK = """
import ctypes, struct, sys, time
rank, ranks, calls, hangs = (int(word) for word in sys.argv[2:])
profiler = (ctypes.c_void_p * 6).in_dll(ctypes.CDLL(sys.argv[1]), "ncclProfiler_v5")
function = lambda place, *types: ctypes.CFUNCTYPE(ctypes.c_int, *types)(profiler[place])
pointer, number = ctypes.c_void_p, ctypes.c_int
init = function(1, pointer, ctypes.c_uint64, pointer, ctypes.c_char_p, number, number, number, pointer)
start, stop = function(2, pointer, pointer, pointer), function(3, pointer)
context, mask = pointer(), number()
assert init(ctypes.byref(context), 42, ctypes.byref(mask), b"world", 1, ranks, rank, None) == 0
texts = [ctypes.create_string_buffer(text) for text in (b"AllReduce", b"ncclFloat32", b"RING", b"SIMPLE")]
name, kind, algorithm, protocol = (ctypes.addressof(text) for text in texts)

def begin(event):
    descriptor, handle = ctypes.create_string_buffer(event, 112), pointer()
    assert start(context, ctypes.byref(handle), descriptor) == 0
    return handle

for call in range(calls):
    operation = begin(struct.pack("QQi4xQQQQQi4xQBB6xQQ", 2, 0, 0, call, name, 0, 0, 1 << 24, 0, kind, 1, 16, algorithm, protocol))
    stop(operation)
    channel = begin(struct.pack("QQi4xB7xQ", 0x40, operation.value, 0, 0, time.monotonic_ns()))
    if call + 1 < calls or not hangs:
        stop(channel)
print("stands", flush=True)
time.sleep(600)
"""


class Hang(ProgramTest):
    def start_job(self, calls, hangs):
        """A rank for each number of calls; the last call of those in `hangs` does not end."""
        job = self.folder / "job"
        for rank, count in enumerate(calls):
            self.started.append(subprocess.Popen(
                [sys.executable, "-c", RANK, str(BIN.parent / "lib/libncclprobe-profiler.so"), str(rank), str(len(calls)),
                 str(count), str(int(rank in hangs))], env={**self.environment, "NCCLPROBE_CAPTURE_DIR": str(job)},
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        for program in self.started:
            self.assertEqual(program.stdout.readline(), "stands\n")
        return str(job)

    def stop_job(self):
        for program in self.started:
            program.kill()
            program.wait()
            program.stdout.close()

    def judged(self, job, code):
        done = self.run_program("hang", job, "--longer-than", "1s", "--format", "json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return read_json(done.stdout)

    def test_the_missing_rank_is_named_while_the_job_stands_and_after_it(self):
        job = self.start_job([3, 3, 2], hangs=[0, 1])
        alive = {"blamed_ranks": [2], "waiting_ranks": [0, 1], "function": "all_reduce", "number": 2}
        for _ in range(100):
            done = self.run_program("hang", job, "--longer-than", "1s", "--format", "json")
            verdict = read_json(done.stdout)
            # Each rank's capture tells of a call in its own time: one rank waits for a second before the other does.
            if alive.items() <= verdict.items():
                break
            time.sleep(0.1)
        self.assertEqual(done.returncode, 13)
        self.assertLessEqual(alive.items(), verdict.items())
        self.assertEqual({row["process_state"] for row in verdict["standings"]}, {"alive"})
        self.assertEqual({(row["rank"], row["process"]) for row in verdict["stacks"]}, {(2, self.started[2].pid)})
        main = verdict["stacks"][0]
        if os.geteuid() == 0: # others may be forbidden to look
            self.assertTrue(any("nanosleep" in frame or "select" in frame for frame in main["frames"]), main)
        else:
            self.assertTrue(main["frames"] or "ptrace_scope" in main["problem"], main)
        time.sleep(2) # the plugin writes once a second what does not end

        self.stop_job()
        killed = self.judged(job, 13)
        self.assertLessEqual(alive.items(), killed.items())
        self.assertEqual({row["process_state"] for row in killed["standings"]}, {"gone"})
        self.assertGreaterEqual(killed["waits_s"], 1)
        (self.folder / "job" / "other.spool").write_text("no spool")
        text = self.run_program("hang", job, "--longer-than", "1s").stdout
        self.assertIn("other.spool is not a trace spool", " ".join(text.split()))

    def test_a_job_outside_nccl_does_not_hang(self):
        job = self.start_job([2, 2], hangs=[])
        time.sleep(1)
        self.assertEqual(self.judged(job, 0)["cause"], "none")
        self.stop_job()

    def dump(self, rank, entries, protocol, **more):
        whole = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
                 "entries": [{"process_group": ("0", "default_pg"), "collective_seq_id": sequence, "p2p_seq_id": 0,
                              "profiling_name": "nccl:all_reduce", "input_sizes": [[1024, 1024]],
                              "input_dtypes": ["Float"], "state": state, "time_created_ns": 10**18 + sequence,
                              "is_p2p": False, "retired": False, "time_discovered_completed_ns": None,
                              "duration_ms": 0.5, "frames": [{"name": "step", "filename": "train.py", "line": 83}]}
                             for sequence, state in entries], **more}
        (self.folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(whole, protocol))

    def test_dumps_of_the_flight_recorder_give_the_same_verdict(self):
        pattern = str(self.folder / "nccl_trace_rank_*")
        for protocol in (2, 3, 4, 5):
            self.dump(0, [(1, "completed"), (2, "started")], protocol)
            self.dump(1, [(1, "completed")], protocol)
            done = self.run_program("hang", "--flight-recorder", pattern, "--format", "json")
            self.assertEqual(done.returncode, 13, done.stderr)
            verdict = read_json(done.stdout)
            self.assertEqual((verdict["cause"], verdict["blamed_ranks"], verdict["number"]), ("not_called", [1], 2))
            self.assertEqual(verdict["standings"][0]["where"], ["train.py:83 (step)"])
        self.dump(1, [], 2, torch=pathlib.PurePosixPath("never"))  # an object
        done = self.run_program("hang", "--flight-recorder", str(self.folder))
        self.assertIn("GLOBAL is refused", " ".join(done.stdout.split()))
        self.assertEqual(self.run_program("hang", "--flight-recorder", "nccl_trace_rank_1").returncode, 2)

    def test_ras_is_asked(self):
        self.dump(0, [(1, "completed")], 2)
        with socket.create_server(("localhost", 0)) as server:
            def answer():
                with server.accept()[0] as client:
                    client.sendall(client.recv(100).upper() + b"rank 3 \x1b[31mlost\n")
            threading.Thread(target=answer, daemon=True).start()
            address = f"localhost:{server.getsockname()[1]}"
            dumps = ["--flight-recorder", "nccl_trace_rank_0", "--format", "json"]
            asked = read_json(self.run_program("hang", *dumps, "--ras", address).stdout)
        self.assertEqual(asked["ras"], ["VERBOSE STATUS", "rank 3 \x1b[31mlost"])
        closed = read_json(self.run_program("hang", *dumps, "--ras", address).stdout)
        self.assertIn("does not listen", closed["ras"][0])
        self.assertEqual(self.run_program("hang").returncode, 2)

    def test_a_folder_without_spools_is_refused(self):
        done = self.run_program("hang", str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds no spools", done.stderr)


if __name__ == "__main__":
    unittest.main()
