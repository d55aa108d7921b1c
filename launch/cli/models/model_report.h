// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "workload/models/ddp_buckets.h"

// Models as reports; the model must stay. CSV has a row for each model, layer or bucket.
namespace ncclprobe::cli {

analysis::Report known_models_report();

// Its layers: their parameters and products. As JSON a model is a model file (model_file.h).
analysis::Report model_report(const workload::ModelSpec& spec);

analysis::Report ddp_buckets_report(const workload::ModelSpec& spec,
                                    const workload::DdpOptions& options);

} // namespace ncclprobe::cli
