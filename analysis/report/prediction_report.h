// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/prediction.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

// What `ncclprobe predict` says: first how good the model is on what was measured. CSV has a row
// for each predicted number of ranks. The prediction must stay.
Report prediction_report(const Prediction& prediction);

} // namespace ncclprobe::analysis
