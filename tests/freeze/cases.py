# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that freeze.py runs with the old and the new program, and what they start from."""

import dataclasses
import enum
import pathlib
import shlex


class Form(enum.Enum):
    """How standard output is compared."""

    TEXT = "text"  # for people: ids of findings; every line with --text
    FACTS = "facts"  # for people, and there is no JSON of it: numbers, names and paths in any order
    LINES = "lines"  # for programs: every line
    JSON = "json"
    CSV = "csv"
    TOML = "toml"
    HELP = "help"


class Depth(enum.Enum):
    VALUES = "values"  # every value: seeded, or computed from files
    SHAPE = "shape"  # keys, types and labels: figures were measured


@dataclasses.dataclass
class Case:
    name: str
    arguments: list
    form: Form = Form.TEXT
    depth: Depth = Depth.VALUES
    environment: dict = dataclasses.field(default_factory=dict)
    launcher: list = dataclasses.field(default_factory=list)
    interrupt: bool = False  # SIGINT once the first trial is stored
    files: dict = dataclasses.field(default_factory=dict)  # name to content, written before


def case(name, command, **how):
    """`command` may name {tree}, {bin} and {workers}; its working folder is the scene's."""
    return Case(name, shlex.split(command), **how)


COMMANDS = ("run", "plan", "doctor", "p2p", "topo", "models", "report", "predict", "claim", "export")
SMALL = "--collectives all_reduce --sizes 1K,64K --batches 2 --iterations 3 --warmups 1"
HOST = f"run --backend host {SMALL} --repeat 1 --seed 1"
SHAPE = {"depth": Depth.SHAPE}
JSON = {"form": Form.JSON}
FACTS = {"form": Form.FACTS}
PLAN = """backend = 'synthetic'
ranks = 4
seed = 11
repeat = 2
sizes = '1K,1M'
collectives = ['all_reduce', 'broadcast']
[[setting]]
environment = { NCCL_ALGO = 'Tree' }
"""
BAD_PLAN = "backend = 'synthetic'\nrepaet = 3\n"
EXPERTS = """name = "experts"
[[layers]]
name = "gate"
kind = "other"
block = 0
output = 32
parameters = [{ name = "gate", shape = [4, 16] }]
products = [{ rows = 8, n = 4, k = 16 }]
[[layers]]
name = "experts"
kind = "experts"
block = 0
output = 128
experts = 4
experts_per_token = 2
parameters = [{ name = "0", shape = [16, 16] }, { name = "1", shape = [16, 16] }, { name = "2", shape = [16, 16] },
              { name = "3", shape = [16, 16] }]
products = [{ rows = 16, n = 16, k = 16 }]
"""
PAGE = """# How to read a matrix

```
        GPU0    GPU1
GPU0     X      NV18
GPU1    NV18     X
```
"""
UNKNOWN_VARIABLES = ("NCCL_NOPE", "NCCL_P2P_DISABEL", "NCCL_ALGORITHM", "NCCL_SHM_DISABEL")
SECRET = {"NCCL_MY_TOKEN": "hidden", "NCCL_BUFFSIZE": "8388608"}


def known_variables(tree):
    """Names of NCCL's variables, as the generated page of the documents lists them."""
    for page in (tree / "docs").rglob("nccl-variables.md"):
        rows = page.read_text().splitlines()
        return [row.split("`")[1] for row in rows if row.startswith("| `")]
    raise FileNotFoundError(f"{tree}/docs has no nccl-variables.md")


def scenes(tree: pathlib.Path):
    """Name to list of cases. Cases of a scene run in order in one folder and may use each other's files."""
    sweep = ("run --backend synthetic --ranks 4 --seed 7 --sizes 1K,64K,1M --collectives all_reduce,all_to_all "
             "--set NCCL_ALGO=Ring,Tree --repeat 5")
    machines = "{tree}/tests/machines"
    return {
        "help": [case("help", "--help", form=Form.HELP), case("version", "--version", **FACTS),
                 *(case(f"help-{command}", f"{command} --help", form=Form.HELP) for command in COMMANDS)],
        "sweep": [
            case("sweep", f"{sweep} -o run.h5"),
            case("sweep-json", "report run.h5 --format json", **JSON),
            case("sweep-csv", "report run.h5 --format csv", form=Form.CSV),
            case("sweep-price", "report run.h5 --price 3 --format json -o price.json"),
            case("sweep-again", f"{sweep} -o run.h5"),
            case("sweep-force", f"{sweep} -q --force -o run.h5"),
            case("resume-complete", "run --resume run.h5"),
            case("resume-elsewhere", "run --resume run.h5", environment={"NCCL_DEBUG": "WARN"}),
            case("export-untraced", "export run.h5 --chrome out.json"),
            case("predict-nothing", "predict run.h5 --ranks 8"),
        ],
        "traced": [
            case("traced", "run --backend synthetic --ranks 4 --seed 7 --sizes 1K,1M --collectives all_reduce,all_gather "
                           "--types f32,bf16 --set NCCL_PROTO=LL,Simple --repeat 1 --trace full --proof on -o run.h5"),
            case("traced-json", "report run.h5 --format json", **JSON),
            case("timeline", "report run.h5 --timeline"),
            case("timeline-json", "report run.h5 --timeline --steps --format json", **JSON),
            case("timeline-window", "report run.h5 --timeline --trial 1 --window 0:1ms --ranks 0-1 --format json", **JSON),
            case("timeline-csv", "report run.h5 --timeline --format csv"),
            case("export-csv", "export run.h5 --csv tables"),
            case("export-chrome", "export run.h5 --chrome out.json --ranks 0,1 --window 0:2ms"),
            case("export-perfetto", "export run.h5 --perfetto out.pftrace --trial 2"),
        ],
        "latency": [
            case("latency", "run --backend synthetic --ranks 2 --seed 4 --mode latency --sizes 1K,1M --launch direct,graph "
                            "--launch-costs --no-sweep --repeat 2 -o run.h5"),
            case("latency-json", "report run.h5 --format json", **JSON),
            case("latency-csv", "report run.h5 --format csv", form=Form.CSV),
        ],
        "steps": [
            case("steps", "run --backend synthetic --workload ddp --model gpt2-124m --ranks 1,2,4 --batch 2 --type bf16 "
                          "--repeat 2 --seed 5 --bucket 10M,25M --set NCCL_MAX_CTAS=4 --trace kernels -q -o run.h5"),
            case("steps-json", "report run.h5 --format json", **JSON),
            case("steps-csv", "report run.h5 --format csv", form=Form.CSV),
            case("steps-timeline", "report run.h5 --timeline --steps --window step:1-2 --format json", **JSON),
            case("predict", "predict run.h5 --model gpt2-124m --bucket 25M --ranks 8,64 --inter-node 50GB/s,5us --format json",
                 **JSON),
            case("predict-other", "predict run.h5 --model llama2-7b --bucket 25M --ranks 16,512 --inter-node 40-50GB/s,4-6us "
                                  "--format json", **JSON),
            case("predict-forward", "predict run.h5 --model llama2-7b --ranks 8 --forward 300-320ms --backward 640ms "
                                    "--inter-node 50GB/s,5us --bucket 25M", **FACTS),
            case("claim-run", "claim --sync -50% --step -49% run.h5", **FACTS),
            case("claim-setting", "claim run.h5 --setting NCCL_MAX_CTAS=4", **FACTS),
        ],
        "fsdp": [
            case("fsdp", "run --backend synthetic --workload fsdp --model gpt2-124m:4 --ranks 1,2,4 --batch 8 --type bf16 "
                         "--prefetch 0,1 --input-copy pinned:1M --repeat 2 --seed 6 --no-sweep -o run.h5"),
            case("fsdp-json", "report run.h5 --format json", **JSON),
            case("predict-fsdp", "predict run.h5 --prefetch 1 --ranks 8 --inter-node 50GB/s,5us --format json", **JSON),
        ],
        "patterns": [
            case("tp", "run --backend synthetic --workload tp --model gpt2-124m:2 --ranks 4 --sequence-parallel --seed 2 "
                       "--no-sweep --repeat 1 -q -o tp.h5"),
            case("tp-json", "report tp.h5 --format json", **JSON),
            case("pipeline", "run --backend synthetic --workload pipeline --model gpt2-124m:4 --ranks 4 --micro-batches 4 "
                             "--seed 2 --no-sweep --repeat 1 -q -o pipeline.h5"),
            case("pipeline-json", "report pipeline.h5 --format json", **JSON),
            case("moe", "run --backend synthetic --workload moe --model experts.toml --ranks 4 --seed 2 --no-sweep --repeat 1 "
                        "-q -o moe.h5", files={"experts.toml": EXPERTS}),
            case("moe-csv", "report moe.h5 --format csv", form=Form.CSV),
        ],
        "plans": [
            case("plan", "plan --backend synthetic --ranks 8 --seed 3", form=Form.TOML),
            case("plan-options", "plan --backend synthetic --ranks 8 --seed 3 --graph --register --split 1,2 --streams 2 "
                                 "--offset 0,1 --counts 1,3 --types bf16,f16 --ops max,min --interval 2% --budget 2s "
                                 "--mode latency --devices-per-worker 2 --rank-set 0-3:NCCL_HOSTID=a --cpu-affinity none,core",
                 form=Form.TOML),
            case("plan-steps", "plan --backend synthetic --workload ddp --model gpt2-124m --ranks 1,2,8 --seed 3 --bucket 10M "
                               "--accumulate 2 --compress bf16 --input-copy pinned:1M --comm-priority 5", form=Form.TOML),
            case("dry-run", "plan --dry-run --backend synthetic --ranks 8 --seed 3 --set NCCL_ALGO=Ring,Tree", **FACTS),
            case("plan-file", "plan --dry-run --plan plan.toml", files={"plan.toml": PLAN}, **FACTS),
            case("plan-file-back", "plan --plan plan.toml --repeat 3", form=Form.TOML),
            case("plan-file-run", "run --plan plan.toml -q -o run.h5"),
            case("plan-file-json", "report run.h5 --format json", **JSON),
            case("plan-bad", "plan --plan bad.toml", files={"bad.toml": BAD_PLAN}),
            case("plan-absent", "plan --plan absent.toml"),
            case("plan-example", "plan --seed 1 --backend synthetic --ranks 8 --plan {tree}/examples/nccl_sweep.toml",
                 form=Form.TOML),
            case("plan-refused-value", "plan --backend synthetic --set NCCL_ALGO=Ringg"),
            case("plan-conflict", "plan --no-sweep --set NCCL_ALGO=Ring"),
        ],
        "interrupted": [
            case("interrupt", "run --backend synthetic --ranks 2 --seed 9 --sizes 1K,1M --set NCCL_ALGO=Ring,Tree --repeat 30 "
                              "-q -o run.h5", interrupt=True, **SHAPE),
            case("resume", "run --resume run.h5 -q"),
            case("resume-json", "report run.h5 --format json", **JSON),
        ],
        "cpu": [
            case("cpu", f"{HOST} --set NCCLPROBE_GLOO_ALGORITHM=ring --proof on --trace full -o run.h5", **SHAPE),
            case("cpu-json", "report run.h5 --format json", **JSON, **SHAPE),
            case("cpu-csv", "report run.h5 --format csv", form=Form.CSV, **SHAPE),
            case("cpu-timeline", "report run.h5 --timeline --format json", **JSON, **SHAPE),
            case("cpu-mpirun", f"{HOST} --no-sweep -q -o mpi.h5", launcher=["mpirun", "--oversubscribe", "-np", "2"], **SHAPE),
            case("cpu-mpirun-csv", "report mpi.h5 --format csv", form=Form.CSV, **SHAPE),
            case("cpu-environment", f"{HOST} --no-sweep -q -o pinned.h5", environment=SECRET, **SHAPE),
            case("cpu-environment-json", "report pinned.h5 --format json", **JSON, **SHAPE),
            case("cpu-variants", "run --backend host --ranks 4 --no-sweep --repeat 1 --collectives all_reduce,send_recv "
                                 "--sizes 1000 --types f16,i8 --ops sum,max --placement out_of_place,in_place --batches 1 "
                                 "--iterations 1 --warmups 0 --seed 1 -q -o variants.h5", **SHAPE),
            case("cpu-variants-csv", "report variants.h5 --format csv", form=Form.CSV, **SHAPE),
        ],
        "failures": [
            case("wrong-data", f"{HOST} --compare-library worker={{workers}}/wrong_data -q -o wrong.h5", **SHAPE),
            case("wrong-data-csv", "report wrong.h5 --format csv", form=Form.CSV, **SHAPE),
            case("crash", f"{HOST} --compare-library worker={{workers}}/crash_in_cell -q -o crash.h5", **SHAPE),
            case("crash-json", "report crash.h5 --format json", **JSON, **SHAPE),
            case("nonsense", f"{HOST} --set NCCLPROBE_GLOO_ALGORITHM=nonsense -q -o nonsense.h5", **SHAPE),
            case("no-worker", f"{HOST} --library worker=/bin/true -o none.h5"),
            case("no-gpus", "run --backend nvidia -o none.h5"),
        ],
        "p2p": [
            case("p2p", "p2p --backend synthetic --ranks 4 --seed 3 -q -o run.h5"),
            case("p2p-json", "report run.h5 --format json", **JSON),
            case("p2p-csv", "p2p --backend synthetic --ranks 4 --seed 3 --sizes 1M,64M --methods ce,latency --format csv -q "
                            "-o two.h5", form=Form.CSV),
            case("p2p-cpu", "p2p --backend host --ranks 2 --seed 3 --sizes 4K --format csv -q -o cpu.h5", form=Form.CSV, **SHAPE),
            case("p2p-recorded-csv", f"report {machines}/two-h200-vm-p2p.h5 --format csv", form=Form.CSV),
            case("p2p-recorded-json", f"report {machines}/two-h200-vm-p2p.h5 --format json", **JSON),
            case("p2p-bad-method", "p2p --backend synthetic --methods teleport"),
        ],
        "topo": [
            case("topo-json", f"topo --from {machines}/dgx-a100.xml --format json", **JSON),
            case("topo-matrix", f"topo --from {machines}/dgx1-v100.xml --format matrix", form=Form.LINES),
            case("topo-tree", f"topo --from {machines}/four-t4.xml --format tree", form=Form.LINES),
            case("topo-facts", f"topo --from {machines}/two-h200-vm.xml --format facts", form=Form.LINES),
            case("topo-nccl-xml", f"topo --from {machines}/switches-hwloc.xml --format nccl-xml", form=Form.LINES),
            case("topo-svg", f"topo --from {machines}/bridged-pair.xml --format svg -o node.svg"),
            case("topo-dot", f"topo --from {machines}/bridged-pair.xml --format dot", form=Form.LINES),
            case("topo-ceilings", f"topo --from {machines}/dgx-a100.xml --placement --ceilings", **FACTS),
            case("topo-two", f"topo --from {machines}/two-h100.q.xml --from {machines}/eight-h200-vm.topo-m.txt --format json",
                 **JSON),
            case("topo-own", f"topo --from {machines}/two-h200-vm.json --format json", **JSON),
            case("topo-graphs", f"topo --from {machines}/eight-h200-vm.graph.xml --format json", **JSON),
            case("topo-live", "topo --format json", **JSON),
            case("topo-absent", "topo --from absent.xml"),
            case("topo-no-machine", "topo --from page.md", files={"page.md": PAGE}),
        ],
        "doctor": [
            case("doctor", "doctor --backend host --format json -o here.json"),
            case("doctor-offline", "doctor --offline here.json --format json", **JSON),
            case("doctor-ill", "doctor --offline {tree}/tests/freeze/examination.json --format json", **JSON),
            case("doctor-ill-text", "doctor --offline {tree}/tests/freeze/examination.json"),
            case("doctor-log", "doctor --log {tree}/examples/train.log --format json", **JSON),
            case("doctor-policy", "doctor --gpu H200 --gpu T4 --policy {tree}/examples/suitability_policy.toml --format json",
                 **JSON),
            case("doctor-explain", "doctor --explain-gpu --gpu T4 --gpu L4 --price T4=800 --price L4=2400 --format json", **JSON),
            case("doctor-stack", "doctor --gpu T4 --gpu 'RTX 5090' --format json", **JSON),
            case("doctor-wheel", "doctor --gpu 'GTX 1080' --wheel torch==2.8+cu128 --format json", **JSON),
            case("doctor-node", f"doctor --explain-gpu --node {machines}/two-h200-vm-p2p.h5 --format json", **JSON),
            case("doctor-node-no-gpu", "doctor --node here.json --policy {tree}/examples/suitability_policy.toml"),
            case("doctor-variables", "doctor --backend host --no-run --format json", **JSON,
                 environment={name: "nonsense" for name in (*known_variables(tree), *UNKNOWN_VARIABLES)}),
            case("doctor-variables-zero", "doctor --backend host --no-run --format json", **JSON,
                 environment={name: "99999" for name in known_variables(tree)}),
            case("doctor-absent", "doctor --log absent.log"),
        ],
        "models": [
            case("models-json", "models --format json", **JSON),
            case("models-one", "models llama3-70b:4 --format json", **JSON),
            case("models-buckets", "models gpt2-124m --buckets --type bf16 --bucket-cap 100M --format json", **JSON),
            case("models-file", "models {tree}/examples/model.toml --buckets --format json", **JSON),
            case("models-unknown", "models gpt5"),
            case("claim", "claim --sync -9% --step -7% --exposed 20% --communication 35%", **FACTS),
            case("claim-impossible", "claim --sync -9% --step -50%", **FACTS),
        ],
        "refused": [
            *(case(f"unknown-option-{command}", f"{command} --no-such-option") for command in COMMANDS),
            *(case(f"absent-{command.split()[0]}", command)
              for command in ("report absent.h5", "predict absent.h5 --ranks 8", "claim absent.h5 --setting x",
                              "export absent.h5 --chrome x.json")),
            case("resume-absent", "run --resume absent.h5"),
            case("not-a-run", "report text.h5", files={"text.h5": "hello"}),
            case("unknown-word", "rnu"),
            case("bad-number", "run --backend synthetic --repeat zero"),
            case("bad-size", "plan --backend synthetic --sizes 1Q"),
            case("bad-output", "run --backend synthetic --ranks 2 -o /proc/nowhere/run.h5"),
            case("bad-output-models", "models -o /proc/nowhere/x"),
        ],
    }
