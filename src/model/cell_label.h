// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/p2p_label.h"
#include "model/step_label.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

// What a cell measures, as data. Text for people is made from it and never read back.
namespace ncclprobe::model {

enum class Placement { out_of_place, in_place };

// A cell that measures one collective. workload/collective_benchmark.h describes the options.
struct CollectiveLabel {
  Collective collective = Collective::all_reduce;
  Launch launch = Launch::direct;
  Memory memory = Memory::plain;
  int split = 1;
  int streams = 1;
  int priority = 0;
  std::uint64_t offset = 0;
  bool is_plain() const { return *this == CollectiveLabel{.collective = collective}; }
  auto operator<=>(const CollectiveLabel&) const = default;
};
NCCLPROBE_DESCRIBE(
    CollectiveLabel, NCCLPROBE_COLUMN(collective, "which collective"),
    NCCLPROBE_COLUMN(launch, "direct, or graph (captured once as a CUDA graph and replayed)",
                     base::grown),
    NCCLPROBE_COLUMN(memory, "kind of memory that holds the data", base::grown),
    NCCLPROBE_COLUMN(split,
                     "number of groups of neighbouring ranks, each with a communicator of its own; "
                     "all run at once",
                     base::grown),
    NCCLPROBE_COLUMN(
        streams,
        "number of communicators over the same ranks, each on a stream of its own; all run at once",
        base::grown),
    NCCLPROBE_COLUMN(priority, "CUDA priority of the streams; lower is more urgent; 0: default",
                     base::grown),
    NCCLPROBE_COLUMN(offset, "distance of the data from the aligned start of its buffer, elements",
                     base::grown))

// A cell whose every launch is one empty kernel.
struct EmptyKernelLabel {
  Launch launch = Launch::direct;
  auto operator<=>(const EmptyKernelLabel&) const = default;
};
NCCLPROBE_DESCRIBE(
    EmptyKernelLabel,
    NCCLPROBE_COLUMN(launch, "direct, or graph (captured once as a CUDA graph and replayed)"))

struct CellLabel {
  std::variant<CollectiveLabel, EmptyKernelLabel, P2pLabel, StepLabel> what;
  // Message size S, the numerator of algbw (nccl-tests' rule for each collective). For a step: the
  // bytes that one rank contributes to communication.
  std::uint64_t bytes = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Placement placement = Placement::out_of_place;
  int root = 0;
  auto operator<=>(const CellLabel&) const = default;

  // Its content; null if it holds something else.
  const CollectiveLabel* collective() const { return std::get_if<CollectiveLabel>(&what); }
  const P2pLabel* p2p() const { return std::get_if<P2pLabel>(&what); }
  const StepLabel* step() const { return std::get_if<StepLabel>(&what); }

  // Name of a collective, "empty_kernel", "p2p_" and a method, or a pattern and "_step".
  std::string workload() const;
  // Its other properties as text: "" (none), "graph registered split=2 streams=2 offset=4", "uni
  // 0>1", "ipc bi 2>3 3>2", "gpt2-124m ranks=0-3 batch=8 sequence=1024 parts=all bucket=25MiB
  // view".
  std::string variant() const;
};
constexpr auto alternative_names(base::Of<decltype(CellLabel::what)>) {
  return std::to_array<std::string_view>({"collective", "empty_kernel", "p2p", "step"});
}
NCCLPROBE_DESCRIBE(
    CellLabel,
    NCCLPROBE_COLUMN(what, "what each cell measures; each cell has a row in exactly "
                           "one of /collective_cells, /empty_kernel_cells, "
                           "/p2p_cells and /step_cells"),
    NCCLPROBE_COLUMN(
        bytes,
        "message size as nccl-tests counts it, bytes; of a step: bytes that one rank contributes"),
    NCCLPROBE_COLUMN(type, "element type"),
    NCCLPROBE_COLUMN(op, "reduction operator, if the collective reduces"),
    NCCLPROBE_COLUMN(placement,
                     "whether the output overwrites the input (in_place) or not (out_of_place)"),
    NCCLPROBE_COLUMN(root, "rank of the root in the communicator, if the collective has one"))

} // namespace ncclprobe::model
