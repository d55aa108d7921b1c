// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "workload/models/model_spec.h"

#include <string>
#include <string_view>
#include <vector>

// Models by name, made from their architecture, with the names and the order that their parameters
// have in torchvision and Hugging Face transformers.
namespace ncclprobe::workload {

struct KnownModel {
  std::string name;
  std::string about; // one line
  std::uint64_t parameters = 0;
  std::string source;              // of the number of parameters
  std::uint64_t sequence = 0;      // tokens a sample unless told otherwise; 0: it has none
  std::uint64_t most_sequence = 0; // tokens that its positions reach; 0: any number
  bool sequence_is_fixed = false;  // by the size of its images
  int blocks = 0; // repeated blocks, of which fewer can be asked for; 0: it has none
};

const std::vector<KnownModel>& known_models();

struct ModelOptions {
  std::uint64_t sequence = 0; // tokens a sample; 0: the model's default
  int blocks = 0;             // repeated blocks; 0: all
};

// `name`: one of known_models(), or "linear:WIDTHxDEPTH", so many Linear(WIDTH, WIDTH) with bias
// one behind the other. A model with fewer blocks keeps its embedding and head; its name says so
// ("llama3-70b:4") and is understood here again.
// Errors: invalid_argument for a name that is not known, a length of sequence that the model cannot
// have, more blocks than it has.
base::Result<ModelSpec> make_model(std::string_view name, const ModelOptions& options = {});

} // namespace ncclprobe::workload
