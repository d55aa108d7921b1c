// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/stream.h"
#include "launch/worker/launch_timer.h"
#include "launch/worker/local_run.h"
#include "support/catch.h"
#include "workload/collective_benchmark.h"

using namespace ncclprobe;

namespace {

// Says of its first `late` answers that the stream came to the event before the host was done.
struct LateEvent : host::HostEvent {
  explicit LateEvent(int& left) : late(left) {}
  bool reached() override { return late-- > 0; }
  int& late;
};

class LateDevice : public backend::Device {
public:
  LateDevice(std::unique_ptr<backend::Device> inner, int& late)
      : inner_(std::move(inner)), late_(late) {}
  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override {
    return inner_->allocate(bytes);
  }
  std::unique_ptr<backend::Stream> open_stream(int priority) override {
    return inner_->open_stream(priority);
  }
  std::unique_ptr<backend::Event> create_event(backend::EventUse) override {
    return std::make_unique<LateEvent>(late_);
  }
  std::int64_t elapsed_ns(backend::Event& begin, backend::Event& end) override {
    return inner_->elapsed_ns(begin, end);
  }

private:
  std::unique_ptr<backend::Device> inner_;
  int& late_;
};

// For rank 0; rank 1 enqueues in time.
std::vector<model::CellRecord> run_with(int late) {
  auto backend = host::make_backend(support::options_for(2));
  std::vector<worker::LocalRank> local_ranks;
  local_ranks.push_back({0, std::make_unique<LateDevice>(backend->open_device(0), late)});
  local_ranks.push_back({1, backend->open_device(1)});
  support::LocalRendezvous rendezvous;
  worker::ProgressBoard board;
  worker::TraceRecorder trace;
  worker::ScheduleRunner runner(*backend, std::move(local_ranks), 2, 1, rendezvous, board, trace);
  model::Cell cell = workload::make_collective_cell({.bytes = 4096, .ranks = 2}, {}).value();
  cell.timing = {1, 5, 1, 0};
  cell.timing.mode = model::TimingMode::latency;
  return runner.run(cell);
}

} // namespace

TEST_CASE("the hold follows the longest of the last enqueueings, and may fall again") {
  worker::Hold hold;
  CHECK(hold.duration_ns(0) == 20'000);

  hold.add_enqueueing(100'000);
  CHECK(hold.duration_ns(0) == 200'000);
  CHECK(hold.duration_ns(2) == 800'000);
  for (int i = 0; i < 15; ++i)
    hold.add_enqueueing(30'000);
  CHECK(hold.duration_ns(0) == 200'000);
  hold.add_enqueueing(30'000);
  CHECK(hold.duration_ns(0) == 60'000);

  hold.add_enqueueing(1'000'000'000);
  CHECK(hold.duration_ns(0) == 2'000'000);
}

TEST_CASE("a launch that the host enqueued too late is repeated, on all ranks") {
  auto results = run_with(1 + 3); // the untimed one, and all but the last try of the first

  REQUIRE(results.size() == 2);
  for (const model::CellRecord& result : results) {
    CHECK(result.outcome.ok());
    CHECK(result.samples.size() == 5);
    CHECK(result.check.launches == 5);
    CHECK(result.check.method == "every launch");
  }
}

TEST_CASE("launches that are late at every try count, and the record says so") {
  auto results = run_with(1 + 2 * 4);

  REQUIRE(results.size() == 2);
  for (const model::CellRecord& result : results) {
    CHECK(result.samples.size() == 5);
    CHECK(result.check.method ==
          "every launch; 2 of the timed launches include the host's enqueueing");
  }
}
