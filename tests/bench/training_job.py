#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training job whose disturbances are planted, for jobs_on_gpus.py. torchrun starts it. Rank 0 prints a line of JSON: the
milliseconds of each timed step on every rank, and with --profile how PyTorch's own profiler divides a step.

    torchrun --standalone --nproc-per-node 2 tests/bench/training_job.py --model encoder --plant host:1:3 --every 5

Plants, each on one rank in every Nth step (--every):
  host:RANK:MS        the host waits for the GPU after the forward pass, and sleeps
  loader:RANK:MS      the host waits for the input, and copies it to the GPU then
  computing:RANK:N    N more matrix products of 8192 x 8192 in the step
  copies:RANK:MIB     so many MiB more are copied from the host's memory before the step
  link:RANK:MIB       another process copies so many MiB from the host's memory to this rank's GPU meanwhile
  mismatch:RANK:STEP  the rank's all_reduce of that step has another size, so the job hangs
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def models(torch, name, batch):
    """The model, and what makes one input on the host."""
    if name == "vit_l_16":
        import torchvision

        return torchvision.models.vit_l_16(), lambda: torch.randn(batch, 3, 224, 224)
    width = 1024
    layer = torch.nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True)
    length = 512 if batch > 2 else 64 # small: the host cannot launch the kernels as fast as the GPU runs them
    return torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), lambda: torch.randn(batch, length, width)


class Plant:
    def __init__(self, words, every, rank):
        self.kind, self.amount = "", 0.0
        self.every = every
        if words:
            kind, of_rank, amount = words.split(":")
            if int(of_rank) == rank:
                self.kind, self.amount = kind, float(amount)

    def is_due(self, kind, step):
        return self.kind == kind and (step == int(self.amount) if kind == "mismatch" else step % self.every == self.every - 1)


def copy_on_order(gpu):
    """Another process: each line that it reads is a number of MiB to copy to this GPU. It uses only the copy engine, so nothing that
    computes waits for it."""
    import torch

    piece = torch.empty(64 << 20, dtype=torch.uint8).pin_memory()
    there = torch.empty_like(piece, device=f"cuda:{gpu}")
    there.copy_(piece)
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(max(1, int(line) // 64)):
            there.copy_(piece, non_blocking=True)
        torch.cuda.synchronize(gpu)


def start_copier(gpu):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_INJECTION", "NCCLPROBE_"))}
    copier = subprocess.Popen([sys.executable, __file__, "--copier", str(gpu)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=environment)
    copier.stdout.readline() # orders that it finds at its start would all run at once
    return copier


def division_of_profile(profiler, steps):
    """Milliseconds a step: kernels that compute, communication beside them, and communication alone."""
    from ddp_against_pytorch import length_outside, united

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        with open(file.name) as text:
            events = json.load(text)["traceEvents"]
    nccl, others = [], []
    for event in events:
        if event.get("cat") == "kernel":
            of = nccl if event["name"].startswith("nccl") else others
            of.append((event["ts"], event["ts"] + event["dur"]))
    nccl, others = united(nccl), united(others)
    total = sum(end - begin for begin, end in nccl)
    exposed = length_outside(nccl, others)
    per_step = 1 / 1e3 / steps
    return {"computing_ms": sum(end - begin for begin, end in others) * per_step, "hidden_ms": (total - exposed) * per_step,
            "exposed_ms": exposed * per_step}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["encoder", "vit_l_16", "two_groups"], default="encoder")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--plant", default="")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--profile", type=int, default=0, metavar="STEPS", help="profile so many steps instead of timing")
    parser.add_argument("--copier", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.copier is not None:
        copy_on_order(options.copier)
        return 0

    import torch
    import torch.distributed as dist

    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    rank = dist.get_rank()
    torch.manual_seed(1)
    plant = Plant(options.plant, options.every, rank)
    with device: # much faster than on the host
        model, make_input = models(torch, "encoder" if options.model == "two_groups" else options.model, options.batch)
    if options.model == "two_groups":
        tensor_group = dist.new_group()
        shared = [torch.zeros(4 << 20, device=device) for _ in range(8)]
    else:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    pinned = make_input().pin_memory()
    more = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    bulk = torch.empty(int(plant.amount) << 20, dtype=torch.uint8).pin_memory() if plant.kind == "copies" else None
    copier = start_copier(local) if plant.kind == "link" else None
    data = pinned.to(device)

    def step(number):
        nonlocal data
        if plant.is_due("loader", number):
            torch.cuda.current_stream().synchronize()
            time.sleep(plant.amount / 1e3)
        data = pinned.to(device, non_blocking=True)
        if plant.is_due("copies", number):
            bulk.to(device, non_blocking=True)
        if plant.is_due("link", number):
            copier.stdin.write(f"{int(plant.amount)}\n")
            copier.stdin.flush()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = model(data)
            if plant.is_due("computing", number):
                for _ in range(int(plant.amount)):
                    torch.mm(more, more)
            loss = out.float().square().mean()
        if plant.is_due("host", number): # a host that is ahead of its GPU may sleep without effect
            torch.cuda.current_stream().synchronize()
            time.sleep(plant.amount / 1e3)
        loss.backward()
        if options.model == "two_groups":
            for one in shared:
                dist.all_reduce(one, group=tensor_group)
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        if plant.is_due("mismatch", number):
            dist.all_reduce(torch.zeros(123, device=device))
        optimizer.step()

    for number in range(options.warmup):
        step(number - options.warmup) # the plant is due as often as later
    torch.cuda.synchronize()
    dist.barrier()
    mine = {}
    if options.profile:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for number in range(options.profile):
                step(number)
            torch.cuda.synchronize()
        mine = division_of_profile(profiler, options.profile)
    else:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(options.steps + 1)]
        marks[0].record()
        for number in range(options.steps):
            step(number)
            marks[number + 1].record()
        torch.cuda.synchronize()
        mine = {"step_ms": [begin.elapsed_time(end) for begin, end in zip(marks, marks[1:])]}
    if copier:
        copier.stdin.close()
        copier.wait()
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    if rank == 0:
        median = statistics.median(everyone[0].get("step_ms", [0]))
        print(json.dumps({"torch": torch.__version__, "nccl": torch.cuda.nccl.version(), "median_ms": median, "ranks": everyone}))
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
