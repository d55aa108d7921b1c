// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/nccl_variables.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What NCCL would make of a variable and its value, told before anything is started.
namespace ncclprobe::workload {

// What is known of the place where NCCL would run. What is not known rules nothing out.
struct NcclPlace {
  std::string host;             // its name; empty: it goes without saying
  std::optional<int> version;   // none: no NCCL was found, the newest that is known decides
  std::optional<bool> has_rdma; // an adapter with an active port
  std::optional<std::vector<std::string>> interfaces;  // of the network, by name
  std::map<std::string, bool, std::less<>> looked_for; // files and libraries, and if they are there
};

enum class Reading {
  as_meant,
  uncertain, // depends on what cannot be seen from here
  unset,     // as if the variable were not there
  limited,   // another number than the one that was asked for
  misread,   // something else than it says, without a word or with one in the log only
  unread,    // this NCCL does not look at the variable
  misspelt,  // the same, and the name that was meant is known
  refused,   // NCCL does not start
};

struct Judgement {
  Reading reading = Reading::as_meant;
  std::string why;       // "'Rng' is none of Tree, Ring, ..."
  std::string outcome;   // what NCCL does then
  std::string better;    // "NCCL_ALGO=Ring"; empty: nothing is near
  std::string log_words; // what NCCL's log says then; empty: nothing
};

// `all`: the environment that the setting is part of.
Judgement judge(const model::Setting& setting, const Variables& all, const NcclPlace& place);

// "NCCL 2.28.3 refuses NCCL_ALGO=Rng: 'Rng' is none of Tree, Ring, ..."; empty for as_meant.
std::string headline(const model::Setting& setting, const Judgement& judgement,
                     const NcclPlace& place);
// The same with what NCCL does then, and what was probably meant.
std::string describe(const model::Setting& setting, const Judgement& judgement,
                     const NcclPlace& place);

// False where a refusal is certain: plugins have networks and variables of their own, but no
// algorithms and protocols.
bool can_be_overridden(const std::string& name);

// Names of files and libraries that the judgement of this setting depends on.
std::vector<std::string> names_to_look_for(const model::Setting& setting, const Variables& all);

} // namespace ncclprobe::workload
