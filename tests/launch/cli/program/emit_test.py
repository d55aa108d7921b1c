# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe emit` as a user runs it: files that bash and YAML can read, with what was asked for in its place."""

import os
import shutil
import subprocess
import unittest

import job_schemas
import yaml
from program_test_case import ProgramTest, jsonschema

RDMA = ["--hca", "mlx5_0", "--hca", "mlx5_1", "--rdma-resource", "rdma/hca"]
NODES = ([], ["--each-node"], ["--gpus", "0", "--ranks-per-node", "2"], [*RDMA, "--volume", "results"])
HARD = ["--", "run", "-o", "a b$(x) '1' `y` \"z\" # k: {{u}}.h5"]
HARD_IN_SHELL = r"""run -o 'a b$(x) '\''1'\'' `y` "z" # k: {{u}}.h5'"""


class Emit(ProgramTest):
    def emit(self, *arguments, code=0):
        done = self.run_program("emit", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def check_shell(self, script):
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), script)

    def preflight(self, script):
        return script.split("<<'END_OF_PREFLIGHT'")[1].split("\nEND_OF_PREFLIGHT")[0].split("\n", 1)[1]

    def test_sbatch(self):
        for more in ([], ["--mpi", "none"], ["--each-node"], ["--gpus", "0", "--ranks-per-node", "2"], RDMA):
            self.check_shell(self.emit("sbatch", "--nodes", "3", *more, *HARD))
        script = self.emit("sbatch", "--nodes", "3", "--gpus", "4", "--partition", "big", *RDMA, *HARD)
        for line in ("#SBATCH --nodes=3", "#SBATCH --ntasks-per-node=4", "#SBATCH --gpus-per-node=4", "#SBATCH --partition=big",
                     "export NCCL_IB_HCA=mlx5_0,mlx5_1 # never measured by us",
                     f"srun --mpi=pmix --kill-on-bad-exit=1 ncclprobe {HARD_IN_SHELL}"):
            self.assertIn(line, script.splitlines())
        self.assertNotIn("#?", script)
        self.assertNotIn("--gpus-per-node", self.emit("sbatch", "--gpus", "0", "--ranks-per-node", "2"))

    def test_the_preflight_names_what_a_node_lacks(self):
        tool = self.folder / "nvidia-smi"
        tool.write_text('#!/bin/sh\nfor i in 1 2 3; do echo "GPU $i: fake"; done\n')
        tool.chmod(0o755)
        for wanted, code in ((3, 0), (4, 1)):
            script = self.preflight(self.emit("sbatch", "--gpus", str(wanted)))
            done = subprocess.run(["bash", "-c", script.replace("-lt 512", "-lt 0")], capture_output=True, text=True, timeout=60,
                                  env={"PATH": f"{self.folder}:/usr/bin:/bin", "NODE_NAME": "node7"})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr, f"preflight: node7 has 3 of {wanted} GPUs\n" if code else "")

    def test_jobset(self):
        for more in NODES:
            job = yaml.safe_load(self.emit("jobset", "--nodes", "2", *more, *HARD))
            self.assertEqual((job["apiVersion"], job["kind"]), ("jobset.x-k8s.io/v1alpha2", "JobSet"))
            pods = job["spec"]["replicatedJobs"][0]["template"]["spec"]
            self.assertEqual((pods["completionMode"], pods["parallelism"], pods["completions"]), ("Indexed", 2, 2))
            pod = pods["template"]["spec"]
            container = pod["containers"][0]
            self.check_shell(container["args"][0])
            self.check_volumes(pod, container)
        self.assertEqual(container["resources"]["limits"], {"nvidia.com/gpu": 8, "rdma/hca": 1})
        self.assertEqual(container["securityContext"]["capabilities"]["add"], ["IPC_LOCK"])
        self.assertIn("MASTER_ADDR=ncclprobe-node-0-0.ncclprobe MASTER_PORT=29500 WORLD_SIZE=16", container["args"][0])
        self.assertEqual(container["env"][1], {"name": "NCCL_IB_HCA", "value": "mlx5_0,mlx5_1"})

    def check_volumes(self, pod, container):
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, {volume["name"] for volume in pod["volumes"]})
        self.assertEqual(container["volumeMounts"][0], {"name": "shm", "mountPath": "/dev/shm"})
        self.assertEqual(pod["volumes"][0]["emptyDir"], {"medium": "Memory", "sizeLimit": "8192Mi"})

    def test_mpijob(self):
        for more in NODES:
            job = yaml.safe_load(self.emit("mpijob", "--nodes", "2", "--wait", "90s", *more, *HARD))
            self.assertEqual((job["apiVersion"], job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
            replicas = job["spec"]["mpiReplicaSpecs"]
            self.assertEqual((replicas["Launcher"]["replicas"], replicas["Worker"]["replicas"]), (1, 2))
            script = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"][0]
            self.check_shell(script)
            self.assertIn("end=$((SECONDS + 90))", script)
            pod = replicas["Worker"]["template"]["spec"]
            self.check_volumes(pod, pod["containers"][0])
        self.assertEqual(job["spec"]["slotsPerWorker"], 8)
        self.assertIn("mpirun --allow-run-as-root --bind-to none -np 16 -x NCCL_IB_HCA=mlx5_0,mlx5_1 ncclprobe run", script)

    def test_compose(self):
        service = yaml.safe_load(self.emit("compose", "--gpus", "4", "--hca", "mlx5_0", *HARD))["services"]["ncclprobe"]
        self.assertEqual(service["shm_size"], "8192m")
        self.assertEqual(service["ulimits"], {"memlock": -1})
        self.assertEqual(service["deploy"]["resources"]["reservations"]["devices"],
                         [{"driver": "nvidia", "count": 4, "capabilities": ["gpu"]}])
        script = service["command"][2]
        self.assertEqual(script.count("$"), 2 * script.count("$$"))
        self.check_shell(script.replace("$$", "$"))
        self.assertIn(f"exec ncclprobe {HARD_IN_SHELL}", script.replace("$$", "$"))

    def job_files(self):
        """Each kind with all parts of its template, one way or the other."""
        for kind, variants in (("jobset", NODES), ("mpijob", NODES), ("compose", ([], ["--gpus", "4", "--hca", "mlx5_0"]))):
            for more in variants:
                nodes = [] if kind == "compose" else ["--nodes", "2"]
                yield kind, yaml.safe_load(self.emit(kind, *nodes, *more, *HARD))

    @unittest.skipUnless(jsonschema, "there is no jsonschema for Python (python3-jsonschema)")
    def test_every_field_is_known_and_in_its_place(self):
        schemas = job_schemas.ours()
        moved = {"jobset": lambda job: job["spec"]["replicatedJobs"][0]["template"].update(completions=1),
                 "mpijob": lambda job: job["spec"].update(backoffLimit=1),
                 "compose": lambda job: job["services"]["ncclprobe"].update(memlock=1)}
        for kind, document in self.job_files():
            jsonschema.validate(document, schemas[kind])
            moved[kind](document)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(document, schemas[kind])

    @unittest.skipUnless(job_schemas.kubernetes, "there are no types of Kubernetes for Python (python3-kubernetes)")
    def test_jobs_and_pods_are_what_kubernetes_knows(self):
        checked = 0
        for kind, document in self.job_files():
            parts = []
            if kind == "jobset":
                parts = [("V1JobTemplateSpec", one["template"]) for one in document["spec"]["replicatedJobs"]]
            elif kind == "mpijob":
                parts = [("V1PodTemplateSpec", one["template"]) for one in document["spec"]["mpiReplicaSpecs"].values()]
            for name, part in parts:
                self.assertTrue(job_schemas.survives_as(name, part), part)
                pod = part if name == "V1PodTemplateSpec" else part["spec"]["template"]
                pod["spec"]["containers"][0]["limits"] = {}
                self.assertFalse(job_schemas.survives_as(name, part))
                checked += 1
        self.assertEqual(checked, 3 * len(NODES))

    @unittest.skipUnless(shutil.which("docker-compose"), "there is no docker-compose")
    def test_docker_compose_reads_its_file(self):
        for arguments in ([], ["--gpus", "4", "--hca", "mlx5_0"]):
            words = self.emit("compose", *arguments, *HARD)
            for text, right in ((words, True), (words.replace("shm_size:", "shm_syze:"), False)):
                done = subprocess.run(["docker-compose", "-f", "-", "config", "-q"], input=text, cwd=self.folder, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode == 0, right, done.stderr)

    @unittest.skipUnless(jsonschema and "NCCLPROBE_JOB_SCHEMAS" in os.environ, "NCCLPROBE_JOB_SCHEMAS names no folder (job_schemas.py)")
    def test_the_published_schemas_accept_the_files(self):
        schemas = job_schemas.published(os.environ["NCCLPROBE_JOB_SCHEMAS"])
        for kind, document in self.job_files():
            jsonschema.validate(document, schemas[kind])
            document["typo"] = 1
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(document, schemas[kind])

    def test_what_cannot_be_written_is_refused(self):
        for arguments, words in ((["compose", "--nodes", "2"], "one host only"), (["sbatch", "--gpus", "0"], "--ranks-per-node"),
                                 (["sbatch", "--partition", "a\nb"], "only letters"), (["mpijob", "--image", "a: b"], "only letters"),
                                 (["sbatch", "--", "run\n#SBATCH --uid=0"], "control character"), (["pbs"], "pbs")):
            self.assertIn(words, self.emit(*arguments, code=2))


if __name__ == "__main__":
    unittest.main()
