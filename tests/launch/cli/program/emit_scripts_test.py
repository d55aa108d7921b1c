# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the shell scripts inside the files of `ncclprobe emit mpijob|jobset|compose`, with stand-ins for ssh, nvidia-smi and mpirun. Ranks
are the real ncclprobe, on the CPU."""

import socket
import subprocess
import unittest

import yaml
from program_test_case import BIN, SMALL, ProgramTest

TOOLS = {
    # Of GPUs, df and hosts, each node has what a file of its name says.
    "nvidia-smi": """
node=${SSH_HOST:-$NODE_NAME}
# As in a driver that hangs: no signal that can be caught ends it.
[ ! -e $FOLDER/$node.hangs ] || { trap '' TERM; sleep 600; }
for i in $(seq "$(cat $FOLDER/$node.gpus 2>/dev/null || echo 8)"); do echo "GPU $i: stand-in"; done
[ ! -e $FOLDER/$node.fails ]
""",
    "df": "echo header; echo dev 9000 1 ${FREE_MB:-8000}",
    "ssh": """
while [ "${1#-}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
host=$1; shift
echo "$host" >>$FOLDER/asked
[ ! -e $FOLDER/$host.hangs ] || exec sleep 600
[ ! -e $FOLDER/$host.down ] || { echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255; }
unset NODE_NAME
SSH_HOST=$host exec bash -c "$*"
""",
    "hostname": "echo $SSH_HOST",
    "mpirun": 'printf "%s\\n" "$@" >$FOLDER/mpirun-arguments',
    # What a stand-in for time costs is not waited for.
    "timeout": 'shift; limit=30; [[ " $* " != *" ${LIMITED:-none} "* ]] || limit=0.5; exec /usr/bin/timeout $limit "$@"',
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class EmittedScripts(ProgramTest):
    def setUp(self):
        super().setUp()
        for name, words in TOOLS.items():
            (self.folder / name).write_text(f"#!/bin/bash\n{words}\n")
            (self.folder / name).chmod(0o755)
        (self.folder / "hostfile").write_text("w-0 slots=8\nw-1 slots=8\nw-2 slots=8\n")
        self.environment |= {"FOLDER": str(self.folder), "PATH": f"{self.folder}:{BIN}:/usr/bin:/bin", "NODE_NAME": "node7"}

    def emit(self, kind, *arguments):
        done = self.run_program("emit", kind, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return yaml.safe_load(done.stdout)

    def replaced(self, text, what, by):
        self.assertIn(what, text)
        return text.replace(what, by)

    def start(self, script, **environment):
        self.started.append(subprocess.Popen(["bash", "-c", script], cwd=self.folder, env=self.environment | environment, text=True,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return self.started[-1]

    def end_of(self, program, code):
        output, errors = program.communicate(timeout=90)
        self.assertEqual(program.returncode, code, output + errors)
        return output, errors

    def mpijob(self, *arguments):
        job = self.emit("mpijob", "--nodes", "3", "--wait", "1s", *arguments)
        words = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"][0]
        # The operator puts the names of the workers there. Kubernetes makes "$(" of "$$(".
        return self.replaced(words, "/etc/mpi/hostfile", str(self.folder / "hostfile")).replace("$$(", "$(")

    def test_mpijob_checks_all_workers_and_starts_mpirun(self):
        _, errors = self.end_of(self.start(self.mpijob("--", "run", "-o", "a b$(x).h5")), 0)

        self.assertEqual(errors, "")
        self.assertEqual((self.folder / "asked").read_text().split(), ["w-0", "w-1", "w-2"] * 2)
        self.assertEqual((self.folder / "mpirun-arguments").read_text().splitlines(),
                         ["--allow-run-as-root", "--bind-to", "none", "-np", "24", "ncclprobe", "run", "-o", "a b$(x).h5"])

    def test_mpijob_names_every_worker_that_lacks_a_gpu(self):
        (self.folder / "w-0.gpus").write_text("7")
        (self.folder / "w-2.gpus").write_text("6")
        _, errors = self.end_of(self.start(self.mpijob()), 6)

        self.assertEqual(errors, "preflight: w-0 has 7 of 8 GPUs\npreflight: w-2 has 6 of 8 GPUs\n"
                                 "preflight: not started, because of the nodes named above\n")
        self.assertFalse((self.folder / "mpirun-arguments").exists())

    def test_mpijob_names_the_node_of_the_worker_and_not_the_pod(self):
        (self.folder / "w-1.gpus").write_text("7")
        (self.folder / "environ").write_bytes(b"A=1\0NODE_NAME=gpu-node-17\0B=2\0")
        _, errors = self.end_of(self.start(self.replaced(self.mpijob(), "/proc/1/environ", str(self.folder / "environ"))), 6)

        self.assertIn("preflight: gpu-node-17 has 7 of 8 GPUs", errors)

    def test_mpijob_waits_a_bounded_time_for_a_worker_and_repeats_the_words_of_ssh(self):
        (self.folder / "w-1.down").touch()
        _, errors = self.end_of(self.start(self.mpijob()), 6)

        self.assertEqual(errors, "launcher: ssh to w-1 failed for 1 s: ssh: connect to host w-1 port 22: Connection refused\n")
        self.assertFalse((self.folder / "mpirun-arguments").exists())

    def test_mpijob_ends_where_ssh_to_a_worker_hangs(self):
        (self.folder / "w-0.hangs").touch()
        _, errors = self.end_of(self.start(self.mpijob(), LIMITED="w-0 true"), 6)

        self.assertEqual(errors, "launcher: ssh to w-0 failed for 1 s: ssh printed nothing\n")

    def test_mpijob_waits_for_a_worker_that_comes_late(self):
        (self.folder / "w-1.down").touch()
        program = self.start(self.replaced(self.mpijob(), "SECONDS + 1)", "SECONDS + 60)"))
        asked = self.folder / "asked"
        self.wait_until(lambda: asked.exists() and asked.read_text().split().count("w-1") > 1)
        (self.folder / "w-1.down").unlink()

        self.end_of(program, 0)

    def test_mpijob_names_a_worker_whose_check_does_not_end(self):
        script = self.replaced(self.mpijob(), "found=", f"touch {self.folder}/w-2.hangs\nfound=")
        _, errors = self.end_of(self.start(script, LIMITED="w-2 bash -s"), 6)

        self.assertIn("preflight: the check of w-2 ended with code 124", errors)

    def test_mpijob_examines_each_node_alone_and_ends_with_the_failure(self):
        (self.folder / "ncclprobe").write_text('#!/bin/bash\necho "$SSH_HOST $NCCLPROBE_LAUNCHER $*"; [ "$SSH_HOST" != w-1 ] || exit 5\n')
        (self.folder / "ncclprobe").chmod(0o755)
        output, _ = self.end_of(self.start(self.mpijob("--each-node", "--", "doctor", "-o", "a 'b'")), 5)

        self.assertEqual(output.splitlines(), [line for host in ("w-0", "w-1", "w-2") for line in (f"== {host}", f"{host} none doctor -o a 'b'")])

    def jobset(self, *arguments):
        job = self.emit("jobset", "--gpus", "0", "--ranks-per-node", "2", "--nodes", "2", *arguments)
        return job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["args"][0].replace("$$(", "$(")

    def start_pods(self, script, pods):
        port = free_port()
        # The only name that exists nowhere but in a cluster.
        script = self.replaced(self.replaced(script, "ncclprobe-node-0-0.ncclprobe", "127.0.0.1"), "29500", port)
        return [self.start(script, JOB_COMPLETION_INDEX=str(pod)) for pod in pods]

    def test_two_pods_of_a_jobset_measure_together(self):
        pods = self.start_pods(self.jobset("--", "run", "--backend", "host", "--no-sweep", *SMALL, "-o", str(self.run_file)), (0, 1))
        for pod in reversed(pods):
            self.end_of(pod, 0)

        self.assertEqual(len(self.report("json")["run"]["ranks"]), 4)

    def test_a_pod_without_its_fellow_waits_a_bounded_time_and_names_the_missing_ranks(self):
        pod, = self.start_pods(self.jobset("--wait", "2s", "--", "run", "--backend", "host", *SMALL, "-o", str(self.run_file)), (0,))
        _, errors = self.end_of(pod, 6)

        self.assertRegex(errors, r"rank.* 2.*3")

    def test_jobset_and_compose_name_a_node_that_lacks_a_gpu(self):
        (self.folder / "node7.gpus").write_text("7")
        jobset = self.emit("jobset", "--", *SMALL)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["args"][0]
        compose = self.emit("compose", "--gpus", "8", "--", *SMALL)["services"]["ncclprobe"]["command"][2].replace("$$", "$")
        for script in (jobset, compose):
            _, errors = self.end_of(self.start(script), 6)
            self.assertEqual(errors, "preflight: node7 has 7 of 8 GPUs\n")

    def test_a_node_whose_nvidia_smi_fails_or_hangs_is_named(self):
        script = self.emit("compose", "--gpus", "8")["services"]["ncclprobe"]["command"][2].replace("$$", "$")
        (self.folder / "node7.fails").touch()
        _, errors = self.end_of(self.start(script), 6)
        self.assertIn("preflight: nvidia-smi ended with code 1 on node7", errors)

        (self.folder / "node7.hangs").touch()
        _, errors = self.end_of(self.start(self.replaced(script, "tenths < 600", "tenths < 5")), 6)
        self.assertIn("preflight: nvidia-smi did not answer within 60 s on node7", errors)

    def test_a_node_without_shared_memory_is_named(self):
        _, errors = self.end_of(self.start(self.jobset(), FREE_MB="64"), 6)

        self.assertEqual(errors, "preflight: node7 has 64 MB free in /dev/shm; NCCL needs 512 MB or more\n")

    def test_compose_runs_all_on_one_host(self):
        script = self.emit("compose", "--gpus", "0", "--ranks-per-node", "2", "--", "run", "--backend", "host", "--no-sweep", *SMALL,
                           "-o", str(self.run_file))["services"]["ncclprobe"]["command"][2].replace("$$", "$")
        self.end_of(self.start(script), 0)

        self.assertEqual(len(self.report("json")["run"]["ranks"]), 2)


if __name__ == "__main__":
    unittest.main()
