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

// The rules of NCCL_ALGO and NCCL_PROTO: which combinations work. A combination that leaves a
// collective no algorithm is an error since NCCL 2.24 (before, NCCL silently chose another).
namespace ncclprobe::workload {

// Inputs of the rules about the machine. Unknown values rule nothing out.
struct MachineShape {
  int nodes = 0;            // 0: not known
  int ranks_per_node = 0;   // the largest number on one; 0: not known
  std::optional<bool> nvls; // GPUs of compute capability 9.0 or more behind NVLink switches
};

// NCCL's name of the function ("AllReduce"); nothing for functions outside the rules: sends,
// receives and combinations of them.
std::optional<std::string_view> nccl_function(model::Collective collective);

// A part of a value of NCCL_ALGO or NCCL_PROTO that NCCL does not accept.
struct SelectionProblem {
  bool fatal = true;     // NCCL ends with ncclInvalidUsage; otherwise it silently ignores the part
  std::string why;       // "'Rng' is not one of Tree, Ring, ..."
  std::string better;    // the value with the closest word; empty: none is close
  std::string log_words; // text of NCCL's log in that case; empty: none
};
// `variable`: that of NCCL_ALGO or of NCCL_PROTO. `version` 0: the newest NCCL.
std::optional<SelectionProblem> selection_problem(const Variable& variable, std::string_view value,
                                                  int version = 0);

// The words that `value` of NCCL_ALGO allows a function, in NCCL's order: "Ring,Tree", "^NVLS",
// "ring;allreduce:tree,nvls". Case is ignored. Errors: invalid_argument if NCCL would end with
// ncclInvalidUsage.
Result<std::vector<std::string_view>> allowed_algorithms(std::string_view value,
                                                         std::string_view function);
// The same for NCCL_PROTO.
Result<std::vector<std::string_view>> allowed_protocols(std::string_view value,
                                                        std::string_view function);

// Why NCCL cannot run `function` with these variables; empty if it can, as far as is known.
std::string why_impossible(std::string_view function, const Variables& variables,
                           const MachineShape& machine);

} // namespace ncclprobe::workload
