// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/topology_chart/topology_chart.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using topology::DeviceKind;
using topology::Source;

namespace {

// Two GPUs with four NVLinks between them, on one NUMA node.
topology::Host pair_of_gpus(const std::string& name) {
  topology::Host host;
  host.name = {name, Source::sysfs};
  host.numa = {{.index = 0}};
  for (int i : {0, 1}) {
    topology::Gpu gpu;
    gpu.index = i;
    gpu.bus_id = {fmt::format("0000:0{}:00.0", i + 1), Source::nvml};
    gpu.name = {"NVIDIA A100", Source::nvml};
    gpu.numa_node = {0, Source::nvml};
    host.gpus.push_back(gpu);
  }
  host.stated_paths = {{{DeviceKind::gpu, 0},
                        {DeviceKind::gpu, 1},
                        {topology::PathType::nvlink, 4},
                        Source::nvidia_smi}};
  return host;
}

// The values of a column, as text.
std::vector<std::string> column(const Chart& chart, const std::string& key) {
  auto found = std::ranges::find(chart.table->columns, key, &Column::key);
  REQUIRE(found != chart.table->columns.end());
  std::vector<std::string> values;
  for (std::size_t row = 0; row < chart.table->rows; ++row)
    values.push_back(shown(found->value(row)));
  return values;
}

} // namespace

TEST_CASE("boxes contain each other, and NVLinks connect them") {
  const auto charts = topology_charts({{pair_of_gpus("a"), {{1, {6, 7}}}}});

  REQUIRE(charts.size() == 1);
  using Texts = std::vector<std::string>;
  CHECK(column(charts[0], "id") == Texts{"host0", "numa0", "gpu0", "gpu1", "gpu0-gpu1"});
  CHECK(column(charts[0], "kind") == Texts{"host", "numa", "gpu", "gpu", "nvlink"});
  CHECK(column(charts[0], "inside") == Texts{"", "host0", "numa0", "numa0", "gpu0"});
  CHECK(column(charts[0], "to") == Texts{"", "", "", "", "gpu1"});
  CHECK(column(charts[0], "title")[4] == "4 NVLinks");
  CHECK(column(charts[0], "details")[3].starts_with("ranks 6,7"));
}

TEST_CASE("hosts that look alike share a picture") {
  topology::Host other = pair_of_gpus("c");
  other.gpus.pop_back();
  other.stated_paths.clear();

  const auto charts = topology_charts(
      {{pair_of_gpus("a"), {}}, {other, {}}, {pair_of_gpus("b"), {}}, {topology::Host{}, {}}});

  REQUIRE(charts.size() == 2);
  CHECK(charts[0].table->rows == 5);
  CHECK(charts[1].table->rows == 3);
}

TEST_CASE("a run's ranks are beside the GPUs that they use") {
  model::RunHeader header;
  header.hosts.resize(2);
  for (std::size_t i : {0, 1}) {
    header.hosts[i].topology = pair_of_gpus(fmt::format("host {}", i));
    header.hosts[i].gpus = {{.index = 0, .pci_bus_id = "00000000:02:00.0"}}; // CUDA's order
  }
  header.hosts[1].topology.gpus[0].name = {"NVIDIA H100", Source::nvml}; // else they look alike
  header.ranks = {{0, 0, 0}, {1, 1, 0}};

  const auto charts = topology_charts(header);

  REQUIRE(charts.size() == 2);
  CHECK(column(charts[0], "details")[3].starts_with("rank 0"));
  CHECK(column(charts[1], "details")[3].starts_with("rank 1"));
  CHECK_FALSE(column(charts[1], "details")[2].starts_with("rank"));
}
