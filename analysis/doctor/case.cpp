// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/case.h"

#include "analysis/bandwidth.h"
#include "analysis/cell_summary.h"
#include "analysis/doctor/case_json.h"
#include "analysis/memory_split.h"
#include "analysis/nccl_log.h"
#include "base/document_limits.h"
#include "base/json_optional.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LibraryCode, path, cubins, ptx, cuda)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PythonTorch, interpreter, problem, python, torch,
                                                path, cuda, architectures, nccl)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Connection, from_rank, to_rank, address, problem)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ChosenNetwork, ranks, name, interfaces, lines)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CommunicatorMemory, rank, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ChosenWay, from_rank, to_rank, from_gpu, to_gpu,
                                                way)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ChosenAlgorithm, function, bytes, algorithm,
                                                protocol, channels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RehearsedCell, label, outcome, elements, wrong,
                                                first_wrong, conditions, busbw_gb_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Rehearsal, name, backend, ranks, outcome, cells,
                                                last_words, networks, communicators, ways,
                                                algorithms)

nlohmann::json case_json(const Case& one) {
  return {{"ncclprobe", one.ncclprobe},
          {"backend", one.backend},
          {"backend_reason", one.backend_reason},
          {"launcher_problem", one.launcher_problem},
          {"surveys", one.surveys},
          {"rehearsals", one.rehearsals},
          {"code", one.code},
          {"torch", one.torch},
          {"not_rehearsed", one.not_rehearsed},
          {"deep", one.deep},
          {"connections", one.connections},
          {"under_load", one.under_load}};
}

std::string write_case(const Case& one) {
  return case_json(one).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

base::Result<Case> read_case(std::string_view text) {
  NCCLPROBE_TRY(base::check_json_limits(text, "it"));
  try {
    nlohmann::json in = nlohmann::json::parse(text);
    // The whole document that --format json prints, or its case alone.
    if (in.contains("case"))
      in = nlohmann::json(in.at("case"));
    Case one;
    Case none;
    if (!in.is_object() || !in.contains("surveys"))
      return base::fail(base::Errc::protocol, "it has no surveys of ranks");
    in.at("surveys").get_to(one.surveys);
    one.ncclprobe = in.value("ncclprobe", none.ncclprobe);
    one.backend = in.value("backend", none.backend);
    one.backend_reason = in.value("backend_reason", none.backend_reason);
    one.launcher_problem = in.value("launcher_problem", none.launcher_problem);
    one.rehearsals = in.value("rehearsals", none.rehearsals);
    one.code = in.value("code", none.code);
    one.torch = in.value("torch", none.torch);
    one.not_rehearsed = in.value("not_rehearsed", none.not_rehearsed);
    one.deep = in.value("deep", none.deep);
    one.connections = in.value("connections", none.connections);
    one.under_load = in.value("under_load", none.under_load);
    return one;
  } catch (const nlohmann::json::parse_error& error) {
    return base::fail(base::Errc::protocol, "it is no JSON, or cut off, at byte {}", error.byte);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.type_error.302] type must be number, but is string"
    std::string_view words = error.what();
    return base::fail(base::Errc::protocol, "a field is not as expected: {}",
                      words.substr(std::min(words.find("] ") + 2, words.size())));
  } catch (const std::exception& error) { // ours
    return base::fail(base::Errc::protocol, "{}", error.what());
  }
}

namespace {

// Of cells that are launched once nothing is told.
std::optional<double> busbw(const model::TrialSpec& spec, const model::Cell& cell,
                            const model::CellRecord& seen) {
  if (cell.timing.iterations * cell.timing.batches == 1 || !is_measured(seen))
    return std::nullopt;
  int size = communicator_size(spec, cell);
  auto factor = busbw_factor(cell.label.workload, size);
  auto time = cell_time(seen.samples);
  if (!factor || !time)
    return std::nullopt;
  auto algbw = algbw_gb_per_s(cell.label.bytes, time->over_batches_ns.median);
  return algbw ? std::optional(*factor * *algbw) : std::nullopt;
}

void add_evidence(const model::Evidence& evidence, Rehearsal& into) {
  NcclLog log = read_nccl_log(evidence.log);
  for (const ConnectionLine& line : log.connections) {
    ChosenWay way{line.from_rank, line.to_rank, line.from_gpu, line.to_gpu, line.way};
    if (std::find(into.ways.begin(), into.ways.end(), way) == into.ways.end())
      into.ways.push_back(std::move(way));
  }
  for (const ChoiceLine& line : log.choices) {
    ChosenAlgorithm choice{line.function, line.bytes, line.algorithm, line.protocol, line.channels};
    if (std::find(into.algorithms.begin(), into.algorithms.end(), choice) == into.algorithms.end())
      into.algorithms.push_back(std::move(choice));
  }
  if (log.network.empty())
    return;
  auto same =
      std::find_if(into.networks.begin(), into.networks.end(), [&](const ChosenNetwork& one) {
        return one.name == log.network && one.interfaces == log.interfaces;
      });
  if (same == into.networks.end())
    same = into.networks.insert(same, {{}, log.network, log.interfaces, log.network_lines});
  same->ranks.push_back(evidence.rank);
}

} // namespace

Rehearsal rehearsal_of(const model::TrialRecord& record, std::string name) {
  Rehearsal one;
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
  if (record.spec.backend == "nvidia") // the others' communicators are nothing of NCCL's
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
  return std::all_of(surveys.begin(), surveys.end(),
                     [](const model::Survey& survey) { return survey.worker_problem.empty(); });
}

const model::HostSurvey* Case::host_of(const model::Survey& survey) const {
  for (const model::Survey& one : surveys)
    if (one.host && one.inventory.boot_id == survey.inventory.boot_id)
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
