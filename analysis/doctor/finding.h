// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::doctor {

// Found by argument-dependent lookup for the enumerations of this folder.
using base::to_string;

// Ordered by how much it matters.
enum class Severity {
  ok,
  info,    // worth knowing, nothing to do
  unknown, // could not be looked at: says what would be needed
  warn,    // works, at a price or a risk
  fail,    // does not work, or the results cannot be trusted
};
constexpr auto enum_names(Severity) {
  using enum Severity;
  return std::to_array<std::pair<Severity, std::string_view>>(
      {{ok, "ok"}, {info, "info"}, {unknown, "unknown"}, {warn, "warn"}, {fail, "fail"}});
}

// How something that was tried went wrong.
enum class Symptom {
  none,
  did_not_start, // before anything of it ran
  failed,
  hung,
  wrong_data,
  detour, // it works, by a slower way than there is
};

struct Finding {
  std::string id; // "D14"
  Severity severity = Severity::ok;
  std::string what;                  // one line
  std::vector<std::string> evidence; // what was seen, one line each
  std::string cost;                  // of leaving it so; empty where there is none
  std::string fix;                   // a command where there is one; never run by us
  std::vector<int> ranks;            // that it concerns; none: the host or all
  std::vector<std::string> hosts;
  Symptom symptom = Symptom::none;
  std::vector<std::string> shows_as;  // words in the evidence of what fails because of it
  std::string follows_from;           // the finding that its evidence names: "D14: ..."; else empty
  std::vector<std::string> may_be_of; // findings that could explain it, though nothing shows it
  bool operator==(const Finding&) const = default;
};

// "nccl_env" of "D14"; empty for an unknown id.
std::string_view check_name(std::string_view id);
// All ids in order.
std::vector<std::string_view> check_ids();

// The gravest of all, ok if there are none.
Severity worst(const std::vector<Finding>& findings);

} // namespace ncclprobe::analysis::doctor
