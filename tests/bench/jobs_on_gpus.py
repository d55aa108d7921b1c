#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""What `ncclprobe record`, `report`, `replay` and `--what-if` say of PyTorch jobs (training_job.py), beside what the jobs say of
themselves: what recording costs, how a step divides, who holds a job up, whether a replay is as long, and what a disturbance costs.

    tests/bench/jobs_on_gpus.py --bin build/nvidia/bin cost split planted link replay settings what-if hang # 2 GPUs, about 20 minutes
    tests/bench/jobs_on_gpus.py --bin build/nvidia/bin --rounds 2 --models encoder cost

Runs of the two sides are in turns, in random order. Each figure is printed as soon as it is known. Needs PyTorch with CUDA, torchrun,
mpirun and two GPUs; exit code 77 where they are missing.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

JOB = pathlib.Path(__file__).with_name("training_job.py")
# Model, batch. The small batch is bound by its launches. The others are large, because a host that is late by itself hides what is planted.
MODELS = {"encoder": ("encoder", 48), "small": ("encoder", 2), "vit_l_16": ("vit_l_16", 128), "two_groups": ("two_groups", 48)}
# With small batches and slow transfers, most communication is exposed. Otherwise most of it is waiting, which differs in each run.
SMALL_BATCHES = {"encoder": 24, "vit_l_16": 32}
SPLIT_SETTINGS = {"NCCL_MAX_CTAS": "1", "NCCL_PROTO": "LL"}
REPLAYED_SETTINGS = ["NCCL_P2P_DISABLE=1", "NCCL_MAX_CTAS=1"]
# Plant, and the causes that name it.
PLANTS = {"host:1:3": {"host"}, "computing:1:4": {"computing"}, "loader:1:3": {"host", "input"}, "copies:1:256": {"copies"}}
# Another process loads the PCIe link that NCCL uses without P2P. The model's communication is exposed.
LINK_PLANT, LINK_MODEL, LINK_SETTINGS = "link:1:8192", "two_groups", {"NCCL_P2P_DISABLE": "1"}
LINK_CAUSES = {"transfer", "slow_link", "slow_transfers"}
# Large beside the scatter of a step, which is about 1 ms: a gain shall be seen to a few percent.
WHAT_IF_PLANTS = ["host:1:20", "computing:1:15", "loader:1:20", "copies:1:1024"]
HELD_UP_EVERY = 5


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.captures = options, pathlib.Path(folder), 0
        self.ncclprobe = str(options.bin / "ncclprobe")

    def job(self, name, *more, steps=60, batch=None):
        model, usual_batch = MODELS[name]
        batch = batch or usual_batch
        return ["torchrun", "--standalone", f"--nproc-per-node={self.options.ranks}", str(JOB), "--model", model, "--batch", str(batch),
                "--steps", str(steps), *more]

    def run(self, command, **environment):
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
                              timeout=self.options.timeout)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-800:]}")
        return done.stdout

    def of_job(self, command, **environment):
        return line_of_job(self.run(command, **environment))

    def record(self, name, *recording, job=(), steps=60, batch=None, **environment):
        """What the job says, and the folder of its capture."""
        self.captures += 1
        folder = self.folder / f"job-{self.captures}"
        said = self.of_job([self.ncclprobe, "record", "-q", "-o", str(folder), *recording, "--",
                            *self.job(name, *job, steps=steps, batch=batch)],
                           **environment)
        return said, folder

    def report(self, capture, *more):
        return json.loads(self.run([self.ncclprobe, "report", str(capture), "--format", "json", *more]))


def line_of_job(text):
    """The line of JSON of a job, which may stand among lines of others."""
    lines = [line for line in text.splitlines() if line.startswith('{"torch"')]
    return json.loads(lines[-1])


def records_of_bare_cupti(text):
    """How many records each process counted that recorded any. Some do not use the GPU."""
    return [int(count) for count in re.findall(r"bare_cupti: ([1-9][0-9]*) records", text)]


def step_ms(said):
    """The median step of a job: the mean over ranks of their medians."""
    return statistics.mean(statistics.median(rank["step_ms"]) for rank in said["ranks"])


def mean_step_ms(said):
    return statistics.mean(statistics.mean(rank["step_ms"]) for rank in said["ranks"])


def ratio_with_interval(of, to):
    """Geometric mean of the ratios of pairs, with 1.96 standard errors; without an interval from one pair."""
    logs = [math.log(a / b) for a, b in zip(of, to)]
    mean = statistics.mean(logs)
    error = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return math.exp(mean), math.exp(mean - error), math.exp(mean + error)


def division_of_report(report):
    """Milliseconds a step, means over ranks, of the kind with the most steps: as training_job.py's profile has them."""
    cell = max(report["job"]["kinds"], key=lambda kind: kind["steps"])["cell"]
    of_ranks = [one for rank in report["ranks"] for one in rank["cells"] if one["cell"] == cell]
    per_step = [1e-6 / one["steps"] for one in of_ranks]
    exposed = [one["exposed_wait_ns"] + one["exposed_transfer_ns"] for one in of_ranks]
    return {"computing_ms": statistics.mean(one["compute_ns"] * per for one, per in zip(of_ranks, per_step)),
            "hidden_ms": statistics.mean(one["hidden_ns"] * per for one, per in zip(of_ranks, per_step)),
            "exposed_ms": statistics.mean(ns * per for ns, per in zip(exposed, per_step))}


def beside_bare_cupti(bench, name, steps):
    text = bench.run(bench.job(name, steps=steps), CUDA_INJECTION64_PATH=str(bench.options.bare_cupti.resolve()))
    if len(records_of_bare_cupti(text)) < bench.options.ranks:
        raise RuntimeError(f"CUPTI recorded nothing on some rank: {text[:600]}")
    return line_of_job(text)


def cost(bench, name):
    steps = 120
    variants = {"alone": lambda: bench.of_job(bench.job(name, steps=steps)),
                "record --cuda, all steps": lambda: bench.record(name, "--cuda", "--steps", "1000", steps=steps)[0]}
    if bench.options.ranks > 1: # a single rank's NCCL reports no operations, which make steps
        variants["record"] = lambda: bench.record(name, steps=steps)[0]
        variants["record --cuda"] = lambda: bench.record(name, "--cuda", steps=steps)[0]
    if bench.options.bare_cupti:
        variants["CUPTI alone, all steps"] = lambda: beside_bare_cupti(bench, name, steps)
    if bench.options.variants:
        variants = {variant: variants[variant] for variant in ["alone", *bench.options.variants.split(",")]}
    times = {variant: [] for variant in variants}
    for _ in range(bench.options.rounds):
        for variant in random.sample(list(variants), len(variants)):
            times[variant].append(mean_step_ms(variants[variant]()))
        for variant, of in times.items():
            ratio, low, high = ratio_with_interval(of, times["alone"])
            print(f"cost       {name:10} {variant:26} {statistics.median(of):8.2f} ms a step   {ratio:.4f}"
                  f"{f' [{low:.4f}, {high:.4f}]' if len(of) > 1 else ''}, {len(of)} rounds", flush=True)


def split(bench, name):
    theirs, ours, steps, batch = [], [], 30, SMALL_BATCHES.get(name)
    for _ in range(bench.options.rounds):
        said = bench.of_job(bench.job(name, "--profile", str(steps), batch=batch), **SPLIT_SETTINGS)
        theirs.append({key: statistics.mean(rank[key] for rank in said["ranks"]) for key in said["ranks"][0]})
        _, capture = bench.record(name, "--cuda", "--steps", "1000", steps=steps, batch=batch, **SPLIT_SETTINGS)
        report = bench.report(capture)
        ours.append(division_of_report(report))
        kind = max(report["job"]["kinds"], key=lambda one: one["steps"])
        print(f"steps      {name:10} {kind['steps']} steps of {kind['operations']} operations found, in {steps} + 10 steps; "
              f"{report['job']['operations_in_steps']} of {report['job']['operations']} operations are in steps", flush=True)
        for key in theirs[0]:
            a, b = (statistics.median(one[key] for one in side) for side in (ours, theirs))
            print(f"split      {name:10} {key:26} {a:8.3f} ms, PyTorch's profiler {b:8.3f} ms, ratio {a / b if b else math.nan:.4f}, "
                  f"{len(ours)} rounds", flush=True)


def planted(bench, name):
    for plant, causes in PLANTS.items():
        if plant.partition(":")[0] in bench.options.plants.split(","):
            planted_once(bench, name, plant, causes)


def planted_link(bench, name):
    planted_once(bench, name, LINK_PLANT, LINK_CAUSES, **LINK_SETTINGS)


def planted_once(bench, name, plant, causes, **environment):
    job = ("--plant", plant, "--every", str(HELD_UP_EVERY))
    _, capture = bench.record(name, "--cuda", "--steps", "5", "--every", "5", steps=40, job=job, **environment)
    report = bench.report(capture)
    hold_ups = sorted(report["job_causes"]["hold_ups"] or [], key=lambda one: -(one["excess_ns"] or 0))
    right = [one["cause"] in causes and (one["cause_rank"] == 1 or plant.startswith("link")) for one in hold_ups]
    said = "; ".join(f"{one['cause']} of rank {one['cause_rank']}, {one['excess_ns'] / 1e6:.2f} ms a step" for one in hold_ups[:3])
    verdict = "named first" if right[:1] == [True] else "named later" if any(right) else "NOT NAMED"
    print(f"planted    {name:10} {plant:26} {verdict}: {said or 'nothing'}", flush=True)


def replay_times(bench, capture, *more):
    file = bench.folder / "replay.h5"
    bench.run(["mpirun", "-np", str(bench.options.ranks), bench.ncclprobe, "replay", str(capture), "-q", "--repeat", str(bench.options.repeats), "--proof", "off", "--force",
               "-o", str(file), *more])
    return json.loads(bench.run([bench.ncclprobe, "report", str(file), "--format", "json"]))


def replay(bench, name):
    said, capture = bench.record(name, "--cuda", "--steps", "5", "--every", "5")
    print_reproduced("replay", name, replay_times(bench, capture))


def print_reproduced(part, name, report):
    for one in report["replay"]["times"]:
        print(f"{part:10} {name:10} {one['quantity']:26} captured {one['captured_ns'] / 1e6:8.3f} ms, replayed "
              f"{one['replayed_ns'] / 1e6:8.3f} ms, ratio {one['ratio']:.4f}", flush=True)


def replayed_settings(bench, name):
    batch = SMALL_BATCHES.get(name)
    times = {setting: [] for setting in ["", *REPLAYED_SETTINGS]}
    for _ in range(bench.options.rounds):
        for setting in random.sample(list(times), len(times)):
            variables = dict([setting.split("=")]) if setting else {}
            times[setting].append(step_ms(bench.of_job(bench.job(name, batch=batch), **variables)))
            print(f"settings   {name:10} {setting or 'as it is'}: the job's step takes {times[setting][-1]:.3f} ms", flush=True)
    _, capture = bench.record(name, "--cuda", "--steps", "5", "--every", "5", batch=batch)
    # A launch-bound job is replayed by up to 16 steps in a row, so an iteration takes about a second.
    report = replay_times(bench, capture, "--warmups", "1", "--iterations", "1", "--batches", "5",
                          *[word for setting in REPLAYED_SETTINGS for word in ("--setting", setting)])
    print_reproduced("settings", name, report)
    replayed = {one["setting"]: one["step_ms"] for one in report["steps"] if one["parts"] == "all"}
    default = next(one["step_ms"] for one in report["steps"] if one["parts"] == "all" and one["is_default"])
    for setting in REPLAYED_SETTINGS:
        of_job, low, high = ratio_with_interval(times[setting], times[""])
        of_replay = replayed[setting] / default
        print(f"settings   {name:10} {setting}: the job takes {of_job:.3f}x as long [{low:.3f}, {high:.3f}], its replay {of_replay:.3f}x, "
              f"ratio {of_replay / of_job:.3f}", flush=True)


def planted_cost_ms(said):
    """What the plant adds to the mean step: the mean over whole periods beside the steps that are at least two steps from a planted one.
    The step after a planted one is also longer where the host was ahead of its GPU before."""
    of_ranks = []
    for rank in said["ranks"]:
        steps = rank["step_ms"][:len(rank["step_ms"]) // HELD_UP_EVERY * HELD_UP_EVERY]
        undisturbed = [ms for number, ms in enumerate(steps) if number % HELD_UP_EVERY in (1, 2)]
        of_ranks.append(statistics.mean(steps) - statistics.mean(undisturbed))
    return statistics.mean(of_ranks)


def what_if(bench, name):
    good = close = total = 0
    for plant in WHAT_IF_PLANTS:
        for _ in range(bench.options.rounds):
            said, capture = bench.record(name, "--cuda", "--steps", "5", "--every", "5", steps=90,
                                         job=("--plant", plant, "--every", str(HELD_UP_EVERY)))
            seen = planted_cost_ms(said)
            answers = bench.report(capture, "--what-if", "rank:1=median")["job_causes"]["what_if"]
            answer = max(answers, key=lambda one: one["operations"])
            gain = answer["gain_ns"] / 1e6
            low, high = (ns / 1e6 for ns in answer["gain_interval_ns"])
            total += 1
            good += low <= seen <= high
            close += abs(gain - seen) <= 0.2 * seen
            print(f"what-if    {name:10} {plant:26} predicted gain {gain:7.3f} ms [{low:.3f}, {high:.3f}], seen {seen:7.3f} ms, "
                  f"ratio {gain / seen:.3f}, step {step_ms(said):.2f} ms", flush=True)
    print(f"what-if    {name:10} of {total} gains {close} are within 20%, {good} in their interval", flush=True)


def hang(bench, name):
    bench.captures += 1
    folder = bench.folder / f"job-{bench.captures}"
    job = subprocess.Popen([bench.ncclprobe, "record", "-q", "-o", str(folder), "--", *bench.job(name, "--plant", "mismatch:1:20")],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        time.sleep(bench.options.hang_after)
        done = subprocess.run([bench.ncclprobe, "hang", str(folder)], capture_output=True, text=True, timeout=60)
        print("\n".join(f"hang       {line}" for line in done.stdout.splitlines()[:12]), flush=True)
    finally:
        job.terminate() # torchrun ends its workers
        try:
            job.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


PARTS = {"cost": cost, "split": split, "planted": planted, "link": planted_link, "replay": replay, "settings": replayed_settings,
         "what-if": what_if, "hang": hang}


def missing(ranks):
    for program in ("mpirun", "torchrun"):
        if not shutil.which(program):
            return f"{program} is not installed"
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return "" if torch.cuda.device_count() >= ranks else f"PyTorch finds {torch.cuda.device_count()} GPUs, and {ranks} are needed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=list(PARTS))
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of ncclprobe")
    parser.add_argument("--models", default="encoder,vit_l_16", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--bare-cupti", type=pathlib.Path, help="libbare_cupti.so of the benchmarks: 'cost' has what CUPTI itself costs, too")
    parser.add_argument("--variants", help="of 'cost', beside the job alone, such as record")
    parser.add_argument("--plants", default="host,computing,loader,copies", help="of 'planted'")
    parser.add_argument("--ranks", type=int, default=2, help="1: for 'cost' of kernels on a single GPU")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=2, help="fresh processes of each setting of a replay")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one program")
    parser.add_argument("--hang-after", type=float, default=25, help="seconds until the job that hangs is looked at")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the captures in this folder")
    options = parser.parse_args()
    if unknown := set(options.plants.split(",")) - {plant.partition(":")[0] for plant in PLANTS}:
        parser.error(f"--plants: there is no {', '.join(sorted(unknown))}")
    if options.ranks < 2 and options.parts != ["cost"]:
        parser.error("one rank alone has only 'cost'")
    if why := missing(options.ranks):
        print(f"skipped: {why}", file=sys.stderr)
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, options.keep or temporary)
        bench.folder.mkdir(parents=True, exist_ok=True)
        for part in options.parts:
            for name in [LINK_MODEL] if part == "link" else options.models.split(","):
                try: # one failure must not cost the other figures
                    PARTS[part](bench, name)
                except (RuntimeError, subprocess.TimeoutExpired, KeyError, IndexError, ValueError, TypeError) as problem:
                    failed = True
                    print(f"{part:10} {name:10} failed: {problem!r}"[:1000], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
