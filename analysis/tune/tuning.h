// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/search.h"
#include "analysis/tune/proof_of_delivery.h"
#include "model/trial.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::tune {

// A search that is over, and what is delivered.
struct Tuning {
  search::Space space;
  std::vector<std::string> why;          // each parameter is in the space, as space.parameters
  std::vector<std::string> transports;   // in use, and why; one line each
  std::vector<std::string> not_in_space; // what was left out, and why; one line each
  std::vector<std::string> notes;        // on the space as a whole
  std::vector<model::Setting> pinned;    // by the environment
  bool measured = false;                 // otherwise only prepared
  search::Outcome outcome;
  double budget_s = 0;
  double min_gain = 0.02;
  bool synthetic = false;

  std::vector<model::Setting> delivered; // to all ranks; none: keep the defaults
  std::vector<model::Setting> variables; // those of them that the environment can hold
  std::optional<DeliveryProof> proof;    // of them
  std::filesystem::path folder;
  std::vector<std::string> files; // in it
};

// Whether the delivery is recommended: it was proven when it was chosen, and again as delivered.
bool is_recommended(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
