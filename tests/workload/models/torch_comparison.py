# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the catalogue with PyTorch: sizes and order of parameters, the order in which gradients arrive, and the
buckets of DistributedDataParallel. Where torchvision and transformers are installed, with their models too.

Usage: torch_comparison.py [-v] [name of a test]. NCCLPROBE_BIN names the folder of the programs. With
NCCLPROBE_TORCH_FULL=1 models have their real widths, DDP runs with all of them that fit, and a table is printed.
Exit code 77: there is no PyTorch.
"""
import contextlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "examples"))
import torch_models
import write_model

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
FULL = os.environ.get("NCCLPROBE_TORCH_FULL") == "1"
MIB = 1 << 20
STACKS = ["linear:1024x4", "linear:512x20", "linear:4096x3"]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
NO_LIMIT = sys.maxsize


def ncclprobe(*arguments):
    done = subprocess.run([BIN / "ncclprobe", "models", *arguments, "--format", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


CATALOGUE = {model["name"]: model for model in ncclprobe()["models"]}


def parameters(name):
    """[(name, elements, place)] in the order of use."""
    return [(one["name"], one["elements"], one["place"]) for layer in ncclprobe(name)["layers"]
            for one in layer["parameters"]]


def buckets(name, *arguments):
    return [bucket["parameters"] for bucket in ncclprobe(name, "--buckets", *arguments)["buckets"]]


def arrivals(module, inputs):
    """Names of parameters as the backward pass has their gradients."""
    order, hooks = [], []
    for name, parameter in module.named_parameters():
        # The hooks of DDP itself.
        node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        hooks.append((node, node.register_hook(lambda *_, name=name: order.append(name))))
    outputs = module(inputs)
    sum(one.sum() for one in (outputs if isinstance(outputs, tuple) else (outputs,))).backward()
    return order


@contextlib.contextmanager
def without_random_weights():
    """Random weights of real widths would take longer than all else. Here they are what new memory holds, mostly zeros."""
    with contextlib.ExitStack() as patches:
        for name in ("kaiming_uniform_", "xavier_uniform_", "uniform_", "normal_"):
            patches.enter_context(mock.patch.object(torch.nn.init, name, lambda tensor, *_, **__: tensor))
        yield


def sliced(name, blocks):
    return f"{name}:{blocks}" if CATALOGUE[name]["blocks"] else name


class Parameters(unittest.TestCase):
    def test_names_and_order_are_those_of_modules(self):
        for name in CATALOGUE:
            with self.subTest(model=name):
                module, inputs = torch_models.make(name, narrow=True, blocks=2)
                ours = parameters(sliced(name, 2))
                registered = [one for one, _, _ in sorted(ours, key=lambda one: one[2])]
                self.assertEqual(registered, [one for one, _ in module.named_parameters()])
                self.assertEqual([one for one, _, _ in reversed(ours)], arrivals(module, inputs))

    def test_sizes_are_those_of_modules(self):
        for name in CATALOGUE:
            if not FULL and CATALOGUE[name]["parameters"] > 400e6:
                continue
            with self.subTest(model=name):
                with torch.device("meta") if FULL else without_random_weights():
                    module, _ = torch_models.make(name, narrow=False, blocks=CATALOGUE[name]["blocks"])
                ours = {one: elements for one, elements, _ in parameters(name)}
                self.assertEqual(ours, {one: tensor.numel() for one, tensor in module.named_parameters()})

    def test_torchvision_has_the_same(self):
        try:
            from torchvision import models
        except ImportError:
            self.skipTest("torchvision is not installed")
        images = torch.randn(2, 3, 224, 224)
        for name, make in (("resnet50", models.resnet50), ("vit-b16", models.vit_b_16), ("vit-l16", models.vit_l_16)):
            with self.subTest(model=name):
                self.same_as(name, make(weights=None), images)

    def test_transformers_has_the_same(self):
        try:
            import transformers as hf
        except ImportError:
            self.skipTest("transformers is not installed")
        words = torch.randint(1, 100, (2, 8))
        with self.subTest(model="bert-base"):
            self.same_as("bert-base", hf.BertModel(hf.BertConfig()), words)
        with self.subTest(model="gpt2-124m"):
            self.same_as("gpt2-124m", hf.GPT2LMHeadModel(hf.GPT2Config()), words)
        with self.subTest(model="llama2-7b"):
            config = hf.LlamaConfig(num_hidden_layers=2)
            self.same_as("llama2-7b:2", hf.LlamaForCausalLM(config), words)

    def same_as(self, name, module, inputs):
        class FirstOutputs(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = module

            def forward(self, x):
                outputs = self.inner(x)
                if not hasattr(outputs, "to_tuple"):
                    return outputs
                return tuple(one for one in outputs.to_tuple() if isinstance(one, torch.Tensor))  # no cache

        ours = parameters(name)
        expected = {one: tensor.numel() for one, tensor in module.named_parameters()}
        self.assertEqual({one: elements for one, elements, _ in ours}, expected)
        self.assertEqual([one for one, _, _ in sorted(ours, key=lambda one: one[2])], list(expected))
        arrived = [one.removeprefix("inner.") for one in arrivals(FirstOutputs(), inputs)]
        self.assertEqual([one for one, _, _ in reversed(ours)], arrived)


class WrittenModels(unittest.TestCase):
    """examples/write_model.py sees in a module what the catalogue computes from the architecture."""

    @staticmethod
    def all_of(document):
        ours = [(one["name"], one["elements"], one["place"]) for layer in document["layers"]
                for one in layer["parameters"]]
        products = sorted(json.dumps(one, sort_keys=True) for layer in document["layers"] for one in layer["products"])
        return ours, products

    def test_a_module_is_written_as_the_catalogue_has_it(self):
        for name, blocks, tokens in (("resnet50", 0, 0), ("vit-b16", 1, 0), ("bert-base", 1, 8), ("gpt2-124m", 2, 8),
                                     ("dlrm", 0, 0), ("linear:64x3", 0, 0)):
            with self.subTest(model=name), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                with without_random_weights():
                    module, inputs = torch_models.make(name, narrow=False, blocks=blocks, tokens=tokens or 8)
                file.write(write_model.describe("net", module, [inputs], tokens))
                file.flush()
                ours = ncclprobe(f"{name}:{blocks}" if blocks else name,
                                 *(["--sequence", str(tokens)] if tokens else []))
                parameters_of_ours, products_of_ours = self.all_of(ours)
                parameters_of_file, products_of_file = self.all_of(ncclprobe(file.name))
                self.assertEqual(parameters_of_file, parameters_of_ours)
                self.assertEqual(products_of_file, products_of_ours)


class Assignment(unittest.TestCase):
    """PyTorch's own function is given our sizes and orders."""

    def torch_assigns(self, sizes, limits, element, indices):
        tensors = [torch.empty(elements, dtype=element, device="meta") for elements in sizes]
        assigned, _ = dist._compute_bucket_assignment_by_size(tensors, limits, [], indices)
        return assigned

    def compare(self, name, element, cap):
        use = parameters(name)
        arguments = ["--type", element] + (["--bucket-cap", f"{cap}M"] if cap else [])
        limits = [cap * MIB] if cap else [MIB, 25 * MIB]
        registered = sorted(use, key=lambda one: one[2])
        names = [one for one, _, _ in registered]
        sizes = [elements for _, elements, _ in registered]
        # The work of distributed.py before the first step, and with find_unused_parameters in every
        # step.
        for order, these in (("first-step", [NO_LIMIT]), ("registered", limits)):
            theirs = self.torch_assigns(sizes, these, TYPES[element], [])
            self.assertEqual(buckets(name, "--order", order, *arguments),
                             [[names[i] for i in bucket] for bucket in reversed(theirs)], order)
        # The use of the order of arrival in reducer.cpp.
        arrived = [(names.index(one), elements) for one, elements, _ in reversed(use)]
        theirs = self.torch_assigns([elements for _, elements in arrived], limits, TYPES[element],
                                    [index for index, _ in arrived])
        ours = buckets(name, "--order", "rebuilt", *arguments)
        self.assertEqual(ours, [[names[i] for i in bucket] for bucket in theirs], "rebuilt")
        return len(ours)

    def test_every_model_in_every_order(self):
        for name in [*CATALOGUE, *STACKS]:
            for element in TYPES:
                counts = []
                for cap in ((None, 1, 10, 100) if FULL else (None, 10)):
                    with self.subTest(model=name, type=element, cap=cap):
                        counts.append(self.compare(name, element, cap))
                if FULL:
                    print(f"{name:14} {element:4} buckets with cap default, 1, 10, 100 MiB: {counts}")

    def test_the_limits_are_those_of_this_pytorch(self):
        self.assertEqual(dist._DEFAULT_FIRST_BUCKET_BYTES, MIB)
        with_defaults = torch.nn.parallel.DistributedDataParallel.__init__
        cap = inspect.signature(with_defaults).parameters["bucket_cap_mb"].default
        self.assertIn(cap, (None, 25))


class DistributedDataParallel(unittest.TestCase):
    """Three steps of the real thing, in a world of one rank."""

    @classmethod
    def setUpClass(cls):
        if hasattr(dist, "is_gloo_available") and not dist.is_gloo_available():
            raise unittest.SkipTest("PyTorch is built without Gloo")
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()

    def steps(self, name, blocks, cap):
        with without_random_weights():
            module, inputs = torch_models.make(name, narrow=False, blocks=blocks)
        for one in module.parameters():
            one.data.zero_()
        if inputs.dim() == 4 and not FULL:
            inputs = inputs[..., :64, :64]  # buckets do not depend on the size of images
        options = {} if cap is None else {"bucket_cap_mb": cap}
        model = torch.nn.parallel.DistributedDataParallel(module, **options)
        for _ in range(3):
            outputs = model(inputs)
            sum(one.sum() for one in (outputs if isinstance(outputs, tuple) else (outputs,))).backward()
            model.zero_grad()
        return model._get_ddp_logging_data()

    @staticmethod
    def sizes(name, order, cap):
        arguments = [] if cap is None else ["--bucket-cap", f"{cap}M"]
        return [bucket["bytes"] for bucket in ncclprobe(name, "--buckets", "--order", order, *arguments)["buckets"]]

    def compare(self, name, blocks=0, cap=None):
        ours = f"{name}:{blocks}" if blocks else name
        data = self.steps(name, blocks or CATALOGUE.get(name, {}).get("blocks", 0), cap)
        rebuilt = [int(one) for one in data["rebuilt_bucket_sizes"].split(",")]
        self.assertEqual(rebuilt, self.sizes(ours, "rebuilt", cap))
        first = [int(one) for one in data["bucket_sizes"].split(",")]
        self.assertEqual(first, self.sizes(ours, "first-step", cap))
        names = [one for one, _, place in sorted(parameters(ours), key=lambda one: one[2])]
        indices = data.get("rebuilt_per_bucket_param_indices")
        if indices:
            theirs = [[names[int(i)] for i in bucket.split()] for bucket in indices.split(",")]
            self.assertEqual(theirs, buckets(ours, *([] if cap is None else ["--bucket-cap", f"{cap}M"])))
        if FULL:
            print(f"{ours:14} cap {cap or 'default'}: {len(rebuilt)} buckets, "
                  f"{'and their members' if indices else 'sizes only'}, as PyTorch {torch.__version__} rebuilds them")

    def test_stacks_of_linear_layers(self):
        for name in STACKS:
            with self.subTest(model=name):
                self.compare(name)

    def test_models(self):
        cases = [("resnet50", 0)]
        if FULL:
            cases += [("vit-b16", 0), ("vit-l16", 0), ("bert-base", 0), ("bert-large", 0), ("gpt2-124m", 0),
                      ("dlrm", 0), ("gpt2-1.5b", 4), ("llama2-7b", 2), ("llama3-8b", 1), ("mixtral-8x7b", 1)]
        for name, blocks in cases:
            with self.subTest(model=name):
                self.compare(name, blocks)

    def test_a_capacity_that_is_asked_for(self):
        plain = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        if not hasattr(plain, "bucket_bytes_cap_default"):
            self.skipTest("this PyTorch is old: its first bucket is 1 MiB whatever is asked for")
        for cap in ((10, 100) if FULL else (10,)):
            with self.subTest(cap=cap):
                self.compare("resnet50", cap=cap)


if __name__ == "__main__":
    program = unittest.main(verbosity=2, exit=False)
    sys.stdout.flush()
    os._exit(0 if program.result.wasSuccessful() else 1)  # some builds of PyTorch hang when they are torn down
