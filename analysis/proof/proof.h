// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// What each setting did, as its companion trial shows: for every variable and rank a verdict with
// the line of the log it rests on, and for every cell and rank the algorithm, protocol and channels
// that were used. Pure: nothing but the run is looked at.
namespace ncclprobe::analysis {

enum class Effect {
  took_effect,
  ignored,        // read, or not, and without consequence
  unknown_name,   // NCCL reads no such variable
  not_a_number,   // so that NCCL read something else
  path_not_taken, // it belongs to a part of NCCL that this run did not use
  overridden,     // something else had the last word
  not_known,      // the evidence is missing
};
constexpr auto enum_names(Effect) {
  using enum Effect;
  return std::to_array<std::pair<Effect, std::string_view>>({{took_effect, "took effect"},
                                                             {ignored, "ignored"},
                                                             {unknown_name, "unknown name"},
                                                             {not_a_number, "not a number"},
                                                             {path_not_taken, "path not taken"},
                                                             {overridden, "overridden"},
                                                             {not_known, "not known"}});
}

struct VariableProof {
  model::Setting setting;
  Effect effect = Effect::not_known;
  std::string reason;     // empty if the verdict says it all
  std::string line;       // of the log; empty if there is none
  std::vector<int> ranks; // with this verdict
};

// How a call was carried out. Sends and receives have channels only.
struct Use {
  std::string algorithm;
  std::string protocol;
  int channels = 0; // 0: not told
  auto operator<=>(const Use&) const = default;
};
// "RING LL 24 channels".
std::string in_words(const Use& use);

struct CellProof {
  model::CellLabel label;
  std::map<int, std::vector<Use>> by_rank; // no entry: not known for that rank
  std::optional<bool> as_default;          // absent: not known of both
  std::string disagreement;                // between rank 0's log and its profiler
  std::string unclear;                     // why what stands in the log is not known of this cell
};

struct SettingProof {
  std::string setting;
  int trial = 0;
  bool is_default = false;
  model::Outcome outcome; // of the companion
  std::vector<VariableProof> variables;
  std::vector<CellProof> cells;
  // Every cell used the same as with the default: a difference in time cannot come from there.
  bool changed_nothing = false;
  std::vector<std::string> notes; // configuration files, plugins, missing sources
};

// The one way in which all ranks carried the cell out; nothing if there are several, or none is
// known.
std::optional<Use> one_use(const SettingProof& proof, const model::CellLabel& label);

// In the order of the run. Empty if it has no companions.
std::vector<SettingProof> setting_proofs(const model::Run& run);

} // namespace ncclprobe::analysis
