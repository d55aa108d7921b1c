// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/synthetic_backend.h"
#include "launch/worker/condition_sampler.h"
#include "support/catch.h"

#include <atomic>

using namespace ncclprobe;
using namespace std::chrono_literals;
using When = model::Condition::When;
using Company = worker::ConditionSampler::Company;

namespace {

// A device whose temperature is how often it was read.
class Thermometer : public backend::Device {
public:
  std::unique_ptr<backend::Buffer> allocate(std::uint64_t) override { return nullptr; }
  std::unique_ptr<backend::Stream> open_stream(int) override { return nullptr; }
  std::unique_ptr<backend::Event> create_event(backend::EventUse) override { return nullptr; }
  std::int64_t elapsed_ns(backend::Event&, backend::Event&) override { return 0; }
  std::optional<model::Condition> read_condition() override {
    model::Condition condition;
    condition.temperature_c = ++readings;
    return condition;
  }
  // Takes long, so the time must have been stored before.
  void read_traffic(model::Condition& into) override {
    into.nvlink_sent_bytes = static_cast<std::uint64_t>(into.at_ns);
  }
  void read_company(model::Condition& into) override { into.processes = 1; }
  std::atomic<int> readings = 0;
};

struct Lab {
  std::unique_ptr<backend::Backend> backend = backend::make_synthetic_backend({});
  Thermometer thermometer;
  std::vector<worker::LocalRankState> local_ranks{1};
  Lab() {
    local_ranks[0].rank = 7;
    local_ranks[0].device = &thermometer;
  }
};

} // namespace

TEST_CASE("a short cell is looked at before and after, never in between") {
  Lab lab;

  worker::ConditionSampler sampler(*lab.backend, lab.local_ranks, 0, {10min, 1ms}, Company::asked);
  auto readings = sampler.finish();

  REQUIRE(readings.size() == 1);
  REQUIRE(readings[0].size() == 2);
  CHECK(readings[0][0].when == When::before);
  CHECK(readings[0][0].rank == 7);
  CHECK(readings[0][0].temperature_c == 1);
  CHECK(readings[0][1].when == When::after);
  for (const model::Condition& one : readings[0]) {
    CHECK_FALSE(one.nvlink_sent_bytes.has_value()); // takes too long for short cells
    CHECK(one.processes == 1);
  }
}

TEST_CASE("who else is there is looked at only where it is asked for") {
  Lab lab;

  worker::ConditionSampler sampler(*lab.backend, lab.local_ranks, 0, {10min, 1ms}, Company::left);
  auto readings = sampler.finish();

  REQUIRE(readings[0].size() == 2);
  for (const model::Condition& one : readings[0]) {
    CHECK(one.temperature_c.has_value());
    CHECK_FALSE(one.processes.has_value());
  }
}

TEST_CASE("a long cell is looked at on the way as well") {
  Lab lab;

  worker::ConditionSampler sampler(*lab.backend, lab.local_ranks, -7, {1ms, 1ms}, Company::asked);
  while (lab.thermometer.readings < 4) {
  }
  auto readings = sampler.finish();

  REQUIRE(readings[0].size() >= 5);
  CHECK(readings[0][1].when == When::during);
  CHECK(readings[0][1].at_ns == 7);
  CHECK(readings[0][1].nvlink_sent_bytes == 7U);
  CHECK_FALSE(readings[0][1].processes); // which would disturb
  CHECK(readings[0].back().when == When::after);
  for (std::size_t i = 1; i < readings[0].size(); ++i)
    CHECK(readings[0][i].temperature_c > readings[0][i - 1].temperature_c);
}

TEST_CASE("where there is nothing to read there are no conditions") {
  auto backend = backend::make_synthetic_backend({});
  auto device = backend->open_device(0);
  std::vector<worker::LocalRankState> local_ranks(1);
  local_ranks[0].device = device.get();

  worker::ConditionSampler sampler(*backend, local_ranks, 0, {1ms, 1ms}, Company::asked);

  CHECK(sampler.finish()[0].empty());
}
