// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/rows.h"
#include "trace/spool_reader.h"

#include "backend/contract_world.h"
#include "base/clock.h"
#include "nvidia/activity_records.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/catch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace ncclprobe;
using model::TraceLevel;

namespace {

// A GPU backend that is traced into its own file.
class Traced {
public:
  explicit Traced(TraceLevel level, int gpus = 1)
      : path_(std::filesystem::temp_directory_path() / fmt::format("cupti-{}.spool", getpid())) {
    std::filesystem::remove(path_);
    REQUIRE(spool_.open(path_));
    std::map<int, int> ranks;
    for (int gpu = 0; gpu < gpus; ++gpu)
      ranks[gpu] = 10 + gpu;
    contract::ContractSubject subject;
    subject.name = "nvidia";
    subject.make = [&](const backend::Options& options) {
      auto made = nvidia::make_backend(options);
      tracer_ = made->start_trace({level, &spool_, ranks});
      return made;
    };
    subject.devices = gpus;
    world_.emplace(subject, gpus);
    INFO(tracer_->missing());
    REQUIRE(tracer_->missing().empty());
  }
  ~Traced() {
    tracer_.reset();
    std::filesystem::remove(path_);
  }

  contract::World& world() { return *world_; }
  backend::Tracer& tracer() { return *tracer_; }
  void begin(std::uint32_t operation) { tracer_->begin_operation(operation, now_ns()); }
  void end() { tracer_->end_operation(now_ns()); }
  void finish() {
    world_->wait();
    tracer_->finish();
  }
  template <typename Row>
  std::vector<Row> rows(int rank = -1) {
    std::vector<Row> all;
    auto read = trace::read_spool(path_, [&](const trace::SpoolBlock& block) {
      if (block.table == Row::k_table && (rank < 0 || block.rank == rank))
        for (const Row& row : block.as<Row>())
          all.push_back(row);
    });
    REQUIRE(read);
    return all;
  }
  std::map<trace::LossKind, std::uint64_t> ledger() {
    std::map<trace::LossKind, std::uint64_t> counts;
    for (const trace::LossRow& row : rows<trace::LossRow>())
      counts[row.kind] += row.count;
    return counts;
  }
  std::vector<trace::KernelRow> kernels_of(std::uint32_t operation) {
    std::vector<trace::KernelRow> all = rows<trace::KernelRow>();
    std::erase_if(all, [&](const auto& row) { return row.operation != operation; });
    return all;
  }

private:
  static std::uint64_t now_ns() { return static_cast<std::uint64_t>(base::monotonic_ns()); }

  std::filesystem::path path_;
  trace::SpoolWriter spool_;
  std::optional<contract::World> world_;
  std::unique_ptr<backend::Tracer> tracer_; // dies before its backend
};

void check_nothing_lost(std::map<trace::LossKind, std::uint64_t> ledger) {
  using enum trace::LossKind;
  CHECK(ledger[launches_seen] == ledger[kernels_delivered]);
  CHECK(ledger[dropped_by_library] == 0);
  CHECK(ledger[no_times] == 0);
  CHECK(ledger[unknown_record] == 0);
}

// Most memory that this process has had, in MiB.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

} // namespace

TEST_CASE("traced kernels carry their operation, and their times lie where the host waited") {
  NCCLPROBE_NEEDS_GPUS(1);
  Traced traced(TraceLevel::kernels);
  backend::Stream& stream = traced.world().stream(0);
  std::vector<std::pair<std::int64_t, std::int64_t>> waited;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    std::int64_t begin_ns = base::monotonic_ns();
    traced.begin(id);
    stream.spin(2'000'000);
    traced.end();
    support::wait_until_idle(stream);
    waited.emplace_back(begin_ns, base::monotonic_ns());
    traced.tracer().flush();
  }
  stream.spin(1'000); // of nobody
  traced.finish();

  constexpr std::int64_t k_conversion_ns = 20'000; // CUPTI's, of GPU time to host time
  for (std::uint32_t id = 1; id <= 5; ++id) {
    auto kernels = traced.kernels_of(id);
    REQUIRE(kernels.size() == 1);
    auto [begin_ns, end_ns] = waited[id - 1];
    auto start_ns = static_cast<std::int64_t>(kernels[0].start_ns);
    CHECK(start_ns >= begin_ns - k_conversion_ns);
    CHECK(start_ns + kernels[0].duration_ns <= end_ns + k_conversion_ns);
    CHECK(kernels[0].duration_ns >= 1'990'000);
    CHECK(kernels[0].flags == 0); // the schedule asked for it
  }
  auto all = traced.rows<trace::KernelRow>(10);
  CHECK(std::count_if(all.begin(), all.end(),
                      [](const auto& row) { return row.flags == trace::k_helper; }) >= 1);
  check_nothing_lost(traced.ledger());
}

TEST_CASE("the GPU's clock is read at the beginning and the end, to a microsecond or two") {
  NCCLPROBE_NEEDS_GPUS(1);
  Traced traced(TraceLevel::kernels);
  traced.finish();

  auto clocks = traced.rows<trace::ClockRow>(10);
  REQUIRE(clocks.size() >= 2);
  for (const trace::ClockRow& clock : clocks) {
    WARN(fmt::format("globaltimer: offset {} ns, error {} ns, round trip {} ns", clock.offset_ns,
                     clock.error_ns, clock.round_trip_ns));
    CHECK(clock.kind == trace::ClockKind::globaltimer);
    CHECK(clock.error_ns < 3'000);
  }
  CHECK(std::abs(clocks.back().offset_ns - clocks.front().offset_ns) < 1'000'000);
}

TEST_CASE("collectives' kernels belong to the communication library") {
  NCCLPROBE_NEEDS_GPUS(2);
  constexpr std::uint64_t k_count = 1 << 16;
  Traced traced(TraceLevel::kernels, 2);
  contract::World& world = traced.world();
  std::vector<std::unique_ptr<backend::Buffer>> buffers;
  for (int rank = 0; rank < 2; ++rank)
    buffers.push_back(world.device(rank).allocate(k_count * sizeof(float)));

  traced.begin(9);
  world.on_all_ranks([&](int rank) {
    backend::Buffer& buffer = *buffers[static_cast<std::size_t>(rank)];
    world.communicator(rank).enqueue({model::Collective::all_reduce,
                                      {buffer, 0},
                                      {buffer, 0},
                                      k_count,
                                      model::DataType::f32,
                                      model::ReduceOp::sum,
                                      0},
                                     world.stream(rank));
  });
  traced.end();
  traced.finish();

  for (int rank = 10; rank < 12; ++rank) {
    auto kernels = traced.rows<trace::KernelRow>(rank);
    CHECK(std::count_if(kernels.begin(), kernels.end(), [](const auto& row) {
            return row.operation == 9 && row.flags == trace::k_communication;
          }) == 1);
  }
  check_nothing_lost(traced.ledger());
}

TEST_CASE("a captured schedule's kernels are counted for each of its launches") {
  NCCLPROBE_NEEDS_GPUS(1);
  Traced traced(TraceLevel::kernels);
  contract::World& world = traced.world();
  std::vector<backend::Stream*> streams{&world.stream(0)};
  auto graph = world.backend().capture(std::span(&streams, 1), [&] {
    for (int i = 0; i < 3; ++i)
      streams[0]->spin(10'000);
  });

  for (std::uint32_t id = 1; id <= 4; ++id) {
    traced.begin(id);
    graph->launch();
    traced.end();
  }
  traced.finish();

  for (std::uint32_t id = 1; id <= 4; ++id) {
    auto kernels = traced.kernels_of(id);
    REQUIRE(kernels.size() == 3);
    std::set<std::uint64_t> nodes;
    for (const trace::KernelRow& row : kernels)
      nodes.insert(row.graph_node);
    CHECK(nodes.size() == 3);
    CHECK(nodes.count(0) == 0);
  }
  check_nothing_lost(traced.ledger());
}

TEST_CASE("CUDA calls are traced where they are asked for") {
  NCCLPROBE_NEEDS_GPUS(1);
  Traced traced(TraceLevel::api);
  contract::World& world = traced.world();
  auto from = world.device(0).allocate(1 << 20);
  auto to = world.device(0).allocate(1 << 20);
  auto event = world.device(0).create_event(backend::EventUse::order);

  traced.begin(1);
  world.stream(0).copy({{*from, 0}, {*to, 0}, 1 << 20, model::CopyMeans::copy_engine});
  traced.end();
  world.stream(0).record(*event);
  world.stream(0, 1).wait(*event);
  traced.finish();

  auto copies = traced.rows<trace::CopyRow>(10);
  auto copy = std::find_if(copies.begin(), copies.end(),
                           [](const trace::CopyRow& row) { return row.operation == 1; });
  REQUIRE(copy != copies.end());
  CHECK(copy->bytes == 1 << 20);
  auto calls = traced.rows<trace::ApiRow>();
  CHECK(std::any_of(calls.begin(), calls.end(), [&](const trace::ApiRow& row) {
    return row.correlation == copy->correlation;
  }));
  auto events = traced.rows<trace::DeviceEventRow>();
  CHECK(events.empty() != nvidia::k_tells_event_times);
  auto waits = traced.rows<trace::SynchronizationRow>();
  CHECK(std::any_of(waits.begin(), waits.end(), [&](const trace::SynchronizationRow& row) {
    return row.kind == trace::SynchronizationKind::stream_wait_event;
  }));
  check_nothing_lost(traced.ledger());
}

// NCCLPROBE_STRESS_KERNELS: how many.
TEST_CASE("kernels back to back are all delivered, in memory that does not grow with them") {
  NCCLPROBE_NEEDS_GPUS(1);
  std::uint64_t kernels = number_from("NCCLPROBE_STRESS_KERNELS", 50'000);
  Traced traced(TraceLevel::kernels);
  backend::Stream& stream = traced.world().stream(0);
  for (int i = 0; i < 10'000; ++i)
    stream.spin(1);
  traced.world().wait();
  double before_mib = peak_mib();

  std::int64_t begin_ns = base::monotonic_ns();
  for (std::uint64_t i = 0; i < kernels; ++i) {
    traced.begin(static_cast<std::uint32_t>(i + 1));
    stream.spin(1);
    traced.end();
  }
  traced.world().wait();
  double run_s = static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9;
  traced.finish();
  double all_s = static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9;

  auto ledger = traced.ledger();
  WARN(fmt::format("{} kernels in {:.3f} s ({:.2f} us each), {:.3f} s with what came behind; "
                   "launches {}, delivered {}, dropped {}, no times {}, unknown {}; "
                   "peak memory {:.0f} MiB before, {:.0f} after",
                   kernels, run_s, run_s * 1e6 / static_cast<double>(kernels), all_s,
                   ledger[trace::LossKind::launches_seen],
                   ledger[trace::LossKind::kernels_delivered],
                   ledger[trace::LossKind::dropped_by_library], ledger[trace::LossKind::no_times],
                   ledger[trace::LossKind::unknown_record], before_mib, peak_mib()));
  CHECK(peak_mib() - before_mib < 64);
  check_nothing_lost(ledger);
  std::vector<trace::KernelRow> rows = traced.rows<trace::KernelRow>();
  std::set<std::uint32_t> operations;
  for (const trace::KernelRow& row : rows)
    operations.insert(row.operation);
  CHECK(operations.size() == kernels + 1); // each has its own, and there are those of nobody
  CHECK(rows.size() == ledger[trace::LossKind::kernels_delivered]);
}
