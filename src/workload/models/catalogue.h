// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "workload/models/model_spec.h"

#include <string>
#include <string_view>
#include <vector>

// Models by name, built from their architecture, with the names and order of their parameters in
// torchvision and Hugging Face transformers.
namespace ncclprobe::workload {

struct KnownModel {
  std::string name;
  std::string about; // one line
  std::uint64_t parameters = 0;
  std::string source;              // source of the number of parameters
  std::uint64_t sequence = 0;      // default tokens per sample; 0: it has none
  std::uint64_t most_sequence = 0; // tokens that its positions reach; 0: any number
  bool sequence_is_fixed = false;  // true for images, whose size is fixed
  int blocks = 0;                  // repeated blocks, whose number can be reduced; 0: it has none
};

const std::vector<KnownModel>& known_models();

struct ModelOptions {
  std::uint64_t sequence = 0; // tokens per sample; 0: the model's default
  int blocks = 0;             // repeated blocks; 0: all
};

// `name`: one of known_models(), or "linear:WIDTHxDEPTH", which is DEPTH times Linear(WIDTH, WIDTH)
// with bias. A model with fewer blocks keeps its embedding and head; its name contains the number
// ("llama3-70b:4") and is accepted here again. Errors: invalid_argument for an unknown name, a
// sequence length that the model cannot have, or more blocks than it has.
Result<ModelSpec> make_model(std::string_view name, const ModelOptions& options = {});

} // namespace ncclprobe::workload
