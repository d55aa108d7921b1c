// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"

#include <vector>

namespace ncclprobe::analysis::doctor {

// A failed trial is often a consequence of another finding. If the failure's evidence names the
// cause, the failure says which finding it follows from. If a finding is only a possible cause, the
// failure lists it. Within a status, causes come first and consequences last.
void explain(std::vector<CheckResult>& findings);

Cause as_cause(const CheckResult& finding);
// "D14: NCCL 2.28.3 refuses NCCL_ALGO=Rng: ..."; several with ", or by ".
std::string in_words(const Cause& cause);
std::string in_words(const std::vector<Cause>& causes);

} // namespace ncclprobe::analysis::doctor
