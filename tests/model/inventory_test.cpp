// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/document.h"
#include "model/inventory.h"
#include "support/catch.h"

using namespace ncclprobe;

TEST_CASE("a host's topology goes through JSON with its sources") {
  model::HostInventory host;
  host.hostname = "box";
  topology::Gpu gpu;
  gpu.bus_id = {std::string("0000:1b:00.0"), topology::Source::nvml};
  gpu.nvlinks = {std::vector<topology::NvLink>(18), topology::Source::nvml};
  host.topology.gpus = {gpu};
  host.contradictions = {"two sources disagree"};

  auto read = model::parse_json<model::HostInventory>(model::write_json(host));

  REQUIRE(read);
  CHECK(*read == host);
}

TEST_CASE("a host of which nothing is known writes no topology, as before there was any") {
  std::string text = model::write_json(model::HostInventory{});

  CHECK(text.find("topology") == std::string::npos);
  auto read = model::parse_json<model::HostInventory>(text);
  REQUIRE(read);
  CHECK(*read == model::HostInventory{});
}

TEST_CASE("what a GPU does not tell of MPS is not written, what it tells is") {
  for (std::optional<bool> mps :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    model::HostInventory host;
    host.gpus.emplace_back().mps = mps;

    std::string text = model::write_json(host);
    auto read = model::parse_json<model::HostInventory>(text);

    CHECK((text.find("\"mps\"") != std::string::npos) == mps.has_value());
    REQUIRE(read);
    CHECK(*read == host);
  }
}
