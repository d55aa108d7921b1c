// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_verdict.h"
#include "analysis/report/heading.h"
#include "analysis/report/json_values.h"
#include "analysis/report/p2p_report.h"
#include "base/csv.h"
#include "model/document.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json; // fields in the order written below

Json figure_json(const std::optional<P2pFigure>& figure, bool latency) {
  if (!figure)
    return nullptr;
  std::string unit = latency ? "ns" : "gb_per_s";
  Json out;
  out[unit] = figure->value;
  out["lowest_" + unit] = figure->lowest;
  out["highest_" + unit] = figure->highest;
  out["batches"] = figure->batches;
  if (!latency) {
    out["limit_gb_per_s"] = nullable(figure->limit.gb_per_s);
    out["limit_derivation"] = figure->limit.derivation;
    out["share_of_limit"] = nullable(figure->share());
    out["beyond_limit"] = figure->beyond_limit();
  }
  out["link_class"] = figure->limit.link_class;
  out["outlier"] = figure->outlier;
  return out;
}

Json cell_json(const P2pMatrix& matrix, const P2pEntry& entry) {
  Json out{{"from", to_string(entry.transfer.from)}, {"to", to_string(entry.transfer.to)}};
  out["one_way"] = figure_json(entry.figure, matrix.latency());
  if (matrix.direction == workload::P2pDirection::bi)
    out["both_ways"] = figure_json(entry.both_ways, matrix.latency());
  out["outcome"] = model::to_string(entry.outcome.kind);
  out["reason"] = entry.outcome.reason;
  out["data"] = model::to_string(entry.data);
  out["data_note"] = entry.data_note;
  return out;
}

Json verdict_json(const model::RunHeader& header, const P2pMatrix& matrix) {
  auto judged = judge(header, matrix);
  if (!judged)
    return nullptr;
  return {{"verdict", model::to_string(judged->verdict.verdict)},
          {"expected_gb_per_s", nullable(judged->verdict.expected_gb_per_s)},
          {"estimate", judged->verdict.estimate},
          {"basis", judged->verdict.basis},
          {"source", judged->verdict.source},
          {"causes", judged->verdict.causes}};
}

Json matrix_json(const model::RunHeader& header, const P2pMatrix& matrix) {
  Json out{{"mode", model::to_string(matrix.mode)},
           {"method", model::to_string(matrix.method)},
           {"direction", model::to_string(matrix.direction)},
           {"size_bytes", matrix.bytes},
           {"what", describe(matrix)}};
  out["normal"] = verdict_json(header, matrix);
  out["cells"] = Json::array();
  for (const P2pEntry& entry : matrix.entries)
    out["cells"].push_back(cell_json(matrix, entry));
  return out;
}

std::string number(const std::optional<P2pFigure>& figure, double P2pFigure::*field) {
  return figure ? fmt::format("{:.9g}", *figure.*field) : "";
}

} // namespace

std::string render_p2p_json(const model::Run& run) {
  const std::vector<P2pMatrix> matrices = p2p_matrices(run);
  Json out{{"schema", "ncclprobe.p2p"},
           {"version", k_p2p_report_version},
           {"synthetic", is_synthetic(run)}};
  out["run"] = Json::parse(base::write_json(run.header)); // with all texts UTF-8
  out["run"]["finished_trials"] = run.trials.size();
  out["matrices"] = Json::array();
  for (const P2pMatrix& matrix : matrices)
    out["matrices"].push_back(matrix_json(run.header, matrix));
  out["beyond_limits"] = beyond_limits(matrices);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string render_p2p_csv(const model::Run& run) {
  std::string out =
      "synthetic,run_id,backend,mode,method,direction,size_bytes,from,to,gb_per_s,lowest_gb_per_s,"
      "highest_gb_per_s,both_ways_gb_per_s,latency_ns,lowest_ns,highest_ns,batches,limit_gb_per_s,"
      "share_of_limit,beyond_limit,outlier,link_class,outcome,reason,data,data_note\r\n";
  for (const P2pMatrix& matrix : p2p_matrices(run))
    for (const P2pEntry& entry : matrix.entries) {
      const auto& one = entry.figure;
      const auto& any = one ? one : entry.both_ways;
      const std::optional<P2pFigure> none;
      const auto& bandwidth = matrix.latency() ? none : one;
      const auto& latency = matrix.latency() ? one : none;
      auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
      std::vector<std::string> fields{
          flag(is_synthetic(run)),
          run.header.run_id,
          run.header.backend,
          std::string(model::to_string(matrix.mode)),
          std::string(model::to_string(matrix.method)),
          std::string(model::to_string(matrix.direction)),
          std::to_string(matrix.bytes),
          to_string(entry.transfer.from),
          to_string(entry.transfer.to),
          number(bandwidth, &P2pFigure::value),
          number(bandwidth, &P2pFigure::lowest),
          number(bandwidth, &P2pFigure::highest),
          number(entry.both_ways, &P2pFigure::value),
          number(latency, &P2pFigure::value),
          number(latency, &P2pFigure::lowest),
          number(latency, &P2pFigure::highest),
          std::to_string(any ? any->batches : 0),
          any && any->limit.gb_per_s ? fmt::format("{:.9g}", *any->limit.gb_per_s) : "",
          any && any->share() ? fmt::format("{:.6g}", *any->share()) : "",
          flag((one && one->beyond_limit()) ||
               (entry.both_ways && entry.both_ways->beyond_limit())),
          flag((one && one->outlier) || (entry.both_ways && entry.both_ways->outlier)),
          any ? any->limit.link_class : "",
          std::string(model::to_string(entry.outcome.kind)),
          entry.outcome.reason,
          std::string(model::to_string(entry.data)),
          entry.data_note};
      out += base::csv_line(fields);
    }
  return out;
}

} // namespace ncclprobe::analysis
