// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/abi.h"
#include "plugin/profiler/tracing.h"
#include "trace/rows.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::plugin;

// The interfaces are called as NCCL calls them, on one state for the process: numbers go on from
// one test to the next.
namespace {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Traces from here to stop(), on one communicator of interface 5.
class Traced {
public:
  explicit Traced(Detail detail = Detail::channels, int rank = 1,
                  GpuClock clock = GpuClock::read_elsewhere)
      : path_(std::filesystem::temp_directory_path() /
              ("tracing-" + std::to_string(getpid()) + ".spool")) {
    std::filesystem::remove(path_);
    REQUIRE(spool_.open(path_));
    set_operation(0);
    start_tracing(spool_, detail, clock);
    int mask = 0;
    REQUIRE(ncclProfiler_v5.init(&context_, 0xC0FFEE, &mask, "world", 2, 4, rank, nullptr) == 0);
    mask_ = static_cast<std::uint64_t>(mask);
  }
  ~Traced() {
    stop_tracing();
    std::filesystem::remove(path_);
  }
  std::uint64_t mask() const { return mask_; }
  void* context() const { return context_; }

  void* begin(abi::DescriptorV5 descriptor) {
    void* handle = this; // not null: NCCL does not clear it
    CHECK(ncclProfiler_v5.start_event(context_, &handle, &descriptor) == 0);
    return handle;
  }
  void* begin_collective(std::uint64_t sequence, int channels = 2) {
    abi::DescriptorV5 descriptor{};
    descriptor.type = abi::k_collective;
    descriptor.collective = {
        sequence, "AllReduce", nullptr,       nullptr,
        4096,     0,           "ncclFloat32", static_cast<std::uint8_t>(channels),
        16,       "RING",      "LL128"};
    return begin(descriptor);
  }
  void* begin_channel(void* parent, int channel, std::uint64_t timer_ns) {
    abi::DescriptorV5 descriptor{};
    descriptor.type = abi::k_channel;
    descriptor.parent = parent;
    descriptor.channel = {static_cast<std::uint8_t>(channel), timer_ns};
    return begin(descriptor);
  }
  static void end(void* handle) { CHECK(ncclProfiler_v5.stop_event(handle) == 0); }
  static void enter(void* handle, int state, std::uint64_t argument = 0) {
    abi::StateArguments arguments{};
    arguments.channel.timer_ns = argument;
    CHECK(ncclProfiler_v5.record_event_state(handle, state, &arguments) == 0);
  }
  static void end_channel(void* handle, std::uint64_t timer_ns) {
    enter(handle, abi::k_channel_stop, timer_ns);
    end(handle);
  }

  // All rows of a table, with their ranks.
  template <typename Row>
  std::vector<std::pair<int, Row>> ranked() {
    stop_tracing();
    return support::ranked_rows<Row>(path_);
  }
  template <typename Row>
  std::vector<Row> rows() {
    stop_tracing();
    return support::rows_in<Row>(path_);
  }
  std::string text(trace::TextId id) { return support::text_in(path_, id); }
  std::uint64_t lost() {
    std::uint64_t all = 0;
    for (const trace::LossRow& row : rows<trace::LossRow>()) {
      CHECK(row.kind == trace::LossKind::plugin);
      all += row.count;
    }
    return all;
  }

private:
  std::filesystem::path path_;
  trace::SpoolWriter spool_;
  void* context_ = nullptr;
  std::uint64_t mask_ = 0;
};

} // namespace

TEST_CASE("a collective and its channels become rows that name each other") {
  Traced traced;
  std::uint64_t before_ns = now_ns();
  set_operation(77);

  void* handle = traced.begin_collective(12);
  Traced::end(handle);
  std::uint64_t timer_ns = 5'000'000'000 + now_ns(); // another clock
  void* first = traced.begin_channel(handle, 0, timer_ns);
  void* second = traced.begin_channel(handle, 1, timer_ns + 10);
  Traced::end_channel(second, timer_ns + 900);
  Traced::end_channel(first, timer_ns + 1'000);

  auto operations = traced.ranked<trace::NcclOperationRow>();
  REQUIRE(operations.size() == 1);
  CHECK(operations[0].first == 1);
  const trace::NcclOperationRow& row = operations[0].second;
  CHECK(row.sequence == 12);
  CHECK(row.count == 4096);
  CHECK(row.operation == 77);
  CHECK(row.kind == trace::NcclKind::collective);
  CHECK(traced.text(row.function) == "AllReduce");
  CHECK(traced.text(row.algorithm) == "RING");
  CHECK(traced.text(row.protocol) == "LL128");
  CHECK(traced.text(row.data_type) == "ncclFloat32");
  CHECK(row.channels == 2);
  CHECK(row.warps == 16);
  CHECK(row.peer == -1);
  CHECK(row.root == 0);
  CHECK(row.enqueue_ns >= before_ns);
  CHECK(row.enqueued_ns >= row.enqueue_ns);
  auto channels = traced.rows<trace::NcclChannelRow>();
  REQUIRE(channels.size() == 2);
  CHECK(channels[0].nccl_operation == row.id);
  CHECK(channels[0].channel == 1); // the first to end
  CHECK(channels[0].start_gt == timer_ns + 10);
  CHECK(channels[0].stop_gt == timer_ns + 900);
  CHECK(channels[0].start_ns >= row.enqueued_ns);
  CHECK(channels[0].stop_ns >= channels[0].start_ns);
  CHECK(channels[1].channel == 0);
  auto communicators = traced.rows<trace::CommunicatorRow>();
  REQUIRE(communicators.size() == 1);
  CHECK(communicators[0].id == row.communicator);
  CHECK(communicators[0].hash == 0xC0FFEE);
  CHECK(traced.text(communicators[0].name) == "world");
  CHECK(communicators[0].ranks == 4);
  CHECK(communicators[0].rank == 1);
  CHECK(communicators[0].nodes == 2);
  CHECK(traced.lost() == 0);
}

TEST_CASE("each level asks for what it writes") {
  CHECK(Traced(Detail::operations).mask() == 0x6);
  CHECK(Traced(Detail::channels).mask() == 0x46);
  CHECK(Traced(Detail::steps).mask() == 0xDE);
}

TEST_CASE("interface 4 has a type of one byte, and rubbish behind it, in traces too") {
  Traced traced;
  void* context = nullptr;
  int mask = 0;
  REQUIRE(ncclProfiler_v4.init(&context, &mask, nullptr, 9, 1, 2, 0, nullptr) == 0);
  abi::DescriptorV4 descriptor;
  std::memset(static_cast<void*>(&descriptor), 0xAB, sizeof descriptor);
  descriptor.type = 0x2;
  descriptor.collective = {3, "Broadcast", nullptr, nullptr, 8, 1, "ncclInt8", 1, 4, "TREE", "LL"};
  void* operation = nullptr;
  CHECK(ncclProfiler_v4.start_event(context, &operation, &descriptor) == 0);
  std::memset(static_cast<void*>(&descriptor), 0xAB, sizeof descriptor);
  descriptor.type = 0x40;
  descriptor.parent = operation;
  descriptor.channel = {5, now_ns()};
  void* channel = nullptr;
  CHECK(ncclProfiler_v4.start_event(context, &channel, &descriptor) == 0);
  Traced::end_channel(channel, now_ns());

  auto operations = traced.rows<trace::NcclOperationRow>();
  REQUIRE(operations.size() == 1); // although its enqueueing was not reported
  CHECK(operations[0].enqueued_ns == 0);
  CHECK(operations[0].root == 1);
  CHECK(traced.text(operations[0].function) == "Broadcast");
  auto channels = traced.rows<trace::NcclChannelRow>();
  REQUIRE(channels.size() == 1);
  CHECK(channels[0].channel == 5);
  CHECK(channels[0].nccl_operation == operations[0].id);
}

TEST_CASE("sends and receives tell their peer") {
  Traced traced;
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_point_to_point;
  descriptor.point_to_point = {"Send", nullptr, "ncclFloat32", 64, 3, 1};
  Traced::end(traced.begin(descriptor));
  descriptor.point_to_point.function = "Recv";
  Traced::end(traced.begin(descriptor));

  auto rows = traced.rows<trace::NcclOperationRow>();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kind == trace::NcclKind::send);
  CHECK(rows[0].peer == 3);
  CHECK(rows[0].algorithm == trace::TextId{});
  CHECK(rows[1].kind == trace::NcclKind::receive);
  CHECK(rows[1].id == rows[0].id + 1);
}

TEST_CASE("messages are numbered by peer and way, as the other side numbers them") {
  Traced traced;
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_point_to_point;
  for (auto [function, peer] :
       {std::pair{"Send", 2}, {"Recv", 2}, {"Send", 0}, {"Send", 2}, {"Recv", 2}, {"Send", 99}}) {
    descriptor.point_to_point = {function, nullptr, "ncclFloat32", 64, peer, 1};
    Traced::end(traced.begin(descriptor));
  }

  auto rows = traced.rows<trace::NcclOperationRow>();
  REQUIRE(rows.size() == 6);
  std::vector<std::uint64_t> numbers;
  for (const auto& row : rows)
    numbers.push_back(row.sequence);
  CHECK(numbers == std::vector<std::uint64_t>{0, 0, 0, 1, 1, 0});
}

TEST_CASE("steps of the proxy and the network find their collective") {
  Traced traced(Detail::steps);
  void* collective = traced.begin_collective(1);
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_proxy_operation;
  descriptor.parent = collective;
  descriptor.proxy_operation = {getpid(), 4, 2, 8, 1 << 19, 1};
  void* operation = traced.begin(descriptor);
  descriptor = {};
  descriptor.type = abi::k_proxy_step;
  descriptor.parent = operation;
  descriptor.proxy_step = {6};
  void* step = traced.begin(descriptor);
  Traced::enter(step, abi::k_step_send_gpu_wait);
  Traced::enter(step, abi::k_step_send_peer_wait);
  Traced::enter(step, abi::k_step_send_wait, 65'536);
  abi::SocketRequest socket{};
  socket.request.descriptor = 31;
  socket.request.bytes = 65'536;
  descriptor = {};
  descriptor.type = abi::k_network;
  descriptor.parent = step;
  descriptor.network = {abi::k_network_socket, &socket};
  Traced::end(traced.begin(descriptor));
  Traced::end(step);
  Traced::end(operation);

  std::uint32_t id = 0;
  auto operations = traced.rows<trace::NcclOperationRow>();
  REQUIRE(operations.size() == 1);
  id = operations[0].id;
  auto steps = traced.rows<trace::NcclStepRow>();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].nccl_operation == id);
  CHECK(steps[0].channel == 4);
  CHECK(steps[0].peer == 2);
  CHECK(steps[0].is_send == 1);
  CHECK(steps[0].step == 6);
  CHECK(steps[0].bytes == 65'536);
  CHECK(steps[0].start_ns <= steps[0].first_ns);
  CHECK(steps[0].first_ns <= steps[0].second_ns);
  CHECK(steps[0].second_ns <= steps[0].third_ns);
  CHECK(steps[0].third_ns <= steps[0].stop_ns);
  auto network = traced.rows<trace::NcclNetworkRow>();
  REQUIRE(network.size() == 1);
  CHECK(network[0].nccl_operation == id);
  CHECK(network[0].kind == trace::NetworkKind::socket);
  CHECK(network[0].request == 31);
  CHECK(network[0].bytes == 65'536);
}

TEST_CASE("a proxy operation of another process names none of ours") {
  Traced traced(Detail::steps);
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_proxy_operation;
  descriptor.parent = reinterpret_cast<void*>(0xDEADBEE9); // may not be looked at
  descriptor.proxy_operation = {getpid() + 1, 0, 1, 1, 4096, 0};
  void* operation = traced.begin(descriptor);
  descriptor = {};
  descriptor.type = abi::k_proxy_step;
  descriptor.parent = operation;
  Traced::end(traced.begin(descriptor));

  auto steps = traced.rows<trace::NcclStepRow>();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].nccl_operation == 0);
}

TEST_CASE("channels with times that cannot be theirs are rejected and counted") {
  Traced traced;
  void* first = traced.begin_collective(1);
  Traced::end(first);
  std::uint64_t offset_ns = 1'000'000'000'000;
  Traced::end_channel(traced.begin_channel(first, 0, now_ns() + offset_ns), now_ns() + offset_ns);
  std::uint64_t before_ns = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  void* second = traced.begin_collective(2);
  Traced::end(second);
  // Began before it was enqueued: another kernel's place in NCCL's ring.
  Traced::end_channel(traced.begin_channel(second, 0, before_ns + offset_ns), now_ns() + offset_ns);
  // Ended before it began.
  std::uint64_t timer_ns = now_ns() + offset_ns;
  Traced::end_channel(traced.begin_channel(second, 1, timer_ns), timer_ns - 1);
  Traced::end_channel(traced.begin_channel(second, 2, timer_ns), timer_ns + 100);

  auto channels = traced.rows<trace::NcclChannelRow>();
  REQUIRE(channels.size() == 2);
  CHECK(channels[1].channel == 2);
  CHECK(traced.lost() == 2);
}

TEST_CASE("a communicator's first operation may be told when it has begun already") {
  Traced traced;
  std::uint64_t offset_ns = 1'000'000'000'000;
  std::uint64_t begun_gt = now_ns() + offset_ns;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  void* first = traced.begin_collective(1);
  Traced::end(first);
  void* channel = traced.begin_channel(first, 0, begun_gt);
  Traced::end_channel(channel, now_ns() + offset_ns);

  CHECK(traced.rows<trace::NcclChannelRow>().size() == 1);
  CHECK(traced.lost() == 0);
}

TEST_CASE("a GPU's clock is bounded by what the host asked for and heard of") {
  Traced traced(Detail::channels, 1, GpuClock::estimated);
  constexpr std::int64_t k_offset_ns = 3'000'000'000; // the GPU's is ahead by that
  auto timer_ns = [] { return now_ns() + k_offset_ns; };
  for (int i = 0; i < 20; ++i) {
    void* handle = traced.begin_collective(static_cast<std::uint64_t>(i));
    Traced::end(handle);
    std::uint64_t start_gt = timer_ns();
    std::uint64_t stop_gt = timer_ns();
    Traced::end_channel(traced.begin_channel(handle, 0, start_gt), stop_gt);
  }

  auto clocks = traced.rows<trace::ClockRow>();
  REQUIRE_FALSE(clocks.empty());
  for (const trace::ClockRow& clock : clocks) {
    CHECK(clock.kind == trace::ClockKind::globaltimer);
    CHECK(std::abs(clock.offset_ns + k_offset_ns) <= static_cast<std::int64_t>(clock.error_ns));
    CHECK(clock.error_ns < 10'000'000);
  }
}

TEST_CASE("where the clocks are read there are no estimates") {
  Traced traced;
  void* handle = traced.begin_collective(1);
  Traced::end(handle);
  Traced::end_channel(traced.begin_channel(handle, 0, now_ns()), now_ns());
  CHECK(traced.rows<trace::ClockRow>().empty());
}

TEST_CASE("what began and did not end is written when tracing stops") {
  Traced traced;
  void* handle = traced.begin_collective(1);
  std::uint64_t timer_ns = now_ns();
  void* channel = traced.begin_channel(handle, 0, timer_ns);
  REQUIRE(channel != nullptr);

  auto channels = traced.rows<trace::NcclChannelRow>();

  REQUIRE(channels.size() == 1);
  CHECK(channels[0].start_gt == timer_ns);
  CHECK(channels[0].stop_gt == 0);
  CHECK(channels[0].stop_ns == 0);
  auto open = traced.rows<trace::NcclOpenRow>();
  REQUIRE(open.size() == 1);
  CHECK(open[0].channels == 1);
  CHECK(open[0].nccl_operation == channels[0].nccl_operation);
  Traced::end_channel(channel, timer_ns + 5); // late, and harmless
}

TEST_CASE("handles are written whatever comes, and empty ones ask for nothing") {
  Traced traced;
  for (std::uint64_t type : {0x1, 0x20, 0x100, 0x200, 0x202, 0x800, 0x1000, 0x8000}) {
    abi::DescriptorV5 descriptor{};
    descriptor.type = type;
    CHECK(traced.begin(descriptor) == nullptr);
  }
  CHECK(traced.begin_channel(nullptr, 0, 1) == nullptr); // its collective was dropped
  CHECK(ncclProfiler_v5.record_event_state(nullptr, 23, nullptr) == 0);
  Traced::end(nullptr);
  stop_tracing();
  CHECK(traced.begin_collective(1) == nullptr);
}

TEST_CASE("global ranks are those of the members that were told") {
  Traced traced(Detail::channels, 0);
  std::array<int, 3> ranks{4, 6, 9};
  set_members(ranks);
  void* context = nullptr;
  int mask = 0;
  REQUIRE(ncclProfiler_v6.init(&context, 5, &mask, "part", 1, 3, 2, nullptr) == 0);
  set_members({});
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_collective;
  descriptor.collective.function = "Reduce";
  void* handle = nullptr;
  ncclProfiler_v6.start_event(context, &handle, &descriptor);
  ncclProfiler_v6.stop_event(handle);

  auto rows = traced.ranked<trace::NcclOperationRow>();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].first == 9);
}

TEST_CASE("threads lose nothing without counting it") {
  Traced traced;
  constexpr int k_threads = 4;
  constexpr int k_each = 30'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < k_threads; ++t)
    threads.emplace_back([&traced] {
      for (int i = 0; i < k_each; ++i) {
        abi::DescriptorV5 descriptor{};
        descriptor.type = abi::k_collective;
        descriptor.collective.function = "AllGather";
        void* handle = nullptr;
        ncclProfiler_v5.start_event(traced.context(), &handle, &descriptor);
        if (i % 64 == 0)
          std::this_thread::yield();
        ncclProfiler_v5.stop_event(handle);
      }
    });
  for (std::thread& thread : threads)
    thread.join();

  auto rows = traced.rows<trace::NcclOperationRow>();
  std::set<std::uint32_t> ids;
  for (const trace::NcclOperationRow& row : rows)
    ids.insert(row.id);
  CHECK(ids.size() == rows.size());
  std::uint64_t lost = traced.lost(); // of begins and ends alike
  CHECK(rows.size() <= k_threads * k_each);
  CHECK(rows.size() + lost >= k_threads * k_each);
}

TEST_CASE("rows are in the file long before tracing stops") {
  Traced traced;
  Traced::end(traced.begin_collective(1));
  ncclProfiler_v5.finalize(nullptr); // of another plugin's context: nothing
  flush_tracing();
  Traced::end(traced.begin_collective(2));

  CHECK(traced.rows<trace::NcclOperationRow>().size() == 2);
}
