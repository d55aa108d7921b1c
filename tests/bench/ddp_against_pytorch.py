#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of `ncclprobe run --workload ddp` beside steps of PyTorch's own DistributedDataParallel: the same stack of
square nn.Linear layers, types, rows and buckets, on the same GPUs, in turns.

    tests/bench/ddp_against_pytorch.py --bin build/nvidia/bin --ranks 2 --rounds 3

Exposed communication is, on both sides, the time in which a kernel of NCCL runs and no other kernel does: ours by events
on the streams, PyTorch's by its profiler, in steps of its own. Needs PyTorch with CUDA, torchrun, mpirun and as many GPUs as ranks;
exit code 77 where they are missing.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

# width, depth, rows of the batch on each rank, type
CASES = [(4096, 16, 8192, "bf16"), (1024, 48, 65536, "bf16"), (2048, 16, 2048, "f32")]
STEPS_TIMED, TIMINGS, STEPS_PROFILED, WARM_UP = 10, 8, 6, 8


def united(spans):
    """Sorted spans that do not touch each other, covering what the given (begin, end) cover."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length_outside(spans, others):
    """How much of the united spans no span of the united others covers."""
    outside = 0.0
    for begin, end in spans:
        for other_begin, other_end in others:
            if other_end <= begin or other_begin >= end:
                continue
            outside += max(0.0, other_begin - begin)
            begin = max(begin, other_end)
            if begin >= end:
                break
        outside += max(0.0, end - begin)
    return outside


def pytorch_rank(width, depth, rows, dtype):
    """What torchrun starts: one rank; rank 0 prints a line of JSON with the figures of all."""
    import time

    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile

    torch.backends.cuda.matmul.allow_tf32 = False
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    kind = {"bf16": torch.bfloat16, "f32": torch.float32}[dtype]
    model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(depth)]).to(kind).to(device)
    data = torch.randn(rows, width, dtype=kind, device=device)
    gradient = torch.ones(rows, width, dtype=kind, device=device) / rows
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local])

    def step():
        for parameter in model.parameters():
            parameter.grad = None
        parallel(data).backward(gradient)

    def step_alone():
        with parallel.no_sync():
            step()

    def timed(one):
        times = []
        for _ in range(TIMINGS):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(STEPS_TIMED):
                one()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - began) / STEPS_TIMED * 1e3)
        return statistics.median(times)

    for one in (step, step_alone, step):
        for _ in range(WARM_UP):
            one()
    mine = {"step_ms": timed(step), "alone_ms": timed(step_alone)}
    for _ in range(WARM_UP):
        step()
    dist.barrier()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(STEPS_PROFILED):
            step()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    nccl, others = [], []
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            of = nccl if event["name"].startswith("nccl") else others
            of.append((event["ts"], event["ts"] + event["dur"]))
    nccl, others = united(nccl), united(others)
    mine["communication_ms"] = sum(end - begin for begin, end in nccl) / 1e3 / STEPS_PROFILED
    mine["exposed_ms"] = length_outside(nccl, others) / 1e3 / STEPS_PROFILED
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    if dist.get_rank() == 0:
        print(json.dumps({"torch": torch.__version__, "nccl": torch.cuda.nccl.version(), "ranks": everyone}))
    dist.destroy_process_group()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def mean_over_ranks(ranks, name):
    return statistics.mean(rank[name] for rank in ranks)


def theirs(case, ranks):
    out = run(["torchrun", f"--nproc-per-node={ranks}", "--standalone", __file__, "--as-rank", *map(str, case)])
    told = json.loads(out.strip().splitlines()[-1])
    names = ("step_ms", "alone_ms", "communication_ms", "exposed_ms")
    return {name: mean_over_ranks(told["ranks"], name) for name in names}, told


def ours(case, ranks, programs, folder):
    width, depth, rows, dtype = case
    file = os.path.join(folder, "step.h5")
    run(["mpirun", "-np", str(ranks), os.path.join(programs, "ncclprobe"), "run", "--workload", "ddp", "--model",
         f"linear:{width}x{depth}", "--batch", str(rows), "--type", dtype, "--optimizer", "off", "--ranks", str(ranks),
         "--no-sweep", "--repeat", "1", "--proof", "off", "-q", "-o", file])
    told = json.loads(run([os.path.join(programs, "ncclprobe"), "report", file, "--format", "json"]))
    os.remove(file)
    by_parts = {step["parts"]: step for step in told["steps"] if len(step["ranks"]) == ranks}
    whole = by_parts["all"]
    return {"step_ms": whole["step_ms"], "alone_ms": by_parts["compute"]["step_ms"],
            "communication_ms": whole["communication_ms"],
            # By marks, PyTorch's by kernels: less than that (docs/method.md).
            "exposed_ms": whole["uncovered_wait_ms"] + whole["uncovered_transfer_ms"]}


def spread(rounds, name):
    values = [one[name] for one in rounds]
    return statistics.median(values), f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def missing(ranks):
    for program in ("mpirun", "torchrun"):
        if not shutil.which(program):
            return f"{program} is not installed"
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    if torch.cuda.device_count() < ranks:
        return f"PyTorch finds {torch.cuda.device_count()} GPUs, and {ranks} ranks need one each"
    return ""


def main():
    if len(sys.argv) == 6 and sys.argv[1] == "--as-rank":
        pytorch_rank(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of ncclprobe")
    parser.add_argument("--ranks", type=int, default=2, help="GPUs to use")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side for a case")
    parser.add_argument("--type", choices=sorted({case[3] for case in CASES}), help="only the cases of this type")
    parser.add_argument("--json", help="also write all figures to this file")
    options = parser.parse_args()
    why = missing(options.ranks)
    if why:
        print(f"skipped: {why}", file=sys.stderr)
        return 77
    all_figures = []
    print(f"{'layers, rows a rank':28}{'':9}{'step ms (range)':>24}{'without sync ms':>24}{'comm ms':>9}"
          f"{'exposed ms':>20}")
    with tempfile.TemporaryDirectory() as folder:
        for case in (case for case in CASES if options.type in (None, case[3])):
            rounds = {"ours": [], "PyTorch": []}
            for _ in range(options.rounds):
                rounds["ours"].append(ours(case, options.ranks, options.bin, folder))
                figures, told = theirs(case, options.ranks)
                rounds["PyTorch"].append(figures)
            width, depth, rows, dtype = case
            title = f"{width}x{depth} {dtype}, {rows}"
            for side, figures in rounds.items():
                print(f"{title:28}{side:9}{spread(figures, 'step_ms')[1]:>24}{spread(figures, 'alone_ms')[1]:>24}"
                      f"{spread(figures, 'communication_ms')[0]:9.2f}{spread(figures, 'exposed_ms')[1]:>20}", flush=True)
                title = ""
            step = spread(rounds["ours"], "step_ms")[0] / spread(rounds["PyTorch"], "step_ms")[0]
            exposed = spread(rounds["ours"], "exposed_ms")[0] - spread(rounds["PyTorch"], "exposed_ms")[0]
            print(f"{'':28}ours / PyTorch: step {step:.3f}; exposed {exposed:+.2f} ms", flush=True)
            all_figures.append({"case": case, "ranks": options.ranks, **rounds})
            if options.json: # after each case, so that a later failure loses nothing
                with open(options.json, "w") as out:
                    json.dump(all_figures, out, indent=1)
    print(f"{options.ranks} ranks; PyTorch {told['torch']}, its NCCL {'.'.join(map(str, told['nccl']))}; "
          f"medians of {options.rounds} processes a side, means over ranks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
