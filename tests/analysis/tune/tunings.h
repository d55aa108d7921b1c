// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/tune/tuning.h"

// Tunings made by hand: two sizes, one parameter in process and one of fresh processes.
namespace ncclprobe::analysis_test {

// Prepared, not measured.
analysis::tune::Tuning prepared_tuning();
// Nothing is proven.
analysis::tune::Tuning tuning_without_gain();
// NCCL_MIN_CTAS=32 is proven, delivered and proven again.
analysis::tune::Tuning tuning_with_gain();
// Of the environment, one harms, one does so with others, one is needed, one does nothing, one is
// measured without a result, and one is not measured.
analysis::tune::Tuning tuning_of_environment();

} // namespace ncclprobe::analysis_test
