// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D36: GPU-to-GPU copies must deliver correct data.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "model/cell_label.h"

namespace ncclprobe::analysis::doctor {
namespace {

using model::OutcomeKind;

std::string pair_of(const SmokeTestCell& cell) {
  const auto* label = cell.label.p2p();
  if (!label || label->transfers.empty())
    return cell.label.workload() + " " + cell.label.variant();
  std::string text;
  for (const model::P2pTransfer& transfer : label->transfers) // one per host
    text += fmt::format("{}GPU of rank {} to GPU of rank {}", text.empty() ? "" : ", ",
                        transfer.from.rank, transfer.to.rank);
  return text;
}

struct Pairs {
  std::size_t right = 0;
  std::vector<std::string> wrong;
  std::vector<std::string> failed;
  std::vector<std::string> impossible; // with this method, for example without CUDA IPC
};

Pairs sort_pairs(const SmokeTest& copies) {
  Pairs pairs;
  for (const SmokeTestCell& cell : copies.cells) {
    std::string text = pair_of(cell);
    if (cell.outcome.ok())
      ++pairs.right;
    else if (cell.outcome.kind == OutcomeKind::wrong_data)
      pairs.wrong.push_back(fmt::format("{}: {}", text, cell.first_wrong));
    else if (cell.outcome.kind == OutcomeKind::skipped)
      pairs.impossible.push_back(fmt::format("{}: {}", text, cell.outcome.reason));
    else if (cell.outcome.kind != OutcomeKind::not_run)
      pairs.failed.push_back(
          fmt::format("{}: {} {}", text, to_string(cell.outcome.kind), cell.outcome.reason));
  }
  return pairs;
}

// Nothing was copied, which proves nothing about copies.
void judge_start(const SmokeTest& copies, CheckResults& into) {
  CheckResult finding{
      "D36",
      CheckStatus::fail,
      {"copies_not_tried", "no GPU-to-GPU copy was tried: the trial ended before the first"},
      {copies.outcome.reason},
      "whether GPUs can copy to each other is unknown",
      "ncclprobe p2p --methods ce,staged",
      copies.outcome.ranks};
  finding.evidence.insert(finding.evidence.end(), copies.last_words.begin(),
                          copies.last_words.end());
  finding.symptom = Symptom::did_not_start;
  into.add(std::move(finding));
}

void judge(const SmokeTest& copies, CheckResults& into) {
  if (ended_before_its_cells(copies))
    return judge_start(copies, into);
  Pairs pairs = sort_pairs(copies);
  if (!pairs.wrong.empty()) {
    CheckResult finding{
        "D36",
        CheckStatus::fail,
        {"copies_wrong", "GPU-to-GPU copies deliver wrong data"},
        pairs.wrong,
        "every result of these GPUs is in doubt",
        "export NCCL_P2P_DISABLE=1 until the cause is known; ncclprobe p2p --methods "
        "ce,staged shows whether only direct copies are wrong"};
    finding.symptom = Symptom::wrong_data;
    into.add(std::move(finding));
  }
  if (!pairs.failed.empty()) {
    CheckResult finding{"D36",
                        CheckStatus::fail,
                        {"copies_fail", "GPU-to-GPU copies fail"},
                        pairs.failed,
                        "NCCL fails too, or sends the data through host memory",
                        "nvidia-smi topo -p2p rw; ncclprobe p2p --methods ce,staged",
                        copies.outcome.ranks};
    finding.evidence.insert(finding.evidence.end(), copies.last_words.begin(),
                            copies.last_words.end());
    finding.symptom = symptom_of(copies.outcome.kind);
    into.add(std::move(finding));
  }
  if (copies.outcome.kind == OutcomeKind::skipped && pairs.impossible.empty())
    pairs.impossible.push_back(copies.outcome.reason);
  if (!pairs.impossible.empty())
    into.add({"D36",
              CheckStatus::info,
              {"copies_impossible", "GPU-to-GPU copies could not be tried"},
              pairs.impossible});
  if (pairs.wrong.empty() && pairs.failed.empty() && pairs.right > 0)
    into.add({"D36", CheckStatus::ok,
              What("copies_right",
                   "{copies} copies between all pairs of GPUs on each host delivered correct data",
                   {{"copies", pairs.right}})});
}

} // namespace

void check_copies(const Case& one, CheckResults& into) {
  for (const SmokeTest& smoke_test : one.smoke_tests)
    if (smoke_test.name == k_copies)
      judge(smoke_test, into);
}

} // namespace ncclprobe::analysis::doctor
