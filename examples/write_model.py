# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Writes any PyTorch model as a file that `ncclprobe models FILE` shows and measurements of training take as their model:
its parameters in the order in which the backward pass has their gradients, and the matrix products of its forward pass.

One forward and one backward pass are run, on any device, and watched below autograd, so that products count wherever they
are made: in Linear and Conv2d, in attention, in functions. Parameters without a gradient are left out, as DDP does.

Usage: write_model.py MODULE:FUNCTION [--input 2x3x224x224 | --tokens 2x128] [-o net.json]

  MODULE:FUNCTION   a function without arguments that returns the model, or the model and its inputs:
                    torchvision.models:resnet50 --input 2x3x224x224
                    my_training:make_model --tokens 2x1024 --name my-net
  --input, --tokens shape of a random input of numbers or of tokens; its first size is the batch
"""
import argparse
import collections
import importlib
import json
import math
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

KINDS = [(torch.nn.Embedding, "embedding"), (torch.nn.modules.conv._ConvNd, "convolution"),
         (torch.nn.MultiheadAttention, "attention")]
VIEWS = {"t", "transpose", "view", "permute", "expand", "detach", "_unsafe_view", "alias", "unsqueeze", "slice", "select"}
WORDS = [("norm", "other"), ("attn", "attention"), ("attention", "attention"), ("mlp", "mlp"), ("head", "head")]


def storage_of(tensor):
    """What a parameter and its views have in common."""
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage())._cdata


class Products(TorchDispatchMode):
    """Notes every product: [(its parameter or None, whether that was used before, the last one used, product)]."""

    def __init__(self, model, batch):
        super().__init__()
        self.names = {storage_of(one): name for name, one in model.named_parameters()}
        self.batch = batch
        self.used = []  # before this operation
        self.using = []
        self.found = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for one in arguments:
            # Views of a weight are created just before it is used.
            if isinstance(one, torch.Tensor) and function.__name__.split(".")[0] not in VIEWS and self.name(one):
                self.using.append(self.name(one))
        self.look(function.__name__.split(".")[0], arguments, result)
        self.used += self.using
        self.using = []
        return result

    def name(self, tensor):
        return self.names.get(storage_of(tensor))

    def rows(self, all_rows):
        if all_rows % self.batch:
            sys.exit(f"a product of {all_rows} rows does not divide by the {self.batch} samples; use a batch of 1")
        return all_rows // self.batch

    def note(self, parameter, rows, n, k, count=None):
        product = {"rows": rows, "n": n, "k": k}
        if count is not None:
            product.update(kind="activations", count=count)
        elif not self.found and not self.used:
            product["input_gradient"] = False  # a product with the input itself
        self.found.append((parameter, parameter in self.used, self.used[-1] if self.used else None, product))

    def look(self, function, arguments, result):
        if function in ("mm", "addmm"):
            left, right = arguments[-2:] if function == "mm" else arguments[1:3]
            if self.name(left) and not self.name(right):
                left, right = right.t(), left.t()
            (rows, k), n = left.shape, right.shape[1]
            if self.name(right):
                self.note(self.name(right), self.rows(rows), n, k)
            else:
                self.note(None, self.rows(rows), n, k, 1)
        elif function in ("bmm", "baddbmm"):
            left, right = arguments[:2] if function == "bmm" else arguments[1:3]
            (count, rows, k), n = left.shape, right.shape[2]
            parameter = self.name(left) or self.name(right)
            if parameter:
                self.note(parameter, self.rows(count * rows), n, k)
            else:
                self.note(None, rows, n, k, self.rows(count))
        elif function == "convolution":
            weight, transposed = arguments[1], arguments[6]
            pixels = math.prod((arguments[0] if transposed else result).shape[2:])
            into_or_out = weight.shape[0]
            if transposed:
                self.note(self.name(weight), pixels, weight.numel() // into_or_out, into_or_out)
            else:
                self.note(self.name(weight), pixels, into_or_out, weight.numel() // into_or_out)
        elif function.startswith("_scaled_dot_product") and "backward" not in function:
            query, key, value = arguments[:3]
            heads, tokens, width = query.shape[-3:]
            self.note(None, tokens, key.shape[-2], width, heads)
            self.note(None, tokens, value.shape[-1], key.shape[-2], heads)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def watch(model, inputs):
    """One step. Returns products, names in the order of their gradients' arrival, and the elements that each module returned."""
    batch = next(tensors_in(inputs)).shape[0]
    arrived, kept, outputs = [], [], {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
            kept.append((node, node.register_hook(lambda *_, name=name: arrived.append(name))))

    def note_output(path):
        def hook(_module, _inputs, output):
            first = next(tensors_in(output), None)
            if first is not None:
                outputs[path] = first.numel() // batch
        return hook

    hooks = [module.register_forward_hook(note_output(path)) for path, module in model.named_modules()]
    products = Products(model, batch)
    with products:
        result = model(*inputs)
    for hook in hooks:
        hook.remove()
    sum(one.float().sum() for one in tensors_in(result) if one.is_floating_point() and one.requires_grad).backward()
    outputs.pop("", None)
    return products.found, arrived, outputs


def kind_of(path, module):
    for type_, kind in KINDS:
        if isinstance(module, type_):
            return kind
    return next((kind for word, kind in WORDS if word in path.lower()), "other")


class Blocks:
    """Modules that occur several times in a model and consist of modules: numbered in the order in which they are found."""

    def __init__(self, modules):
        containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
        count = collections.Counter(type(one) for one in modules.values())
        self.paths = {path for path, one in modules.items()
                      if count[type(one)] > 1 and next(one.children(), None) and not isinstance(one, containers)}
        self.numbers = {}

    def number(self, path):
        """Of the outermost one around the module at this path, or None."""
        parts = path.split(".")
        around = (".".join(parts[:i + 1]) for i in range(len(parts)))
        block = next((one for one in around if one in self.paths), None)
        return None if block is None else self.numbers.setdefault(block, len(self.numbers))


def describe(name, model, inputs, sequence):
    found, arrived, outputs = watch(model, inputs)
    modules = dict(model.named_modules())
    place = {name: i for i, name in enumerate(name for name, one in model.named_parameters() if one.requires_grad)}
    sizes = {name: list(one.shape) for name, one in model.named_parameters()}
    layers, layer_of, blocks = [], {}, Blocks(modules)
    for parameter in reversed(arrived):
        path = parameter.rpartition(".")[0]
        if not layers or layers[-1]["name"] != (path or parameter):
            layers.append({"name": path or parameter, "kind": kind_of(path, modules.get(path))})
            if blocks.number(path) is not None:
                layers[-1]["block"] = blocks.number(path)
            if path in outputs:
                layers[-1]["output"] = outputs[path]
            layers[-1].update(parameters=[], products=[])
        layers[-1]["parameters"].append({"name": parameter, "shape": sizes[parameter], "place": place[parameter]})
        layer_of[parameter] = layers[-1]
    for parameter, again, previous, product in found:
        own, last = layer_of.get(parameter), layer_of.get(previous)
        if again and own and last:
            # Weights that are used again, such as those of an embedding by the head: at their second
            # position.
            own = {"name": f"{parameter} again", "kind": "head", "parameters": [], "products": []}
            layers.insert(layers.index(last) + 1, own)
        if own or last:
            (own or last)["products"].append(product)
    for parameter, one in model.named_parameters():
        if parameter not in layer_of:
            why = "has no gradient in this step" if one.requires_grad else "is not trained"
            print(f"left out: {parameter} {why}", file=sys.stderr)
    missing = sorted(set(range(len(place))) - {place[one] for one in layer_of})
    if missing: # positions stay without gaps
        for layer in layers:
            for one in layer["parameters"]:
                one["place"] -= sum(gap < one["place"] for gap in missing)
    document = {"name": name, **({"sequence": sequence} if sequence else {})}
    head = json.dumps(document)[:-1]
    return head + ',\n"layers": [\n' + ",\n".join(json.dumps(layer) for layer in layers) + "\n]}\n"


def shape(text):
    return [int(size) for size in text.split("x")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", metavar="MODULE:FUNCTION")
    parser.add_argument("--input", type=shape, metavar="SHAPE")
    parser.add_argument("--tokens", type=shape, metavar="SHAPE")
    parser.add_argument("--sequence", type=int, default=0, help="tokens per sample, if its input does not show them")
    parser.add_argument("--name", help="of the model; default: the function's")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", "--output", help="default: standard output")
    options = parser.parse_args()

    sys.path.insert(0, os.getcwd())
    module, _, function = options.function.partition(":")
    made = getattr(importlib.import_module(module), function or "make_model")()
    model, *inputs = made if isinstance(made, tuple) else (made,)
    model = model.to(options.device).train()
    inputs = [one.to(options.device) for one in tensors_in(inputs)]
    if options.input:
        inputs.append(torch.randn(options.input, device=options.device))
    if options.tokens:
        inputs.append(torch.randint(0, 100, options.tokens, device=options.device))
    if inputs and not inputs[0].is_floating_point() and inputs[0].dim() == 2:
        options.sequence = options.sequence or inputs[0].shape[1]
    if not inputs:
        parser.error("state the model's input: --input or --tokens, or return it beside the model")
    text = describe(options.name or function, model, inputs, options.sequence)
    if options.output:
        with open(options.output, "w") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
