// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The identity of a cell that measures a training step, and its text in a CellLabel: the workload
// is the pattern and "_step", the variant the rest in words, such as "gpt2-124m ranks=0-3 batch=8
// sequence=1024 parts=all bucket=25MiB view".
namespace ncclprobe::workload {

// compute, communication: the same schedule without the other one. copy: without both, so that only
// the input is copied. All four contain an input copy (StepRequest) if there is one.
enum class StepParts { all, compute, communication, copy };
constexpr auto enum_names(StepParts) {
  using enum StepParts;
  return std::to_array<std::pair<StepParts, std::string_view>>(
      {{all, "all"}, {compute, "compute"}, {communication, "communication"}, {copy, "copy"}});
}

struct StepLabel {
  std::string pattern;    // "ddp", "fsdp", ...; no blanks
  std::string model;      // no blanks
  std::vector<int> ranks; // global ranks that train, ascending; the others do not take part
  StepParts parts = StepParts::all;
  std::uint64_t batch = 1;          // samples of one rank in one step
  std::uint64_t sequence = 0;       // tokens of a sample; 0: the model has none
  std::vector<std::string> options; // further differences, one word each: "bucket=25MiB", "view"
  // "pinned:64MiB" of the option "copy=pinned:64MiB"; empty: no input is copied.
  std::string_view input_copy() const;
  bool communicates() const;
  bool operator==(const StepLabel&) const = default;
};

// `bytes`: what one rank contributes to communication per step.
model::CellLabel make_cell_label(const StepLabel& label, std::uint64_t bytes, model::DataType type);
// Nothing if the label is not a step.
std::optional<StepLabel> read_step_label(const model::CellLabel& label);

} // namespace ncclprobe::workload
