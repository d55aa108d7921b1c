// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/made_records.h"
#include "nvidia/record_decoder.h"
#include "support/catch.h"
#include "support/spool_rows.h"

#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

using namespace ncclprobe;
using model::TraceLevel;
using nvidia::Buffer;
using nvidia::RecordDecoder;

namespace {

CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  std::uint64_t size = 0;
  if (at != nullptr) {
    std::memcpy(&size, at - sizeof size, sizeof size);
    at += size;
  } else {
    at = buffer;
  }
  if (at >= buffer + valid_bytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&size, at, sizeof size);
  if (size == UINT64_MAX)
    return CUPTI_ERROR_INVALID_KIND;
  *record = reinterpret_cast<CUpti_Activity*>(at + sizeof size);
  return CUPTI_SUCCESS;
}

constexpr const char* k_all_reduce =
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
constexpr const char* k_spin =
    "_ZN9ncclprobe6nvidia39_GLOBAL__N__2f1f0c3a_10_kernels_cu_fill4spinEm";

nvidia::MadeKernel kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end,
                          const char* name = k_all_reduce) {
  nvidia::MadeKernel record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = start;
  record.end = end;
  record.deviceId = 0;
  record.contextId = 1;
  record.streamId = 13;
  record.gridX = 24;
  record.gridY = record.gridZ = 1;
  record.blockX = 512;
  record.blockY = record.blockZ = 1;
  record.staticSharedMemory = 100;
  record.dynamicSharedMemory = 1000;
  record.correlationId = correlation;
  record.name = name;
  return record;
}

std::uint64_t started_ns(std::uint32_t correlation) {
  return 1'000 * std::uint64_t{correlation};
}

CUpti_ActivityAPI call(std::uint32_t correlation,
                       std::uint32_t id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                       CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_DRIVER) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = id;
  record.start = started_ns(correlation);
  record.end = record.start + 500;
  record.threadId = static_cast<std::uint32_t>(pthread_self());
  record.correlationId = correlation;
  return record;
}

// As cuptiGetCallbackName, of one function.
CUptiResult call_name(CUpti_CallbackDomain domain, std::uint32_t function, const char** name) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || function != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)
    return CUPTI_ERROR_INVALID_PARAMETER;
  *name = "cuLaunchKernelEx";
  return CUPTI_SUCCESS;
}

class Trace {
public:
  explicit Trace(TraceLevel level = TraceLevel::kernels, std::map<int, int> ranks = {{0, 5}})
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("decoder-{}-{}.spool", getpid(), ++made_)) {
    std::filesystem::remove(path_);
    REQUIRE(spool_.open(path_));
    decoder_.emplace(level, spool_, std::move(ranks), operations_, next_record, call_name);
  }
  ~Trace() { std::filesystem::remove(path_); }

  RecordDecoder& decoder() { return *decoder_; }
  // That call was made for an operation. In the order of their numbers.
  Trace& operation(std::uint32_t correlation, std::uint32_t id) {
    operations_.begin(id, started_ns(correlation) - 100);
    operations_.end(started_ns(correlation) + 600);
    return *this;
  }
  // All rows of a table, with their ranks.
  template <typename Row>
  std::vector<std::pair<int, Row>> ranked() {
    return support::ranked_rows<Row>(path_);
  }
  template <typename Row>
  std::vector<Row> rows() {
    return support::rows_in<Row>(path_);
  }
  std::string text(trace::TextId id) { return support::text_in(path_, id); }

private:
  static inline int made_ = 0;
  std::filesystem::path path_;
  trace::SpoolWriter spool_;
  nvidia::OperationLog operations_;
  std::optional<RecordDecoder> decoder_;
};

} // namespace

TEST_CASE("a kernel's record becomes one row of its rank, with all columns") {
  Trace trace;

  trace.operation(9, 42);
  (Buffer() << call(9) << kernel(9, 10'000, 12'345)).into(trace.decoder());

  auto kernels = trace.ranked<trace::KernelRow>();
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].first == 5);
  const trace::KernelRow& row = kernels[0].second;
  CHECK(row.start_ns == 10'000);
  CHECK(row.duration_ns == 2'345);
  CHECK(row.correlation == 9);
  CHECK(row.operation == 42);
  CHECK(row.graph_node == 0);
  CHECK(row.grid == 24);
  CHECK(row.block == 512);
  CHECK(row.shared_bytes == 1'100);
  CHECK(row.stream == 0);
  CHECK(row.flags == trace::k_communication);
  CHECK(trace.text(row.name) ==
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  auto streams = trace.rows<trace::StreamRow>();
  REQUIRE(streams.size() == 1);
  CHECK(streams[0].context == 1);
  CHECK(streams[0].library_id == 13);
  CHECK(trace.rows<trace::ApiRow>().empty()); // not at this level
}

TEST_CASE("the operation is found whether its call comes before or after, in whichever buffer") {
  Trace trace;

  (Buffer() << kernel(1, 10, 20) << kernel(2, 20, 30)).into(trace.decoder());
  CHECK(trace.rows<trace::KernelRow>().empty()); // they wait
  trace.operation(2, 7).operation(3, 8);
  (Buffer() << call(2)).into(trace.decoder());
  CHECK(trace.rows<trace::KernelRow>().size() == 1);
  (Buffer() << call(3)).into(trace.decoder());
  (Buffer() << kernel(3, 30, 40)).into(trace.decoder());
  (Buffer() << call(4)).into(trace.decoder()); // outside of all operations: known to have none
  (Buffer() << kernel(4, 40, 50)).into(trace.decoder());
  CHECK(trace.rows<trace::KernelRow>().size() == 3);
  trace.decoder().write_waiting();

  std::map<std::uint32_t, std::uint32_t> operations;
  for (const trace::KernelRow& row : trace.rows<trace::KernelRow>())
    operations[row.correlation] = row.operation;
  CHECK(operations == std::map<std::uint32_t, std::uint32_t>{{1, 0}, {2, 7}, {3, 8}, {4, 0}});
  CHECK(trace.decoder().counts().launches == 3); // nothing was heard of the first one's
  CHECK(trace.decoder().counts().kernels == 4);
}

TEST_CASE("what CUPTI itself tells of operations is compared with what the times of calls tell") {
  auto told = [](std::uint32_t correlation, std::uint64_t id) {
    nvidia::OperationRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = nvidia::k_operation_kind;
    record.externalId = id;
    record.correlationId = correlation;
    return record;
  };
  Trace trace;

  trace.operation(2, 7).operation(3, 8);
  (Buffer() << told(2, 7) << call(2)).into(trace.decoder());
  (Buffer() << call(3) << told(3, 9)).into(trace.decoder()); // in the other order, and not the same
  auto of_others = told(3, 8);
  of_others.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;
  (Buffer() << call(4) << of_others).into(trace.decoder());

  CHECK(trace.decoder().counts().calls_told == 2);
  CHECK(trace.decoder().counts().calls_unlike == 1);
  CHECK(trace.decoder().counts().unknown == 0);
}

TEST_CASE("what never hears of its call waits in bounded memory") {
  Trace trace;
  constexpr std::uint32_t k_all = RecordDecoder::k_most_waiting + 1'000;
  for (std::uint32_t first = 1; first <= k_all; first += 1'000) {
    Buffer buffer;
    for (std::uint32_t i = first; i < first + 1'000; ++i)
      buffer << kernel(i, i, i + 1);
    buffer.into(trace.decoder());
  }

  std::size_t written = trace.rows<trace::KernelRow>().size();
  CHECK(written >= 1'000);
  CHECK(trace.rows<trace::KernelRow>().front().correlation == 1); // the oldest go first
  trace.decoder().write_waiting();

  CHECK(trace.rows<trace::KernelRow>().size() == trace.decoder().counts().kernels);
}

TEST_CASE("kernels without times or with reversed ones are kept, marked and counted") {
  Trace trace;

  (Buffer() << call(1) << kernel(1, 0, 0) << call(2) << kernel(2, 50, 40) << call(3)
            << kernel(3, 50, 0) << call(4) << kernel(4, 50, 50))
      .into(trace.decoder());

  auto rows = trace.rows<trace::KernelRow>();
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(rows[i].flags == (trace::k_communication | trace::k_no_times));
    CHECK(rows[i].start_ns == 0);
    CHECK(rows[i].duration_ns == 0);
  }
  CHECK(rows[3].flags == trace::k_communication);
  CHECK(trace.decoder().counts().no_times == 3);
  CHECK(trace.decoder().counts().kernels == 1);
  CHECK(trace.decoder().counts().launches == 4);
}

TEST_CASE("a launch that the runtime and the driver tell of is one launch") {
  Trace trace;

  (Buffer() << call(1, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_ACTIVITY_KIND_RUNTIME)
            << call(1, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) << kernel(1, 10, 20)
            << call(2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync))
      .into(trace.decoder());
  CUpti_ActivityAPI failed = call(3);
  failed.returnValue = 1;
  (Buffer() << failed).into(trace.decoder());

  RecordDecoder::Counts counts = trace.decoder().counts();
  CHECK(counts.launches == 1);
  CHECK(counts.kernels == 1);
  CHECK(counts.runtime_calls == 1);
  CHECK(counts.driver_calls == 2);
}

TEST_CASE("a call that nobody asked about is no row, and hides no launch") {
  Trace api(TraceLevel::api);
  Trace kernels(TraceLevel::kernels);

  (Buffer() << call(1, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent) << call(1) << kernel(1, 10, 20))
      .into(api.decoder());
  (Buffer() << call(1, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize) << call(1) << kernel(1, 10, 20))
      .into(kernels.decoder());

  CHECK(api.rows<trace::ApiRow>().size() == 1);
  CHECK(api.decoder().counts().launches == 1);
  CHECK(kernels.decoder().counts().launches == 1);
}

TEST_CASE("a captured launch is none") {
  Trace trace;
  trace.operation(1, nvidia::OperationLog::k_captured).operation(2, 5);

  (Buffer() << call(1) << call(2) << kernel(2, 10, 20)).into(trace.decoder());

  CHECK(trace.decoder().counts().launches == 1);
  CHECK(trace.decoder().counts().kernels == 1);
}

TEST_CASE("each launch of a graph counts for all of its kernels") {
  Trace trace;
  auto launch = [](std::uint32_t correlation) {
    return call(correlation, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
  };
  auto node = [](std::uint32_t correlation, std::uint64_t id, std::uint32_t graph) {
    nvidia::MadeKernel record = kernel(correlation, 10, 20);
    record.graphNodeId = id;
    record.graphId = graph;
    return record;
  };
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.correlationId = 5;
  set.graphNodeId = 30;

  (Buffer() << launch(1) << node(1, 10, 3) << node(1, 11, 3) << launch(2) << node(2, 10, 3)
            << node(2, 11, 3) << launch(3) << node(3, 20, 4) << launch(4)
            << node(4, 10, 3)   // one is lost
            << launch(5) << set // a graph without kernels
            << launch(6))       // nothing came of it
      .into(trace.decoder());

  CHECK(trace.decoder().counts().launches == 3 * 2 + 1 + 0 + 1);
  CHECK(trace.decoder().counts().kernels == 6);
  CHECK(trace.rows<trace::KernelRow>().front().graph_node == 10);
}

TEST_CASE("our own kernels are helpers, unless the schedule asked for them") {
  Trace trace;

  trace.operation(2, 6);
  (Buffer() << call(1) << kernel(1, 10, 20, k_spin) << call(2) << kernel(2, 20, 30, k_spin))
      .into(trace.decoder());

  auto rows = trace.rows<trace::KernelRow>();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].flags == trace::k_helper);
  CHECK(rows[1].flags == 0); // a schedule's compute operation
}

TEST_CASE("kernels are told apart by their names") {
  using nvidia::kernel_name;
  CHECK(kernel_name(k_all_reduce).communication);
  CHECK(kernel_name("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32").communication);
  CHECK(kernel_name("ncclKernel_AllReduce_RING_LL_Sum_float").communication);
  CHECK(kernel_name("_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE").communication);
  CHECK_FALSE(kernel_name("_Z6matmulPf").communication);
  CHECK_FALSE(kernel_name(k_spin).communication);
  CHECK(kernel_name(k_spin).own);
  CHECK(kernel_name("ncclprobe::nvidia::(anonymous namespace)::fill(std::byte*, int)").own);
  CHECK_FALSE(kernel_name("ncclprobe::nvidia::(anonymous namespace)::copy_by_kernel(int)").own);
  CHECK_FALSE(kernel_name("spin(unsigned long)").own);
  CHECK(kernel_name("_Z4bareILi3EEvPf").text == "bare<3>(float*)");
  CHECK(kernel_name(nullptr).text.empty());
}

TEST_CASE("copies, copies between peers and sets go to one table") {
  Trace trace(TraceLevel::kernels, {{0, 5}, {1, 6}});
  nvidia::MadeCopy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.bytes = 4096;
  copy.start = 100;
  copy.end = 150;
  copy.deviceId = 1;
  copy.correlationId = 1;
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.bytes = 1 << 20;
  peer.start = 200;
  peer.end = 260;
  peer.deviceId = 0;
  peer.srcDeviceId = 0;
  peer.dstDeviceId = 1;
  peer.correlationId = 2;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 64;
  set.correlationId = 3;

  trace.operation(1, 4);
  (Buffer() << call(1, CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync) << copy
            << call(2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync) << peer
            << call(3, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async) << set)
      .into(trace.decoder());

  std::map<int, std::vector<trace::CopyRow>> by_rank;
  for (const auto& [rank, row] : trace.ranked<trace::CopyRow>())
    by_rank[rank].push_back(row);
  REQUIRE(by_rank[6].size() == 1);
  CHECK(by_rank[6][0].kind == trace::CopyKind::host_to_device);
  CHECK(by_rank[6][0].bytes == 4096);
  CHECK(by_rank[6][0].operation == 4);
  CHECK(by_rank[6][0].duration_ns == 50);
  REQUIRE(by_rank[5].size() == 2);
  CHECK(by_rank[5][0].kind == trace::CopyKind::peer);
  CHECK(by_rank[5][0].source_device == 0);
  CHECK(by_rank[5][0].destination_device == 1);
  CHECK(by_rank[5][1].kind == trace::CopyKind::set);
  CHECK(by_rank[5][1].flags == trace::k_no_times);
  CHECK(trace.decoder().counts().launches == 0);
  CHECK(trace.decoder().counts().kernels == 0);
}

TEST_CASE("calls, synchronizations and events are rows where they are asked for") {
  Trace trace(TraceLevel::api);
  nvidia::SynchronizationRecord wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  wait.start = 500;
  wait.end = 510;
  wait.contextId = 1;
  wait.streamId = 13;
  wait.cudaEventId = 3;
  nvidia::set_instance(wait, 99);
  wait.correlationId = 12;
  nvidia::SynchronizationRecord device = wait;
  device.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  device.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  device.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  nvidia::EventRecord event{};
  event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  event.contextId = 1;
  event.streamId = 13;
  event.eventId = 3;
  nvidia::set_time(event, 495);
  nvidia::set_instance(event, 99);

  (Buffer() << call(9) << kernel(9, 10, 20) << event << wait << device).into(trace.decoder());

  auto calls = trace.rows<trace::ApiRow>();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].start_ns == 9'000);
  CHECK(calls[0].duration_ns == 500);
  CHECK(calls[0].function == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
  CHECK(calls[0].domain == trace::CallDomain::driver);
  CHECK(trace.text(calls[0].name) == "cuLaunchKernelEx");
  CHECK(calls[0].thread == static_cast<std::uint32_t>(pthread_self()));
  auto waits = trace.rows<trace::SynchronizationRow>();
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].kind == trace::SynchronizationKind::stream_wait_event);
  CHECK(waits[0].stream == 0);
  CHECK(waits[0].event == 3);
  CHECK(waits[0].event_instance == (nvidia::k_tells_event_times ? 99 : 0));
  CHECK(waits[1].kind == trace::SynchronizationKind::context);
  CHECK(waits[1].stream == trace::k_no_stream);
  CHECK(waits[1].event == 0);
  auto events = trace.rows<trace::DeviceEventRow>();
  REQUIRE(events.size() == (nvidia::k_tells_event_times ? 1 : 0));
  if (!events.empty()) {
    CHECK(events[0].at_ns == 495);
    CHECK(events[0].instance == 99);
  }
}

TEST_CASE("a length that 32 bits do not hold is written twice") {
  Trace trace;
  (Buffer() << call(1) << kernel(1, 100, 100 + 6'000'000'000)).into(trace.decoder());

  CHECK(trace.rows<trace::KernelRow>().at(0).duration_ns == trace::k_long_duration);
  auto lengths = trace.rows<trace::LongRow>();
  REQUIRE(lengths.size() == 1);
  CHECK(lengths[0].table == trace::Table::kernel);
  CHECK(lengths[0].start_ns == 100);
  CHECK(lengths[0].duration_ns == 6'000'000'000);
}

TEST_CASE("overheads and the state of the GPU are kept") {
  Trace trace;
  nvidia::OverheadRecord overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.start = 10;
  overhead.end = 30;
  nvidia::give_data(overhead);
  CUpti_ActivityEnvironment state{};
  state.kind = CUPTI_ACTIVITY_KIND_ENVIRONMENT;
  state.timestamp = 40;
  state.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_SPEED;
  state.data.speed.smClock = 1'980;
  state.data.speed.memoryClock = 3'201;

  (Buffer() << overhead << state).into(trace.decoder());

  auto overheads = trace.rows<trace::OverheadRow>();
  REQUIRE(overheads.size() == 1);
  CHECK(trace.text(overheads[0].kind) == "buffer_flush");
  CHECK(overheads[0].duration_ns == 20);
  auto states = trace.rows<trace::EnvironmentRow>();
  REQUIRE(states.size() == 1);
  CHECK(states[0].at_ns == 40);
  CHECK(states[0].sm_clock_mhz == 1'980);
  CHECK(states[0].temperature_c == 0);
}

TEST_CASE("what is not understood is counted, and ends nothing but its buffer") {
  Trace trace;
  CUpti_ActivityName other{};
  other.kind = CUPTI_ACTIVITY_KIND_NAME;

  (Buffer() << other << call(1) << kernel(1, 10, 20)).torn().into(trace.decoder());
  (Buffer() << call(2) << kernel(2, 20, 30)).into(trace.decoder());

  CHECK(trace.rows<trace::KernelRow>().size() == 2);
  CHECK(trace.decoder().counts().unknown == 2);
}
