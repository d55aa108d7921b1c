# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Whoever else reaches the port of a job without MPI can neither join it nor stop it.

usage: strangers_test.py FLEET_DRIVER"""

import os
import socket
import struct
import subprocess
import sys
import time
import unittest

from env_launcher import free_port, variables

DRIVER = sys.argv.pop(1)


class Strangers(unittest.TestCase):
    def setUp(self):
        self.port = free_port()

    def start(self, rank, size=2, scenario="gather", **more):
        environment = variables(rank, size, self.port) | {"NCCLPROBE_JOB_SECRET": "blue", "NCCLPROBE_JOIN_TIMEOUT": "60"} | more
        process = subprocess.Popen([DRIVER, scenario], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def connect(self):
        end = time.monotonic() + 30
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
                self.addCleanup(connection.close)
                return connection
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def end_of(self, process):
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def read_to_end(self, connection):
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def test_bytes_that_are_no_hello_end_their_connection_alone(self):
        leader = self.start(0)
        header = struct.Struct("<IIii")
        silent = self.connect()
        flood = self.connect()
        for garbage in (b"GET / HTTP/1.1\r\n\r\n" + 64 * b"x", header.pack(0xFFFFFFFF, 1, 1, 0), header.pack(5, 1, 1, 0) + b"hello",
                        header.pack(0, 3, 1, 0)):
            connection = self.connect()
            connection.sendall(garbage)
            self.read_to_end(connection)  # rank 0 hangs up
        try:
            for _ in range(1000):
                flood.sendall(header.pack(4000, 1, 1, 0) + bytes(3999))
        except (ConnectionResetError, BrokenPipeError):
            pass
        member = self.start(1)
        self.assertEqual(self.end_of(leader)[0], 0)
        self.assertEqual(self.end_of(member)[0], 0)
        silent.close()

    def test_who_does_not_belong_to_the_job_is_refused_with_the_reason(self):
        leader = self.start(0)
        for reason, process in (("its NCCLPROBE_JOB_SECRET is not rank 0's", self.start(1, NCCLPROBE_JOB_SECRET="red")),
                                ("its NCCLPROBE_JOB_SECRET is not rank 0's", self.start(1, NCCLPROBE_JOB_SECRET="")),
                                ("its job has 3 ranks, and rank 0's has 2", self.start(1, size=3)),
                                ("it belongs to the job 'slurm 7.0', and rank 0 to ''",
                                 self.start(1, SLURM_JOB_ID="7", SLURM_STEP_ID="0"))):
            code, output = self.end_of(process)
            self.assertEqual(code, 1, output)
            self.assertIn(f"rank 1 cannot join at 127.0.0.1:{self.port}: rank 0 refuses this process: {reason}", output)
        self.assertEqual(self.end_of(self.start(1))[0], 0)
        code, output = self.end_of(leader)
        self.assertEqual(code, 0, output)
        self.assertIn("was refused: its NCCLPROBE_JOB_SECRET is not rank 0's", output)

    def test_who_only_listens_there_does_not_become_rank_0(self):
        with socket.socket() as impostor:
            impostor.bind(("127.0.0.1", self.port))
            impostor.listen()
            member = self.start(1, NCCLPROBE_JOIN_TIMEOUT="1")
            connection, _ = impostor.accept()
            connection.sendall(b"220 mail.example.com ESMTP\r\n" + 100 * b" ")
            code, output = self.end_of(member)
            connection.close()
        self.assertEqual(code, 1, output)
        self.assertIn("rank 1 did not reach rank 0 at", output)

    def test_ranks_that_do_not_come_are_named_by_all(self):
        patience = {"NCCLPROBE_JOIN_TIMEOUT": "2"}
        leader, member = self.start(0, size=4, **patience), self.start(1, size=4, **patience)
        for process in (leader, member):
            code, output = self.end_of(process)
            self.assertEqual(code, 1, output)
            self.assertIn(f"ranks 2,3 did not join at 127.0.0.1:{self.port} within 2 s", output)

    def test_the_port_is_closed_once_all_have_joined(self):
        leader, member = self.start(0, scenario="stay"), self.start(1, scenario="stay")
        self.assertEqual(leader.stdout.readline(), "all are here\n")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.port), timeout=30)
        member.kill()
        self.end_of(leader)

    def test_a_name_that_means_another_place(self):
        member = self.start(1, MASTER_ADDR="no-such-host.invalid", NCCLPROBE_JOIN_TIMEOUT="1")
        code, output = self.end_of(member)
        self.assertEqual(code, 1, output)
        self.assertIn("MASTER_ADDR=no-such-host.invalid", output)


if __name__ == "__main__":
    os.environ.pop("NCCLPROBE_LAUNCHER", None)
    unittest.main()
