// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/nccl_variables.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

// How NCCL would read a variable and its value, without starting anything.
namespace ncclprobe::workload {

// Facts about the place where NCCL would run. Unknown facts rule nothing out.
struct NcclPlace {
  std::string host;             // its name; empty: not shown
  std::optional<int> version;   // none: no NCCL was found, so the newest known one decides
  std::optional<bool> has_rdma; // an adapter with an active port
  std::optional<std::vector<std::string>> interfaces;  // of the network, by name
  std::map<std::string, bool, std::less<>> looked_for; // files and libraries, and if they are there
};

enum class Reading {
  as_meant,
  uncertain, // depends on facts that are not visible here
  unset,     // as if the variable were not set
  limited,   // another number than requested
  misread,   // something other than it says, silently or with only a log line
  unread,    // this NCCL ignores the variable
  misspelt,  // ignored too, but the intended name is known
  refused,   // NCCL does not start
};
constexpr auto enum_names(Reading) {
  return std::to_array<std::pair<Reading, std::string_view>>({{Reading::as_meant, "as written"},
                                                              {Reading::uncertain, "uncertain"},
                                                              {Reading::unset, "as if unset"},
                                                              {Reading::limited, "limited"},
                                                              {Reading::misread, "misread"},
                                                              {Reading::unread, "ignored"},
                                                              {Reading::misspelt, "misspelt"},
                                                              {Reading::refused, "refused"}});
}

struct Judgement {
  Reading reading = Reading::as_meant;
  std::string why;       // "'Rng' is not one of Tree, Ring, ..."
  std::string outcome;   // what NCCL does then
  std::string better;    // "NCCL_ALGO=Ring"; empty: nothing is close
  std::string log_words; // text of NCCL's log in that case; empty: none
};

// `all`: the environment that contains the setting.
Judgement judge(const model::Setting& setting, const Variables& all, const NcclPlace& place);

// "NCCL 2.28.3 refuses NCCL_ALGO=Rng: 'Rng' is not one of Tree, Ring, ..."; empty for as_meant.
std::string headline(const model::Setting& setting, const Judgement& judgement,
                     const NcclPlace& place);
// The same, with what NCCL then does and what was probably meant.
std::string describe(const model::Setting& setting, const Judgement& judgement,
                     const NcclPlace& place);

// False if a refusal is certain: plugins have their own networks and variables, but no algorithms
// and protocols.
bool can_be_overridden(const std::string& name);

// Names of files and libraries on which the judgement of this setting depends.
std::vector<std::string> names_to_look_for(const model::Setting& setting, const Variables& all);

} // namespace ncclprobe::workload
