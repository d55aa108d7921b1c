// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/prediction.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

// The report of `ncclprobe predict`: first how well the model fits the measurements. CSV has a row
// for each predicted number of ranks. The prediction must stay.
Report prediction_report(const Prediction& prediction);

} // namespace ncclprobe::analysis
