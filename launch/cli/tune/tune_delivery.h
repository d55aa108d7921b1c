// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "analysis/tune/tuning.h"
#include "launch/cli/tune/tune_trials.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

// What a tuning works with once it is prepared.
struct TuneContext {
  const World& world;
  const Session& session;
  const TuneOptions& options;
  const workload::PlanRequest& request; // the default settings, and the cells
  const workload::TuningSpace& space;
  TuneCells& cells;
  TuneTrials& trials;
};

// What a search found, as all ranks of a job can take it: its settings, their proof, and the files.
// Everything that it refers to must outlive it.
class TuneDelivery {
public:
  // Chooses the settings from `tuning.outcome`. NCCL gets a tuner table for what differs by size;
  // it is written to the folder. Other backends get one choice for all targets. Sets
  // `tuning.delivered` and `tuning.variables`; nothing delivered: keep the defaults. `companion`:
  // a trial with the settings for all and NCCL's log, for the table's estimates. Errors: io.
  static Result<TuneDelivery> make(const TuneContext& context, const model::TrialRecord* companion,
                                   analysis::tune::Tuning& tuning);

  // The search confirmed these settings just as they are delivered. Otherwise trial() has to prove
  // them.
  bool is_confirmed() const;
  // What each target gets.
  std::vector<analysis::search::Candidate> of_targets() const;
  // All cells with the delivery loaded, in a trial of the number `id`.
  model::TrialSpec trial(int id) const;
  // The same untimed, with the library's log, once. Nothing if the backend has no companions.
  std::optional<model::TrialSpec> companion(int id);

  // Judges the run of the confirming trials and of these. Sets `tuning.proof`.
  void judge(const analysis::RunSummary& proof);

  // If the delivery is recommended, writes it in every form that a job takes; else removes the
  // tuner table. Keeps `tuning.files`. Errors: io.
  Result<void> finish();

private:
  TuneDelivery(const TuneContext& context, analysis::tune::Tuning& tuning)
      : context_(context), tuning_(tuning) {}
  Result<void> choose_with_table(const model::TrialRecord* companion);
  Result<void> write_table(const std::filesystem::path& file, const tuning::Table& table);
  Result<void> add_gain_to_proof(const std::string& settings, const analysis::RatioTest& gain);
  Result<void> add_gain_to_table(const tuning::Header& about);
  void choose_for_all();
  std::vector<analysis::tune::InProcessTarget>
  in_process_targets(const std::vector<analysis::tune::ProvenTarget>& targets) const;
  // Only NCCL takes a table.
  bool can_have_table() const { return context_.session.backend.name == "nvidia"; }
  tuning::Header header(const analysis::RatioTest* gain) const;

  TuneContext context_;
  analysis::tune::Tuning& tuning_;
  CandidateSettings settings_;
  std::optional<tuning::Table> table_; // as written
  bool has_companion_ = false;
};

// How long the end of a tuning takes, in seconds.
struct ExpectedEnd {
  double companion_s = 0; // one; 0 if the backend has none
  double delivery_s = 0;  // trials of the delivery and of the default

  // Before the proof begins. `search_companions`: at most as many show the losers and the default;
  // then come those of the default and of the finalist.
  double after_search_s(bool screened, std::size_t search_companions) const {
    return static_cast<double>(search_companions + 2) * companion_s + after_confirming_s(screened);
  }
  // `screened`: the delivery may hold in-process values, and is measured once more in that form.
  double after_confirming_s(bool screened) const { return screened ? delivery_s + companion_s : 0; }
};
// Zeros if these defaults cannot be planned.
ExpectedEnd expected_end(const workload::PlanRequest& defaults);

// The run file of the proof, in the folder.
inline constexpr const char* k_proof_file = "proof.h5";

// Removes the delivery, the proof and the report of an earlier tuning, because their settings are
// not those of this one.
void remove_delivery(const std::filesystem::path& folder);

} // namespace ncclprobe::cli
