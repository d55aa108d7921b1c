// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/ddp_buckets.h"

#include <string>

// Text about models for people, and JSON for programs. (A whole model as JSON is a model file:
// model_file.h.)
namespace ncclprobe::workload {

std::string render_known_models();
std::string write_known_models_json();

// Its layers: their parameters and products.
std::string render_model(const ModelSpec& spec);

std::string render_ddp_buckets(const ModelSpec& spec, const DdpOptions& options);
std::string write_ddp_buckets_json(const ModelSpec& spec, const DdpOptions& options);

} // namespace ncclprobe::workload
