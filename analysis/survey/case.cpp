// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/survey/case.h"

#include "analysis/proof/nccl_log.h"
#include "analysis/results/bandwidth.h"
#include "analysis/results/cell_summary.h"
#include "analysis/survey/memory_split.h"
#include "base/document_limits.h"
#include "model/document.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {

namespace {

// Part of the output of --format json.
struct PrintedDocument {
  std::optional<Case> one;
};
template <typename Visit>
constexpr void fields(base::Of<PrintedDocument>, Visit&& visit) {
  visit("case", &PrintedDocument::one, base::lenient);
}

} // namespace

std::string write_case(const Case& one) {
  return base::json_text(base::writable(one), 1);
}

Result<Case> read_case(std::string_view text) {
  NCCLPROBE_TRY(base::check_json_limits(text, "it"));
  base::JsonPlace place;
  auto printed = base::parse_json<PrintedDocument>(text, &place);
  if (!printed && place.byte)
    return fail(Errc::protocol, "it is not valid JSON, or truncated, at byte {}", *place.byte);
  if (!printed)
    return fail(Errc::protocol, "{} is not as expected: {}",
                place.element.empty() ? "it" : place.element, printed.error().text());
  if (printed->one)
    return std::move(*printed->one);
  auto alone = base::parse_json<Case>(text);
  if (!alone)
    return fail(Errc::protocol, "it is not as expected: {}", alone.error().text());
  return alone;
}

namespace {

// Cells that are launched once have no connection time.
std::optional<double> busbw(const model::TrialSpec& spec, const model::Cell& cell,
                            const model::CellRecord& seen) {
  if (cell.timing.iterations * cell.timing.batches == 1 || !is_measured(seen))
    return std::nullopt;
  int size = communicator_size(spec, cell);
  auto factor = busbw_factor(cell.label, size);
  auto time = cell_time(seen.samples);
  if (!factor || !time)
    return std::nullopt;
  auto algbw = algbw_gb_per_s(cell.label.bytes, time->over_batches_ns.median);
  return algbw ? std::optional(*factor * *algbw) : std::nullopt;
}

void add_evidence(const model::Evidence& evidence, SmokeTest& into) {
  NcclLog log = read_nccl_log(evidence.log);
  for (const ConnectionLine& line : log.connections) {
    ChosenTransport transport{line.from_rank, line.to_rank, line.from_gpu, line.to_gpu,
                              line.transport};
    if (std::ranges::find(into.transports, transport) == into.transports.end())
      into.transports.push_back(std::move(transport));
  }
  for (const ChoiceLine& line : log.choices) {
    ChosenAlgorithm choice{line.function, line.bytes, line.algorithm, line.protocol, line.channels};
    if (std::ranges::find(into.algorithms, choice) == into.algorithms.end())
      into.algorithms.push_back(std::move(choice));
  }
  if (log.network.empty())
    return;
  auto same = std::ranges::find_if(into.networks, [&](const ChosenNetwork& one) {
    return one.name == log.network && one.interfaces == log.interfaces;
  });
  if (same == into.networks.end())
    same = into.networks.insert(same, {{}, log.network, log.interfaces, log.network_lines});
  same->ranks.push_back(evidence.rank);
}

} // namespace

SmokeTest smoke_test_of(const model::TrialRecord& record, std::string name) {
  SmokeTest one;
  one.name = std::move(name);
  one.backend = record.spec.backend;
  one.ranks = record.spec.ranks;
  one.outcome = record.outcome;
  for (std::size_t i = 0; i < record.cells.size() && i < record.spec.cells.size(); ++i) {
    const model::Cell& cell = record.spec.cells[i];
    const model::CellRecord& seen = record.cells[i];
    one.cells.push_back({cell.label, seen.outcome, seen.check.elements, seen.check.wrong,
                         seen.check.first_wrong, seen.conditions, busbw(record.spec, cell, seen)});
  }
  for (const model::Evidence& evidence : record.evidence)
    add_evidence(evidence, one);
  if (record.spec.backend == "nvidia") // the other backends' communicators do not belong to NCCL
    for (const MemorySplit& rank : memory_splits(record))
      if (rank.connecting_bytes.value_or(0) > 0) // 0: there was nothing to connect
        one.communicators.push_back({rank.rank, *rank.connecting_bytes});
  if (!record.outcome.ok())
    for (const model::WorkerRecord& worker : record.workers)
      if (!worker.output_tail.empty())
        one.last_words.push_back(fmt::format("rank {} on {}: {}", model::format_ranks(worker.ranks),
                                             worker.host, worker.output_tail));
  return one;
}

bool Case::looked_at() const {
  return std::ranges::all_of(
      surveys, [](const model::Survey& survey) { return survey.worker_problem.empty(); });
}

const model::HostSurvey* Case::host_of(const model::Survey& survey) const {
  for (const model::Survey& one : surveys)
    if (one.host && one.inventory.same_host(survey.inventory))
      return &*one.host;
  return nullptr;
}

int Case::ranks() const {
  std::size_t count = 0;
  for (const model::Survey& survey : surveys)
    count += survey.ranks.size();
  return static_cast<int>(count);
}

} // namespace ncclprobe::analysis::doctor
