// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/preparation.h"
#include "support/catch.h"

using namespace ncclprobe;
using cli::choose_preparation;

namespace {

constexpr std::uint64_t k_gib = 1ULL << 30;

struct Machine {
  std::vector<model::HostInventory> hosts{model::HostInventory{}};
  launch::Layout layout;
  std::vector<model::TrialSpec> trials{model::TrialSpec{}};

  Machine() {
    hosts[0].hostname = "node1";
    for (int device = 0; device < 2; ++device) {
      model::CudaDevice gpu;
      gpu.compute_mode = "default";
      gpu.free_bytes = 80 * k_gib;
      hosts[0].gpus.push_back(gpu);
      layout.placements.push_back({device, 0, 0, device});
    }
  }
  cli::Preparation choose(const std::string& asked, const std::string& backend = "nvidia") const {
    return choose_preparation(asked, backend, hosts, layout, trials);
  }
};

} // namespace

TEST_CASE("trials are prepared on GPUs that can be shared, and elsewhere if asked for") {
  Machine machine;

  CHECK(machine.choose("auto").on);
  CHECK(machine.choose("on").on);
  CHECK(!machine.choose("off").on);
  CHECK(!machine.choose("auto", "host").on);
  CHECK(machine.choose("on", "host").on);
}

TEST_CASE("a GPU for one process at a time forbids preparing, even if asked for") {
  Machine machine;
  machine.hosts[0].gpus[1].compute_mode = "exclusive_process";

  CHECK(!machine.choose("on").on);
  CHECK(machine.choose("auto").reason == "GPU 1 of node1: its compute mode is exclusive_process");
}

TEST_CASE("too little free memory for two trials forbids preparing") {
  Machine machine;
  model::Cell cell;
  cell.schedule.buffers = {{"send", 30 * k_gib, {}}, {"receive", 10 * k_gib, {}}};
  machine.trials[0].cells = {cell};

  CHECK(!machine.choose("auto").on);
  CHECK_THAT(machine.choose("auto").reason,
             ContainsSubstring("GPU 0 of node1: 80 GiB of its memory"));
  machine.trials[0].cells[0].schedule.buffers.pop_back();
  CHECK(machine.choose("auto").on);
}
