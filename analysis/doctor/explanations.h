// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/finding.h"

#include <vector>

namespace ncclprobe::analysis::doctor {

// What was tried and failed often follows from another finding. Where the evidence of the failure
// names the cause, the failure says which finding it follows from; where a finding could be the
// cause and nothing shows that it is, the failure only lists it. Within a severity, causes come
// first and consequences last.
void explain(std::vector<Finding>& findings);

// How explanations name a finding: "D14: NCCL 2.28.3 refuses NCCL_ALGO=Rng: ...".
std::string reference_to(const Finding& finding);

} // namespace ncclprobe::analysis::doctor
