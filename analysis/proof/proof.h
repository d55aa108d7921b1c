// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/why.h"
#include "model/run.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// The effect of each setting, from its companion trial: a verdict for every variable and rank with
// the log line that supports it, and the algorithm, protocol and channels for every cell and rank.
// Pure: uses only the run.
namespace ncclprobe::analysis {

enum class Effect {
  took_effect,
  ignored,        // read, or not, and without consequence
  unknown_name,   // NCCL reads no such variable
  not_a_number,   // NCCL read another value
  path_not_taken, // it belongs to a part of NCCL that this run did not use
  overridden,     // something else had priority
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
  Why reason;             // absent if the verdict is sufficient (proof_reasons.h)
  std::string line;       // of the log; empty if there is none
  std::vector<int> ranks; // with this verdict
};

// How NCCL ran a call. Sends and receives only have channels.
struct Use {
  std::string algorithm;
  std::string protocol;
  int channels = 0; // 0: unknown
  auto operator<=>(const Use&) const = default;
};
// "RING LL 24 channels".
std::string in_words(const Use& use);

struct CellProof {
  model::CellLabel label;
  std::map<int, std::vector<Use>> by_rank; // no entry: unknown for that rank
  std::optional<bool> as_default;          // absent: unknown for one of them
  std::string disagreement;                // between rank 0's log and its profiler
  std::string unclear;                     // why the log's choice may not belong to this cell
};

struct SettingProof {
  std::string setting;
  int trial = 0;
  bool is_default = false;
  model::Outcome outcome; // of the companion
  std::vector<VariableProof> variables;
  std::vector<CellProof> cells;
  // Every cell ran the same way as with the default: this setting cannot explain a difference in
  // time.
  bool changed_nothing = false;
  std::vector<std::string> notes; // configuration files, plugins, missing sources
};

// How all ranks ran the cell; nothing if they differ, or if it is unknown.
std::optional<Use> one_use(const SettingProof& proof, const model::CellLabel& label);

// In the order of the run. Empty without companions.
std::vector<SettingProof> setting_proofs(const model::Run& run);

} // namespace ncclprobe::analysis
