// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// Whether a run shows what its settings did (record.h, Evidence). automatic: on GPUs.
enum class Proof { automatic, on, off };
constexpr auto enum_names(Proof) {
  return std::to_array<std::pair<Proof, std::string_view>>(
      {{Proof::automatic, "auto"}, {Proof::on, "on"}, {Proof::off, "off"}});
}

bool wants_companions(Proof proof, std::string_view backend);

// Makes a companion of a copy of a measuring trial: every cell once, with NCCL's log and our
// profiler plugin on. What the launching environment sets of these stays as it is.
void make_companion(model::TrialSpec& trial, const std::map<std::string, std::string>& environment);

// What companions cannot show because the launching environment sets something else.
std::vector<std::string> lost_to(const std::map<std::string, std::string>& environment);

} // namespace ncclprobe::workload
