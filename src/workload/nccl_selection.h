// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/collective.h"
#include "workload/nccl_variables.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The rules of NCCL_ALGO and NCCL_PROTO: who may do what. A combination that leaves a collective
// nothing has been an error since NCCL 2.24 (before, NCCL silently took something else).
namespace ncclprobe::workload {

// What the rules need to know of the machine. What is not known rules nothing out.
struct Machine {
  int nodes = 0;            // 0: not known
  int ranks_per_node = 0;   // the most on one; 0: not known
  std::optional<bool> nvls; // GPUs of compute capability 9.0 or more behind NVLink switches
};

// NCCL's name of the function ("AllReduce"); nothing for what the rules do not touch: sends,
// receives and what is made of them.
std::optional<std::string_view> nccl_function(model::Collective collective);

// What NCCL does not take as it stands in a value of NCCL_ALGO or NCCL_PROTO.
struct SelectionProblem {
  bool fatal = true;     // NCCL ends with ncclInvalidUsage; else it ignores a part without a word
  std::string why;       // "'Rng' is none of Tree, Ring, ..."
  std::string better;    // the value with the nearest word in its place; empty: none is near
  std::string log_words; // of NCCL's log, then; empty: it says nothing
};
// `variable`: that of NCCL_ALGO or of NCCL_PROTO. `version` 0: the newest NCCL.
std::optional<SelectionProblem> selection_problem(const Variable& variable, std::string_view value,
                                                  int version = 0);

// Words that `value` of NCCL_ALGO leaves to a function, in NCCL's order: "Ring,Tree", "^NVLS",
// "ring;allreduce:tree,nvls". Case plays no part. Errors: invalid_argument, where NCCL would end
// with ncclInvalidUsage.
base::Result<std::vector<std::string_view>> allowed_algorithms(std::string_view value,
                                                               std::string_view function);
// The same for NCCL_PROTO.
base::Result<std::vector<std::string_view>> allowed_protocols(std::string_view value,
                                                              std::string_view function);

// Why NCCL cannot carry out `function` under these variables; empty if it can, as far as is known.
std::string why_impossible(std::string_view function, const Variables& variables,
                           const Machine& machine);

} // namespace ncclprobe::workload
