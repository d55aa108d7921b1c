// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/case.h"

#include "analysis/doctor/case_json.h"
#include "base/json_optional.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LibraryCode, path, cubins, ptx)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PythonTorch, interpreter, problem, python, torch,
                                                path, cuda, architectures, nccl)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Connection, from_rank, to_rank, address, problem)

static void to_json(nlohmann::json& out, const RehearsedCell& cell) {
  out = {{"label", cell.label}, {"outcome", cell.outcome},       {"elements", cell.elements},
         {"wrong", cell.wrong}, {"conditions", cell.conditions}, {"first_wrong", cell.first_wrong}};
}
static void from_json(const nlohmann::json& in, RehearsedCell& cell) {
  in.at("label").get_to(cell.label);
  in.at("outcome").get_to(cell.outcome);
  in.at("elements").get_to(cell.elements);
  in.at("wrong").get_to(cell.wrong);
  in.at("first_wrong").get_to(cell.first_wrong);
  in.at("conditions").get_to(cell.conditions);
}

static void to_json(nlohmann::json& out, const Rehearsal& one) {
  out = {{"name", one.name},       {"backend", one.backend}, {"ranks", one.ranks},
         {"outcome", one.outcome}, {"cells", one.cells},     {"last_words", one.last_words}};
}
static void from_json(const nlohmann::json& in, Rehearsal& one) {
  in.at("name").get_to(one.name);
  in.at("backend").get_to(one.backend);
  in.at("ranks").get_to(one.ranks);
  in.at("outcome").get_to(one.outcome);
  in.at("cells").get_to(one.cells);
  in.at("last_words").get_to(one.last_words);
}

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

Rehearsal rehearsal_of(const model::TrialRecord& record, std::string name) {
  Rehearsal one{std::move(name), record.spec.backend, record.spec.ranks, record.outcome, {}, {}};
  for (std::size_t cell = 0; cell < record.cells.size() && cell < record.spec.cells.size();
       ++cell) {
    const model::CellRecord& seen = record.cells[cell];
    one.cells.push_back({record.spec.cells[cell].label, seen.outcome, seen.check.elements,
                         seen.check.wrong, seen.check.first_wrong, seen.conditions});
  }
  if (!record.outcome.ok())
    for (const model::WorkerRecord& worker : record.workers)
      if (!worker.output_tail.empty())
        one.last_words.push_back(fmt::format("rank {} on {}: {}", model::format_ranks(worker.ranks),
                                             worker.host, worker.output_tail));
  return one;
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
