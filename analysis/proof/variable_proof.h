// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/proof/nccl_log.h"
#include "analysis/proof/proof.h"

namespace ncclprobe::analysis {

// One variable on one rank. `ranks` is left empty.
VariableProof prove_variable(const model::Setting& setting, const NcclLog& log,
                             const std::string& backend);

// The verdict on NCCL_ALGO and NCCL_PROTO also uses the chosen algorithms: `cells` of that rank.
void check_choices(VariableProof& proof, const NcclLog& log, const model::TrialSpec& spec,
                   const std::vector<CellProof>& cells, int rank);

// A setting within processes (model/in_process.h) on one rank, by how the library ran `cells`,
// which all have it. `ranks` is left empty.
VariableProof prove_in_process(const model::Setting& setting, const std::vector<CellProof>& cells,
                               int rank);

} // namespace ncclprobe::analysis
