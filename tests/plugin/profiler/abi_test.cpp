// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// A host that replaces NCCL 2.29 to 2.31: with its own descriptors, and all events of interfaces 6
// and 7 in NCCL's order, including those that were not requested.
#include "plugin/profiler/abi.h"
#include "plugin/profiler/tracing.h"
#include "trace/rows.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::plugin;

namespace {

// As NCCL declares them (profiler_v6.h), so that our code does not decide where a member lies.
struct DescriptorV6 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool graph_captured;
      int depth;
    } group_api;
    struct {
      const char* function;
      std::size_t count;
      const char* data_type;
      int root;
      void* stream;
      bool graph_captured;
    } collective_api;
    struct {
      const char* function;
      std::size_t count;
      const char* data_type;
      void* stream;
      bool graph_captured;
    } message_api;
    struct {
      void* stream;
    } launch;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* data_type;
      std::uint8_t channels, warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* data_type;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* parent_group;
    } message;
    struct {
      pid_t process;
      std::uint8_t channel;
      int peer, steps, chunk_bytes, is_send;
    } proxy_operation;
    struct {
      int step;
    } proxy_step;
    struct {
      std::uint8_t channel;
      std::uint64_t timer;
    } channel;
    struct {
      std::int64_t id;
      void* data;
    } network;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* data_type;
      const char* strategy;
      bool intra_batch;
      std::uint32_t batch_size, batches, number;
      void* stream;
    } copy_engine;
    struct {
      bool is_complete;
      int ranks;
    } copy_engine_sync;
    struct {
      int operations;
      std::size_t bytes;
      bool intra;
    } copy_engine_batch;
  };
};

// Interface 7 appends to some members, and has phases of kernels.
struct DescriptorV7 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    decltype(DescriptorV6::group_api) group_api;
    struct {
      decltype(DescriptorV6::collective_api) as_in_6;
      std::uint64_t user_tag;
    } collective_api;
    struct {
      decltype(DescriptorV6::message_api) as_in_6;
      std::uint64_t user_tag;
    } message_api;
    decltype(DescriptorV6::launch) launch;
    struct {
      decltype(DescriptorV6::collective) as_in_6;
      const char* kernel_variant;
      bool is_symmetric;
      std::uint64_t user_tag;
    } collective;
    struct {
      decltype(DescriptorV6::message) as_in_6;
      std::uint64_t user_tag;
    } message;
    decltype(DescriptorV6::proxy_operation) proxy_operation;
    decltype(DescriptorV6::proxy_step) proxy_step;
    decltype(DescriptorV6::channel) channel;
    decltype(DescriptorV6::network) network;
    struct {
      decltype(DescriptorV6::copy_engine) as_in_6;
      std::uint64_t user_tag;
    } copy_engine;
    decltype(DescriptorV6::copy_engine_sync) copy_engine_sync;
    decltype(DescriptorV6::copy_engine_batch) copy_engine_batch;
    struct {
      std::uint8_t channel, phase;
      const char* name;
      std::uint64_t timer;
    } phase;
  };
};

template <typename Member>
auto& as_in_6(Member& member) {
  if constexpr (requires { member.as_in_6; })
    return member.as_in_6;
  else
    return member;
}

// Only the members of its version; everything after the set ones is garbage.
template <typename Descriptor>
Descriptor event(std::uint64_t type, void* parent = nullptr) {
  Descriptor descriptor;
  std::memset(&descriptor, 0xAB, sizeof descriptor);
  descriptor.type = type;
  descriptor.parent = parent;
  descriptor.rank = 0; // as NCCL leaves it for many
  return descriptor;
}

template <typename Descriptor>
class Host {
public:
  explicit Host(abi::ProfilerV5& table)
      : table_(table),
        path_(std::filesystem::temp_directory_path() / fmt::format("abi-{}.spool", getpid())) {
    std::filesystem::remove(path_);
    REQUIRE(spool_.open(path_));
    start_tracing(spool_, Detail::steps);
    int mask = 0;
    REQUIRE(table_.init(&context_, 0xC0FFEE, &mask, "world", 1, 4, 2, nullptr) == abi::k_success);
    CHECK(context_ != nullptr);
    mask_ = static_cast<std::uint64_t>(mask);
  }
  ~Host() {
    stop_tracing();
    std::filesystem::remove(path_);
  }

  void* start(Descriptor descriptor) {
    void* handle = this; // stale
    CHECK(table_.start_event(context_, &handle,
                             reinterpret_cast<abi::DescriptorV5*>(&descriptor)) == abi::k_success);
    CHECK(handle != this);
    return handle;
  }
  // NCCL passes on nothing of an event that has no handle.
  void enter(void* handle, int state, void* arguments = nullptr) {
    if (handle != nullptr)
      CHECK(table_.record_event_state(handle, state, arguments) == abi::k_success);
  }
  void stop(void* handle) {
    if (handle != nullptr)
      CHECK(table_.stop_event(handle) == abi::k_success);
  }
  void channel(void* parent, int number, std::uint64_t begin, std::uint64_t end) {
    auto descriptor = event<Descriptor>(0x40, parent);
    descriptor.channel = {static_cast<std::uint8_t>(number), begin};
    void* handle = start(descriptor);
    enter(handle, 22, &end);
    stop(handle);
  }
  void finalize() { CHECK(table_.finalize(context_) == abi::k_success); }
  std::uint64_t mask() const { return mask_; }
  template <typename Row>
  std::vector<Row> rows() {
    stop_tracing();
    return support::rows_in<Row>(path_);
  }
  std::string text(trace::TextId id) { return support::text_in(path_, id); }

private:
  abi::ProfilerV5& table_;
  std::filesystem::path path_;
  trace::SpoolWriter spool_;
  void* context_ = nullptr;
  std::uint64_t mask_ = 0;
};

// Events that nobody asked for, as RAS may switch them on.
template <typename Descriptor>
void unasked(Host<Descriptor>& host) {
  auto collective = event<Descriptor>(0x200);
  as_in_6(collective.collective_api) = {"AllReduce", 8, "ncclFloat32", 0, nullptr, false};
  CHECK(host.start(collective) == nullptr);
  auto message = event<Descriptor>(0x400);
  as_in_6(message.message_api) = {"Send", 8, "ncclFloat32", nullptr, false};
  CHECK(host.start(message) == nullptr);
  auto launch = event<Descriptor>(0x800);
  launch.launch = {nullptr};
  CHECK(host.start(launch) == nullptr);
  CHECK(host.start(event<Descriptor>(0x20)) == nullptr); // the proxy's own states
  auto copies = event<Descriptor>(0x1000);
  as_in_6(copies.copy_engine) = {3,   "AllGather", nullptr, nullptr, 64, 0,      "ncclInt8",
                                 "x", false,       1,       1,       0,  nullptr};
  CHECK(host.start(copies) == nullptr);
  auto sync = event<Descriptor>(0x2000);
  sync.copy_engine_sync = {true, 4};
  CHECK(host.start(sync) == nullptr);
  auto batch = event<Descriptor>(0x4000);
  batch.copy_engine_batch = {2, 128, false};
  CHECK(host.start(batch) == nullptr);
  if constexpr (requires(Descriptor descriptor) { descriptor.phase; }) {
    auto phase = event<Descriptor>(0x8000);
    phase.phase = {1, 2, "final_sync", 77};
    CHECK(host.start(phase) == nullptr);
  }
}

// An all-reduce and a send, whole.
template <typename Descriptor>
void play(abi::ProfilerV5& table) {
  Host<Descriptor> host(table);
  CHECK(host.mask() == (0x2 | 0x4 | 0x8 | 0x10 | 0x40 | 0x80));

  auto api = event<Descriptor>(0x100);
  api.group_api = {false, 1};
  void* group_api = host.start(api);
  host.enter(group_api, 23); // without arguments
  unasked(host);
  auto reduce = event<Descriptor>(0x2);
  as_in_6(reduce.collective) = {41, "AllReduce", nullptr, nullptr, 4096,     0, "ncclFloat32",
                                2,  16,          "RING",  "LL128", group_api};
  void* collective = host.start(reduce);
  REQUIRE(collective != nullptr);
  host.stop(collective); // enqueued
  auto send = event<Descriptor>(0x4);
  as_in_6(send.message) = {"Send", nullptr, "ncclInt8", 512, 3, 1, group_api};
  void* message = host.start(send);
  REQUIRE(message != nullptr);
  host.stop(message);
  host.enter(group_api, 24);
  host.stop(group_api);

  for (int number : {0, 1})
    host.channel(collective, number, 1000, 2000);
  host.channel(message, 0, 2100, 2200);
  auto operation = event<Descriptor>(0x8, collective);
  operation.proxy_operation = {getpid(), 1, 3, 1, 1 << 19, 1};
  void* proxy_operation = host.start(operation);
  REQUIRE(proxy_operation != nullptr);
  host.enter(proxy_operation, 19);
  auto step = event<Descriptor>(0x10, proxy_operation);
  step.proxy_step = {6};
  void* proxy_step = host.start(step);
  REQUIRE(proxy_step != nullptr);
  std::size_t bytes = 65'536;
  host.enter(proxy_step, 8, &bytes);
  host.enter(proxy_step, 20, &bytes);
  host.enter(proxy_step, 9, &bytes);
  abi::InfiniBandRequest request{1, {0, 99, 2, 7, 65'536}};
  auto network = event<Descriptor>(0x80, proxy_step);
  network.network = {1 << 16 | 1, &request};
  void* queue_pair = host.start(network);
  REQUIRE(queue_pair != nullptr);
  host.enter(queue_pair, 21);
  host.stop(queue_pair);
  host.stop(proxy_step);
  host.stop(proxy_operation);
  host.finalize();

  auto operations = host.template rows<trace::NcclOperationRow>();
  REQUIRE(operations.size() == 2);
  CHECK(operations[0].sequence == 41);
  CHECK(host.text(operations[0].function) == "AllReduce");
  CHECK(host.text(operations[0].algorithm) == "RING");
  CHECK(host.text(operations[0].protocol) == "LL128");
  CHECK(host.text(operations[0].data_type) == "ncclFloat32");
  CHECK(operations[0].count == 4096);
  CHECK(operations[0].channels == 2);
  CHECK(operations[0].warps == 16);
  CHECK(operations[0].enqueued_ns >= operations[0].enqueue_ns);
  CHECK(operations[1].kind == trace::NcclKind::send);
  CHECK(operations[1].peer == 3);
  CHECK(operations[1].count == 512);
  auto channels = host.template rows<trace::NcclChannelRow>();
  REQUIRE(channels.size() == 3);
  CHECK(channels[1].channel == 1);
  CHECK(channels[1].start_gt == 1000);
  CHECK(channels[1].stop_gt == 2000);
  CHECK(channels[1].nccl_operation == operations[0].id);
  CHECK(channels[2].nccl_operation == operations[1].id);
  auto steps = host.template rows<trace::NcclStepRow>();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].nccl_operation == operations[0].id);
  CHECK(steps[0].step == 6);
  CHECK(steps[0].peer == 3);
  CHECK(steps[0].bytes == 65'536);
  CHECK(steps[0].third_ns >= steps[0].first_ns);
  auto requests = host.template rows<trace::NcclNetworkRow>();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].request == 99);
  CHECK(requests[0].nccl_operation == operations[0].id);
  CHECK(host.template rows<trace::LossRow>().empty());
  auto communicators = host.template rows<trace::CommunicatorRow>();
  REQUIRE(communicators.size() == 1);
  CHECK(communicators[0].hash == 0xC0FFEE);
  CHECK(communicators[0].rank == 2);
  CHECK(communicators[0].ranks == 4);
}

} // namespace

// NCCL 2.30.7's header was compared with ours member by member when this was written.
static_assert(sizeof(DescriptorV6) == sizeof(abi::DescriptorV5));
static_assert(offsetof(DescriptorV6, collective) == offsetof(abi::DescriptorV5, collective));

TEST_CASE("all events of interface 6 in NCCL's order become rows or nothing") {
  play<DescriptorV6>(ncclProfiler_v6);
}

TEST_CASE("all events of interface 7, whose descriptors are longer, become rows or nothing") {
  play<DescriptorV7>(ncclProfiler_v7);
}
