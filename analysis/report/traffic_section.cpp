// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/traffic_section.h"

#include "analysis/reference/reference_range.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/results/link_traffic.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using Rate = std::optional<double>;

// For all hosts, if they are equal.
NodeLinks ceilings(const model::Run& run) {
  if (run.header.hosts.empty())
    return {};
  NodeLinks links = node_links(run.header.hosts.front()).value_or(NodeLinks{});
  for (const model::HostInventory& host : run.header.hosts) {
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

Rate busbw_of(const std::vector<SettingResult>& results, const LinkTraffic& traffic) {
  auto found = std::find_if(results.begin(), results.end(), [&](const SettingResult& one) {
    return one.is_default && one.label == traffic.label && one.timing_mode == traffic.timing_mode &&
           one.ranks == traffic.ranks;
  });
  return found == results.end() ? std::nullopt : found->busbw_gb_per_s;
}

} // namespace

Report traffic_report(const RunSummary& run, const std::vector<SettingResult>& results) {
  TableOf<LinkTraffic> table(link_traffic(run));
  if (table.rows().empty())
    return {};
  const NodeLinks links = ceilings(run);
  using Row = const LinkTraffic&;
  add_label(
      table, [](Row one) -> auto& { return one.label; });
  table.add("timing_mode", &LinkTraffic::timing_mode);
  table.show("operation", [](Row one) { return cell_name(one.label, one.timing_mode); }).left(20);
  table.show("ranks", [](Row one) { return rank_count(one.label, one.ranks); });
  table.add("ranks", &LinkTraffic::ranks);
  table.show("size", [](Row one) { return cell_bytes(one.label); }, {Unit::size});
  table.show("busbw", [&results](Row one) { return busbw_of(results, one); }, {Unit::number});
  auto add_link = [&](const std::string& key, const std::string& name, Rate LinkTraffic::*sent,
                      Rate LinkTraffic::*received, Rate peak) {
    table.add(key + "_sent_gb_per_s", sent).titled(name + " out", {Unit::number});
    table.add(key + "_received_gb_per_s", received).titled("in", {Unit::number});
    table.show("% peak", [=](Row one) { return share(larger(one.*sent, one.*received), peak); },
               {Unit::share});
    table.add(key + "_peak_gb_per_s", [=](Row) { return peak; });
  };
  add_link("nvlink", "NVLink", &LinkTraffic::nvlink_sent_gb_per_s,
           &LinkTraffic::nvlink_received_gb_per_s, links.nvlink_gb_per_s);
  add_link("pcie", "PCIe", &LinkTraffic::pcie_sent_gb_per_s, &LinkTraffic::pcie_received_gb_per_s,
           links.pcie_gb_per_s);
  return {.sections = {{"link_traffic",
                        "Links while long cells ran: the highest GB/s that any GPU counted, from "
                        "one second after the cell began to its end" +
                            synthetic_mark(run),
                        {View{table.table()}},
                        2}},
          .data = {{"link_traffic", table.table()}}};
}

} // namespace ncclprobe::analysis
