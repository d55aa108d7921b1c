// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"
#include "base/enum_names.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the variables of the environment do to the targets.
namespace ncclprobe::analysis::tune {

using base::to_string;

enum class EnvironmentEffect {
  none,         // it changes nothing here, by NCCL's rules
  harms,        // the proven delivery does without it, and is faster for it
  harms_in_sum, // as above, but only the sum of what it removes and sets is shown to be faster
  not_harmful,  // measured: without it the targets are not shown to be faster
  needed,       // without it they failed
  not_measured, // pinned, or the search ended first
};
constexpr auto enum_names(EnvironmentEffect) {
  using enum EnvironmentEffect;
  return std::to_array<std::pair<EnvironmentEffect, std::string_view>>(
      {{none, "none"},
       {harms, "harms"},
       {harms_in_sum, "harms with others"},
       {not_harmful, "not shown to harm"},
       {needed, "needed"},
       {not_measured, "not measured"}});
}

// A row for each variable. `speed_ratio`: without it, over with it, with all else as delivered.
TablePtr environment_table(const Tuning& tuning);

// Those that change nothing here.
std::vector<std::string> without_effect(const Tuning& tuning);

// "NCCL_A (1.12x, 1.100 to 1.141), NCCL_B": those that the delivery removes. Several settings have
// a share of the gain each, if it is known.
std::string removed_in_words(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
