// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"
#include "model/data_type.h"
#include "workload/models/ddp_buckets.h"

#include <optional>
#include <string>

namespace ncclprobe::cli {

struct ModelsOptions : ResultOptions {
  std::string model;          // a name or a file; empty: the catalogue
  std::uint64_t sequence = 0; // 0: the model's
  int blocks = 0;             // 0: all
  bool buckets = false;
  std::optional<std::uint64_t> bucket_bytes; // nothing: PyTorch's default
  workload::BucketOrder order = workload::BucketOrder::rebuilt;
  model::DataType type = model::DataType::f32;
};
Usage models_usage(ModelsOptions& into);

// `ncclprobe models`: prints the models and the buckets of their gradients. Returns an exit code.
int models_command(const ModelsOptions& options);

} // namespace ncclprobe::cli
