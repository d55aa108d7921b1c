# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Compares two dictionaries of observe.py, so that one change shows as one difference."""

import collections
import difflib
import re

from cases import Depth

NOTHING = "-"
# A document: what stands before the first index, key or column.
ROOT = re.compile(r"(?:wording:)?((?:file:[^:\[]*\.(?:json|csv|svg|h5))|json|csv|toml)(?=[.:\[]|$)")
INDEX = re.compile(r"\[\d+\]|(?<=_)\d{5,6}\b|(?<=-)\d{6}\b")


def root_of(what):
    found = ROOT.match(what)
    return found.group(1) if found else None


def without_lost_documents(old, new):
    """Leaves out documents that only one side has, and yields one difference for each of them."""
    counts = [collections.Counter(root for root in map(root_of, side) if root) for side in (old, new)]
    lost = counts[0].keys() ^ counts[1].keys()
    pairs = [(root, *(f"{count[root]} values" if count[root] else "none" for count in counts)) for root in sorted(lost)]
    return pairs, *({what: value for what, value in side.items() if root_of(what) not in lost} for side in (old, new))


def items_of(seen, prefix):
    """Index of an item of a list to what is seen of it, with the keys that it takes in `seen`."""
    items = collections.defaultdict(dict)
    pattern = re.compile(rf"(wording:)?{re.escape(prefix)}\[(\d+)\](.*)", re.DOTALL)
    for what in seen:
        found = pattern.fullmatch(what)
        if found:
            items[int(found.group(2))][what] = (found.group(1) or "") + "|" + found.group(3)
    return items


def without_common_items(old, new, prefix):
    """Of two lists of different lengths, numbers those items anew that only one of them has."""
    contents = []
    for seen in (old, new):
        items = sorted(items_of(seen, prefix).items())
        contents.append([(frozenset((rest, seen[what]) for what, rest in item.items()), item) for _, item in items])
    common = collections.Counter(one for one, _ in contents[0]) & collections.Counter(one for one, _ in contents[1])
    results = []
    for seen, items in zip((old, new), contents):
        taken, own, result = collections.Counter(), [], dict(seen)
        for content, item in items:
            for what in item:
                del result[what]
            taken[content] += 1
            if taken[content] > common[content]:
                own.append(content)
        for number, content in enumerate(own):
            for rest, value in content:
                wording, _, tail = rest.partition("|")
                result[f"{wording}{prefix}[{number}]{tail}"] = value
        results.append(result)
    return results


def differing_lines(old, new):
    for tag, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            for at in range(max(end - begin, new_end - new_begin)):
                yield (old[begin + at] if begin + at < end else NOTHING,
                       new[new_begin + at] if new_begin + at < new_end else NOTHING)


def could_be_measured(what, pair, old, new):
    """Whether two measurements may differ so: a figure is not known in one, or a list has no items in one."""
    if NOTHING not in pair:
        return "null" in pair
    other = old if pair[0] == NOTHING else new
    lists = [what[:found.end()] for found in re.finditer(r"\[\*\]", what)]
    return any(not any(each.startswith(prefix) for each in other) for prefix in lists)


def differences(case, old, new):
    """(name of the case, what with indices as [*]) to the pairs of differing values."""
    found = collections.defaultdict(list)
    lost, old, new = without_lost_documents(old, new)
    for root, *pair in lost:
        found[(case.name, root)].append(tuple(pair))
    # The shortest name is the outermost list.
    for what in sorted((each for each in old if each.endswith(".length")), key=len):
        if what in old and what in new and old[what] != new[what]:
            old, new = without_common_items(old, new, what.removesuffix(".length"))
    for what in sorted(old.keys() | new.keys()):
        pair = old.get(what, NOTHING), new.get(what, NOTHING)
        if pair[0] == pair[1] or (case.depth is Depth.SHAPE and could_be_measured(what, pair, old, new)):
            continue
        both_lines = isinstance(pair[0], tuple) and isinstance(pair[1], tuple)
        found[(case.name, INDEX.sub("[*]", what))] += differing_lines(*pair) if both_lines else [pair]
    return found
