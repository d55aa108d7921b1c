// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/traffic_section.h"

#include "analysis/reference/reference_range.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/link_traffic.h"
#include "base/text_table.h"
#include "base/wrapped_row.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json;
using Rate = std::optional<double>;

constexpr int k_link_columns = 20;

// Of all hosts, if they are alike.
NodeLinks ceilings(const model::Run& run) {
  if (run.header.hosts.empty())
    return {};
  NodeLinks links = node_links(run.header.hosts.front()).value_or(NodeLinks{});
  for (const model::Host& host : run.header.hosts) {
    NodeLinks other = node_links(host).value_or(NodeLinks{});
    if (other.nvlink_gb_per_s != links.nvlink_gb_per_s)
      links.nvlink_gb_per_s.reset();
    if (other.pcie_gb_per_s != links.pcie_gb_per_s)
      links.pcie_gb_per_s.reset();
  }
  return links;
}

Rate larger(const Rate& a, const Rate& b) {
  return a && b ? std::max(a, b) : a ? a : b;
}

Rate share(const Rate& rate, const Rate& ceiling) {
  return rate && ceiling && *ceiling > 0 ? Rate(*rate / *ceiling) : std::nullopt;
}

std::string percent(const Rate& share) {
  return share ? fmt::format("{:.1f}", 100 * *share) : "-";
}

Rate busbw_of(const std::vector<SettingResult>& results, const LinkTraffic& traffic) {
  auto found = std::find_if(results.begin(), results.end(), [&](const SettingResult& one) {
    return one.is_default && one.label == traffic.label && one.timing_mode == traffic.timing_mode &&
           one.ranks == traffic.ranks;
  });
  return found == results.end() ? std::nullopt : found->busbw_gb_per_s;
}

} // namespace

std::string render_traffic(const RunSummary& run, const std::vector<SettingResult>& results) {
  const std::vector<LinkTraffic> all = link_traffic(run);
  if (all.empty())
    return "";
  const NodeLinks links = ceilings(run);
  base::TextTable table({{"operation", base::TextTable::Align::left},
                         {"ranks"},
                         {"size"},
                         {"busbw"},
                         {"NVLink out"},
                         {"in"},
                         {"% peak"},
                         {"PCIe out"},
                         {"in"},
                         {"% peak"}});
  for (const LinkTraffic& one : all)
    base::add_wrapped_row(
        table,
        {cell_name(one.label, one.timing_mode), std::to_string(rank_count(one.label, one.ranks)),
         cell_size(one.label), format_number(busbw_of(results, one)),
         format_number(one.nvlink_sent_gb_per_s), format_number(one.nvlink_received_gb_per_s),
         percent(share(larger(one.nvlink_sent_gb_per_s, one.nvlink_received_gb_per_s),
                       links.nvlink_gb_per_s)),
         format_number(one.pcie_sent_gb_per_s), format_number(one.pcie_received_gb_per_s),
         percent(share(larger(one.pcie_sent_gb_per_s, one.pcie_received_gb_per_s),
                       links.pcie_gb_per_s))},
        {k_link_columns});
  return paragraph("",
                   "Links while long cells ran: GB/s that a GPU counted itself, the most of any, "
                   "from a second after the cell began to its end" +
                       synthetic_mark(run),
                   2) +
         table.render(2);
}

Json traffic_json(const RunSummary& run) {
  auto nullable = [](const Rate& value) { return value ? Json(*value) : Json(nullptr); };
  const NodeLinks links = ceilings(run);
  Json out = Json::array();
  for (const LinkTraffic& one : link_traffic(run))
    out.push_back({{"workload", one.label.workload},
                   {"size_bytes", one.label.bytes},
                   {"type", model::to_string(one.label.type)},
                   {"op", model::to_string(one.label.op)},
                   {"root", one.label.root},
                   {"variant", one.label.variant},
                   {"placement", model::to_string(one.label.placement)},
                   {"timing_mode", model::to_string(one.timing_mode)},
                   {"ranks", one.ranks},
                   {"nvlink_sent_gb_per_s", nullable(one.nvlink_sent_gb_per_s)},
                   {"nvlink_received_gb_per_s", nullable(one.nvlink_received_gb_per_s)},
                   {"nvlink_peak_gb_per_s", nullable(links.nvlink_gb_per_s)},
                   {"pcie_sent_gb_per_s", nullable(one.pcie_sent_gb_per_s)},
                   {"pcie_received_gb_per_s", nullable(one.pcie_received_gb_per_s)},
                   {"pcie_peak_gb_per_s", nullable(links.pcie_gb_per_s)}});
  return out;
}

} // namespace ncclprobe::analysis
