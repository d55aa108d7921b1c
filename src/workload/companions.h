// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// Whether a run records the effect of its settings (record.h, Evidence). automatic: on GPUs.
enum class Proof { automatic, on, off };
constexpr auto enum_names(Proof) {
  return std::to_array<std::pair<Proof, std::string_view>>(
      {{Proof::automatic, "auto"}, {Proof::on, "on"}, {Proof::off, "off"}});
}

bool wants_companions(Proof proof, std::string_view backend);

// Turns a copy of a measuring trial into its companion: every cell once, with NCCL's log and our
// profiler plugin on. Related variables of the launching environment stay unchanged.
void make_companion(model::TrialSpec& trial, const std::map<std::string, std::string>& environment);

// What companions cannot show because the launching environment sets other values.
std::vector<std::string> lost_to(const std::map<std::string, std::string>& environment);

} // namespace ncclprobe::workload
